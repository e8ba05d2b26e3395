//! Carries surfels by the points they lie among, [MKN04] 5.1.
//!
//! Each point i moves its surroundings by the affine map y = y_i + F_i (p - x_i) (x rest, y current position, F its
//! deformation gradient). A surfel blends the maps of the points near its rest position with fixed weights, and its
//! axes and normal follow the blended gradient: exact for affine motion. The gradient of the weights themselves counts in sheets
//! (`folds`): in their tight folds the maps of neighbors differ so much that centers would move apart faster than axes
//! grow. Solids bend less sharply, and there it is left out.
//!
//! Differs from [MKN04] eq. 27: the weights fade to zero at the end of the support, so that the surface has no steps
//! there. Points across a narrow gap of the same body are blended like any others.

use super::Surfels;
use super::cut::Uncut;
use super::folds::Folds;
use crate::linalg::{outer, trace};
use crate::neighbors::Grid;
use glam::{DMat3, DVec3, Mat3, Vec3, Vec3A};
use rayon::prelude::*;

/// Most points that carry one surfel.
pub(super) const MOST_CARRIERS: usize = 16;
/// Surfels per parallel task.
pub(super) const CHUNK: usize = 512;

/// How the weight of a point falls with distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Falloff {
    /// exp(-r²/radius²) - exp(-1): zero at the end of the support.
    #[default]
    Fading,
    /// exp(-r²/radius²), cut off at the end of the support, as printed in [MKN04].
    Gaussian,
    /// Cubic spline, as [WHP06] eq. 19 has it; there not divided by the sum.
    Spline,
}

impl Falloff {
    /// Weight at a squared distance in squared radii, below 1.
    pub(super) fn weight(self, r2: f64) -> f64 {
        match self {
            Self::Fading => (-r2).exp() - (-1f64).exp(),
            Self::Gaussian => (-r2).exp(),
            Self::Spline if r2 < 0.25 => 1.0 + 6.0 * r2 * (r2.sqrt() - 1.0),
            Self::Spline => 2.0 * (1.0 - r2.sqrt()).powi(3),
        }
    }
}

/// Surfels bound to points.
#[derive(Debug, Clone, Default)]
pub struct Carrier {
    pub(super) rest: Surfels,
    /// First entry of each surfel in `points` and `weights`. Written by `bind`.
    pub(super) starts: Vec<u32>,
    /// Points that carry a surfel, ascending unless a crack left none of them. Written by `bind` and `cut`.
    pub(super) points: Vec<u32>,
    /// Their weights; those of one surfel sum to 1. Written by `bind` and `cut`.
    pub(super) weights: Vec<f32>,
    /// What they were before any crack. Written by `cut`.
    pub(super) uncut: Uncut,
    /// What sheets know beside the weights. Written by `follow_folds` and wherever weights change.
    pub(super) folds: Folds,
    /// Middle of the surfels at rest, for accuracy in f32 [m].
    pub(super) middle: DVec3,
    /// The points' maps of this frame, to places against the mean of the points. Written by `update`.
    maps: Vec<Map>,
}

/// An affine map by columns: linear part, then shift. f64: what is carried by an affine motion is exact to 1e-12, and its places
/// can be measured.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
struct Map([f64; 12]);

impl Map {
    fn linear(&self) -> DMat3 {
        DMat3::from_cols_slice(&self.0[..9])
    }

    fn shift(&self) -> DVec3 {
        DVec3::from_slice(&self.0[9..])
    }
}

impl Carrier {
    /// Binds surfels at rest to points at rest, each of which reaches as far as its support radius [m]. A surfel out of
    /// reach of all is carried by the nearest point.
    pub fn bind(rest: Surfels, rest_positions: &[DVec3], support_radii: &[f64]) -> Self {
        Self::bind_with(rest, rest_positions, support_radii, Falloff::Fading)
    }

