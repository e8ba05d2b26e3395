//! Reads materials: presets, what was written over them, and the checks of physics.

use super::keys::MATERIAL;
use super::read_embedded::{read_embedded_keys, refuse_embedded_keys};
use super::read_heat::check_thermal;
use super::read_lattice::{read_lattice_keys, refuse_lattice_keys};
use super::read_shell::{read_shell_keys, refuse_shell_keys};
use super::reader::Table;
use super::suggest::{closest, one_of};
use super::tree::{Node, Origin, Value};
use super::{Anisotropy, MaterialChange, MaterialSpec, ModelKind};
use crate::error::Result;
use crate::materials::Stiffness;
use crate::materials::presets::{self, Preset};
use glam::DMat3;

/// `material` of a body, with preset and defaults filled in.
pub(super) fn read_material(body: &Table, model: ModelKind) -> Result<MaterialSpec> {
    // An empty table takes all defaults.
    let empty = Node { value: Value::Table(Vec::new()), origin: Origin::Default };
    let table = match body.table("material")? {
        Some(table) => table,
        None => Table::open(&empty, body.path_of("material"), &MATERIAL, body.file)?,
    };
    let preset = read_preset(&table)?;
    let from_preset = |value: fn(&Preset) -> f64| preset.map(value);
    let heat = preset.and_then(|p| p.heat);
    let solidus = table.maybe_number("solidus")?.or(heat.map(|h| h.melts[0]));
    // Of a preset whose solidus is written higher the liquidus must not stay below.
    let liquidus_of_preset = heat.map(|h| h.melts[1].max(solidus.unwrap_or(0.0)));
    let mut material = MaterialSpec {
        preset: preset.map(|p| p.name.to_string()),
        young: table.number_or("young", from_preset(|p| p.young))?,
        poisson: table.number_or("poisson", from_preset(|p| p.poisson))?,
        density: table.number_or("density", from_preset(|p| p.density))?,
        damping: table.number_or("damping", from_preset(|p| p.damping))?,
        smoothing: table.number("smoothing")?,
        friction: table.number("friction")?,
        volume_stiffness: table.number("volume_stiffness")?,
        collapse_stiffness: table.maybe_number("collapse_stiffness")?,
        collapse_ratio: table.number("collapse_ratio")?,
        control: table.maybe_number("control")?,
        yield_strain: table.number_or("yield_strain", from_preset(|p| p.plastic[0]))?,
        creep: table.number_or("creep", from_preset(|p| p.plastic[1]))?,
        max_plastic_strain: table.number("max_plastic_strain")?,
        melt_young: table.number_or("melt_young", from_preset(|p| p.melt[0]))?,
        melt_creep: table.number_or("melt_creep", from_preset(|p| p.melt[1]))?,
        viscosity: table.number_or("viscosity", from_preset(|p| p.melt[2]))?,
        cohesion: table.number_or("cohesion", from_preset(|p| p.melt[3]))?,
        conductivity: table.maybe_number("conductivity")?.or(heat.map(|h| h.conductivity)),
        specific_heat: table.number_or("specific_heat", heat.map(|h| h.specific[0]))?,
        specific_heat_liquid: table.maybe_number("specific_heat_liquid")?.or(heat.map(|h| h.specific[1])),
        latent_heat: table.number_or("latent_heat", heat.map(|h| h.latent))?,
        solidus,
        liquidus: table.maybe_number("liquidus")?.or(liquidus_of_preset),
        anisotropy: None,
        shell: None,
        lattice: None,
        embedded: None,
    };
    check_poisson(&table, material.poisson)?;
    check_thermal(&table, &material)?;
    material.anisotropy = match table.table("anisotropy")? {
        Some(inner) => Some(read_anisotropy(&inner)?),
        None => grain_of_preset(&table, preset, material.young)?,
    };
    if let (Some(anisotropy), false) = (&material.anisotropy, table.has("young")) {
        material.young = anisotropy.largest_modulus();
    }
    match model {
        ModelKind::Mls => {
            refuse_shell_keys(&table)?;
            refuse_lattice_keys(&table)?;
            refuse_embedded_keys(&table)?;
        }
        ModelKind::Shell => read_shell_keys(&table, &mut material)?,
        ModelKind::Embedded => read_embedded_keys(&table, &mut material)?,
        ModelKind::Lattice => read_lattice_keys(&table, &mut material)?,
    }
    Ok(material)
}

fn read_preset(table: &Table) -> Result<Option<&'static Preset>> {
    let Some(name) = table.maybe_text("preset")? else { return Ok(None) };
    let known = || presets::PRESETS.iter().map(|p| p.name);
    let found = presets::find(&name).ok_or_else(|| {
        let mut fault = table.fault_of("preset", format!("there is no preset \"{name}\"")).expected(one_of(known()));
        fault.hint = closest(&name, known()).map(|n| format!("\"{n}\""));
        fault
    })?;
    Ok(Some(found))
}

