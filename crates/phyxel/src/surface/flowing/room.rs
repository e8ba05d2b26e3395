//! Whether matter fills a place on the wall of a mold.
//!
//! The density beside the share of the surroundings that points could fill tells (`walls.rs`): the ground of a groove is filled when its mouth is.
//! Matter that has come to rest may have left a pocket that points would fit into but have not found: that is filled too.

use super::field::Field;
use super::mold::Mold;
use super::near::Near;
use super::walls::Walls;
use glam::{DVec3, Vec3};

/// Matter that has come to rest is as near to the wall as its points can be: there a dent is what has this density, too, at this distance
/// [spacings] on so many of eight sides.
const BESIDE: (f32, f32) = (0.1, 1.2);
const SIDES: usize = 6;

/// Matter of a piece between molds.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub field: &'a Field,
    pub molds: &'a [Mold<'a>],
    /// Those that are near.
    pub walls: Walls<'a>,
    /// The piece, and the distance of its points [m].
    pub label: u32,
    pub spacing: f64,
    /// Whether it hardly moves.
    pub calm: bool,
}

impl Room<'_> {
    /// Whether a place on a wall [m] is filled: it has the least density, or it is a dent, if these count. `outward` is the wall's normal.
    pub fn is_filled(&self, (wall, outward): (DVec3, DVec3), least: f32, dents: bool, lists: &mut Near) -> bool {
        self.density(wall.as_vec3(), lists) >= least
            || (dents && self.calm && self.is_enclosed(wall.as_vec3(), outward.as_vec3(), lists))
    }

    fn density(&self, p: Vec3, lists: &mut Near) -> f32 {
        self.field.density_at(p, self.label, self.walls, lists)
    }

    /// Whether there is matter on nearly all sides of a place on a wall.
    fn is_enclosed(&self, wall: Vec3, outward: Vec3, lists: &mut Near) -> bool {
        let (x, y) = outward.any_orthonormal_pair();
        let (diagonal, other) = ((x + y).normalize(), (x - y).normalize());
        let (least, away) = (BESIDE.0, BESIDE.1 * self.spacing as f32);
        let ways = [x, y, diagonal, other].into_iter().flat_map(|way| [way, -way]);
        ways.filter(|way| self.density(wall + away * *way, lists) >= least).count() >= SIDES
    }
}
