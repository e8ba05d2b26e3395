//! The molds near a place, and how much of its surroundings they leave to matter.

use super::mold::Mold;
use crate::geometry::{Moments, Open, beside_plane};
use glam::{DVec3, Vec3A};

/// Openness below which nothing is told any more.
const LEAST: f64 = 0.01;
/// Radius of what is around a place [spacings]: that of the kernels.
const REACH: f64 = 2.0;
/// A gap as wide as this between matter and a wall is closed [spacings]: points do not tell it from none.
const CLOSES: f64 = 0.2;
/// Slope of the openness at a plane wall [per spacing].
const STEEPEST: f64 = 315.0 / 256.0 / REACH;
/// Shorter ways off a wall are none [spacings].
const SHORT: f64 = 0.01;

/// The molds that the matter around a place may feel.
#[derive(Clone, Copy)]
pub(super) struct Walls<'a> {
    molds: &'a [Mold<'a>],
    /// A bit for each that is near; the last for all from there on.
    near: u64,
    /// Distance of the points [m].
    spacing: f64,
    /// How wide gaps to a wall are closed [spacings].
    closes: f64,
}

impl<'a> Walls<'a> {
    /// No mold.
    #[cfg(test)]
    pub const NONE: Self = Self { molds: &[], near: 0, spacing: 1.0, closes: 0.0 };

