//! The velocity phase of a step in which lattices are integrated implicitly.

use crate::models::lattice::implicit::Surroundings;
use crate::models::shell::implicit::Touch;
use crate::shell_step::touch;
use crate::world::World;
use glam::DVec3;

/// What points would meet in so many steps is in their way: a stiff body pushes them further than their own motion says.
const AHEAD: f64 = 2.0;

impl World {
    /// Phase: velocities that solid lattices move with. What pins and colliders give is booked here.
    pub(crate) fn solve_lattice(&mut self, dt: f64) {
        let mut held = std::mem::take(&mut self.scratch.constraints.held);
        self.gather_pins(dt, &mut held);
        let mut found = std::mem::take(&mut self.scratch.contacts);
        self.colliders.constraints(&self.points, AHEAD * dt, &mut found);
        found.iter_mut().filter(|c| c.min_normal_velocity < 0.0).for_each(|c| c.min_normal_velocity *= AHEAD);
        let mut reactions = std::mem::take(&mut self.scratch.internal);
        reactions.resize(self.points.len(), DVec3::ZERO);
        let touches: Vec<Touch> = found.iter().map(touch).collect();
        self.lattice.solve(&mut self.points, &Surroundings { dt, held: &held, touches: &touches }, &mut reactions);
        self.book_reactions(&held, &found, &reactions);
        self.scratch.constraints.held = held;
        self.scratch.contacts = found;
        self.scratch.internal = reactions;
    }
}