    /// Like `bind`, with a choice of weights.
    pub fn bind_with(rest: Surfels, rest_positions: &[DVec3], support_radii: &[f64], falloff: Falloff) -> Self {
        let farthest = support_radii.iter().copied().filter(|r| r.is_finite()).fold(0.0, f64::max);
        let grid = Grid::new(rest_positions, farthest);
        let lists: Vec<Vec<(u32, f32)>> = rest
            .positions
            .par_iter()
            .map(|p| {
                let list = carriers(p.as_dvec3(), &grid, support_radii, farthest, falloff, |_, r2| Some(r2));
                let nearest = || grid.nearest(p.as_dvec3()).map(|(i, _)| (i as u32, 1.0)).into_iter().collect();
                if list.is_empty() { nearest() } else { list }
            })
            .collect();
        let mut carrier = Self::default();
        let sum: DVec3 = rest.positions.iter().filter(|p| p.is_finite()).map(|p| p.as_dvec3()).sum();
        carrier.middle = sum / rest.len().max(1) as f64;
        carrier.rebind(rest, &lists);
        carrier
    }

    /// Takes other surfels, each with the points that carry it and their weights, which sum to 1.
    pub(super) fn rebind(&mut self, rest: Surfels, lists: &[Vec<(u32, f32)>]) {
        self.rest = rest;
        self.points.clear();
        self.weights.clear();
        self.starts.clear();
        self.starts.push(0);
        for list in lists {
            self.points.extend(list.iter().map(|&(i, _)| i));
            self.weights.extend(list.iter().map(|&(_, w)| w));
            self.starts.push(self.points.len() as u32);
        }
        self.fit_folds();
    }

    /// The surfels at rest.
    pub fn rest(&self) -> &Surfels {
        &self.rest
    }

    /// Mean number of points that carry a surfel.
    pub fn mean_carriers(&self) -> f64 {
        self.points.len() as f64 / self.rest.len().max(1) as f64
    }

    /// The points that carry a surfel, ascending.
    pub fn carrying(&self, surfel: usize) -> &[u32] {
        &self.points[self.starts[surfel] as usize..self.starts[surfel + 1] as usize]
    }

    /// The points that carry a surfel with their weights.
    pub(super) fn bonds(&self, surfel: usize) -> Vec<(u32, f32)> {
        let range = self.starts[surfel] as usize..self.starts[surfel + 1] as usize;
        self.points[range.clone()].iter().copied().zip(self.weights[range].iter().copied()).collect()
    }

    /// Moves the surfels to where the points have carried them. All slices are of the points that the surfels were
    /// bound to, in the same order.
    pub fn update(
        &mut self,
        positions: &[DVec3],
        rest_positions: &[DVec3],
        deformation_gradients: &[DMat3],
        out: &mut Surfels,
    ) {
        let count = self.rest.len();
        out.positions.resize(count, Vec3::ZERO);
        out.axes_u.resize(count, Vec3::ZERO);
        out.axes_v.resize(count, Vec3::ZERO);
        out.normals.resize(count, Vec3::ZERO);
        if out.colors.len() != count {
            out.colors.clone_from(&self.rest.colors);
        }
        if self.folds.are_followed() {
            return self.carry_folds(positions, rest_positions, deformation_gradients, out);
        }
        out.exact.resize(count, DVec3::ZERO);
        let middle = self.middle;
        let center = center_of(positions);
        self.maps.resize(positions.len(), Map::default());
        let points = positions.par_iter().zip(rest_positions).zip(deformation_gradients);
        self.maps.par_iter_mut().zip(points).with_min_len(CHUNK).for_each(|(map, ((y, x), gradient))| {
            let shift = *y - center - *gradient * (*x - middle);
            map.0[..9].copy_from_slice(&gradient.to_cols_array());
            map.0[9..].copy_from_slice(&shift.to_array());
        });
        let chunks = out.positions.par_chunks_mut(CHUNK).zip(out.axes_u.par_chunks_mut(CHUNK));
        let chunks = chunks.zip(out.axes_v.par_chunks_mut(CHUNK)).zip(out.normals.par_chunks_mut(CHUNK));
        let chunks = chunks.zip(out.exact.par_chunks_mut(CHUNK));
        let unbound = (DMat3::IDENTITY, middle - center);
        chunks.enumerate().for_each(|(chunk, ((((positions, axes_u), axes_v), normals), exact))| {
            for k in 0..positions.len() {
                let s = chunk * CHUNK + k;
                let (linear, shift) = self.blend(s).unwrap_or(unbound);
                let rest = self.rest.positions[s].as_dvec3() - middle;
                let place = linear * rest + shift;
                exact[k] = center + place;
                positions[k] = exact[k].as_vec3();
                let linear = linear.as_mat3();
                let (u, v) = (linear * self.rest.axes_u[s], linear * self.rest.axes_v[s]);
                (axes_u[k], axes_v[k]) = (u, v);
                normals[k] = carried_normal(&linear, u, v, self.rest.normals[s]);
            }
        });
    }

