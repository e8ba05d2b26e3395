//! A point cloud with normals as a solid.
//!
//! Near the points the distance is the weighted mean of the distances to their tangent planes, of those that face about as the nearest
//! point does: the other side of a wall one spacing thick has no say. A few spacings away it is the
//! distance to the nearest point, less what the gaps between the points add. Its sign there is that of the winding number of
//! the points, each with the area it stands for ([BDS18] §5); where the points leave a hole it fades to zero.

use super::bvh::Bvh;
use super::discs::Discs;
use super::read::read;
use super::winding::Winding;
use super::{ANYTHING, Bounds, Pose, Shape};
use crate::{Diagnostic, Result};
use glam::DVec3;
use rayon::prelude::*;
use std::path::Path;

/// Neighbors that tell the local spacing.
const NEIGHBORS: usize = 8;
/// Fewer points than this do not make a surface.
const FEWEST: usize = 20;
/// Between these multiples of the spacing the tangent planes hand over to the nearest point.
const HAND_OVER: [f64; 2] = [1.5, 3.0];
/// Points whose normal has less than this cosine with that of the nearest one count less, from zero on not at all.
const ALIKE: f64 = 0.4;
/// Where all normals within `AROUND` spacings have at least this cosine, and the way to a place at least `STEEP`, the nearest point
/// tells the side.
const PLAIN: f64 = 0.7;
const AROUND: f64 = 1.5;
const STEEP: f64 = 0.5;
/// Clouds of which less than this part is missing are closed.
const CLOSED: f64 = 0.01;
/// Weights beyond this many widths are nothing, exp(-9).
const REACH: f64 = 3.0;

/// Points of a surface with their normals, as read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cloud {
    /// Positions [m].
    pub positions: Vec<DVec3>,
    /// Unit outward normals.
    pub normals: Vec<DVec3>,
}

/// Points of a surface as read, with normals if the file has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScatteredPoints {
    /// Positions [m], no two at the same place.
    pub positions: Vec<DVec3>,
    /// Unit normals; zero where the file's has no direction.
    pub normals: Option<Vec<DVec3>>,
}

impl ScatteredPoints {
    /// Reads a PLY, OBJ or XYZ file of points; repeated ones are dropped.
    pub fn read(path: &Path) -> Result<Self> {
        let raw = read(path)?;
        let mut known = std::collections::HashSet::with_capacity(raw.positions.len());
        let new = |x: &DVec3| known.insert((*x + DVec3::ZERO).to_array().map(f64::to_bits));
        let kept: Vec<bool> = raw.positions.iter().map(new).collect();
        let pick = |list: Vec<DVec3>| list.into_iter().zip(&kept).filter(|(_, k)| **k).map(|(x, _)| x).collect();
        let unit = |list: Vec<DVec3>| list.into_iter().map(|n| n.normalize_or_zero()).collect();
        let (positions, normals): (Vec<DVec3>, _) = (pick(raw.positions), raw.normals.map(|n| unit(pick(n))));
        if positions.len() < FEWEST {
            let what = format!("the file has {} different points, too few for a surface", positions.len());
            return Err(Diagnostic::new(what).file(path).expected(format!("at least {FEWEST}")).into());
        }
        Ok(Self { positions, normals })
    }

    /// The points scaled per axis, then moved by `pose`.
    pub fn transformed(&self, scale: DVec3, pose: &Pose) -> Self {
        let turn = |n: &DVec3| pose.vector(*n / scale).normalize_or_zero();
        Self {
            positions: self.positions.iter().map(|&x| pose.point(x * scale)).collect(),
            normals: self.normals.as_ref().map(|list| list.iter().map(turn).collect()),
        }
    }
}

