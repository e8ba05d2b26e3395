//! Reads what only shells have, and refuses what they cannot honor yet.

use super::read_shape::Shapes;
use super::reader::Table;
use super::{EventAction, Integrator, MaterialSpec, ModelKind, Scene, ShapeSpec, ShellEnergy, ShellSpec};
use crate::error::{Diagnostic, Result};

/// Material keys that mean something for a shell.
const KNOWN: [&str; 12] = [
    "preset",
    "young",
    "poisson",
    "density",
    "damping",
    "smoothing",
    "friction",
    "yield_strain",
    "creep",
    "max_plastic_strain",
    "thickness",
    "law",
];
const LATER: &str = "shells are elastic or plastic in this version: leave it out";

/// Keys of shells in the material of another body.
pub(super) fn refuse_shell_keys(material: &Table) -> Result<()> {
    match ["thickness", "law"].into_iter().find(|key| material.has(key)) {
        None => Ok(()),
        Some(key) => {
            let fault = material.fault_of(key, format!("`{key}` has a meaning for shells only"));
            Err(fault.hint("model = \"shell\", or leave it out").into())
        }
    }
}

/// `thickness` and `law`; what a shell cannot have is refused or, from a preset, left out.
pub(super) fn read_shell_keys(table: &Table, material: &mut MaterialSpec) -> Result<()> {
    let unknown = table.section.all_keys().map(|k| k.name).find(|k| !KNOWN.contains(k) && table.has(k));
    if let Some(key) = unknown {
        return Err(table.fault_of(key, format!("`{key}` has no effect on a shell")).hint(LATER).into());
    }
    if material.flows() {
        let fault = table.fault_of("creep", "a shell that creeps at any strain keeps no shape");
        return Err(fault.expected("a `yield_strain` above 0").into());
    }
    if material.anisotropy.is_some() {
        let fault = table.fault_of("preset", "this preset has a grain, and shells have none yet");
        return Err(fault.hint("give `young`, `poisson` and `density`").into());
    }
    let Some(thickness) = table.maybe_number("thickness")? else {
        let fault = table.fault_of("thickness", "a shell needs its `thickness`");
        return Err(fault.expected("a length such as \"1 mm\"").into());
    };
    let law = match table.has("law") {
        false => ShellEnergy::Tensor,
        true => match table.choice("law")? {
            "weights" => ShellEnergy::Weights,
            "published" => ShellEnergy::Published,
            _ => ShellEnergy::Tensor,
        },
    };
    let elastic = MaterialSpec {
        preset: material.preset.take(),
        young: material.young,
        poisson: material.poisson,
        density: material.density,
        damping: material.damping,
        smoothing: material.smoothing,
        friction: material.friction,
        yield_strain: material.yield_strain,
        creep: material.creep,
        max_plastic_strain: material.max_plastic_strain,
        ..MaterialSpec::default()
    };
    *material = MaterialSpec { shell: Some(ShellSpec { thickness, law }), ..elastic };
    Ok(())
}

/// Sheets are for shells, and shells have no sampling of volumes.
pub(super) fn check_sheet(body: &Table, shape: &ShapeSpec, model: ModelKind, shapes: &Shapes) -> Result<()> {
    let is_sheet = shapes.is_sheet(shape);
    if shapes.has_sheet(shape) && (model != ModelKind::Shell || !is_sheet) {
        let what = match is_sheet {
            true => "a sheet has no volume to fill with points",
            false => "a sheet has no inside and cannot be combined with others",
        };
        return Err(body.fault_of("shape", what).hint("model = \"shell\" with the sheet alone").into());
    }
    let sampling = body.choice("sampling")?;
    if model == ModelKind::Shell && (sampling == "graded" || (sampling == "regular" && !is_sheet)) {
        let fault = body.fault_of("sampling", format!("\"{sampling}\" is not a sampling of this surface"));
        return Err(fault.expected("\"poisson\", or \"regular\" for a sheet").into());
    }
    Ok(())
}

/// What scenes with shells cannot have yet.
pub(super) fn check_shells(top: &Table, scene: &Scene) -> Result<()> {
    let Some(shell) = scene.bodies.iter().find(|b| b.model == ModelKind::Shell) else { return Ok(()) };
    let fault = |key: &str, what: String| -> Diagnostic { top.fault_of(key, what) };
    if scene.bodies.len() > 1 {
        let what = format!("the shell '{}' would pass through the other bodies", shell.name);
        return Err(fault("body", what)
            .hint("one shell alone, with colliders; contact comes in a later version")
            .into());
    }
    if scene.integrator == Integrator::Implicit {
        let what = "shells are stepped explicitly in this version".to_string();
        return Err(fault("integrator", what).expected("\"auto\" or \"explicit\"").into());
    }
    let mut material = shell.material.clone();
    for (k, event) in scene.events.iter().enumerate() {
        let refused = match &event.action {
            EventAction::Melt(_) | EventAction::Solidify(_) => true,
            EventAction::Set { set, .. } => {
                let mut rest = **set;
                (rest.young, rest.poisson, rest.density) = (None, None, None);
                (rest.damping, rest.smoothing, rest.friction) = (None, None, None);
                (rest.yield_strain, rest.creep, rest.max_plastic_strain) = (None, None, None);
                material.change(set);
                rest != Default::default() || material.flows()
            }
            _ => false,
        };
        if refused {
            let what = "an event may change young, poisson, density, damping, smoothing, friction, yield_strain, creep and \
                        max_plastic_strain of a shell, which may not creep at any strain";
            return Err(Diagnostic::new(what).key(format!("event[{k}]")).hint(LATER).into());
        }
    }
    Ok(())
}
