//! Ends of cracks inside the body: a plate across each, or one would look in between the faces where matter is stretched.

use super::local::Local;
use super::{Breaks, NEXT, Part};
use glam::DVec3;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Half-axis of a plate, and how far it lies before the pair that still holds [spacings].
const WIDE: f64 = 0.6;
const BEFORE: f64 = 0.2;
/// Pairs per parallel task.
const CHUNK: usize = 64;

impl Breaks {
    /// A plate at each pair that still holds beside pairs that are open; `faces` must have run.
    pub(super) fn tips(&self) -> Vec<Part> {
        let open: Vec<[u32; 2]> = self.known.iter().filter(|(_, (_, spots))| !spots.is_empty()).map(|p| *p.0).collect();
        let found: Vec<Vec<([u32; 2], DVec3)>> =
            open.par_iter().with_min_len(CHUNK).map(|pair| self.holding_beside(*pair)).collect();
        // The way from each pair to the open ones around it.
        let mut ways: BTreeMap<[u32; 2], DVec3> = BTreeMap::new();
        for (pair, way) in found.into_iter().flatten() {
            *ways.entry(pair).or_default() += way;
        }
        ways.into_iter().filter_map(|(pair, way)| self.plate(pair, way)).collect()
    }

    /// Pairs that still hold one side of an open pair to the other, with the way from their middle to its middle [m].
    fn holding_beside(&self, open: [u32; 2]) -> Vec<([u32; 2], DVec3)> {
        let links = &self.links;
        let place = |i: u32| links.places[i as usize];
        let middle = |[i, j]: [u32; 2]| 0.5 * (place(i) + place(j));
        let mut found = Vec::new();
        for i in links.intact(open[0] as usize).chain([open[0]]) {
            for j in links.intact(i as usize).filter(|&j| place(i).distance(place(j)) < NEXT * links.spacing) {
                if j == open[1] || links.is_intact(open[1] as usize, j) {
                    found.push(([i.min(j), i.max(j)], middle(open) - middle([i, j])));
                }
            }
        }
        found
    }

    /// The plate before a pair, facing along a way.
    fn plate(&self, pair: [u32; 2], way: DVec3) -> Option<Part> {
        let links = &self.links;
        let [a, b] = pair.map(|i| links.places[i as usize]);
        let along = (b - a).try_normalize()?;
        let normal = (way - along * along.dot(way)).try_normalize()?;
        let position = 0.5 * (a + b) + BEFORE * links.spacing * normal;
        let local = Local::at(position, links);
        let group = local.group_of(pair[0])?;
        let half = WIDE * links.spacing;
        let part = Part {
            position,
            axis_u: half * along,
            axis_v: half * normal.cross(along),
            normal,
            color: self.inner.unwrap_or_else(|| self.color_near(position)),
            carriers: self.carriers(position, &local, group),
        };
        let outline = self.outline(position, normal).filter(|_| self.shape.distance(position) < 0.0)?;
        Some(part.before(outline))
    }
}
