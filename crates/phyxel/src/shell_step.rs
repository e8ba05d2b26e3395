//! The velocity phase of a step in which shells are integrated implicitly.

use crate::contact::ContactConstraint;
use crate::models::mls::implicit::Held;
use crate::models::shell::Surroundings;
use crate::models::shell::implicit::Touch;
use crate::world::World;
use glam::{BVec3, DVec3};

/// Times a step is solved again because points came to touch something that was not in their way before.
const ROUNDS: usize = 2;
/// What points would meet in so many steps is in their way: stiff sheets push them further than their own motion says.
const AHEAD: f64 = 2.0;

impl World {
    /// Phase: velocities at the end of the step. What pins and colliders give is booked here.
    pub(crate) fn solve_shells(&mut self, dt: f64) {
        let start = self.points.velocities.clone();
        let mut held = std::mem::take(&mut self.scratch.constraints.held);
        self.gather_pins(dt, &mut held);
        // Where points go without the shell: what they meet there is in their way.
        let points = &mut self.points;
        for i in 0..points.len() {
            points.velocities[i] += dt * (self.scene.gravity + points.forces[i] / points.masses[i]);
        }
        let mut found = std::mem::take(&mut self.scratch.contacts);
        self.colliders.constraints(&self.points, AHEAD * dt, &mut found);
        found.iter_mut().filter(|c| c.min_normal_velocity < 0.0).for_each(|c| c.min_normal_velocity *= AHEAD);
        let mut reactions = std::mem::take(&mut self.scratch.internal);
        reactions.resize(self.points.len(), DVec3::ZERO);
        let (mut touches, mut again) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            touches.clear();
            touches.extend(found.iter().map(touch));
            self.points.velocities.copy_from_slice(&start);
            let around = Surroundings { dt, gravity: self.scene.gravity, held: &held, touches: &touches };
            self.shells.solve(&mut self.points, &around, &mut reactions);
            self.colliders.constraints(&self.points, dt, &mut again);
            let known = |c: &ContactConstraint| found.iter().any(|f| (f.point, f.collider) == (c.point, c.collider));
            again.retain(|c| !known(c));
            if again.is_empty() {
                break;
            }
            found.append(&mut again);
            found.sort_by_key(|c| (c.point, c.collider));
        }
        let external = self.scratch.external.iter().zip(&self.points.velocities);
        self.work += dt * external.map(|(f, v)| f.dot(*v)).sum::<f64>();
        self.scratch.external.clear();
        self.book_reactions(&held, &found, &reactions);
        self.points.forces.fill(DVec3::ZERO);
        self.scratch.constraints.held = held;
        self.scratch.contacts = found;
        self.scratch.internal = reactions;
    }

    /// Impulses and work of pins and colliders.
    pub(crate) fn book_reactions(&mut self, held: &[Held], found: &[ContactConstraint], reactions: &[DVec3]) {
        let points = &self.points;
        let mut next = held.iter();
        for pin in self.pins.iter_mut().filter(|p| p.is_active(self.time)) {
            for held in next.by_ref().take(pin.points.len()) {
                let impulse = DVec3::select(BVec3::from(held.axes), reactions[held.point], DVec3::ZERO);
                pin.impulse += impulse;
                self.work += impulse.dot(points.velocities[held.point]);
            }
        }
        let mut last = None;
        for contact in found {
            let i = contact.point as usize;
            // A point between two colliders is pressed by both; all of it is counted at the first.
            if last == Some(i) || reactions[i] == DVec3::ZERO || held.iter().any(|h| h.point == i) {
                continue;
            }
            last = Some(i);
            self.collider_impulses[contact.collider as usize] += reactions[i];
            // Springs against the collider give way a little: nothing is worked by what does not move.
            let v = points.velocities[i];
            let moves = v - contact.normal * contact.normal.dot(v - contact.collider_velocity);
            self.work += reactions[i].dot(moves);
        }
    }
}

/// What stands in the way of a point.
pub(crate) fn touch(contact: &ContactConstraint) -> Touch {
    Touch {
        point: contact.point as usize,
        normal: contact.normal,
        minimum_speed: contact.min_normal_velocity + contact.collider_velocity.dot(contact.normal),
        friction: contact.friction,
        collider_velocity: contact.collider_velocity,
        stiffness: 0.0,
    }
}
