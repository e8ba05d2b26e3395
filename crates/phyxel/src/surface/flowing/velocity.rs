//! Velocities of the surface.

use super::{Carried, Element, FlowingSurface, NONE, Span};
use crate::surface::Surfels;
use glam::Vec3;

impl FlowingSurface {
    /// Whether a body has surfels or vertices that are still where the solid carries them.
    pub fn follows_solid(&self, body: u32) -> bool {
        let coats = self.coats.iter().flat_map(|c| &c.vertices);
        self.elements.iter().chain(coats).any(|e| e.body == body && e.origin != NONE)
    }

    /// Surfels and vertices that the solid carries move as it does: half a spacing off its host the velocity of a body that turns is another.
    pub(super) fn move_as_solids(&mut self, carried: &[Option<Carried>]) {
        let take = |e: &mut Element, given: Option<&Surfels>| {
            let own = given.filter(|_| e.origin != NONE).and_then(|s| s.velocities.get(e.origin as usize));
            e.velocity = own.copied().unwrap_or(e.velocity);
        };
        let solid = |body: u32| carried.get(body as usize).and_then(|c| c.as_ref());
        self.elements.iter_mut().for_each(|e| take(e, solid(e.body).map(|c| c.surfels)));
        for coat in &mut self.coats {
            let vertices = solid(coat.body).and_then(|c| c.coat).map(|c| c.vertices);
            coat.vertices.iter_mut().for_each(|e| take(e, vertices));
        }
    }
}

impl Element {
    /// Makes its velocity that of its whole way since the last frame; `way` [m] is that since the last update.
    pub(super) fn note_way(&mut self, way: Vec3, span: Span) {
        let (earlier, now) = (span.earlier as f32, span.now as f32);
        self.velocity = (earlier * self.velocity + way) / (earlier + now);
    }
}
