//! Scene to heat: which bodies take part, what is around them, what heats them.

use super::conduction::REACH;
use super::geometry::{Geometry, Matters, Outside};
use super::network::HeatState;
use super::source::{Lamp, Source, SourceKind};
use super::{Heat, LONGEST_INTERVAL, Melting, NONE, RUNS_PER_FRAME, Supplied, ThermalLaw};
use crate::body::Body;
use crate::points::Points;
use crate::scene::{HeatKind, HeatSpec, MaterialSpec, Scene};

impl ThermalLaw {
    /// The law of a material; None when it takes no part in heat.
    pub fn of(material: &MaterialSpec) -> Option<Self> {
        let conductivity = material.conductivity?;
        let melting = material.solidus.map(|solidus| Melting {
            solidus,
            // An event may have raised one of both alone.
            liquidus: material.liquidus.unwrap_or(solidus).max(solidus),
            latent_heat: material.latent_heat,
        });
        Some(Self {
            conductivity,
            specific_heat: material.specific_heat,
            specific_heat_liquid: material.specific_heat_liquid.unwrap_or(material.specific_heat),
            melting,
        })
    }
}

impl Heat {
    /// The heat of a scene's world; None when no body takes part. `contact_radii` are the distances at which points
    /// touch colliders [m].
    pub fn new(scene: &Scene, bodies: &[Body], points: &Points, contact_radii: &[f64]) -> Option<Self> {
        let mut heat = Self {
            slots: vec![NONE; points.len()],
            members: Vec::new(),
            kinds_of_bodies: vec![NONE; bodies.len()],
            laws: Vec::new(),
            masses: Vec::new(),
            matter: Matters { flat: scene.bodies.iter().any(|b| b.dimensions == 2), ..Matters::default() },
            outside: outside(scene),
            sources: Vec::new(),
            state: HeatState::default(),
            geometry: Geometry::default(),
            stable_step: f64::INFINITY,
            interval: LONGEST_INTERVAL.min(1.0 / (RUNS_PER_FRAME * scene.fps)),
            elapsed: 0.0,
            runs: 0,
            start: 0.0,
            supplied: Supplied::default(),
            positions: Vec::new(),
            powers: Vec::new(),
        };
        for (b, (body, spec)) in bodies.iter().zip(&scene.bodies).enumerate() {
            if let Some(law) = ThermalLaw::of(&body.material) {
                heat.add_body(b, body, law, points, contact_radii);
                heat.state.enthalpies.resize(heat.members.len(), law.enthalpy(spec.temperature));
            }
        }
        if heat.members.is_empty() {
            return None;
        }
        heat.state.update(&heat.matter.kinds, &heat.laws);
        heat.sources = scene.heats.iter().filter_map(|spec| heat.source(spec, bodies)).collect();
        heat.start = heat.content();
        Some(heat)
    }

    fn add_body(&mut self, b: usize, body: &Body, law: ThermalLaw, points: &Points, contact_radii: &[f64]) {
        let (kind, matter) = (self.laws.len() as u32, &mut self.matter);
        self.kinds_of_bodies[b] = kind;
        self.laws.push(law);
        for i in body.range.clone() {
            self.slots[i] = self.members.len() as u32;
            self.members.push(i as u32);
            self.masses.push(points.masses[i]);
            matter.volumes.push(points.volumes[i]);
            matter.spacings.push(points.spacings[i]);
            matter.radii.push(REACH * points.spacings[i]);
            matter.contact_radii.push(contact_radii.get(i).copied().unwrap_or(0.5 * points.spacings[i]));
            matter.conductivities.push(law.conductivity);
            matter.kinds.push(kind);
            matter.labels.push(b as u32);
        }
    }

    /// The source of a scene's table; None where its body takes no part in heat.
    fn source(&self, spec: &HeatSpec, bodies: &[Body]) -> Option<Source> {
        let body_of = |name: &str| bodies.iter().position(|b| b.name == name);
        let slots = |body: &str, region: &str| -> Option<Vec<u32>> {
            let region = bodies[body_of(body)?].region(region)?;
            let slots: Vec<u32> = region.points.iter().map(|&i| self.slots[i as usize]).collect();
            (!slots.contains(&NONE)).then_some(slots)
        };
        let kind = match &spec.kind {
            HeatKind::Power { body, region, power } => SourceKind::Power(slots(body, region)?, *power),
            HeatKind::Held { body, region, temperature } => SourceKind::Held(slots(body, region)?, *temperature),
            HeatKind::Lamp { body, flux, direction, center, radius } => {
                let kind = match body {
                    Some(body) => Some(self.kinds_of_bodies[body_of(body)?]),
                    None => None,
                };
                SourceKind::Lamp(Lamp { kind, flux: *flux, direction: *direction, center: *center, radius: *radius })
            }
        };
        Some(Source { kind, from: spec.from, until: spec.until.unwrap_or(f64::INFINITY) })
    }
}

fn outside(scene: &Scene) -> Outside {
    let has_lamp = scene.heats.iter().any(|h| matches!(h.kind, HeatKind::Lamp { .. }));
    let held = |temperature: f64, exchange: Option<f64>| (temperature, exchange.unwrap_or(f64::INFINITY));
    Outside {
        walls: scene.colliders.iter().map(|c| Some(held(c.temperature?, c.exchange))).collect(),
        air: scene.air.map(|a| (a.temperature, a.exchange)),
        needs_areas: scene.air.is_some() || has_lamp,
    }
}
