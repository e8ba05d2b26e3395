//! What is shown of embedded matter.

use super::model::EmbeddedModel;
use super::svd::Svd;
use crate::linalg::outer;
use crate::materials::von_mises;
use crate::points::Points;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Fields of the points that the model writes: slices over the whole table.
pub struct Fields<'a> {
    /// Largest principal Green strain of the elastic deformation.
    pub strain: &'a mut [f32],
    /// Von Mises stress [Pa].
    pub stress: &'a mut [f32],
    /// Volume ratio.
    pub volume_ratio: &'a mut [f32],
    /// Accumulated plastic strain.
    pub plastic: &'a mut [f32],
}

impl EmbeddedModel {
    /// Writes the fields of embedded points at the present positions. The volume ratio is that of the elastic deformation, and of
    /// the density the more matter has flowed: its volume strain is then with the pressure.
    pub fn write_fields(&mut self, points: &Points, fields: &mut Fields) {
        if self.is_empty() {
            return;
        }
        self.find_densities(points);
        for part in &mut self.parts {
            part.load(points);
            let Some(matter) = part.matter else { continue };
            let densities = self.crowd.densities.get(part.first..part.first + part.memories.len());
            let one = |k: usize| {
                let memory = &part.memories[k];
                let svd = Svd::new(part.elastic(k, points));
                let ratio = svd.sigma.x * svd.sigma.y * svd.sigma.z;
                let green = 0.5 * (svd.sigma * svd.sigma - DVec3::ONE);
                // Cauchy stress from the principal Piola-Kirchhoff stress.
                let cauchy = matter.principal_stress(svd.sigma) * svd.sigma / ratio.abs().max(1e-3);
                let crowded = densities.map_or(1.0, |d| 1.0 / f64::from(d[k]).max(1.0));
                [
                    green.abs().max_element(),
                    von_mises(DMat3::from_diagonal(cauchy)),
                    ratio * (1.0 + memory.flowed() * (crowded - 1.0)),
                    memory.flow,
                ]
            };
            let all: Vec<[f64; 4]> = (0..part.memories.len()).into_par_iter().with_min_len(256).map(one).collect();
            for i in part.range.end..part.slots_end {
                (fields.strain[i], fields.stress[i], fields.volume_ratio[i], fields.plastic[i]) = (0.0, 0.0, 1.0, 0.0);
            }
            for (i, values) in part.range.clone().zip(all) {
                fields.strain[i] = values[0] as f32;
                fields.stress[i] = values[1] as f32;
                fields.volume_ratio[i] = values[2] as f32;
                fields.plastic[i] = values[3] as f32;
            }
        }
    }

    /// Writes the gradient of the present over the first positions, for what rides on the points; `neighbors` gives those of a point at
    /// rest with their weights.
    pub fn write_deformations<'a, I>(&self, points: &Points, neighbors: impl Fn(usize) -> I + Sync, out: &mut [DMat3])
    where
        I: Iterator<Item = (usize, f64)> + 'a,
    {
        for part in &self.parts {
            let first = part.range.start;
            out[part.range.clone()].par_iter_mut().with_min_len(256).enumerate().for_each(|(k, out)| {
                let i = first + k;
                let (mut moved, mut moment) = (DMat3::ZERO, DMat3::ZERO);
                for (j, w) in neighbors(i) {
                    let rest = points.rest_positions[j] - points.rest_positions[i];
                    moved += outer(points.positions[j] - points.positions[i], rest * w);
                    moment += outer(rest, rest * w);
                }
                let (inverse, rank) = crate::linalg::safe_inverse(moment, 1e-6);
                *out = if rank == 3 { moved * inverse } else { DMat3::IDENTITY };
            });
        }
    }

    /// How much each point has flowed, 0 to 1, into a slice over the whole table; others stay as they are.
    pub fn write_flowed(&self, out: &mut [f32]) {
        for part in &self.parts {
            for (k, i) in part.range.clone().enumerate() {
                out[i] = part.memories[k].flowed() as f32;
            }
        }
    }

    /// Whether a body of the world is embedded and some of it has flowed enough to be seen.
    pub fn has_flowed(&self, body: usize) -> bool {
        self.part(body).is_some_and(|p| p.memories.iter().any(|m| m.flow > 0.02))
    }

    /// Embedded position of a point of the world's table [m]; None when it is not embedded.
    pub fn embedded_position(&self, i: usize) -> Option<DVec3> {
        let part = self.parts.iter().find(|p| p.range.contains(&i))?;
        Some(part.embedded[i - part.range.start])
    }
}