    /// Those of `molds` whose bits are set, for points `spacing` [m] apart.
    pub fn new(molds: &'a [Mold<'a>], near: u64, spacing: f64) -> Self {
        Self { molds, near, spacing, closes: CLOSES }
    }

    /// The same without closing gaps.
    pub fn as_they_are(self) -> Self {
        Self { closes: 0.0, ..self }
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
    ///
    /// Matter is stretched toward walls so that narrow gaps close: what is told is that of a place farther off the wall, by `CLOSES` at the wall and
    /// less and less up to two spacings, smoothly. So a front that comes upon a wall meets it without a step, and along a wall nothing changes.
    pub fn at(&self, place: DVec3) -> Opening {
        let near = self.openness(place);
        let off = self.closes / STEEPEST * self.spacing * self.spacing * near.slope;
        let (own, place) = match off.length() > SHORT * self.spacing {
            true => (self.openness(place + off), place + off),
            false => (near, place),
        };
        let stretch = self.stretch(near.slope);
        if own.depth <= 0.0 {
            return Opening::new((place, place), own, own, stretch);
        }
        let mouth = place + own.mouth;
        Opening::new((place, mouth), self.openness(mouth), own, stretch)
    }

    /// How densities change across the wall, beside how they would without the stretch: exact beside a plane. The way across, shortened by as much.
    fn stretch(&self, slope: DVec3) -> Vec3A {
        let steepness = (slope.length() * self.spacing / STEEPEST).min(1.0);
        let inside = steepness.sqrt().sqrt();
        let change = 2.0 * self.closes * REACH * (1.0 - inside).sqrt() * inside.powi(3);
        (slope.normalize_or_zero() * change.sqrt()).as_vec3a()
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
    /// Where that is told [m].
    pub own: DVec3,
    /// The same, or the mouth of the nook that it is in [m].
    pub place: DVec3,
    /// The part of the surroundings there that matter can fill, and its slope [1/m].
    pub share: f32,
    pub slope: Vec3A,
    /// Length of the way from the mouth [m].
    pub depth: f32,
    /// What is open in wider surroundings of a place in a nook.
    pub wide: Moments,
    /// Across the wall changes are less than where this is told, by the square of this vector.
    stretch: Vec3A,
}

impl Opening {
    /// With what is open `there`, at a place or at the mouth of the nook that it is in, and at the place itself.
    fn new((own_place, place): (DVec3, DVec3), there: Open, own: Open, stretch: Vec3A) -> Self {
        let (share, slope) = if there.share > LEAST { (there.share, there.slope) } else { (LEAST, DVec3::ZERO) };
        let (share, slope, depth) = (share as f32, slope.as_vec3a(), own.depth as f32);
        Self { own: own_place, place, share, slope, depth, wide: own.wide, stretch }
    }

    /// The gradient at the place that was asked for, from that where this is told.
    pub fn gradient(&self, there: Vec3A) -> Vec3A {
        there - self.stretch * self.stretch.dot(there)
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

    /// A mold and points beside it; spacing 1.
    struct Beside {
        shape: Arc<dyn Shape>,
        openness: Openness,
        field: Field,
    }

    impl Beside {
        fn new(shape: Arc<dyn Shape>, points: &[DVec3]) -> Self {
            let (ones, labels, round) = (vec![1.0; points.len()], vec![0; points.len()], vec![true; points.len()]);
            let mut field = Field::default();
            field.build(points, &ones, &labels, &round, 0.2);
            Self { openness: Openness::new(&shape, 1.0), shape, field }
        }

        /// What `ask` finds with the field and the walls.
        fn with<T>(&self, ask: impl FnOnce(&Field, Walls) -> T) -> T {
            let probe = |p: DVec3| self.shape.distance_normal(p);
            let open = |p: DVec3, _: f64| self.openness.at(p);
            let molds = [Mold { probe: &probe, still: true, least: None, open: Some(&open), stain: None }];
            ask(&self.field, Walls::new(&molds, 1, 1.0))
        }

        fn density(&self, p: DVec3) -> f32 {
            self.with(|field, walls| field.density_at(p.as_vec3(), 0, walls, &mut Near::default()))
        }
    }

    /// Densities at `places` on a mold beside points one spacing apart wherever they fit and `poured` says; spacing 1.
    fn densities(shape: &Arc<dyn Shape>, poured: impl Fn(DVec3) -> bool, places: &[DVec3]) -> Vec<f32> {
        let place = |i: i32| DVec3::new(f64::from(i % 15), f64::from(i / 15 % 15), f64::from(i / 225)) - 7.0;
        let fits = |p: &DVec3| shape.distance(*p) > 0.49 && poured(*p);
        let points: Vec<DVec3> = (0..3375).map(|i| place(i) + 0.5 * DVec3::new(1.0, 1.0, 0.0)).filter(fits).collect();
        let beside = Beside::new(shape.clone(), &points);
        places.iter().map(|p| beside.density(*p)).collect()
    }

    /// Matter that fills x < -gap + tilt · y before a wall at x = 0.
    fn front(gap: f64, tilt: f64) -> Beside {
        let (sin, cos) = tilt.atan().sin_cos();
        let place = |i: i32| {
            let [x, y, z] = [i / 225, i / 15 % 15, i % 15].map(f64::from);
            let (x, y) = (-x - 0.5, y - 7.0);
            DVec3::new(cos * x + sin * y - gap, cos * y - sin * x, z - 7.0)
        };
        let points: Vec<DVec3> = (0..8 * 225).map(place).filter(|p| p.x < -0.49).collect();
        Beside::new(block(DVec3::new(6.0, 30.0, 30.0), 3.0 * DVec3::X), &points)
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

    #[test]
    fn a_front_comes_upon_a_wall_without_a_step() {
        // How far the surface is from the wall, 0 where it touches.
        let way = |gap: f64| {
            let beside = front(gap, 0.0);
            let full = |k: &i32| beside.density(DVec3::new(-0.01 * f64::from(*k), 0.3, 0.2)) >= ISO;
            0.01 * f64::from((0..300).find(full).expect("there is matter"))
        };
        let ways: Vec<f64> = (0..30).map(|k| way(1.5 - 0.05 * f64::from(k))).collect();
        assert!((ways[0] - 1.5).abs() < 0.15 && ways[29] == 0.0, "{ways:?}");
        for pair in ways.windows(2) {
            assert!(pair[1] <= pair[0] && pair[0] - pair[1] < 0.15, "{ways:?}");
        }
        // A gap that is told from none, and one that is not.
        assert!(way(1.0) > 0.1 && way(CLOSES) == 0.0, "{} {}", way(1.0), way(CLOSES));
    }

    #[test]
    fn the_normal_beside_a_wall_is_that_of_the_surface() {
        let mut asked = 0;
        for tilt in [0.2, 0.5, 1.0] {
            let beside = front(0.5, tilt);
            for x in [-1.5, -1.0, -0.6, -0.3] {
                let start = DVec3::new(x, (x + 0.5) / tilt, 0.3);
                let local = (start - beside.field.middle).as_vec3a();
                let on = beside.with(|field, walls| field.project(local, 0, 2.0, walls, &mut Near::default()));
                let on = on.expect("it is near");
                let place = beside.field.middle + on.position.as_dvec3();
                if place.x > -0.05 {
                    continue;
                }
                asked += 1;
                let change = |way: DVec3| f64::from(beside.density(place + way) - beside.density(place - way));
                let slope = DVec3::new(change(0.05 * DVec3::X), change(0.05 * DVec3::Y), change(0.05 * DVec3::Z));
                let cosine = -slope.normalize().dot(on.normal.as_dvec3());
                assert!(cosine > 0.995, "{tilt} {place}: {} {}", on.normal, -slope.normalize());
            }
        }
        assert!(asked > 6, "{asked}");
    }
}
