//! Carries the surfels of sheets: their axes follow the change of the weights too, as tight folds ask for.
//!
//! A surfel at p lies at Σ w y with y the place to which a node's own map brings it, and an axis u becomes Σ w F u + Σ (u · ∇w) y.
//! Weights and their slopes along the two axes are those of the shape at rest, so they are found once, when surfels are bound or
//! a crack passes; a frame is one sum over flat arrays. Maps are f32 about the middle of the nodes: a sheet of 1 m keeps 0.1 µm,
//! as precise as the places that are drawn.
//!
//! Velocities are Σ c v, with coefficients that give any field that is linear along the sheet at rest exactly.

use super::Surfels;
use super::displacement::{CHUNK, Carrier, MOST_CARRIERS, carried_normal, center_of};
use glam::{DMat3, DVec2, DVec3, Mat3, Vec3, Vec3A, Vec4};
use rayon::prelude::*;

/// What a moment lacks at least, in its trace: nodes in a row say nothing of the way across.
const LEAN: f64 = 1e-4;

/// What sheets know beside the weights.
#[derive(Debug, Clone, Default)]
pub(super) struct Folds {
    /// Rest position [m] and one over the squared radius [1/m²] of each node; empty where folds are not followed.
    supports: Vec<(DVec3, f64)>,
    /// Slopes of the weight of each bond along both axes of its surfel. Written by `fit`.
    slopes: Vec<[f32; 2]>,
    /// Part of the velocity of the node of each bond in that of the surfel. Written by `fit`.
    shares: Vec<f32>,
    /// The nodes' maps of this frame, by columns, to places against the mean of the nodes. Written by `carry_folds`.
    maps: Vec<[Vec4; 4]>,
}

impl Folds {
    /// Whether folds are followed.
    pub fn are_followed(&self) -> bool {
        !self.supports.is_empty()
    }
}

impl Carrier {
    /// Lets the axes of surfels follow the change of the weights too, as the folds of a sheet ask for. Points and radii are those
    /// of `bind`.
    pub fn follow_folds(mut self, rest_positions: &[DVec3], support_radii: &[f64]) -> Self {
        let support = |(x, r): (&DVec3, &f64)| (*x, 1.0 / (r * r));
        self.folds.supports = rest_positions.iter().zip(support_radii).map(support).collect();
        self.fit_folds();
        self
    }

    /// Finds what the weights of all surfels mean for folds, if these are followed.
    pub(super) fn fit_folds(&mut self) {
        if self.folds.are_followed() {
            self.folds.slopes.resize(self.points.len(), [0.0; 2]);
            self.folds.shares.resize(self.points.len(), 0.0);
            (0..self.rest.len()).for_each(|s| self.fit_fold(s));
        }
    }

    /// The same for a single surfel.
    pub(super) fn fit_fold(&mut self, surfel: usize) {
        if !self.folds.are_followed() {
            return;
        }
        let range = self.starts[surfel] as usize..self.starts[surfel + 1] as usize;
        let (points, weights) = (&self.points[range.clone()], &self.weights[range.clone()]);
        let p = self.rest.positions[surfel].as_dvec3();
        let axes = [self.rest.axes_u[surfel].as_dvec3(), self.rest.axes_v[surfel].as_dvec3()];
        let Folds { supports, slopes, shares, .. } = &mut self.folds;
        let (slopes, shares) = (&mut slopes[range.clone()], &mut shares[range]);
        find_slopes(supports, points, weights, p, axes, slopes);
        find_shares(supports, points, weights, p, axes, shares);
    }

