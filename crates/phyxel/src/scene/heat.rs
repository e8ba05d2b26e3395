//! What heats and cools bodies, as written in the scene.

use glam::DVec3;
use serde::Serialize;

/// `[air]`: what surrounds all bodies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AirSpec {
    /// Temperature [K].
    pub temperature: f64,
    /// Heat exchange with surfaces [W/(m² K)].
    pub exchange: f64,
}

/// `[[heat]]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatSpec {
    /// What kind.
    pub kind: HeatKind,
    /// Start [s].
    pub from: f64,
    /// End [s]; None: never.
    pub until: Option<f64>,
}

/// `heat.kind` with its keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum HeatKind {
    /// Heat spread over a region by mass.
    Power {
        /// Body.
        body: String,
        /// Region.
        region: String,
        /// Sum over the region [W]; below 0 it cools.
        power: f64,
    },
    /// A region at a held temperature.
    Held {
        /// Body.
        body: String,
        /// Region.
        region: String,
        /// Temperature [K].
        temperature: f64,
    },
    /// Light that heats the surfaces it falls on, wherever they move.
    Lamp {
        /// Body; None: all.
        body: Option<String>,
        /// Heat per area across the light [W/m²].
        flux: f64,
        /// The way the light goes, a unit vector.
        direction: DVec3,
        /// A place on the axis of the beam [m].
        center: DVec3,
        /// Radius of the beam [m]; None: no bounds.
        radius: Option<f64>,
    },
}
