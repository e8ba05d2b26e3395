//! The molds near a place, and how much of its surroundings they leave to matter.

use super::mold::Mold;
use crate::geometry::{Moments, Open, beside_plane};
use glam::{DVec3, Vec3A};

/// Openness below which nothing is told any more.
const LEAST: f64 = 0.01;
/// Radius of what is around a place [spacings]: that of the kernels.
const REACH: f64 = 2.0;

/// The molds that the matter around a place may feel.
#[derive(Clone, Copy)]
pub(super) struct Walls<'a> {
    molds: &'a [Mold<'a>],
    /// A bit for each that is near; the last for all from there on.
    near: u64,
    /// Distance of the points [m].
    spacing: f64,
}

impl<'a> Walls<'a> {
    /// No mold.
    #[cfg(test)]
    pub const NONE: Self = Self { molds: &[], near: 0, spacing: 1.0 };

    /// Those of `molds` whose bits are set, for points `spacing` [m] apart.
    pub fn new(molds: &'a [Mold<'a>], near: u64, spacing: f64) -> Self {
        Self { molds, near, spacing }
    }

    /// Bit of a mold.
    pub fn bit(mold: usize) -> u64 {
        1 << mold.min(63)
    }

    /// Whether none is near.
    pub fn is_empty(&self) -> bool {
        self.near == 0
    }

    /// How open the surroundings of a place [m] are, or in a nook those of its mouth.
    pub fn at(&self, place: DVec3) -> Opening {
        let own = self.openness(place);
        if own.depth <= 0.0 {
            return Opening::new(place, own, own);
        }
        let mouth = place + own.mouth;
        Opening::new(mouth, self.openness(mouth), own)
    }

    /// What they leave to matter around a place [m]. Of several the shares are multiplied: exact where they do not overlap in the surroundings,
    /// and where they meet at a right angle; the deepest nook counts.
    fn openness(&self, place: DVec3) -> Open {
        let mut all = Open { share: 1.0, ..Open::default() };
        let near = |(k, _): &(usize, &Mold)| self.near & Self::bit(*k) != 0;
        for (_, mold) in self.molds.iter().enumerate().filter(near) {
            let own = match mold.open {
                Some(ask) => ask(place, self.spacing),
                None => {
                    let (distance, normal) = (mold.probe)(place);
                    let (share, slope) = beside_plane(distance, normal, REACH * self.spacing);
                    Open { share, slope, ..Open::default() }
                }
            };
            (all.mouth, all.depth, all.wide) = match own.depth > all.depth {
                true => (own.mouth, own.depth, own.wide.scaled(all.share)),
                false => (all.mouth, all.depth, all.wide.scaled(own.share)),
            };
            all.slope = own.share * all.slope + all.share * own.slope;
            all.share *= own.share;
        }
        all
    }

    /// Distance of the points [m].
    pub fn spacing(&self) -> f32 {
        self.spacing as f32
    }
}

/// What walls leave open around a place.
pub(super) struct Opening {
    /// The place itself, or the mouth of the nook that it is in [m].
    pub place: DVec3,
    /// The part of the surroundings there that matter can fill, and its slope [1/m].
    pub share: f32,
    pub slope: Vec3A,
    /// Length of the way from the mouth [m].
    pub depth: f32,
    /// What is open in wider surroundings of a place in a nook.
    pub wide: Moments,
}

impl Opening {
    /// With what is open `there`, at a place or at the mouth of the nook that it is in, and at the place itself.
    fn new(place: DVec3, there: Open, own: Open) -> Self {
        let (share, slope) = if there.share > LEAST { (there.share, there.slope) } else { (LEAST, DVec3::ZERO) };
        Self { place, share: share as f32, slope: slope.as_vec3a(), depth: own.depth as f32, wide: own.wide }
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::{Field, ISO};
    use super::super::near::Near;
    use super::*;
    use crate::geometry::{Combined, Cuboid, Openness, Operation, Placed, Pose, Shape};
    use std::sync::Arc;

    fn block(size: DVec3, at: DVec3) -> Arc<dyn Shape> {
        Arc::new(Placed::new(Arc::new(Cuboid::new(size, 0.0)), Pose { translation: at, ..Pose::IDENTITY }))
    }

    /// Densities at `places` on a mold beside points one spacing apart wherever they fit and `poured` says; spacing 1.
    fn densities(shape: &Arc<dyn Shape>, poured: impl Fn(DVec3) -> bool, places: &[DVec3]) -> Vec<f32> {
        let openness = Openness::new(shape, 1.0);
        let (probe, open) = (|p: DVec3| shape.distance_normal(p), |p: DVec3, _: f64| openness.at(p));
        let molds = [Mold { probe: &probe, still: true, least: None, open: Some(&open), stain: None }];
        let place = |i: i32| DVec3::new(f64::from(i % 15), f64::from(i / 15 % 15), f64::from(i / 225)) - 7.0;
        let fits = |p: &DVec3| shape.distance(*p) > 0.49 && poured(*p);
        let points: Vec<DVec3> = (0..3375).map(|i| place(i) + 0.5 * DVec3::new(1.0, 1.0, 0.0)).filter(fits).collect();
        let (ones, labels, round) = (vec![1.0; points.len()], vec![0; points.len()], vec![true; points.len()]);
        let mut field = Field::default();
        field.build(&points, &ones, &labels, &round, 0.2);
        let walls = Walls::new(&molds, 1, 1.0);
        places.iter().map(|p| field.density_at(p.as_vec3(), 0, walls, &mut Near::default())).collect()
    }

    #[test]
    fn a_groove_narrower_than_points_is_filled_when_its_mouth_is() {
        for depth in [0.3, 1.0, 2.0, 3.0] {
            let groove = block(DVec3::new(0.7, 2.0 * depth, 20.0), DVec3::ZERO);
            let floor = block(DVec3::new(16.0, 8.0, 16.0), -4.0 * DVec3::Y);
            let shape: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Difference, vec![floor, groove], 0.0));
            let ground = [-depth * DVec3::Y];
            let filled = |level: f64| densities(&shape, |p| p.y < level, &ground)[0];
            // By several layers, and not at all.
            assert!(filled(4.0) > ISO && filled(0.0) == 0.0, "{depth} deep: {}", filled(4.0));
            // Matter that ends beside it does not fill it.
            let beside = densities(&shape, |p| p.x > 1.5, &ground)[0];
            assert!(beside < ISO, "{depth} deep: {beside}");
        }
    }

    #[test]
    fn matter_meets_a_wall_at_its_own_level() {
        let wall = block(DVec3::new(6.0, 30.0, 30.0), -3.0 * DVec3::X);
        // Points fill what is below y = 0.
        let places = [-3.0, -1.0, -0.3, 0.3, 1.0].map(|y| DVec3::new(0.0, y, 0.2));
        let found = densities(&wall, |p| p.y < 0.0, &places);
        assert!((found[0] - 1.0).abs() < 0.1 && (found[1] - 1.0).abs() < 0.2, "{found:?}");
        assert!(found[2] > ISO && found[3] < ISO && found[4] < 0.1, "{found:?}");
    }

    #[test]
    fn matter_is_not_felt_beyond_a_thin_wall() {
        let wall = block(DVec3::new(1.0, 30.0, 30.0), -0.5 * DVec3::X);
        let found = densities(&wall, |p| p.x > 0.0, &[0.0, -1.0].map(|x| DVec3::new(x, 0.0, 0.0)));
        assert!(found[0] > 0.7 && found[1] < 0.3, "{found:?}");
    }
}