    /// Velocities of the carried surfels [m/s]: of the velocity field that fits the points around each best, exact where it is
    /// affine. Points and surfels as of `update`.
    pub fn write_velocities(&self, positions: &[DVec3], velocities: &[DVec3], surfels: &mut Surfels) {
        let Surfels { positions: places, velocities: out, .. } = surfels;
        out.resize(places.len(), Vec3::ZERO);
        if self.folds.are_followed() {
            return self.write_fold_velocities(velocities, out);
        }
        out.par_iter_mut().zip(&*places).enumerate().with_min_len(CHUNK).for_each(|(s, (out, place))| {
            let range = self.starts[s] as usize..self.starts[s + 1] as usize;
            let own = || self.points[range.clone()].iter().zip(&self.weights[range.clone()]);
            let (mut middle, mut mean) = (DVec3::ZERO, DVec3::ZERO);
            for (&i, &w) in own() {
                middle += f64::from(w) * positions[i as usize];
                mean += f64::from(w) * velocities[i as usize];
            }
            let (mut moment, mut moved) = (DMat3::ZERO, DMat3::ZERO);
            for (&i, &w) in own() {
                let r = positions[i as usize] - middle;
                let weighted = f64::from(w) * r;
                moment += outer(weighted, r);
                moved += outer(velocities[i as usize] - mean, weighted);
            }
            let lean = 1e-6 * trace(moment);
            let gradient = match lean > 0.0 {
                true => moved * (moment + DMat3::from_diagonal(DVec3::splat(lean))).inverse(),
                false => DMat3::ZERO,
            };
            *out = (mean + gradient * (place.as_dvec3() - middle)).as_vec3();
        });
    }

    /// The blended map of a surfel; None if nothing carries it.
    fn blend(&self, surfel: usize) -> Option<(DMat3, DVec3)> {
        let range = self.starts[surfel] as usize..self.starts[surfel + 1] as usize;
        if range.is_empty() {
            return None;
        }
        let (mut sum, mut blended) = (0.0, Map::default());
        for (&i, &w) in self.points[range.clone()].iter().zip(&self.weights[range]) {
            let w = f64::from(w);
            sum += w;
            for (to, from) in blended.0.iter_mut().zip(&self.maps[i as usize].0) {
                *to += w * from;
            }
        }
        // Weights in f32 sum to 1 to f32 only.
        let whole = 1.0 / sum;
        whole.is_finite().then(|| (blended.linear() * whole, blended.shift() * whole))
    }
}

/// Mean of positions, from which f32 coordinates count: so they keep their digits wherever the body is.
pub(super) fn center_of(positions: &[DVec3]) -> DVec3 {
    let finite = || positions.iter().filter(|p| p.is_finite());
    finite().sum::<DVec3>() / finite().count().max(1) as f64
}