    /// Moves the surfels to where the nodes have carried them, axes with the change of the weights.
    pub(super) fn carry_folds(&mut self, positions: &[DVec3], rest: &[DVec3], gradients: &[DMat3], out: &mut Surfels) {
        let (middle, center) = (self.middle, center_of(positions));
        self.folds.maps.resize(positions.len(), [Vec4::ZERO; 4]);
        let nodes = positions.par_iter().zip(rest).zip(gradients);
        self.folds.maps.par_iter_mut().zip(nodes).with_min_len(CHUNK).for_each(|(map, ((y, x), gradient))| {
            let shift = *y - center - *gradient * (*x - middle);
            let columns = [gradient.x_axis, gradient.y_axis, gradient.z_axis, shift];
            *map = columns.map(|c| c.as_vec3().extend(0.0));
        });
        // Places in f32 are all there is to know.
        out.exact.clear();
        let chunks = out.positions.par_chunks_mut(CHUNK).zip(out.axes_u.par_chunks_mut(CHUNK));
        let chunks = chunks.zip(out.axes_v.par_chunks_mut(CHUNK)).zip(out.normals.par_chunks_mut(CHUNK));
        chunks.enumerate().for_each(|(chunk, (((places, axes_u), axes_v), normals))| {
            for k in 0..places.len() {
                let s = chunk * CHUNK + k;
                let at = (self.rest.positions[s].as_dvec3() - middle).as_vec3();
                let (u, v, n) = (self.rest.axes_u[s], self.rest.axes_v[s], self.rest.normals[s]);
                let [place, linear @ .., along_u, along_v] = self.fold_of(s, at);
                let linear = Mat3::from_cols(linear[0].into(), linear[1].into(), linear[2].into());
                places[k] = (center + Vec3::from(place).as_dvec3()).as_vec3();
                (axes_u[k], axes_v[k]) = (linear * u + Vec3::from(along_u), linear * v + Vec3::from(along_v));
                normals[k] = carried_normal(&linear, axes_u[k], axes_v[k], n);
            }
        });
    }

    /// Place of a surfel that is `at` a place at rest, its blended gradient by columns, and what the change of the weights adds to
    /// its axes; all sums over its bonds.
    #[inline]
    fn fold_of(&self, surfel: usize, at: Vec3) -> [Vec3A; 6] {
        let range = self.starts[surfel] as usize..self.starts[surfel + 1] as usize;
        if range.is_empty() {
            return [Vec3A::from(at), Vec3A::X, Vec3A::Y, Vec3A::Z, Vec3A::ZERO, Vec3A::ZERO];
        }
        let mut sums = [Vec4::ZERO; 6];
        let bonds = self.points[range.clone()].iter().zip(&self.weights[range.clone()]);
        for ((&i, &w), &[along_u, along_v]) in bonds.zip(&self.folds.slopes[range]) {
            let [a, b, c, shift] = self.folds.maps[i as usize];
            let y = a * at.x + b * at.y + (c * at.z + shift);
            sums[0] += y * w;
            sums[1] += a * w;
            sums[2] += b * w;
            sums[3] += c * w;
            sums[4] += y * along_u;
            sums[5] += y * along_v;
        }
        sums.map(Vec3A::from_vec4)
    }

    /// Velocities of carried surfels [m/s].
    pub(super) fn write_fold_velocities(&self, velocities: &[DVec3], out: &mut [Vec3]) {
        out.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(s, out)| {
            let range = self.starts[s] as usize..self.starts[s + 1] as usize;
            let mut sum = DVec3::ZERO;
            for (&i, &share) in self.points[range.clone()].iter().zip(&self.folds.shares[range]) {
                sum += f64::from(share) * velocities[i as usize];
            }
            *out = sum.as_vec3();
        });
    }
}

/// Slopes of the weights of a surfel at `p` along its axes; the weights are over their sum.
fn find_slopes(
    supports: &[(DVec3, f64)],
    points: &[u32],
    weights: &[f32],
    p: DVec3,
    axes: [DVec3; 2],
    out: &mut [[f32; 2]],
) {
    out.fill([0.0; 2]);
    // Where weights were cut off, or there is one node only, they count as constant.
    if points.len() < 2 || points.len() >= MOST_CARRIERS {
        return;
    }
    // Nodes beyond a crack have no weight.
    let bell = |k: usize| {
        let (x, inverse) = supports[points[k] as usize];
        let way = p - x;
        let bell = (-way.length_squared() * inverse).exp();
        let slope = -2.0 * bell * inverse * DVec2::new(way.dot(axes[0]), way.dot(axes[1]));
        ((bell - (-1f64).exp()).max(0.0), slope)
    };
    let own = || (0..points.len()).filter(|&k| weights[k] > 0.0).map(|k| (k, bell(k)));
    let (sum, slopes) = own().fold((0.0, DVec2::ZERO), |(sum, slopes), (_, (w, slope))| (sum + w, slopes + slope));
    if sum > 0.0 {
        own().for_each(|(k, (w, slope))| out[k] = ((slope - slopes * (w / sum)) / sum).as_vec2().to_array());
    }
}

