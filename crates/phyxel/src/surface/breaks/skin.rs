//! Surfels of the skin beside cracks: each side has its part of them.

use super::local::{Border, Local, border, owner};
use super::{Breaks, OVER, Part};
use glam::DVec3;

/// Least width along a border of the part beyond it, in the whole width.
const NARROW: f64 = 0.35;

impl Breaks {
    /// What becomes of a surfel of the whole surface: its own part, then that beyond a border; None: it stays as it was.
    pub(super) fn cut(&self, s: usize) -> Option<Vec<Part>> {
        let scarred = |&i: &u32| self.links.scarred[i as usize];
        if !self.whole.carrying(s).iter().any(scarred) {
            return None;
        }
        let rest = self.whole.rest();
        let part = Part {
            position: rest.positions[s].as_dvec3(),
            axis_u: rest.axes_u[s].as_dvec3(),
            axis_v: rest.axes_v[s].as_dvec3(),
            normal: rest.normals[s].as_dvec3(),
            color: rest.colors.get(s).copied().unwrap_or([128; 3]),
            carriers: self.whole.bonds(s),
        };
        let local = Local::at(part.position, &self.links);
        if local.count < 2 {
            return None;
        }
        let mut shares = Vec::new();
        local.shares(part.position, &self.links, &mut shares);
        let own = owner(&shares);
        let edge = border(&shares, own, None, part.normal)?;
        let foreign = part.carriers.iter().any(|(i, _)| local.group_of(*i) != Some(own));
        let cuts = edge.way < (1.0 - OVER) * part.extent(edge.across);
        if !foreign && !cuts {
            return None;
        }
        let carriers = self.carriers(part.position, &local, own);
        let beyond = edge.beyond.filter(|_| cuts).and_then(|_| self.beyond(&part, edge, &local));
        let part = Part { carriers, ..part }.before(edge);
        Some(std::iter::once(part).chain(beyond).collect())
    }

    /// The part of a surfel beyond the border of its side.
    fn beyond(&self, part: &Part, edge: Border, local: &Local) -> Option<Part> {
        let extent = part.extent(edge.across);
        let inside = edge.way / extent;
        let middle: DVec3 = part.position + 0.5 * (edge.way + extent) * edge.across;
        let mut shares = Vec::new();
        local.shares(middle, &self.links, &mut shares);
        let group = owner(&shares);
        let mut other = Part {
            carriers: self.carriers(middle, local, group),
            color: part.color,
            ..Part { carriers: Vec::new(), ..*part }
        };
        let width = (1.0 - inside * inside).sqrt().max(NARROW);
        other.reshape(edge.across, (edge.way - OVER * extent, extent), width);
        (Some(group) == edge.beyond).then_some(other)
    }
}
