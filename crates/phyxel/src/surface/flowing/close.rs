//! Closes the surface of matter that has turned solid: from then on nothing would fill what is open.

use super::{Element, FlowingSurface, NONE};
use crate::neighbors::Grid;
use crate::surface::plates::plates;
use glam::DVec3;

impl FlowingSurface {
    /// Puts plates behind slits between surfels when the last matter has turned solid, and carries everything from there on.
    pub(super) fn close(&mut self) {
        if self.anchors.is_empty() || !self.scratch.hardened.iter().any(|h| *h) {
            return;
        }
        let bodies: Vec<u32> = self.joined.iter().map(|j| j.body).collect();
        let (_, surfels) = self.surfels_of(&bodies);
        let places: Vec<DVec3> = self.elements.iter().map(|e| e.position.as_dvec3()).collect();
        let spacing = bodies.iter().map(|&b| self.spacing(b)).fold(f32::INFINITY, f32::min);
        let grid = Grid::new(&places, 2.0 * f64::from(spacing));
        for plate in plates(&surfels, spacing) {
            let Some((beside, _)) = grid.nearest(plate.position.as_dvec3()) else { continue };
            let beside = self.elements[beside];
            // What has never flowed is as it was made.
            if beside.origin != NONE {
                continue;
            }
            let id = self.counters.next_id;
            self.counters.next_id = id.wrapping_add(1);
            let (position, normal) = (plate.position, plate.normal);
            let (axis_u, axis_v) = (plate.axis_u, plate.axis_v);
            let plain = Element { contact: 0.0, blend: 0.0, stray: 0, grown: 1, winding: 0.5, ..beside };
            self.elements.push(Element { position, normal, axis_u, axis_v, id, ..plain });
        }
        self.anchors.clone_from(&self.scratch.positions);
        let all = self.elements.iter_mut().chain(self.coats.iter_mut().flat_map(|c| &mut c.vertices));
        all.filter(|e| e.origin == NONE).for_each(Element::take_anchor);
    }
}
