//! Body: which points belong together, what they are made of, and its named regions.

use crate::points::Points;
use crate::scene::{MaterialSpec, RegionPlace, RegionSpec};
use glam::DVec3;
use std::ops::Range;

/// One `[[body]]` of the world.
#[derive(Debug, Clone)]
pub struct Body {
    /// Name in the scene.
    pub name: String,
    /// Its points in the table. Written at set-up, and by `resample`.
    pub range: Range<usize>,
    /// Places in the table that are kept for it: its points, then those not in use.
    pub slots: Range<usize>,
    /// Number of its points at the start; those behind them came by splitting.
    pub sampled: usize,
    /// Current material; events change it.
    pub material: MaterialSpec,
    /// Melted or solid by an event, whatever its material says. Written by `apply_events`.
    pub melted: Option<bool>,
    /// sRGB color.
    pub color: [u8; 3],
    /// Named regions; the first is `all`. Written at set-up.
    pub regions: Vec<Region>,
}

/// A named part of a body.
#[derive(Debug, Clone)]
pub struct Region {
    /// Name in the scene.
    pub name: String,
    /// Indices into the table of points, ascending.
    pub points: Vec<u32>,
}

impl Body {
    /// The region of that name.
    pub fn region(&self, name: &str) -> Option<&Region> {
        self.regions.iter().find(|r| r.name == name)
    }
}

/// Largest distance of a color from that of a painted region, of 255 per channel.
const SAME_PAINT: f64 = 80.0;

impl Region {
    /// The points of a body that have the color of a painted region.
    pub fn painted(name: &str, color: [u8; 3], range: Range<usize>, colors: &[[u8; 3]]) -> Self {
        let far = |other: &[u8; 3]| (0..3).map(|k| (f64::from(other[k]) - f64::from(color[k])).powi(2)).sum::<f64>();
        let same = |(_, other): &(usize, &[u8; 3])| far(other) <= SAME_PAINT * SAME_PAINT;
        Self { name: name.into(), points: range.zip(colors).filter(same).map(|(i, _)| i as u32).collect() }
    }

    /// The points of a body that lie in the region now.
    pub fn find(spec: &RegionSpec, range: Range<usize>, points: &Points) -> Self {
        let inside = |test: &dyn Fn(DVec3) -> bool| -> Vec<u32> {
            range.clone().filter(|&i| test(points.positions[i])).map(|i| i as u32).collect()
        };
        let found = match &spec.place {
            RegionPlace::All => inside(&|_| true),
            RegionPlace::Box { min, max } => inside(&|p| p.cmpge(*min).all() && p.cmple(*max).all()),
            RegionPlace::Sphere { center, radius } => inside(&|p| p.distance_squared(*center) <= radius * radius),
            RegionPlace::HalfSpace { normal, offset } => inside(&|p| p.dot(*normal) > *offset),
            RegionPlace::Nearest { to, count } => nearest(range.clone(), points, *to, *count),
            RegionPlace::Path { through, radius } => inside(&|p| distance_to_line(through, p) <= *radius),
            // The paint is known at set-up only.
            RegionPlace::Painted { .. } => Vec::new(),
        };
        Self { name: spec.name.clone(), points: found }
    }
}

/// Distance from a line of straight parts [m].
fn distance_to_line(through: &[DVec3], p: DVec3) -> f64 {
    let part = |ends: &[DVec3]| {
        let (from, way) = (ends[0], ends[1] - ends[0]);
        let along = (p - from).dot(way) / way.length_squared().max(f64::MIN_POSITIVE);
        p.distance(from + along.clamp(0.0, 1.0) * way)
    };
    through.windows(2).map(part).fold(f64::INFINITY, f64::min)
}

fn nearest(range: Range<usize>, points: &Points, to: DVec3, count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = range.map(|i| i as u32).collect();
    let distance = |i: u32| points.positions[i as usize].distance_squared(to);
    // Ties go to the lower id, so that the choice does not depend on the order in memory.
    order.sort_by(|&a, &b| {
        let ids = (points.ids[a as usize], points.ids[b as usize]);
        distance(a).total_cmp(&distance(b)).then(ids.0.cmp(&ids.1))
    });
    order.truncate(count);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Points {
        let mut points = Points::default();
        for i in 0..5 {
            points.push(0, DVec3::X * f64::from(i), 1.0, 1.0, 1.0);
        }
        points
    }

    fn check(place: RegionPlace, expected: &[u32]) {
        let spec = RegionSpec { name: "r".into(), place };
        assert_eq!(Region::find(&spec, 0..5, &line()).points, expected);
    }

    #[test]
    fn paint_is_found_by_its_color() {
        let colors = [[255, 0, 0], [250, 20, 10], [0, 0, 255], [128, 0, 0]];
        assert_eq!(Region::painted("red", [255, 0, 0], 3..7, &colors).points, [3, 4]);
        assert!(Region::painted("red", [255, 0, 0], 3..7, &[]).points.is_empty());
    }

    #[test]
    fn regions_hold_the_points_they_cover() {
        check(RegionPlace::All, &[0, 1, 2, 3, 4]);
        check(RegionPlace::Box { min: DVec3::splat(-0.1), max: DVec3::new(1.5, 1.0, 1.0) }, &[0, 1]);
        check(RegionPlace::Sphere { center: DVec3::X * 3.0, radius: 1.0 }, &[2, 3, 4]);
        check(RegionPlace::HalfSpace { normal: DVec3::X, offset: 2.5 }, &[3, 4]);
        check(RegionPlace::Nearest { to: DVec3::X * 2.0, count: 2 }, &[1, 2]);
        let through = vec![DVec3::new(0.9, 0.0, 0.0), DVec3::new(1.1, 0.0, 0.0), DVec3::new(2.8, 0.9, 0.0)];
        check(RegionPlace::Path { through, radius: 0.5 }, &[1, 2]);
    }
}
