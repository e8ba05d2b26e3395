//! Reads what only lattices have, and refuses what they cannot honor.

use super::reader::Table;
use super::{BodySpec, EventAction, LatticeSpec, MaterialSpec, ModelKind, Phase, Scene};
use crate::error::{Diagnostic, Result};

/// Material keys that mean something for a lattice.
const KNOWN: [&str; 20] = [
    "surface_tension",
    "preset",
    "young",
    "poisson",
    "density",
    "damping",
    "friction",
    "viscosity",
    "break_strain",
    "scatter",
    "yield_bound",
    "melt_rate",
    "freeze_rate",
    "nucleation",
    "conductivity",
    "specific_heat",
    "specific_heat_liquid",
    "latent_heat",
    "solidus",
    "liquidus",
];
/// Those that mean something for a lattice only.
const LATTICE_ONLY: [&str; 6] = ["surface_tension", "scatter", "yield_bound", "melt_rate", "freeze_rate", "nucleation"];
/// Damping of a lattice without one of its own [1/s]: local motion dies in a tenth of a second, bounces stay.
const DAMPING: f64 = 10.0;

/// Keys of lattices in the material of another body.
pub(super) fn refuse_lattice_keys(material: &Table) -> Result<()> {
    match LATTICE_ONLY.into_iter().find(|key| material.has(key)) {
        None => Ok(()),
        Some(key) => {
            let fault = material.fault_of(key, format!("`{key}` has a meaning for lattices only"));
            Err(fault.hint("model = \"lattice\", or leave it out").into())
        }
    }
}

/// The keys of a lattice; what it cannot have is refused or, from a preset, left out.
pub(super) fn read_lattice_keys(table: &Table, material: &mut MaterialSpec) -> Result<()> {
    let unknown = table.section.all_keys().map(|k| k.name).find(|k| !KNOWN.contains(k) && table.has(k));
    if let Some(key) = unknown {
        return Err(table.fault_of(key, format!("`{key}` has no effect on a lattice")).hint("leave it out").into());
    }
    let usual = LatticeSpec::default();
    let number = |key: &str, otherwise: f64| table.maybe_number(key).map(|x| x.unwrap_or(otherwise));
    let lattice = LatticeSpec {
        break_strain: table.maybe_number("break_strain")?,
        scatter: number("scatter", usual.scatter)?,
        yield_bound: number("yield_bound", usual.yield_bound)?,
        poisson: read_poisson(table)?,
        melt_rate: number("melt_rate", usual.melt_rate)?,
        freeze_rate: number("freeze_rate", usual.freeze_rate)?,
        nucleation: number("nucleation", usual.nucleation)?,
        surface_tension: number("surface_tension", usual.surface_tension)?,
    };
    *material = MaterialSpec {
        preset: material.preset.take(),
        young: material.young,
        poisson: lattice.poisson,
        density: material.density,
        damping: number("damping", DAMPING)?,
        friction: material.friction,
        viscosity: material.viscosity,
        conductivity: material.conductivity,
        specific_heat: material.specific_heat,
        specific_heat_liquid: material.specific_heat_liquid,
        latent_heat: material.latent_heat,
        solidus: material.solidus,
        liquidus: material.liquidus,
        lattice: Some(lattice),
        ..MaterialSpec::default()
    };
    Ok(())
}

/// Poisson's ratio, where it is written: presets have that of other models.
fn read_poisson(table: &Table) -> Result<f64> {
    let poisson = if table.has("poisson") { table.maybe_number("poisson")?.unwrap_or(0.0) } else { 0.0 };
    if poisson < 0.0 {
        let fault = table.fault_of("poisson", format!("a lattice cannot have a Poisson's ratio of {poisson}"));
        return Err(fault.expected("0 to below 0.5").into());
    }
    Ok(poisson)
}

/// `dimensions` and `phase` of a body.
pub(super) fn check_plane(table: &Table, body: &BodySpec) -> Result<()> {
    if body.model != ModelKind::Lattice {
        let key = if body.dimensions == 2 { "dimensions" } else { "phase" };
        if body.dimensions == 2 || body.phase != Phase::Solid {
            let fault = table.fault_of(key, format!("`{key}` has a meaning for lattices only"));
            return Err(fault.hint("model = \"lattice\", or leave it out").into());
        }
        return Ok(());
    }
    if body.dimensions == 2 && (body.rotate.x != 0.0 || body.rotate.y != 0.0) {
        let fault = table.fault_of("rotate", "a body in a plane turns about z only");
        return Err(fault.expected("[0, 0, angle]").into());
    }
    Ok(())
}

/// What scenes with lattices cannot have.
pub(super) fn check_lattices(top: &Table, scene: &Scene) -> Result<()> {
    let lattices = || scene.bodies.iter().filter(|b| b.model == ModelKind::Lattice);
    let Some(first) = lattices().next() else { return Ok(()) };
    let flat = lattices().find(|b| b.dimensions == 2);
    if let Some(flat) = flat
        && let Some(other) = scene.bodies.iter().find(|b| b.dimensions != 2)
    {
        let what = format!("'{}' lies in a plane and '{}' does not", flat.name, other.name);
        return Err(top.fault_of("body", what).expected("dimensions = 2 for all bodies, or for none").into());
    }
    if let Some(other) = lattices().find(|b| matches!((b.spacing, first.spacing), (Some(a), Some(c)) if a != c)) {
        let what = format!("'{}' and '{}' have different spacings", first.name, other.name);
        return Err(top.fault_of("body", what).expected("one spacing for all lattices of a scene").into());
    }
    for (k, event) in scene.events.iter().enumerate() {
        let EventAction::Set { body, set } = &event.action else { continue };
        let mut rest = **set;
        (rest.young, rest.density, rest.damping, rest.friction, rest.viscosity) = (None, None, None, None, None);
        (rest.conductivity, rest.specific_heat, rest.specific_heat_liquid) = (None, None, None);
        (rest.latent_heat, rest.solidus, rest.liquidus) = (None, None, None);
        if lattices().any(|b| b.name == *body) && rest != Default::default() {
            let what =
                "an event may change young, density, damping, friction, viscosity and the keys of heat of a lattice";
            return Err(Diagnostic::new(what).key(format!("event[{k}]")).hint("leave the others out").into());
        }
    }
    Ok(())
}