impl Cloud {
    /// Reads a PLY, OBJ or XYZ file of points with normals.
    pub fn read(path: &Path) -> Result<Self> {
        let raw = read(path)?;
        let fault = |what: String| Diagnostic::new(what).file(path);
        let count = raw.positions.len();
        if count < FEWEST {
            return Err(fault(format!("the file has {count} points")).expected(format!("at least {FEWEST}")).into());
        }
        let Some(normals) = raw.normals else {
            return Err(fault("the points have no normals, so nobody knows which side is inside".into())
                .expected("nx, ny, nz for each point")
                .hint("let a scan or mesh program compute the normals, or give a mesh")
                .into());
        };
        let mut units = Vec::with_capacity(count);
        for (i, n) in normals.iter().enumerate() {
            let unit = n
                .try_normalize()
                .ok_or_else(|| fault(format!("point {} (counted from 1) has the normal {n}", i + 1)))?;
            units.push(unit);
        }
        Ok(Self { positions: raw.positions, normals: units })
    }

    /// The cloud scaled per axis, then moved by `pose`.
    pub fn transformed(&self, scale: DVec3, pose: &Pose) -> Self {
        Self {
            positions: self.positions.iter().map(|&x| pose.point(x * scale)).collect(),
            normals: self.normals.iter().map(|&n| pose.vector(n / scale).normalize_or(DVec3::Y)).collect(),
        }
    }
}

/// Signed distance of a point cloud.
pub struct CloudShape {
    bvh: Bvh,
    discs: Discs,
    winding: Winding,
    /// In leaf order.
    positions: Vec<DVec3>,
    normals: Vec<DVec3>,
    /// Distance between neighbors around each point [m].
    spacings: Vec<f64>,
    /// Area each point stands for [m²].
    areas: Vec<f64>,
    /// Whether the surface around each is so plain that its normal tells the sides; none where there are holes.
    plain: Vec<bool>,
    bounds: Bounds,
}

impl CloudShape {
    /// The solid inside of the points, and what the user should know.
    pub fn new(cloud: &Cloud) -> (Self, Vec<String>) {
        let boxes: Vec<Bounds> = cloud.positions.iter().map(|&x| Bounds { min: x, max: x }).collect();
        let bvh = Bvh::new(&boxes);
        let positions: Vec<DVec3> = bvh.order.iter().map(|&i| cloud.positions[i as usize]).collect();
        let mut normals: Vec<DVec3> = bvh.order.iter().map(|&i| cloud.normals[i as usize]).collect();
        let spacings = spacings(&bvh, &positions);
        let areas: Vec<f64> = spacings.iter().map(|s| s * s).collect();
        let (open, warnings) = orient(&positions, &mut normals, &areas);
        let winding = Winding::new(&bvh, |i| (areas[i], positions[i], areas[i] * normals[i]));
        let discs = Discs::new(&bvh, |i| [positions[i]], |i| normals[i]);
        let plain = |i: usize| {
            let reach = AROUND * spacings[i];
            let mut plain = open < CLOSED;
            bvh.overlapping(Bounds { min: positions[i], max: positions[i] }.grown(reach), |range| {
                let beside = |j: &usize| positions[*j].distance_squared(positions[i]) < reach * reach;
                plain = plain && range.filter(beside).all(|j| normals[j].dot(normals[i]) > PLAIN);
            });
            plain
        };
        let plain = (0..positions.len()).into_par_iter().with_min_len(256).map(plain).collect();
        // The surface through the points may bulge a little beyond them.
        let margin = spacings.iter().copied().fold(0.0, f64::max);
        let bounds = Bounds::of(positions.iter().copied()).grown(margin);
        (Self { bvh, discs, winding, positions, normals, spacings, areas, plain, bounds }, warnings)
    }

    /// Winding number of the points, about 1 inside and 0 outside.
    pub fn winding(&self, p: DVec3) -> f64 {
        self.winding.at(&self.bvh, p, |i| {
            let to = self.positions[i] - p;
            // A point that is very near counts as a disk, which covers at most half of the view.
            let d2 = to.length_squared().max(self.areas[i] / std::f64::consts::TAU);
            self.areas[i] * self.normals[i].dot(to) / (d2 * d2.sqrt())
        })
    }

    /// Nearest point and its squared distance.
    fn nearest(&self, p: DVec3) -> Option<(usize, f64)> {
        let mut found = None;
        self.discs.nearest(p, f64::INFINITY, |i, best| {
            let d2 = self.positions[i].distance_squared(p);
            if d2 < best {
                found = Some((i, d2));
            }
            best.min(d2)
        });
        found
    }

