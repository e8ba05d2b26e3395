//! Reads what only shells have, and refuses what they cannot honor yet.

use super::read_shape::Shapes;
use super::reader::Table;
use super::{
    BodySpec, BreakSpec, EventAction, MaterialSpec, ModelKind, Scene, ShapeSpec, ShellEnergy, ShellSpec, WeakSpec,
};
use crate::error::{Diagnostic, Result};

/// Material keys that mean something for a shell.
const KNOWN: [&str; 20] = [
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
    "hardening",
    "stiffening",
    "stiffening_strain",
    "thickness",
    "law",
    "break_strain",
    "break_bending",
    "microcracks",
    "fatigue",
    "anisotropy",
];
/// Those that mean something for a shell only.
const SHELL_ONLY: [&str; 8] =
    ["thickness", "law", "break_strain", "break_bending", "microcracks", "fatigue", "stiffening", "stiffening_strain"];
const LATER: &str = "shells are elastic or plastic in this version: leave it out";

/// Keys of shells in the material of another body.
pub(super) fn refuse_shell_keys(material: &Table) -> Result<()> {
    match SHELL_ONLY.into_iter().find(|key| material.has(key)) {
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
    if material.anisotropy.is_some() && law != ShellEnergy::Tensor {
        let fault = table.fault_of("law", "only a shell with law = \"tensor\" can have a grain");
        return Err(fault.hint("leave it out").into());
    }
    let elastic = MaterialSpec {
        preset: material.preset.take(),
        anisotropy: material.anisotropy.take(),
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
    let breaks = read_breaks(table, law)?;
    let hardening = table.maybe_number("hardening")?.unwrap_or(0.0);
    if hardening != 0.0 && elastic.creep == 0.0 {
        let fault = table.fault_of("hardening", "a shell that does not creep never yields, and does not harden");
        return Err(fault.hint("give `creep` and `yield_strain`").into());
    }
    let (stiffening, stiffening_strain) = read_stiffening(table, law)?;
    let shell = ShellSpec { thickness, law, hardening, stiffening, stiffening_strain, breaks };
    *material = MaterialSpec { shell: Some(shell), ..elastic };
    Ok(())
}

/// How stiffness depends on strain: by how much, and where; keys that would have no effect are faults.
fn read_stiffening(table: &Table, law: ShellEnergy) -> Result<(f64, f64)> {
    let rise = table.maybe_number("stiffening")?.unwrap_or(0.0);
    match (rise != 0.0, table.maybe_number("stiffening_strain")?) {
        (true, _) if law != ShellEnergy::Tensor => {
            let fault = table.fault_of("stiffening", "only a shell with law = \"tensor\" can stiffen with strain");
            Err(fault.hint("leave it out").into())
        }
        (true, None) => {
            let fault = table.fault_of("stiffening", "`stiffening` needs the strain at which half of it is there");
            Err(fault.hint("give `stiffening_strain`").into())
        }
        (true, Some(strain)) => Ok((rise, strain)),
        (false, Some(_)) => {
            let fault = table.fault_of("stiffening_strain", "a shell whose stiffness stays has no such strain");
            Err(fault.hint("give `stiffening`, or leave it out").into())
        }
        (false, None) => Ok((0.0, 0.0)),
    }
}

/// How a shell breaks; keys that would have no effect are faults.
fn read_breaks(table: &Table, law: ShellEnergy) -> Result<BreakSpec> {
    let breaks = BreakSpec {
        strain: table.maybe_number("break_strain")?,
        bending: table.maybe_number("break_bending")?,
        microcracks: table.maybe_number("microcracks")?.unwrap_or(0.0),
        fatigue: table.maybe_number("fatigue")?.unwrap_or(0.0),
    };
    let key = if breaks.strain.is_some() { "break_strain" } else { "break_bending" };
    if (breaks.strain.is_some() || breaks.bending.is_some()) && law != ShellEnergy::Tensor {
        return Err(table.fault_of(key, "only a shell with law = \"tensor\" can break").into());
    }
    if table.has("microcracks") && breaks.strain.is_none() && breaks.bending.is_none() {
        let fault = table.fault_of("microcracks", "a shell that never breaks has no microcracks");
        return Err(fault.hint("give `break_strain` or `break_bending`").into());
    }
    if table.has("fatigue") && breaks.bending.is_none() {
        let fault = table.fault_of("fatigue", "fatigue weakens what breaks by bending, and this shell never does");
        return Err(fault.hint("give `break_bending`").into());
    }
    Ok(breaks)
}

/// Regions of a shell with a strength of their own.
pub(super) fn read_weak(table: &Table, body: &BodySpec) -> Result<Vec<WeakSpec>> {
    let breaks = body.material.shell.is_some_and(|s| s.breaks.strain.is_some() || s.breaks.bending.is_some());
    if table.has("weak") && !breaks {
        let fault = table.fault_of("weak", "this body never breaks, so that no part of it is weaker");
        return Err(fault.hint("model = \"shell\" with `break_strain` or `break_bending` in its material").into());
    }
    let known: Vec<&str> = body.regions.iter().map(|r| r.name.as_str()).chain(["all"]).collect();
    let one = |table: Table| {
        Ok(WeakSpec { region: table.reference("region", "region", &known)?, strength: table.number("strength")? })
    };
    table.tables("weak")?.into_iter().map(one).collect()
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

/// What shells cannot do: melt, and flow at any strain.
pub(super) fn check_shells(top: &Table, scene: &Scene) -> Result<()> {
    let shell = |name: &String| scene.bodies.iter().find(|b| b.model == ModelKind::Shell && b.name == *name);
    let mut shells = scene.bodies.iter().filter(|b| b.model == ModelKind::Shell);
    if let Some(soft) = shells.find(|b| b.material.flows() || b.material.can_melt()) {
        return Err(top.fault_of("body", format!("the shell '{}' melts or flows", soft.name)).hint(LATER).into());
    }
    for (k, event) in scene.events.iter().enumerate() {
        let refused = match &event.action {
            EventAction::Melt(name) | EventAction::Solidify(name) => shell(name).is_some(),
            EventAction::Set { body, set } => shell(body).is_some_and(|spec| {
                let mut rest = **set;
                (rest.young, rest.poisson, rest.density) = (None, None, None);
                (rest.damping, rest.smoothing, rest.friction) = (None, None, None);
                (rest.yield_strain, rest.creep, rest.max_plastic_strain) = (None, None, None);
                rest != Default::default() || flows_after(spec, scene, k)
            }),
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

/// Whether a shell creeps at any strain once an event and those before it have changed it.
fn flows_after(spec: &BodySpec, scene: &Scene, event: usize) -> bool {
    let mut material = spec.material.clone();
    for event in &scene.events[..=event] {
        if let EventAction::Set { body, set } = &event.action
            && *body == spec.name
        {
            material.change(set);
        }
    }
    material.flows()
}
