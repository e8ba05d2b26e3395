//! `patches` of a body: regions of a shell whose matter is stiffer or thicker than the rest.

use super::reader::Table;
use super::{BodySpec, ModelKind, RegionSpec, ShellEnergy};
use crate::error::Result;
use serde::Serialize;

/// A region of a shell with a stiffness and a thickness of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchSpec {
    /// Name of the region.
    pub region: String,
    /// Stiffness in that of the material.
    pub stiffness: f64,
    /// Thickness in that of the material.
    pub thickness: f64,
}

/// Reads `patches`, which name regions of the body.
pub(super) fn read_patches(table: &Table, body: &BodySpec) -> Result<Vec<PatchSpec>> {
    let tensor = body.material.shell.is_some_and(|s| s.law == ShellEnergy::Tensor);
    if table.has("patches") && (body.model != ModelKind::Shell || !tensor) {
        let fault = table.fault_of("patches", "patches are for shells with law = \"tensor\"");
        return Err(fault.hint("several bodies, or leave it out").into());
    }
    let known: Vec<&str> = body.regions.iter().map(|r: &RegionSpec| r.name.as_str()).chain(["all"]).collect();
    let one = |table: Table| {
        Ok(PatchSpec {
            region: table.reference("region", "region", &known)?,
            stiffness: table.number("stiffness")?,
            thickness: table.number("thickness")?,
        })
    };
    table.tables("patches")?.into_iter().map(one).collect()
}
