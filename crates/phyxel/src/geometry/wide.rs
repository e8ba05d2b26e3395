//! The open space of wider surroundings, by its moments: what a nook needs to be told how far matter around it has come.
//!
//! No point gets into a nook, so no density is known in it. But matter has come to some level around it, and that goes on into the nook: what is
//! full (1 where matter is, 0 elsewhere) is fitted by a linear function over all that balls can fill around a place, as moving least squares do.
//! The fit needs the zeroth to second moments of the open space, which are known beforehand, and the zeroth and first ones of the points.
//!
//! With the weight (1 - r²/R²)³, R = 4 spacings. Lengths are in R, so that all moments are numbers from 0 to 1.

use super::nooks::{MARGIN, corners};
use glam::{DMat3, DVec3, Vec3};

/// Radius of the wider surroundings [spacings].
pub const WIDE: f64 = 4.0;
/// Nodes between those whose moments are known, and how many there are along the side of a brick.
pub(super) const APART: usize = 2;
const KNOWN: usize = 5;
/// Part of the spread that open space on all sides has (1/11) that is added to what there is, so that slopes which hardly anything tells are small.
const SPREAD: f64 = 0.3 / 11.0;
/// Points are not nearer to a wall than this [spacings].
const NEAREST: f32 = 0.45;
/// Room for matter at a wall is looked for up to this far away [nodes].
const SEARCH: isize = 4;
/// Less open space than the first tells nothing, more than the second tells all.
const TELLS: (f64, f64) = (0.002, 0.01);

/// Moments around a place: the sum, the three first and the six second ones (xx, yy, zz, xy, xz, yz) [radii].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments([f32; 10]);

impl Moments {
    /// Of no open space.
    pub const ZERO: Self = Self([0.0; 10]);

    /// All of them, with a part of the space.
    pub fn scaled(mut self, part: f64) -> Self {
        self.0.iter_mut().for_each(|m| *m *= part as f32);
        self
    }

    /// The same after a turn of the space.
    pub fn turned(&self, turn: DMat3) -> Self {
        let [all, x, y, z, xx, yy, zz, xy, xz, yz] = self.0.map(f64::from);
        let first = turn * DVec3::new(x, y, z);
        let second = DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz));
        let [x, y, z] = (turn * second * turn.transpose()).to_cols_array_2d();
        let found = [all, first.x, first.y, first.z, x[0], y[1], z[2], x[1], x[2], y[2]];
        Self(found.map(|m| m as f32))
    }

    /// How full the place is if the points around it have that sum of volumes and first moment, and how far that is to be trusted, 0 ..= 1.
    pub fn fullness(&self, sum: f64, first: DVec3) -> (f64, f64) {
        let [all, x, y, z, xx, yy, zz, xy, xz, yz] = self.0.map(f64::from);
        let middle = DVec3::new(x, y, z);
        let second = [DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz)];
        let spread =
            DMat3::from_cols(second[0], second[1], second[2]) + DMat3::from_diagonal(DVec3::splat(SPREAD * all));
        let slant = spread.inverse() * middle;
        let rest = all - slant.dot(middle);
        let trust = ((all - TELLS.0) / (TELLS.1 - TELLS.0)).clamp(0.0, 1.0);
        if trust > 0.0 && rest > 0.0 { ((sum - slant.dot(first)) / rest, trust) } else { (0.0, 0.0) }
    }
}

/// Weight of what is that far away, squared [radii²].
pub fn wide_weight(q2: f64) -> f64 {
    (1.0 - q2).max(0.0).powi(3)
}

/// What all weights around a place sum up to [radii³].
pub const WIDE_SUM: f64 = 64.0 * std::f64::consts::PI / 315.0;

/// Matter at a node, where a point would have it [nodes], and how much of the node is free.
type Room = (Vec3, f32);

/// Where points would be if all were full: matter at a node that is nearer to the wall than a point can be is that of the nearest node that is not.
/// From how free the nodes of a cube are, 0 ..= 1, and how far from the wall [spacings]; it has `side` nodes along each axis.
pub(super) fn rooms(nodes: impl Fn(usize) -> (f32, f32), side: usize) -> Vec<Room> {
    let around = around();
    let mut rooms = Vec::new();
    for k in 0..side * side * side {
        let own = [k % side, k / side % side, k / (side * side)].map(|x| x as isize);
        let (free, distance) = nodes(k);
        let is_room = |step: &&[isize; 3]| {
            let at = [0, 1, 2].map(|a| own[a] + step[a]);
            let inner = at.iter().all(|&x| x >= 0 && x < side as isize);
            inner && nodes(((at[2] * side as isize + at[1]) * side as isize + at[0]) as usize).1 >= NEAREST
        };
        if free > 0.0 {
            let step = if distance < NEAREST { around.iter().find(is_room) } else { Some(&[0; 3]) };
            rooms.extend(step.map(|step| (Vec3::from_array([0, 1, 2].map(|a| (own[a] + step[a]) as f32)), free)));
        }
    }
    rooms
}

/// Steps to the nodes around one, the nearest first.
fn around() -> Vec<[isize; 3]> {
    let range = -SEARCH..=SEARCH;
    let plane = |z: isize| range.clone().flat_map(move |y| (-SEARCH..=SEARCH).map(move |x| [x, y, z]));
    let square = |s: &[isize; 3]| s.iter().map(|x| x * x).sum::<isize>();
    let mut all: Vec<[isize; 3]> = range.clone().flat_map(plane).filter(|s| square(s) <= SEARCH * SEARCH).collect();
    all.sort_by_key(square);
    all
}

