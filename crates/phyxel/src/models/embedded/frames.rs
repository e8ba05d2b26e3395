//! Where the past of embedded space points in the world, point by point.
//!
//! Matter that flows is anchored in the world (`renewal`), turned back into embedded space by a rotation. Points that have not flowed
//! keep the way they lie in embedded space, so beside them that rotation is theirs: one rotation for a whole piece would set flowed
//! matter askew against firm matter that has turned, and what firm points would have to give up in between is stretched
//! neighborhoods and energy from nowhere. Far from firm matter all rotations are the mean of the piece, so that neighborhoods fit together.

use super::guards::{Guard, on};
use super::part::Part;
use super::state::Memory;
use super::stencils::CHUNK;
use super::svd::nearest_rotation;
use glam::{DMat3, DQuat, Quat};
use rayon::prelude::*;

/// How strongly the mean of the piece counts at a point that has flowed, against its neighbors.
const MEAN: f32 = 0.02;
/// Passes over the points per renewal; the next renewal goes on where this one ended.
const PASSES: usize = 4;

/// Half of the angle below which a point turns with its piece [rad].
const STILL: f64 = 1e-3;

/// What one point brings to the averages.
#[derive(Clone, Copy)]
struct Own {
    rotation: Quat,
    flowed: f32,
}

impl Part {
    /// The rotation from embedded space to the world at each point; `means` are those of the pieces.
    pub(super) fn frames(&mut self, labels: &[u32], means: &[DMat3]) -> Vec<DMat3> {
        let backs: Vec<DQuat> = means.iter().map(|m| DQuat::from_mat3(m).inverse()).collect();
        let own = |i: usize| {
            let memory = &self.memories[i];
            let flowed = memory.flowed() as f32;
            let turned = match flowed < 1.0 {
                true => {
                    backs[labels[i] as usize]
                        * DQuat::from_mat3(&nearest_rotation(self.fits[i].rotation * memory.plastic))
                }
                false => DQuat::IDENTITY,
            };
            Own { rotation: turned.as_quat(), flowed }
        };
        let owns: Vec<Own> = (0..self.len()).into_par_iter().with_min_len(CHUNK).map(own).collect();
        let still = |m: &Memory| m.flowed() >= 1.0 && m.frame.xyz().length_squared() < STILL * STILL;
        if self.memories.iter().all(still) || !on(Guard::Frames) {
            return labels.iter().map(|&label| means[label as usize]).collect();
        }
        let mut frames: Vec<Quat> = self.memories.iter().zip(&owns).map(|(m, o)| start(m, o)).collect();
        let mut next = frames.clone();
        let stencils = &self.stencils;
        for _ in 0..PASSES {
            next.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(i, next)| {
                let (own, at) = (&owns[i], frames[i]);
                if own.flowed == 0.0 {
                    return;
                }
                let (mut sum, mut weight) = (Quat::from_xyzw(0.0, 0.0, 0.0, 0.0), 0.0);
                for (j, w) in stencils.of(i) {
                    sum += aligned(frames[j], at) * w;
                    weight += w;
                }
                let near = if weight > 0.0 { sum * (1.0 / weight) } else { at };
                let far = aligned(Quat::IDENTITY, at);
                let free = near * (1.0 - MEAN) + far * MEAN;
                let mixed = aligned(own.rotation, at) * (1.0 - own.flowed) + free * own.flowed;
                let size = mixed.length();
                *next = if size > 1e-3 { mixed * (1.0 / size) } else { at };
            });
            std::mem::swap(&mut frames, &mut next);
        }
        for (memory, frame) in self.memories.iter_mut().zip(&frames) {
            memory.frame = frame.as_dquat().normalize();
        }
        let world = |(memory, &label): (&Memory, &u32)| means[label as usize] * DMat3::from_quat(memory.frame);
        self.memories.iter().zip(labels).map(world).collect()
    }
}

fn start(memory: &Memory, own: &Own) -> Quat {
    if own.flowed == 0.0 { own.rotation } else { memory.frame.as_quat() }
}

/// The same rotation with the sign that is nearer to another.
#[inline]
fn aligned(q: Quat, to: Quat) -> Quat {
    if q.dot(to) < 0.0 { -q } else { q }
}
