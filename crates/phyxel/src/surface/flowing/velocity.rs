//! Velocities of surface whose matter is solid.

use super::{Carried, Element, FlowingSurface, NONE};
use crate::surface::Surfels;

impl FlowingSurface {
    /// Whether a body has surfels or vertices that are still where the solid carries them.
    pub fn follows_solid(&self, body: u32) -> bool {
        let coats = self.coats.iter().flat_map(|c| &c.vertices);
        self.elements.iter().chain(coats).any(|e| e.body == body && e.origin != NONE)
    }

    /// Surfels and vertices that the solid carries move as it does, and so do those of a body that has just joined, as solid until now: half a
    /// spacing off its host the velocity of a body that turns is another.
    pub(super) fn move_as_solids(&mut self, carried: &[Option<Carried>]) {
        let solid = |body: u32| carried.get(body as usize).and_then(|c| c.as_ref());
        let newcomers = &self.newcomers;
        let take = |e: &mut Element, number: u32, given: Option<&Surfels>| {
            let number = if newcomers.contains(&e.body) { number } else { e.origin };
            let own = given.and_then(|s| s.velocities.get(number as usize));
            e.velocity = own.copied().unwrap_or(e.velocity);
        };
        // The surfels of a body that has just joined lie in the order of its carrier.
        let mut numbers = vec![0; carried.len()];
        for e in &mut self.elements {
            let Some(next) = numbers.get_mut(e.body as usize) else { continue };
            take(e, *next, solid(e.body).map(|c| c.surfels));
            *next += 1;
        }
        for coat in &mut self.coats {
            let vertices = solid(coat.body).and_then(|c| c.coat).map(|c| c.vertices);
            coat.vertices.iter_mut().zip(0..).for_each(|(e, v)| take(e, v, vertices));
        }
    }
}