/// Moments at the nodes of a brick that are `APART`, as far as they are `asked` [cells]. `rooms` are those of a cube of nodes whose first one is
/// `MARGIN` + 1 before that of the brick.
pub(super) fn moments(rooms: &[Room], asked: impl Fn([usize; 3]) -> bool) -> Box<[Moments]> {
    let all = (MARGIN as f64).powi(3) * WIDE_SUM;
    let one = |n: usize| {
        let cell = [n % KNOWN, n / KNOWN % KNOWN, n / (KNOWN * KNOWN)].map(|x| x * APART);
        if !asked(cell) {
            return Moments::ZERO;
        }
        let own = Vec3::from_array(cell.map(|x| (x + 1 + MARGIN) as f32));
        let mut sums = [0.0; 10];
        for &(place, free) in rooms {
            let r = (place - own) / MARGIN as f32;
            let q2 = r.length_squared();
            if q2 < 1.0 {
                let (w, r) = (wide_weight(f64::from(q2)) * f64::from(free) / all, r.as_dvec3());
                let s = w * r;
                let terms = [w, s.x, s.y, s.z, s.x * r.x, s.y * r.y, s.z * r.z, s.x * r.y, s.x * r.z, s.y * r.z];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
        }
        Moments(sums.map(|s| s as f32))
    };
    (0..KNOWN * KNOWN * KNOWN).map(one).collect()
}

/// The moments at a place in a brick [cells].
pub(super) fn moments_at(known: &[Moments], at: DVec3) -> Moments {
    let at = at / APART as f64;
    let corner = at.floor().min(DVec3::splat((KNOWN - 2) as f64)).max(DVec3::ZERO);
    let part = (at - corner).as_vec3();
    let [i, j, k] = corner.to_array().map(|x| x as usize);
    let mut found = Moments::default();
    for ([x, y, z], weight) in corners(part) {
        let node = &known[((k + z) * KNOWN + j + y) * KNOWN + i + x];
        found.0.iter_mut().zip(node.0).for_each(|(sum, m)| *sum += weight * m);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Combined, Cuboid, Openness, Operation, Placed, Pose, Shape};
    use std::sync::Arc;

    fn block(size: DVec3, at: DVec3) -> Arc<dyn Shape> {
        Arc::new(Placed::new(Arc::new(Cuboid::new(size, 0.0)), Pose { translation: at, ..Pose::IDENTITY }))
    }

    /// A shaft, 2 wide below y = 0 and 7 above, with a slot 0.7 wide in its wall at x = -1.5; spacing 1.
    fn shaft() -> (Arc<dyn Shape>, Openness) {
        let all = block(DVec3::splat(24.0), DVec3::ZERO);
        let below = block(DVec3::new(2.0, 20.0, 7.0), DVec3::new(-0.5, -8.0, 0.0));
        let above = block(DVec3::new(7.0, 20.0, 7.0), DVec3::new(2.0, 10.0, 0.0));
        let slot = block(DVec3::new(4.0, 20.0, 0.7), -2.0 * DVec3::X);
        let shape: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Difference, vec![all, below, above, slot], 0.0));
        let openness = Openness::new(&shape, 1.0);
        (shape, openness)
    }

    /// How full the slot is, 1 deep and at a height, if points fill the shaft up to a level.
    fn fullness(height: f64, level: f64) -> f64 {
        let (shape, openness) = shaft();
        let place = DVec3::new(-2.5, height, 0.0);
        let open = openness.at(place);
        assert!((open.depth - 1.0).abs() < 0.4, "{}", open.depth);
        let (mut sum, mut first) = (0.0, DVec3::ZERO);
        for k in 0..20 * 20 * 8 {
            let own = DVec3::new(f64::from(k % 20) - 9.0, f64::from(k / 20 % 20) - 9.5, f64::from(k / 400) - 3.0);
            if shape.distance(own) > 0.4 && own.y < level {
                let r = (own - place) / WIDE;
                let w = wide_weight(r.length_squared()) / WIDE_SUM / WIDE.powi(3);
                (sum, first) = (sum + w, first + w * r);
            }
        }
        let (full, trust) = open.wide.fullness(sum, first);
        assert_eq!(trust, 1.0);
        full
    }

    #[test]
    fn moments_turn_with_the_space() {
        let turn = DMat3::from_rotation_z(0.7) * DMat3::from_rotation_x(0.4);
        let open = shaft().1.at(DVec3::new(-2.5, 0.4, 0.0)).wide;
        let first = DVec3::new(0.03, -0.02, 0.01);
        let (here, there) = (open.fullness(0.1, first), open.turned(turn).fullness(0.1, turn * first));
        assert!((here.0 - there.0).abs() < 1e-5 && (here.0 - open.fullness(0.1, turn * first).0).abs() > 0.01);
    }

    #[test]
    fn a_slot_is_as_full_as_what_is_around_it() {
        assert_eq!(fullness(-1.0, -9.0), 0.0);
        // Points in rows are a little nearer than matter is on the mean.
        let full = fullness(-1.0, 9.0);
        assert!((0.9..1.4).contains(&full), "{full}");
        // Where the shaft widens, too, the level is that of the matter beside it.
        for level in [-2.0, 0.0, 2.0] {
            let [above, at, below] = [1.5, 0.0, -1.5].map(|d| fullness(level + d, level) / fullness(level + d, 9.0));
            assert!(above < 0.3 && (0.35..0.65).contains(&at) && below > 0.7, "{level}: {above} {at} {below}");
        }
    }
}