    /// Weighted mean of the tangent planes' distances, and of the normals. The weight depends on how much farther than the
    /// nearest point a point is, so it measures the way along the surface wherever `p` is.
    fn planes(&self, p: DVec3, (nearest, nearest_squared): (usize, f64), width: f64) -> (f64, DVec3) {
        let facing = self.normals[nearest];
        let reach = nearest_squared + (REACH * width).powi(2);
        let (mut weights, mut distance, mut normal) = (0.0, 0.0, DVec3::ZERO);
        let box_reach = Bounds { min: p, max: p }.grown(reach.sqrt());
        self.bvh.overlapping(box_reach, |range| {
            for i in range {
                let to = p - self.positions[i];
                let d2 = to.length_squared();
                let alike = self.normals[i].dot(facing);
                if d2 < reach && alike > 0.0 {
                    let weight = (-(d2 - nearest_squared) / (width * width)).exp() * (alike / ALIKE).min(1.0);
                    weights += weight;
                    distance += weight * self.normals[i].dot(to);
                    normal += weight * self.normals[i];
                }
            }
        });
        (distance / weights, normal)
    }
}

impl Shape for CloudShape {
    fn cost(&self) -> usize {
        100
    }

    fn range(&self, _: DVec3, _: f64) -> (f64, f64) {
        // Between planes and points, and at holes, the distance may change faster than the way.
        ANYTHING
    }

    fn distance(&self, p: DVec3) -> f64 {
        self.distance_normal(p).0
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn normal(&self, p: DVec3) -> DVec3 {
        self.distance_normal(p).1
    }

    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        let Some((i, d2)) = self.nearest(p) else { return (f64::INFINITY, DVec3::Y) };
        let spacing = self.spacings[i];
        let d = d2.sqrt();
        // Smooth step from the planes (0) to the nearest point (1).
        let t = ((d / spacing - HAND_OVER[0]) / (HAND_OVER[1] - HAND_OVER[0])).clamp(0.0, 1.0);
        let share = t * t * (3.0 - 2.0 * t);
        let (mut value, mut gradient) = (0.0, DVec3::ZERO);
        if share < 1.0 {
            let (distance, normal) = self.planes(p, (i, d2), 1.2 * spacing);
            value += (1.0 - share) * distance;
            gradient += (1.0 - share) * normal.normalize_or(self.normals[i]);
        }
        if share > 0.0 {
            let cosine = self.normals[i].dot(p - self.positions[i]) / d;
            let sign = match self.plain[i] && cosine.abs() > STEEP {
                true => cosine.signum(),
                false => (4.0 * (0.5 - self.winding(p))).clamp(-1.0, 1.0),
            };
            // On average the foot of p is half a spacing beside the nearest point.
            value += share * sign * (d2 - 0.25 * spacing * spacing).max(0.0).sqrt();
            gradient += share * sign.signum() * (p - self.positions[i]) / d;
        }
        let outside = self.bounds.distance(p);
        let value = if outside > 0.0 { value.max(outside) } else { value };
        (value, gradient.normalize_or(self.normals[i]))
    }
}

/// Local spacing of each point: a disk up to the k-th neighbor holds about k + 1/2 points' areas.
fn spacings(bvh: &Bvh, positions: &[DVec3]) -> Vec<f64> {
    let raw: Vec<f64> = positions
        .par_iter()
        .map(|&p| {
            let radius2 = kth_squared(bvh, positions, p);
            (std::f64::consts::PI * radius2 / (NEIGHBORS as f64 + 0.5)).sqrt()
        })
        .collect();
    // Outliers and repeated points must not stand for much or for nothing.
    let mut sorted = raw.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0).max(f64::MIN_POSITIVE.sqrt());
    raw.into_iter().map(|s| s.clamp(0.05 * median, 4.0 * median)).collect()
}

