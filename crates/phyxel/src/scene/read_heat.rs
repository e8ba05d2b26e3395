//! Reads what heats and cools bodies: thermal keys of materials, the air, sources of heat.

use super::read_world::{body_names, check_until, read_region_name, reject};
use super::reader::Table;
use super::suggest::one_of;
use super::*;
use crate::error::Result;

/// Thermal keys of a material beside `conductivity`.
const THERMAL: [&str; 5] = ["specific_heat", "specific_heat_liquid", "latent_heat", "solidus", "liquidus"];

/// Thermal keys must make sense together. `table` is where they are written.
pub(super) fn check_thermal(table: &Table, material: &MaterialSpec) -> Result<()> {
    if !material.is_thermal() {
        let written = THERMAL.into_iter().find(|k| table.has(k));
        return written.map_or(Ok(()), |key| Err(no_conductivity(table, key).into()));
    }
    if material.solidus.is_none() {
        let idle = ["liquidus", "latent_heat", "specific_heat_liquid"].into_iter().find(|k| table.has(k));
        if let Some(key) = idle {
            let fault = table.fault_of(key, format!("`{key}` has no effect: the matter never melts"));
            return Err(fault.hint("give `solidus`, the temperature at which it begins to melt").into());
        }
    }
    match (material.solidus, material.liquidus) {
        (Some(solidus), Some(liquidus)) if liquidus < solidus => {
            let what = format!("a liquidus of {liquidus} K lies below the solidus of {solidus} K");
            Err(table.fault_of("liquidus", what).expected("a temperature not below `solidus`").into())
        }
        _ => Ok(()),
    }
}

/// A key that asks for heat of a body that has none.
pub(super) fn no_conductivity(table: &Table, key: &str) -> crate::error::Diagnostic {
    table
        .fault_of(key, format!("`{key}` has no effect: the body takes no part in heat"))
        .hint("give its material a `conductivity`, such as \"0.2 W/m/K\"")
}

pub(super) fn read_air(top: &Table) -> Result<Option<AirSpec>> {
    let Some(table) = top.table("air")? else { return Ok(None) };
    Ok(Some(AirSpec { temperature: table.number("temperature")?, exchange: table.number("exchange")? }))
}

pub(super) fn read_heat(table: &Table, scene: &Scene) -> Result<HeatSpec> {
    let body = table.maybe_reference("body", "body", &body_names(scene))?;
    if let Some(name) = &body {
        check_body(table, scene, name)?;
    }
    let missing = |key: &str, example: &str| table.fault_of(key, format!("`{key}` is missing")).expected(example);
    let place = |of: &str| -> Result<(String, String)> {
        reject(table, &["flux", "direction", "center", "radius"], of)?;
        let body = body.clone().ok_or_else(|| missing("body", &one_of(body_names(scene))))?;
        let region = read_region_name(table, "region", scene, &body)?.unwrap_or_else(|| "all".into());
        Ok((body, region))
    };
    let kind = match table.choice("kind")? {
        "power" => {
            let of = "a source of kind \"power\"";
            reject(table, &["temperature"], of)?;
            let (body, region) = place(of)?;
            let power = table.maybe_number("power")?.ok_or_else(|| missing("power", "such as \"50 W\""))?;
            HeatKind::Power { body, region, power }
        }
        "held" => {
            let of = "a source of kind \"held\"";
            reject(table, &["power"], of)?;
            let (body, region) = place(of)?;
            let temperature = table.maybe_number("temperature")?;
            let temperature = temperature.ok_or_else(|| missing("temperature", "such as \"80 degC\""))?;
            HeatKind::Held { body, region, temperature }
        }
        _ => {
            reject(table, &["power", "temperature", "region"], "a lamp")?;
            HeatKind::Lamp {
                flux: table.maybe_number("flux")?.ok_or_else(|| missing("flux", "such as \"2 kW/m^2\""))?,
                direction: if table.has("direction") { table.direction("direction")? } else { DVec3::NEG_Y },
                center: table.maybe_vector("center")?.unwrap_or(DVec3::ZERO),
                radius: table.maybe_number("radius")?,
                body,
            }
        }
    };
    let (from, until) = (table.number("from")?, table.maybe_number("until")?);
    check_until(table, from, until)?;
    Ok(HeatSpec { kind, from, until })
}

/// The body named by `body` must take part in heat.
pub(super) fn check_body(table: &Table, scene: &Scene, name: &str) -> Result<()> {
    match scene.bodies.iter().find(|b| b.name == name && !b.material.is_thermal()) {
        Some(_) => Err(table
            .fault_of("body", format!("the body \"{name}\" takes no part in heat"))
            .hint("give its material a `conductivity`, such as \"0.2 W/m/K\"")
            .into()),
        None => Ok(()),
    }
}