/// Normal of the carried axes on the side that was outside at rest, also when the matter is turned inside out.
pub(super) fn carried_normal(linear: &Mat3, u: Vec3, v: Vec3, rest: Vec3) -> Vec3 {
    let across = Vec3A::from(u).cross(Vec3A::from(v));
    let normal = Vec3::from(across.try_normalize().unwrap_or(Vec3A::from(rest)));
    // The image of the old normal stays on the outer side of the surface.
    if normal.dot(*linear * rest) < 0.0 { -normal } else { normal }
}

/// The points that carry a surfel at `p`, ascending, with weights that sum to 1; none where all are out of reach. `way` says how far
/// a point at a squared distance [m²] really is; None: it cannot be reached.
pub(super) fn carriers(
    p: DVec3,
    grid: &Grid,
    radii: &[f64],
    farthest: f64,
    falloff: Falloff,
    way: impl Fn(usize, f64) -> Option<f64>,
) -> Vec<(u32, f32)> {
    let mut found: Vec<(u32, f64)> = Vec::new();
    grid.for_each_within(p, farthest, |i, r2| {
        if r2 >= radii[i] * radii[i] {
            return;
        }
        let r2 = way(i, r2).map_or(f64::INFINITY, |r2| r2 / (radii[i] * radii[i]));
        if r2 < 1.0 {
            found.push((i as u32, falloff.weight(r2)));
        }
    });
    found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if found.len() > MOST_CARRIERS && falloff == Falloff::Fading {
        // Weights above that of the first one left out: they fade to zero before a point is exchanged for another.
        let floor = found[MOST_CARRIERS].1;
        found.truncate(MOST_CARRIERS);
        found.iter_mut().for_each(|(_, w)| *w -= floor);
    }
    found.retain(|&(_, w)| w > 0.0);
    found.sort_unstable_by_key(|&(i, _)| i);
    let sum: f64 = found.iter().map(|&(_, w)| w).sum();
    found.iter().map(|&(i, w)| (i, (w / sum) as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use glam::DAffine3;

    /// A ball of points and surfels on a slightly smaller one, with different radii.
    fn body() -> (Surfels, Vec<DVec3>, Vec<f64>) {
        let points = (0..4000).map(|i| Random::new(1, i).in_cube()).filter(|p| p.length() < 1.0).collect::<Vec<_>>();
        let radii = (0..points.len() as u64).map(|i| Random::new(2, i).between(0.25, 0.4)).collect();
        let mut surfels = Surfels::default();
        for i in 0..1500 {
            let n = Random::new(3, i).direction().as_vec3();
            let (u, v) = n.any_orthonormal_pair();
            surfels.positions.push(0.95 * n);
            surfels.axes_u.push(0.05 * u);
            surfels.axes_v.push(0.04 * v);
            surfels.normals.push(n);
            surfels.colors.push([i as u8, 1, 2]);
        }
        (surfels, points, radii)
    }

    fn carry(maps: impl Fn(DVec3) -> (DVec3, DMat3)) -> (Surfels, Surfels) {
        let (surfels, points, radii) = body();
        let (moved, gradients): (Vec<_>, Vec<_>) = points.iter().map(|&p| maps(p)).unzip();
        let mut carrier = Carrier::bind(surfels.clone(), &points, &radii);
        let mut out = Surfels::default();
        carrier.update(&moved, &points, &gradients, &mut out);
        (surfels, out)
    }

    #[test]
    fn affine_motion_is_exact_for_centers_axes_and_normals() {
        let linear = DMat3::from_cols_array(&[1.2, 0.3, -0.1, -0.4, 0.9, 0.2, 0.3, 0.1, 1.4]);
        for linear in [linear, DMat3::from_rotation_x(2.0), linear * DMat3::from_diagonal(DVec3::new(1.0, -1.0, 1.0))] {
            let map = DAffine3 { matrix3: linear, translation: DVec3::new(3.0, -2.0, 7.0) };
            let (rest, out) = carry(|p| (map.transform_point3(p), linear));
            let normal_map = linear.inverse().transpose();
            for i in 0..rest.len() {
                let close = |a: Vec3, b: DVec3| assert!((a.as_dvec3() - b).length() < 5e-6, "{a} {b}");
                close(out.positions[i], map.transform_point3(rest.positions[i].as_dvec3()));
                close(out.axes_u[i], linear * rest.axes_u[i].as_dvec3());
                close(out.axes_v[i], linear * rest.axes_v[i].as_dvec3());
                close(out.normals[i], (normal_map * rest.normals[i].as_dvec3()).normalize());
            }
            assert_eq!(out.colors, rest.colors);
        }
    }

    #[test]
    fn velocities_of_affine_motion_are_exact() {
        let points: Vec<DVec3> =
            (0..343).map(|k| DVec3::new(f64::from(k % 7), f64::from(k / 7 % 7), f64::from(k / 49))).collect();
        let spin = DMat3::from_cols(DVec3::new(0.1, 2.0, 0.0), DVec3::new(-2.0, 0.3, 1.0), DVec3::new(0.5, -1.0, 0.0));
        let velocities: Vec<DVec3> = points.iter().map(|p| spin * *p + DVec3::X).collect();
        let mut out =
            Surfels { positions: vec![Vec3::new(-0.4, 3.0, 3.2), Vec3::new(6.4, 6.4, 6.3)], ..Surfels::default() };
        (out.axes_u, out.axes_v, out.normals) = (vec![Vec3::X; 2], vec![Vec3::Y; 2], vec![Vec3::Z; 2]);
        let carrier = Carrier::bind(out.clone(), &points, &[1.75; 343]);
        carrier.write_velocities(&points, &velocities, &mut out);
        for (p, v) in out.positions.iter().zip(&out.velocities) {
            let expected = spin * p.as_dvec3() + DVec3::X;
            assert!((v.as_dvec3() - expected).length() < 1e-3, "{v} {expected}");
        }
    }

    #[test]
    fn smooth_motion_is_followed_to_second_order() {
        // A bend: angle grows along x.
        let bend = |p: DVec3| DMat3::from_rotation_z(0.5 * p.x) * DVec3::new(0.0, p.y, p.z) + DVec3::X * p.x;
        let gradient = |p: DVec3| {
            let d = |e: DVec3| (bend(p + 1e-5 * e) - bend(p - 1e-5 * e)) / 2e-5;
            DMat3::from_cols(d(DVec3::X), d(DVec3::Y), d(DVec3::Z))
        };
        let (rest, out) = carry(|p| (bend(p), gradient(p)));
        for i in 0..rest.len() {
            let p = rest.positions[i].as_dvec3();
            assert!((out.positions[i].as_dvec3() - bend(p)).length() < 0.02);
            let normal = (gradient(p).inverse().transpose() * rest.normals[i].as_dvec3()).normalize();
            assert!(out.normals[i].as_dvec3().dot(normal) > 0.99);
        }
    }

    #[test]
    fn in_tight_folds_axes_are_the_slopes_of_the_carried_surface() {
        // A sheet of points folded over within a spacing or two; the maps of its points differ wildly.
        let spacing = 0.1;
        let points: Vec<DVec3> =
            (0..400).map(|k| spacing * DVec3::new(f64::from(k % 20) - 9.5, 0.0, f64::from(k / 20) - 9.5)).collect();
        let fold = |p: DVec3| {
            let angle = std::f64::consts::PI / (1.0 + (-p.x / 0.04).exp());
            (DMat3::from_rotation_z(angle) * p + DVec3::Y * 0.3 * angle, DMat3::from_rotation_z(angle))
        };
        let (moved, gradients): (Vec<_>, Vec<_>) = points.iter().map(|&p| fold(p)).unzip();
        let radii = vec![1.8 * spacing; points.len()];
        let at = |x: f32, z: f32, folds: bool| {
            let mut surfel = Surfels::default();
            surfel.positions.push(Vec3::new(x, 0.0, z));
            surfel.axes_u.push(Vec3::X);
            surfel.axes_v.push(Vec3::Z);
            surfel.normals.push(Vec3::Y);
            surfel.colors.push([0; 3]);
            let mut out = Surfels::default();
            let mut carrier = Carrier::bind(surfel, &points, &radii);
            if folds {
                carrier = carrier.follow_folds(&points, &radii);
            }
            carrier.update(&moved, &points, &gradients, &mut out);
            [out.positions[0], out.axes_u[0], out.axes_v[0]]
        };
        let worst = |folds: bool| {
            let mut worst: f32 = 0.0;
            for k in 0..60 {
                let (x, z, e) = (-0.1437 + 0.005 * k as f32, 0.0132 + 0.003 * k as f32, 2e-3);
                let [_, u, v] = at(x, z, folds);
                let du = (at(x + e, z, folds)[0] - at(x - e, z, folds)[0]) / (2.0 * e);
                let dv = (at(x, z + e, folds)[0] - at(x, z - e, folds)[0]) / (2.0 * e);
                worst = worst.max((u - du).length() / (1.0 + du.length())).max((v - dv).length() / (1.0 + dv.length()));
            }
            worst
        };
        // Weights end with a kink where a support ends.
        assert!(worst(true) < 0.15 && worst(false) > 2.0 * worst(true), "{} {}", worst(true), worst(false));
    }

    #[test]
    fn the_carried_field_has_no_steps() {
        // Random displacements; along a line the carried positions must not jump, wherever supports end.
        let (_, points, radii) = body();
        let mut line = Surfels::default();
        for i in 0..20_000 {
            line.positions.push(Vec3::new(-0.9 + 9e-5 * i as f32, 0.1, 0.05));
            for list in [&mut line.axes_u, &mut line.axes_v, &mut line.normals] {
                list.push(Vec3::X);
            }
        }
        let moved: Vec<DVec3> =
            points.iter().enumerate().map(|(i, p)| *p + 0.1 * Random::new(9, i as u64).in_cube()).collect();
        let gradients = vec![DMat3::IDENTITY; points.len()];
        let largest_step = |falloff| {
            let mut out = Surfels::default();
            Carrier::bind_with(line.clone(), &points, &radii, falloff).update(&moved, &points, &gradients, &mut out);
            out.positions.windows(2).map(|w| (w[1] - w[0]).length()).fold(0.0, f32::max)
        };
        assert!(largest_step(Falloff::Fading) < 5e-4, "{}", largest_step(Falloff::Fading));
        assert!(largest_step(Falloff::Gaussian) > 2e-3);
    }

    #[test]
    fn a_surfel_out_of_reach_follows_the_nearest_point_and_no_points_leave_it_alone() {
        let mut surfels = Surfels::default();
        surfels.positions.push(Vec3::new(5.0, 0.0, 0.0));
        surfels.axes_u.push(Vec3::X);
        surfels.axes_v.push(Vec3::Y);
        surfels.normals.push(Vec3::Z);
        let points = [DVec3::ZERO, DVec3::X];
        let mut out = Surfels::default();
        let mut carrier = Carrier::bind(surfels.clone(), &points, &[0.5, 0.5]);
        carrier.update(&[DVec3::ZERO, DVec3::new(1.0, 2.0, 0.0)], &points, &[DMat3::IDENTITY; 2], &mut out);
        assert!((out.positions[0] - Vec3::new(5.0, 2.0, 0.0)).length() < 1e-6);
        let mut carrier = Carrier::bind(surfels, &[], &[]);
        carrier.update(&[], &[], &[], &mut out);
        assert_eq!((out.positions[0], out.normals[0]), (Vec3::new(5.0, 0.0, 0.0), Vec3::Z));
    }

    #[test]
    fn the_same_bits_on_any_number_of_threads() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (_, out) = pool.install(|| carry(|p| (p * p.length(), DMat3::from_diagonal(p))));
            (out.positions, out.axes_u, out.axes_v, out.normals)
        };
        let one = run(1);
        assert!((2..=4).all(|threads| run(threads) == one));
    }
}