/// Squared distance to the k-th neighbor, the point itself not counted.
fn kth_squared(bvh: &Bvh, positions: &[DVec3], p: DVec3) -> f64 {
    let mut list = [f64::INFINITY; NEIGHBORS + 1];
    bvh.nearest(p, f64::INFINITY, |range, _| {
        for i in range {
            let d2 = positions[i].distance_squared(p);
            let at = list.partition_point(|&known| known <= d2);
            if at < list.len() {
                list[at..].rotate_right(1);
                list[at] = d2;
            }
        }
        list[NEIGHBORS]
    });
    list.iter().rev().copied().find(|d2| d2.is_finite()).unwrap_or(0.0)
}

/// Turns the normals outward if they point inward, and says what part of the surface is missing and what else is odd.
fn orient(positions: &[DVec3], normals: &mut [DVec3], areas: &[f64]) -> (f64, Vec<String>) {
    let mut warnings = Vec::new();
    let area: f64 = areas.iter().sum();
    let center = positions.iter().zip(areas).map(|(x, a)| *x * *a).sum::<DVec3>() / area;
    let vector: DVec3 = normals.iter().zip(areas).map(|(n, a)| *n * *a).sum();
    let volume: f64 = (0..positions.len()).map(|i| areas[i] * normals[i].dot(positions[i] - center) / 3.0).sum();
    if volume < 0.0 {
        normals.iter_mut().for_each(|n| *n = -*n);
        warnings.push("the normals point inward and are turned round".to_owned());
    }
    // The area vectors of a closed surface sum to nothing.
    let open = 100.0 * vector.length() / area;
    if open > 5.0 {
        warnings.push(format!(
            "the points do not cover the whole surface (about {open:.0} % is missing); inside is where the winding number exceeds one half"
        ));
    }
    (0.01 * open, warnings)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::*;

    /// Evenly spread points of a ball of radius 1.
    fn ball(count: usize, keep: impl Fn(DVec3) -> bool) -> Cloud {
        let points = (0..count).map(|i| {
            let y = 1.0 - 2.0 * (i as f64 + 0.5) / count as f64;
            let angle = i as f64 * 2.399_963_229_728_653;
            let r = (1.0 - y * y).sqrt();
            DVec3::new(r * angle.cos(), y, r * angle.sin())
        });
        let positions: Vec<DVec3> = points.filter(|&p| keep(p)).collect();
        Cloud { normals: positions.clone(), positions }
    }

    #[test]
    fn a_ball_of_points_is_a_ball() {
        let (shape, warnings) = CloudShape::new(&ball(3000, |_| true));
        assert!(warnings.is_empty(), "{warnings:?}");
        // Spacing is 0.065.
        let mut random = Random(4);
        for _ in 0..2000 {
            let p = random.point(1.5);
            let (d, n) = shape.distance_normal(p);
            let truth = p.length() - 1.0;
            assert!((d - truth).abs() < 0.01, "{d} is not {truth} at {p}");
            assert!(truth.abs() > 0.5 || n.dot(p.normalize()) > 0.95, "normal {n} at {p}");
            let q = p + random.point(0.1);
            assert!((shape.distance(q) - d).abs() < 1.2 * p.distance(q) + 0.005);
        }
        assert!((shape.winding(DVec3::ZERO) - 1.0).abs() < 0.05);
    }

    /// A cup of points: an open box, its walls so many spacings thick; points at random offsets of a fifth of a spacing.
    fn cup(thickness: f64) -> (Cloud, impl Fn(DVec3) -> f64) {
        // Half the width and the height outside, in spacings; the cavity is open at the top.
        let (outer, inner) = (DVec3::splat(12.0), DVec3::splat(12.0 - thickness));
        let truth = move |p: DVec3| {
            let boxed = |half: DVec3, p: DVec3| {
                let q = p.abs() - half;
                q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
            };
            let cavity = DVec3::new(inner.x, inner.y + 12.0, inner.z);
            boxed(outer, p).max(-boxed(cavity, p - DVec3::Y * 12.0))
        };
        let mut cloud = Cloud::default();
        let mut random = Random(11);
        let step = |d: f64| if d > 0.0 { 1e-4 } else { -1e-4 };
        for axis in 0..3 {
            for u in -13..=13 {
                for v in -13..=13 {
                    for level in [-12.0, 12.0, -inner.x, inner.x] {
                        let mut x = DVec3::ZERO;
                        x[axis] = level;
                        x[(axis + 1) % 3] = f64::from(u) + 0.2 * random.point(1.0).x;
                        x[(axis + 2) % 3] = f64::from(v) + 0.2 * random.point(1.0).x;
                        let mut e = DVec3::ZERO;
                        e[axis] = 1e-4;
                        let (up, down) = (truth(x + e), truth(x - e));
                        // On the surface: solid on one side, nothing on the other.
                        if up * down < 0.0 {
                            cloud.positions.push(x);
                            cloud.normals.push(e * step(up) * 1e8);
                        }
                    }
                }
            }
        }
        (cloud, truth)
    }

    #[test]
    fn walls_one_spacing_thick_have_two_sides() {
        for thickness in [1.0, 1.5, 2.0] {
            let (cloud, truth) = cup(thickness);
            let (shape, _) = CloudShape::new(&cloud);
            let mut random = Random(5);
            let (mut asked, mut wrong, mut off) = (0, 0, 0.0_f64);
            for _ in 0..20_000 {
                let p = random.point(15.0);
                let exact = truth(p);
                // Away from its edges, which points cannot show.
                let rim = (p.y - 12.0).abs() < 2.0
                    || (p.abs() - 12.0 + 0.5 * thickness).abs().to_array().iter().filter(|d| **d < 2.0).count() > 1;
                if exact.abs() < 0.1 || exact.abs() > 4.0 || rim {
                    continue;
                }
                let d = shape.distance(p);
                asked += 1;
                wrong += usize::from(d * exact < 0.0);
                off = if exact > 0.0 && exact < 1.0 { off.max((d - exact).abs()) } else { off };
            }
            assert!(asked > 10_000 && 1000 * wrong <= asked, "{thickness}: {wrong} of {asked} wrong");
            // Before the wall; inside of one that thin its depth matters to nobody.
            assert!(off < 0.3, "{thickness}: {off}");
        }
    }

    #[test]
    fn inward_normals_and_holes_are_told() {
        let mut cloud = ball(2000, |p| p.y < 0.8);
        cloud.normals.iter_mut().for_each(|n| *n = -*n);
        let (shape, warnings) = CloudShape::new(&cloud);
        assert!(warnings[0].contains("turned round") && warnings[1].contains("% is missing"), "{warnings:?}");
        assert!(shape.distance(DVec3::ZERO) < -0.8 && shape.distance(DVec3::Y * 0.5) < 0.0);
        assert!(shape.distance(DVec3::Y * 1.2) > 0.0 && shape.distance(DVec3::Y * -1.2) > 0.15);
        let mut last = shape.distance(DVec3::ZERO);
        for i in 0..1500 {
            let d = shape.distance(DVec3::Y * (0.001 * f64::from(i)));
            assert!((d - last).abs() < 0.02, "jump at step {i}: {last} to {d}");
            last = d;
        }
    }

    #[test]
    fn repeated_points_and_outliers_are_harmless() {
        let mut cloud = ball(1000, |_| true);
        for i in 0..50 {
            cloud.positions.push(cloud.positions[i]);
            cloud.normals.push(cloud.normals[i]);
        }
        cloud.positions.push(DVec3::splat(3.0));
        cloud.normals.push(DVec3::X);
        let (shape, _) = CloudShape::new(&cloud);
        assert!(shape.distance(DVec3::ZERO) < -0.9 && shape.distance(DVec3::X * 1.5) > 0.4);
    }

    #[test]
    fn clouds_without_normals_are_refused() {
        let folder = std::env::temp_dir().join(format!("phyxel-cloud-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            Cloud::read(&path).map(|c| c.positions.len()).map_err(|e| e.to_string())
        };
        let lines = |tail: &str| (0..30).map(|i| format!("{i} 0 {}{tail}\n", i * i)).collect::<String>();
        assert!(write("a.xyz", lines("")).unwrap_err().contains("no normals"));
        assert!(write("b.xyz", lines(" 0 0 0")).unwrap_err().contains("point 1"));
        assert!(write("c.xyz", "0 0 0 0 0 1\n".into()).unwrap_err().contains("at least 20"));
        assert_eq!(write("d.xyz", lines(" 0 1 0")), Ok(30));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