/// The stress is infinite at 0.5 and negative beyond.
fn check_poisson(table: &Table, poisson: f64) -> Result<()> {
    let fault = |what: String| table.fault_of("poisson", what).expected("a number above -1 and below 0.5");
    if poisson >= 0.5 {
        let what = format!(
            "a Poisson's ratio of {poisson} is not possible: at 0.5 the resistance to volume change is infinite"
        );
        return Err(fault(what).hint("0.49, which is nearly incompressible").into());
    }
    if poisson <= -1.0 {
        let what = format!("a Poisson's ratio of {poisson} is not possible: at -1 the resistance to shear is infinite");
        return Err(fault(what).into());
    }
    Ok(())
}

/// The preset's grain, scaled so that its largest modulus is `young`.
fn grain_of_preset(table: &Table, preset: Option<&Preset>, young: f64) -> Result<Option<Anisotropy>> {
    let Some((preset, grain)) = preset.and_then(|p| Some((p, p.anisotropy.clone()?))) else { return Ok(None) };
    if table.has("poisson") {
        let what = format!("`poisson` has no effect: the preset \"{}\" has one ratio per direction", preset.name);
        return Err(table
            .fault_of("poisson", what)
            .hint("give `anisotropy` with its own ratios, or leave it out")
            .into());
    }
    // The same bits if nothing is to be scaled.
    let factor = if young == preset.young { 1.0 } else { young / preset.young };
    Ok(Some(grain.scaled(factor)))
}

fn read_anisotropy(table: &Table) -> Result<Anisotropy> {
    let rotate = table.vector("rotate")?;
    let triple = |key: &str| -> Result<Option<[f64; 3]>> { Ok(table.maybe_numbers(key)?.map(|v| [v[0], v[1], v[2]])) };
    let anisotropy = match table.exactly_one(&["young", "stiffness"])? {
        "young" => {
            let missing = || table.fault_of("shear", "`shear` is missing").expected("shear moduli xy, yz, zx");
            Anisotropy::Orthotropic {
                young: triple("young")?.unwrap_or_default(),
                poisson: triple("poisson")?.unwrap_or_default(),
                shear: triple("shear")?.ok_or_else(missing)?,
                rotate,
            }
        }
        _ => {
            if let Some(key) = ["poisson", "shear"].into_iter().find(|k| table.has(k)) {
                return Err(table
                    .fault_of(key, format!("`{key}` has no effect beside `stiffness`"))
                    .hint("leave it out")
                    .into());
            }
            Anisotropy::Full { stiffness: table.maybe_numbers("stiffness")?.unwrap_or_default(), rotate }
        }
    };
    if !(1e-6..=1e13).contains(&anisotropy.largest_modulus()) || !is_positive_definite(&anisotropy) {
        let fault = table.fault("this stiffness would give energy away: it is not positive definite");
        return Err(fault
            .expected("moduli above 0 and at most 1e13 Pa, and ratios with nu_ij^2 < E_i/E_j that together keep the volume finite")
            .hint("smaller Poisson's ratios")
            .into());
    }
    Ok(anisotropy)
}

/// Keys of `material` that an event changes.
pub(super) fn read_change(event: &Table, material: &MaterialSpec) -> Result<MaterialChange> {
    let Some(table) = event.table("set")? else { return Ok(MaterialChange::default()) };
    let written = |key| table.maybe_number(key);
    let change = MaterialChange {
        young: written("young")?,
        poisson: written("poisson")?,
        density: written("density")?,
        damping: written("damping")?,
        smoothing: written("smoothing")?,
        friction: written("friction")?,
        volume_stiffness: written("volume_stiffness")?,
        collapse_stiffness: written("collapse_stiffness")?,
        collapse_ratio: written("collapse_ratio")?,
        control: written("control")?,
        yield_strain: written("yield_strain")?,
        creep: written("creep")?,
        max_plastic_strain: written("max_plastic_strain")?,
        melt_young: written("melt_young")?,
        melt_creep: written("melt_creep")?,
        viscosity: written("viscosity")?,
        cohesion: written("cohesion")?,
        conductivity: written("conductivity")?,
        specific_heat: written("specific_heat")?,
        specific_heat_liquid: written("specific_heat_liquid")?,
        latent_heat: written("latent_heat")?,
        solidus: written("solidus")?,
        liquidus: written("liquidus")?,
    };
    if let Some(poisson) = change.poisson {
        check_poisson(&table, poisson)?;
        if material.anisotropy.is_some() {
            let what = "`poisson` has no effect: the body has one ratio per direction";
            return Err(table.fault_of("poisson", what).hint("leave it out; `young` scales all moduli").into());
        }
    }
    if change.is_thermal() && material.is_thermal() {
        let mut changed = material.clone();
        changed.change(&change);
        check_thermal(&table, &changed)?;
    }
    Ok(change)
}

/// Whether the stiffness stores energy at every strain.
fn is_positive_definite(anisotropy: &Anisotropy) -> bool {
    let positive = match anisotropy {
        Anisotropy::Orthotropic { young, shear, .. } => young.iter().chain(shear).all(|m| *m > 0.0),
        Anisotropy::Full { .. } => true,
    };
    positive && Stiffness::anisotropic(anisotropy, DMat3::IDENTITY).is_ok()
}
