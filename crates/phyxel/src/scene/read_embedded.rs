//! Reads what only embedded bodies have, and refuses what they cannot honor.

use super::reader::Table;
use super::{BodySpec, EmbeddedLaw, EmbeddedSpec, EventAction, MaterialSpec, ModelKind, Scene, SurfaceKind};
use crate::error::{Diagnostic, Result};

/// Material keys that mean something for an embedded body.
const KNOWN: [&str; 15] = [
    "preset",
    "young",
    "poisson",
    "density",
    "damping",
    "friction",
    "control",
    "yield_strain",
    "creep",
    "viscosity",
    "hardening",
    "break_strain",
    "law",
    "conductivity",
    "specific_heat",
];

/// Keys of embedded bodies in the material of another.
pub(super) fn refuse_embedded_keys(material: &Table) -> Result<()> {
    if material.has("hardening") {
        let fault = material.fault_of("hardening", "`hardening` has a meaning for embedded bodies and shells only");
        return Err(fault.hint("model = \"embedded\", or leave it out").into());
    }
    Ok(())
}

/// The keys of an embedded body; what it cannot have is refused or, from a preset, left out.
pub(super) fn read_embedded_keys(table: &Table, material: &mut MaterialSpec) -> Result<()> {
    let unknown = table.section.all_keys().map(|k| k.name).find(|k| !KNOWN.contains(k) && table.has(k));
    if let Some(key) = unknown {
        let fault = table.fault_of(key, format!("`{key}` has no effect on an embedded body"));
        return Err(fault.hint("leave it out").into());
    }
    if material.anisotropy.is_some() {
        let fault = table.fault_of("preset", "an embedded body has no grain");
        return Err(fault.hint("another preset, or model = \"mls\"").into());
    }
    let law = match table.has("law") {
        false => EmbeddedLaw::Anchored,
        true => match table.choice("law")? {
            "published" => EmbeddedLaw::Published,
            "anchored" => EmbeddedLaw::Anchored,
            other => {
                let fault = table.fault_of("law", format!("\"{other}\" is a law of shells"));
                return Err(fault.expected("\"anchored\" or \"published\"").into());
            }
        },
    };
    let embedded = EmbeddedSpec {
        hardening: table.maybe_number("hardening")?.unwrap_or(0.0),
        break_strain: table.maybe_number("break_strain")?,
        law,
    };
    *material = MaterialSpec {
        preset: material.preset.take(),
        young: material.young,
        poisson: material.poisson,
        density: material.density,
        damping: material.damping,
        friction: material.friction,
        control: material.control,
        yield_strain: material.yield_strain,
        creep: material.creep,
        viscosity: material.viscosity,
        conductivity: material.conductivity,
        specific_heat: material.specific_heat,
        embedded: Some(embedded),
        ..MaterialSpec::default()
    };
    Ok(())
}

/// What a body must be whose points are split and joined.
pub(super) fn check_resample(table: &Table, body: &BodySpec) -> Result<()> {
    let drawn = matches!(body.surface.kind, SurfaceKind::Mesh | SurfaceKind::Points | SurfaceKind::None);
    let (what, hint) = match body.material.embedded {
        _ if body.resample <= 1.0 => return Ok(()),
        None => ("only embedded bodies are resampled", "model = \"embedded\", or leave it out"),
        Some(own) if own.law == EmbeddedLaw::Published => {
            ("the published law is not resampled", "leave one of both out")
        }
        _ if body.material.is_thermal() => ("a body that takes part in heat is not resampled", "leave one of both out"),
        _ if !drawn => (
            "surfels ride on the points of the start, not on those that come by splitting",
            "surface = { kind = \"mesh\" }",
        ),
        _ => return Ok(()),
    };
    Err(table.fault_of("resample", what).hint(hint).into())
}

/// What events may change of an embedded body.
pub(super) fn check_embedded(scene: &Scene) -> Result<()> {
    let embedded = |name: &str| scene.bodies.iter().any(|b| b.name == name && b.model == ModelKind::Embedded);
    let others = scene.bodies.iter().any(|b| b.model != ModelKind::Embedded);
    if let Some(b) = scene.bodies.iter().position(|b| b.resample > 1.0).filter(|_| others) {
        let what = "a body that meets bodies of other models is not resampled: they know its points one by one";
        return Err(Diagnostic::new(what).key(format!("body[{b}].resample")).hint("leave it out").into());
    }
    for (k, event) in scene.events.iter().enumerate() {
        let refused = match &event.action {
            EventAction::Set { body, set } => {
                let mut rest = **set;
                (rest.young, rest.poisson, rest.density, rest.damping, rest.friction) = (None, None, None, None, None);
                (rest.control, rest.yield_strain, rest.creep, rest.viscosity) = (None, None, None, None);
                (rest.conductivity, rest.specific_heat) = (None, None);
                embedded(body) && rest != Default::default()
            }
            EventAction::Melt(body) | EventAction::Solidify(body) => embedded(body),
            _ => false,
        };
        if refused {
            let what = "an event may change young, poisson, density, damping, friction, control, yield_strain, creep, viscosity, \
                 conductivity and specific_heat of an embedded body; it does not melt";
            return Err(Diagnostic::new(what).key(format!("event[{k}]")).hint("leave the others out").into());
        }
    }
    Ok(())
}
