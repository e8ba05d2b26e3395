//! Four fibers side by side, and the nodes they belong to, as the evaluation reads them.

use crate::models::shell::lanes::{LANES, Lane, Stored, StoredVector};
use crate::models::shell::law::FiberTerm;
use crate::models::shell::network::Fiber;
use glam::DVec3;

/// One part of the energy for four fibers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Terms {
    pub(super) tensor: StoredVector,
    pub(super) plain: StoredVector,
    pub(super) response: StoredVector,
    pub(super) residual: Stored,
}

/// Four fibers of one center; what is missing has no weight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    /// Places of the ends among the neighbors.
    pub(super) ends: [[u8; LANES]; 2],
    /// First knot spacing, and the inverses of both.
    pub(super) h1: Stored,
    pub(super) inverse: [Stored; 2],
    /// 1 / (rest length)² [1/m²].
    pub(super) inverse_rest2: Stored,
    /// Rest length [m].
    pub(super) rest_lengths: Stored,
    /// Rest angle [rad].
    pub(super) rest_angle: Stored,
    /// Curvature per angle [1/m].
    pub(super) per_turn: Stored,
    pub(super) membrane: Terms,
    pub(super) bending: Terms,
}

/// One node with its fibers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Center {
    /// Its own number.
    pub(super) node: u32,
    /// First neighbor and their number.
    pub(super) first: u32,
    pub(super) neighbors: u16,
    pub(super) groups: u16,
    pub(super) first_group: u32,
    pub(super) closed: bool,
    /// Stiffness of mean and deviator, of membrane and bending [J].
    pub(super) membrane: [f64; 2],
    pub(super) bending: [f64; 2],
    /// Square of the strain in that of `Stiffening` per energy, of membrane and bending [1/J]; 0: stiffness stays.
    pub(super) per_energy: [f64; 2],
}

/// Up to four fibers of one center, before they are packed.
pub(super) struct FiberData<'a> {
    pub(super) fibers: &'a [Fiber],
    pub(super) lengths: &'a [f64],
    pub(super) angles: &'a [f64],
    pub(super) curvature_lengths: &'a [f64],
    pub(super) membrane: &'a [FiberTerm],
    pub(super) bending: &'a [FiberTerm],
}

impl Group {
    pub(super) fn new(data: &FiberData) -> Self {
        // Lanes without a fiber measure the first one again and have no weight.
        let first = &data.fibers[0];
        let mut group = Self {
            ends: first.ends.map(|end| [end; LANES]),
            h1: Stored::splat(first.knots.h1),
            inverse: [Stored::splat(1.0 / first.knots.h1), Stored::splat(1.0 / first.knots.h2)],
            ..Self::default()
        };
        for (lane, fiber) in data.fibers.iter().enumerate() {
            group.ends[0][lane] = fiber.ends[0];
            group.ends[1][lane] = fiber.ends[1];
            group.h1.0[lane] = fiber.knots.h1;
            group.inverse[0].0[lane] = 1.0 / fiber.knots.h1;
            group.inverse[1].0[lane] = 1.0 / fiber.knots.h2;
            group.inverse_rest2.0[lane] = 1.0 / (data.lengths[lane] * data.lengths[lane]);
            group.rest_lengths.0[lane] = data.lengths[lane];
            group.rest_angle.0[lane] = data.angles[lane];
            group.per_turn.0[lane] = 1.0 / data.curvature_lengths[lane];
            group.membrane.set(lane, &data.membrane[lane]);
            group.bending.set(lane, &data.bending[lane]);
        }
        group
    }
}

impl Center {
    /// Where its groups are.
    pub(super) fn group_range(&self) -> std::ops::Range<usize> {
        self.first_group as usize..self.first_group as usize + usize::from(self.groups)
    }
}

impl Group {
    /// Rest lengths and angles now; lanes without a fiber have zeros.
    pub(super) fn rest(&self) -> [Stored; 2] {
        [self.rest_lengths, self.rest_angle]
    }

    pub(super) fn set_rest(&mut self, [lengths, angles]: [Stored; 2]) {
        self.rest_lengths = lengths;
        self.rest_angle = angles;
        self.inverse_rest2 = Lane(lengths.0.map(|l| if l > 0.0 { 1.0 / (l * l) } else { 0.0 }));
    }

    /// Rest lengths, rest angles and curvature lengths; lanes without a fiber have zeros, and those that do not count for bending no
    /// curvature length.
    pub(super) fn originals(&self) -> [Stored; 3] {
        let mut turns = Stored::ZERO;
        for k in (0..LANES).filter(|&k| self.per_turn.0[k] > 0.0) {
            let term = self.bending.get(k);
            let counts = term.residual > 0.0 || term.tensor != DVec3::ZERO;
            turns.0[k] = if counts { 1.0 / self.per_turn.0[k] } else { 0.0 };
        }
        [self.rest_lengths, self.rest_angle, turns]
    }
}

impl Terms {
    pub(super) fn set(&mut self, lane: usize, term: &FiberTerm) {
        for (to, from) in
            [(&mut self.tensor, term.tensor), (&mut self.plain, term.plain), (&mut self.response, term.response)]
        {
            (to.x.0[lane], to.y.0[lane], to.z.0[lane]) = (from.x, from.y, from.z);
        }
        self.residual.0[lane] = term.residual;
    }

    pub(super) fn get(&self, lane: usize) -> FiberTerm {
        let vector = |v: &StoredVector| DVec3::new(v.x.0[lane], v.y.0[lane], v.z.0[lane]);
        FiberTerm {
            tensor: vector(&self.tensor),
            plain: vector(&self.plain),
            response: vector(&self.response),
            residual: self.residual.0[lane],
        }
    }
}
