//! Whether matter fills a place on the wall of a mold.
//!
//! On a plane wall the density of points and echoes tells. Points keep half a spacing from each wall, though, and do not get into relief
//! narrower than that: the density stays low there, and dents would be left in a full mold. So it is asked how many of the places around where a
//! point could be have one: the ground of a groove is filled when its mouth is.

use super::field::{Field, ISO};
use super::mold::Mold;
use super::near::Near;
use glam::{DVec3, Vec3};

/// Below this density a place has no matter near, wherever points could be.
const BARE: f32 = 0.02;
/// Places where a point could be are looked for within this distance, and this far apart [spacings].
const RADIUS: f64 = 2.0;
const STEP: f64 = 0.6;
/// Steps to each side.
const STEPS: i32 = 3;
/// A point could be where all molds are farther than this [spacings]; places less than `SOFT` farther count in part.
const FITS: f64 = 0.4;
const SOFT: f64 = 0.5;
/// Points per place from which it is a dent and not the rim of the matter. At a full plane wall there are 3.2, because the outermost points stand
/// for what is nearer to the wall too; at its rim half of that.
const FULL: f64 = 2.4;
/// A dent has matter before it, at one of these distances from the wall [spacings]; beyond the rim of the matter there is none.
const BEFORE: [f64; 3] = [0.4, 0.8, 1.2];

/// Matter that has come to rest is as near to the wall as its points can be: there a dent is what has this density, too, at this distance
/// [spacings] on so many of eight sides.
const BESIDE: (f32, f32) = (0.1, 1.2);
const SIDES: usize = 6;

/// Matter of a piece between molds.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub field: &'a Field,
    pub molds: &'a [Mold<'a>],
    /// The piece, and the distance of its points [m].
    pub label: u32,
    pub spacing: f64,
    /// Whether it hardly moves.
    pub calm: bool,
}

impl Room<'_> {
    /// Whether a place on a wall [m] is filled: it has the least density, or it is a dent, if these count. `outward` is the wall's normal.
    pub fn is_filled(&self, (wall, outward): (DVec3, DVec3), least: f32, dents: bool, lists: &mut Near) -> bool {
        let mut density = |way: f64| self.field.density_at((wall + way * outward).as_vec3(), self.label, lists);
        let known = density(0.0);
        if known >= least || known < BARE || !dents {
            return known >= least;
        }
        let before = BEFORE.into_iter().any(|way| density(way * self.spacing) >= ISO);
        (before && self.occupied(wall) >= FULL)
            || (self.calm && self.is_enclosed(wall.as_vec3(), outward.as_vec3(), lists))
    }

    /// Whether there is matter on nearly all sides of a place on a wall.
    fn is_enclosed(&self, wall: Vec3, outward: Vec3, lists: &mut Near) -> bool {
        let (x, y) = outward.any_orthonormal_pair();
        let (diagonal, other) = ((x + y).normalize(), (x - y).normalize());
        let (least, away) = (BESIDE.0, BESIDE.1 * self.spacing as f32);
        let ways = [x, y, diagonal, other].into_iter().flat_map(|way| [way, -way]);
        ways.filter(|way| self.field.density_at(wall + away * *way, self.label, lists) >= least).count() >= SIDES
    }

    /// Points per place where one could be, around a place [m]; 0 where none fits.
    fn occupied(&self, p: DVec3) -> f64 {
        let radius = RADIUS * self.spacing;
        let nearest = |place: DVec3| self.molds.iter().map(|m| m.about(place)).fold(f64::INFINITY, f64::min);
        let fits = |place: DVec3| ((nearest(place) / self.spacing - FITS) / SOFT).clamp(0.0, 1.0);
        let mut places = 0.0;
        for z in -STEPS..=STEPS {
            for y in -STEPS..=STEPS {
                for x in -STEPS..=STEPS {
                    let offset = STEP * self.spacing * DVec3::new(f64::from(x), f64::from(y), f64::from(z));
                    let weight = 1.0 - offset.length_squared() / (radius * radius);
                    if weight > 0.0 {
                        places += STEP.powi(3) * weight.powi(3) * fits(p + offset);
                    }
                }
            }
        }
        if places > 0.0 { self.field.crowd(p, self.label, radius) / places } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points one spacing apart wherever they fit between the molds, below a level; spacing 1.
    fn poured(molds: &[Mold], level: f64) -> Field {
        let mut points = Vec::new();
        for i in 0..13 * 13 * 13 {
            let p = DVec3::new(f64::from(i % 13) - 6.0, f64::from(i / 13 % 13) - 5.5, f64::from(i / 169) - 6.0);
            if p.y < level && molds.iter().all(|m| m.about(p) > 0.49) {
                points.push(p);
            }
        }
        let mut field = Field::default();
        field.build(&points, &vec![1.0; points.len()], &vec![0; points.len()], &[], 0.2);
        field
    }

    fn mold<'a>(probe: super::super::Probe<'a>) -> [Mold<'a>; 1] {
        [Mold { probe, still: true, rough: None, stain: None }]
    }

    #[test]
    fn a_groove_narrower_than_points_is_filled_when_its_mouth_is() {
        // A floor at y = -6 with a groove along z, 0.8 wide.
        for depth in [0.2, 0.5, 0.8, 1.0, 1.2] {
            let groove = move |p: DVec3| ((p.y + 6.0).max((0.4 - p.x.abs()).min(p.y + 6.0 + depth)), DVec3::Y);
            let molds = mold(&groove);
            let bottom = DVec3::new(0.0, -6.0 - depth, 0.0);
            // Filled above it, by one layer, and not at all.
            for (level, filled) in [(-3.0, true), (-5.0, true), (-8.0, false)] {
                let field = poured(&molds, level);
                let room = Room { field: &field, molds: &molds, label: 0, spacing: 1.0, calm: false };
                let found = room.occupied(bottom);
                assert_eq!(found >= FULL, filled, "{depth} deep, filled to {level}: {found}");
            }
        }
    }

    #[test]
    fn a_wall_is_a_dent_below_the_rim_and_not_above_it() {
        let wall = |p: DVec3| (p.x + 0.5, DVec3::X);
        let molds = mold(&wall);
        let field = poured(&molds, 0.0);
        let room = Room { field: &field, molds: &molds, label: 0, spacing: 1.0, calm: false };
        let at = |y: f64| room.occupied(DVec3::new(-0.5, y, 0.0));
        // Without echoes the outermost points are smoothed inward by a little.
        assert!((2.6..3.4).contains(&at(-3.0)) && at(-1.0) > FULL, "{} {}", at(-3.0), at(-1.0));
        assert!((1.0..1.8).contains(&at(0.0)) && at(0.5) < 0.5, "{} {}", at(0.0), at(0.5));
        // Nothing fits into a slit.
        let slit = |p: DVec3| (0.3 - p.x.abs(), DVec3::X);
        let molds = mold(&slit);
        assert_eq!(Room { molds: &molds, ..room }.occupied(DVec3::ZERO), 0.0);
    }
}