/// Parts of the velocities of the nodes in that of a surfel at `p`, which reproduce fields that are linear along its axes.
fn find_shares(
    supports: &[(DVec3, f64)],
    points: &[u32],
    weights: &[f32],
    p: DVec3,
    axes: [DVec3; 2],
    out: &mut [f32],
) {
    let axes = axes.map(DVec3::normalize_or_zero);
    let way = |k: usize| {
        let d = supports[points[k] as usize].0 - p;
        DVec2::new(d.dot(axes[0]), d.dot(axes[1]))
    };
    let all = || weights.iter().enumerate().map(|(k, &w)| (f64::from(w), way(k)));
    let middle: DVec2 = all().map(|(w, d)| w * d).sum();
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (w, d) in all() {
        let r = d - middle;
        (xx, xy, yy) = (xx + w * r.x * r.x, xy + w * r.x * r.y, yy + w * r.y * r.y);
    }
    let lean = LEAN * (xx + yy);
    let (xx, yy) = (xx + lean, yy + lean);
    let determinant = xx * yy - xy * xy;
    // From the middle of the nodes to the surfel.
    let to = match determinant > 0.0 {
        true => DVec2::new(xy * middle.y - yy * middle.x, xy * middle.x - xx * middle.y) / determinant,
        false => DVec2::ZERO,
    };
    out.iter_mut().zip(all()).for_each(|(out, (w, d))| *out = (w * (1.0 + to.dot(d - middle))) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sheet of nodes in the plane y = 0, a tenth apart, and surfels between them.
    fn sheet() -> (Carrier, Vec<DVec3>) {
        let nodes: Vec<DVec3> =
            (0..400).map(|k| 0.1 * DVec3::new(f64::from(k % 20) - 9.5, 0.0, f64::from(k / 20) - 9.5)).collect();
        let mut surfels = Surfels::default();
        for k in 0..900 {
            surfels.positions.push(Vec3::new((k % 30) as f32 / 17.0 - 0.87, 0.0, (k / 30) as f32 / 17.0 - 0.87));
            surfels.axes_u.push(0.02 * Vec3::X);
            surfels.axes_v.push(0.03 * Vec3::Z);
            surfels.normals.push(Vec3::Y);
        }
        let radii = vec![0.18; nodes.len()];
        (Carrier::bind(surfels, &nodes, &radii).follow_folds(&nodes, &radii), nodes)
    }

    #[test]
    fn affine_motion_is_exact_to_the_drawn_digits() {
        let (mut carrier, nodes) = sheet();
        let linear = DMat3::from_cols_array(&[1.2, 0.3, -0.1, -0.4, 0.9, 0.2, 0.3, 0.1, 1.4]);
        let moved: Vec<DVec3> = nodes.iter().map(|p| linear * *p + DVec3::new(3.0, -2.0, 7.0)).collect();
        let mut out = Surfels::default();
        carrier.update(&moved, &nodes, &vec![linear; nodes.len()], &mut out);
        for (s, rest) in carrier.rest().positions.iter().enumerate() {
            let close = |a: Vec3, b: DVec3, most: f64| assert!((a.as_dvec3() - b).length() < most, "{a} {b}");
            close(out.positions[s], linear * rest.as_dvec3() + DVec3::new(3.0, -2.0, 7.0), 2e-6);
            close(out.axes_u[s], linear * DVec3::X * 0.02, 1e-6);
            close(out.axes_v[s], linear * DVec3::Z * 0.03, 1e-6);
        }
    }

    #[test]
    fn velocities_along_the_sheet_are_those_of_a_linear_field() {
        let (carrier, nodes) = sheet();
        let spin = DMat3::from_cols(DVec3::new(0.1, 2.0, 0.0), DVec3::ZERO, DVec3::new(0.5, -1.0, 0.3));
        let velocities: Vec<DVec3> = nodes.iter().map(|p| spin * *p + DVec3::X).collect();
        let mut out = carrier.rest().clone();
        carrier.write_velocities(&nodes, &velocities, &mut out);
        for (p, v) in out.positions.iter().zip(&out.velocities) {
            assert!((v.as_dvec3() - spin * p.as_dvec3() - DVec3::X).length() < 1e-4, "{p} {v}");
        }
    }
}
