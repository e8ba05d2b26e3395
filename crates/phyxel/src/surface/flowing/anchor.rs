//! Surfels of matter that has flowed and is solid again.
//!
//! While some matter flows surfels are carried from frame to frame, and each frame costs them a little. Once all is solid they are carried
//! from where they were when it became so: nothing adds up, and a print moves with its body as it was taken.

use super::motion::{Before, Motion};
use super::{Element, FlowingSurface, NONE};
use glam::Vec3;

impl FlowingSurface {
    /// Takes down where everything was at the last frame, if all matter has become solid since; forgets it where some flows.
    pub(super) fn anchor(&mut self) {
        if !self.newcomers.is_empty() || self.marks.iter().any(|m| m.is_flowing()) || !self.all_detailed() {
            self.anchors.clear();
        } else if self.anchors.is_empty() {
            self.anchors.clone_from(&self.last);
            self.take_anchors();
        }
    }

    /// Does so again at the end of the frame in which the last matter has become solid: surfels have come and gone in it.
    pub(super) fn anchor_anew(&mut self) {
        if !self.anchors.is_empty() && self.scratch.hardened.iter().any(|h| *h) {
            self.anchors.clone_from(&self.scratch.positions);
            self.take_anchors();
        }
    }

    fn take_anchors(&mut self) {
        let all = self.elements.iter_mut().chain(self.coats.iter_mut().flat_map(|c| &mut c.vertices));
        all.filter(|e| e.origin == NONE).for_each(Element::take_anchor);
    }

    /// Surfaces without detail fade wherever matter has flowed, also when it is solid.
    fn all_detailed(&self) -> bool {
        self.joined.iter().all(|j| j.detail != 0)
    }

    /// How the points moved since the last frame, or since they were anchored.
    pub(super) fn motion(&self) -> Motion {
        let s = &self.scratch;
        let (spacings, flow, labels) = (&s.spacings, &s.flow, &s.labels);
        let (positions, old_labels) = match self.anchors.is_empty() {
            true => (&self.last, &s.old_labels),
            false => (&self.anchors, labels),
        };
        Motion::new(Before { positions, spacings, flow, labels, old_labels }, &s.positions)
    }
}

impl Element {
    /// Takes down where it is.
    fn take_anchor(&mut self) {
        self.anchor = [self.position, self.axis_u, self.axis_v, self.normal];
    }

    /// Goes back to where it was anchored; says where that is [m].
    pub(super) fn return_to_anchor(&mut self) -> Vec3 {
        [self.position, self.axis_u, self.axis_v, self.normal] = self.anchor;
        self.position
    }
}
