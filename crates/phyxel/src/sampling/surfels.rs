//! Surfels that cover a shape's surface without holes.
//!
//! Many candidates on a triangulation of the surface, more where it bends; a blue-noise choice among them by darts of
//! shrinking radius [MF92], evened out by two Lloyd steps; then each surfel is put on the surface and its ellipse made
//! large enough to cover all candidates that are nearest to it. Candidates whose normals point elsewhere belong to
//! another side or face: faces meet at a sharp edge with surfels of their own, and the sides of a thin sheet do not mix.
//! Surfels are flat, so they must be small where the surface bends: a first, even set of candidates says where.

use super::candidates::{Candidate, SAME_SIDE, finenesses, nearest_alike, spread};
use super::triangulation::Triangulation;
use crate::geometry::Shape;
use crate::neighbors::{Grid, cell_order};
use crate::random::{Random, mix};
use crate::surface::Surfels;
use glam::{DVec2, DVec3};
use rayon::prelude::*;

/// Most surfels of one shape.
const MOST: usize = 5_000_000;

/// Covers the surface of a bounded shape with `count` surfels (at most five million) of one sRGB color, in cell order.
/// Empty when the shape is infinite, empty or too thin to be seen.
pub fn sample_surfels(shape: &dyn Shape, count: usize, color: [u8; 3], seed: u64) -> Surfels {
    let longest = shape.bounds().size().max_element();
    if count == 0 || !(longest > 0.0 && longest.is_finite()) {
        return Surfels::default();
    }
    let count = count.min(MOST);
    // The area from a coarse look gives the distance between surfels, that the grid to sample from.
    let mut surface = Triangulation::new(shape, longest / 40.0);
    let area = |s: &Triangulation| (0..s.triangles.len()).map(|t| s.area_vector(t).length()).sum::<f64>();
    let spacing = (area(&surface) / count as f64).sqrt();
    // A fold that the triangles pass over stays open: they must be as fine as what can be drawn.
    let edge = spacing.clamp(longest / 192.0, longest / 40.0);
    if edge < 0.9 * surface.edge || surface.triangles.is_empty() {
        surface = Triangulation::new(shape, edge);
    }
    let spacing = (area(&surface) / count as f64).sqrt();
    if spacing.is_nan() || spacing <= 0.0 {
        return Surfels::default();
    }
    let candidates = Candidates::graded(&surface, shape, count, spacing, seed);
    let mut chosen = candidates.choose(count, mix(seed, 1));
    for _ in 0..2 {
        let owners = candidates.owners(&chosen);
        candidates.center(&owners, &mut chosen);
    }
    chosen.par_iter_mut().for_each(|c| {
        c.settle(shape, spacing);
        c.leave_edge(shape, spacing);
    });
    let order = cell_order(&chosen.iter().map(|c| c.position).collect::<Vec<_>>(), 4.0 * spacing);
    let chosen: Vec<Candidate> = order.iter().map(|&i| chosen[i as usize]).collect();
    candidates.ellipses(&chosen, color)
}

struct Candidates {
    all: Vec<Candidate>,
    /// Distance between surfels on flat surface [m].
    spacing: f64,
    /// Distance between candidates on flat surface, about [m].
    gap: f64,
}

impl Candidates {
    /// Candidates for `count` surfels, dense where the surface bends.
    fn graded(surface: &Triangulation, shape: &dyn Shape, count: usize, spacing: f64, seed: u64) -> Self {
        let (first, second) = if count > 100_000 { (2, 4) } else { (4, 6) };
        // The triangles do not know folds finer than themselves; without settling, surfels would stick out of creases.
        let (mut even, triangles) = spread(surface, first * count, |_| 1.0, mix(seed, 2));
        even.par_iter_mut().for_each(|c| c.settle(shape, spacing));
        let fine = finenesses(&even, spacing);
        for (c, &fine) in even.iter_mut().zip(&fine) {
            c.fine = fine;
        }
        let positions: Vec<DVec3> = even.iter().map(|c| c.position).collect();
        let grid = Grid::new(&positions, spacing);
        let fineness = |c: &Candidate| nearest_alike(&grid, &even, c, spacing).map_or(1.0, |i| even[i].fine);
        // The finest place that is known of each triangle.
        let middle = |t: usize| {
            let normal = surface.area_vector(t).normalize_or_zero();
            Candidate { position: surface.corners(t).iter().sum::<DVec3>() / 3.0, normal, fine: 0.0 }
        };
        let mut finest: Vec<f64> = (0..surface.triangles.len()).into_par_iter().map(|t| fineness(&middle(t))).collect();
        for (&t, &fine) in triangles.iter().zip(&fine) {
            finest[t as usize] = finest[t as usize].min(fine);
        }
        // As many surfels in all, so that those on flat surface are farther apart.
        let share = fine.iter().map(|f| 1.0 / (f * f)).sum::<f64>() / fine.len().max(1) as f64;
        let spacing = spacing * share.sqrt();

        // Every triangle gets what its finest place needs; of those a place keeps its part.
        let areas = (0..surface.triangles.len()).map(|t| surface.area_vector(t).length());
        let (all, fine_all) = areas.zip(&finest).fold((0.0, 0.0), |sum, (a, f)| (sum.0 + a, sum.1 + a / (f * f)));
        let wanted =
            ((second * count) as f64 * fine_all / (all * share)).clamp(count as f64, (8 * second * count) as f64);
        let (mut dense, triangles) = spread(surface, wanted as usize, |t| 1.0 / (finest[t] * finest[t]), seed);
        dense.par_iter_mut().zip(&triangles).enumerate().for_each(|(k, (c, &t))| {
            c.fine = fineness(c);
            let part = finest[t as usize] / c.fine;
            if Random::new(mix(seed, 3), k as u64).unit() > part * part {
                c.fine = 0.0;
            } else {
                c.settle(shape, spacing);
            }
        });
        dense.retain(|c| c.fine > 0.0);
        let gap = 0.9 * spacing / (second as f64).sqrt();
        Self { all: dense, spacing, gap }
    }

    /// Takes candidates in a random order, each if it is far enough from those taken before on the same side; the
    /// distance asked for shrinks until there are `count`.
    fn choose(&self, count: usize, seed: u64) -> Vec<Candidate> {
        let mut order: Vec<u32> = (0..self.all.len() as u32).collect();
        order.par_sort_by_key(|&i| (mix(seed, u64::from(i)), i));
        let positions: Vec<DVec3> = self.all.iter().map(|c| c.position).collect();
        let grid = Grid::new(&positions, self.spacing);
        let mut closest = vec![f32::INFINITY; self.all.len()];
        let mut taken = Vec::with_capacity(count);
        let mut radius = self.spacing;
        while taken.len() < count && radius > 1e-3 * self.spacing {
            for &i in &order {
                let i = i as usize;
                if f64::from(closest[i]) < radius * radius || taken.len() == count {
                    continue;
                }
                let own = self.all[i];
                taken.push(own);
                closest[i] = 0.0;
                // Whoever finds it near is not much coarser.
                let reach = self.spacing * (2.5 * own.fine).min(1.0);
                grid.for_each_within(own.position, reach, |j, r2| {
                    let other = &self.all[j];
                    if own.normal.dot(other.normal) > SAME_SIDE {
                        closest[j] = closest[j].min((r2 / (other.fine * other.fine)) as f32);
                    }
                });
            }
            radius *= 0.95;
        }
        taken
    }

    /// For each candidate the nearest chosen one on the same side, else the nearest of all.
    fn owners(&self, chosen: &[Candidate]) -> Vec<u32> {
        let positions: Vec<DVec3> = chosen.iter().map(|c| c.position).collect();
        let grid = Grid::new(&positions, self.spacing);
        let owner = |c: &Candidate| {
            let mut best = (u32::MAX, f64::INFINITY);
            for reach in [1.2 * c.fine, 2.5] {
                grid.for_each_within(c.position, reach * self.spacing, |j, r2| {
                    let nearer = r2 < best.1 || (r2 == best.1 && (j as u32) < best.0);
                    if nearer && chosen[j].normal.dot(c.normal) > SAME_SIDE {
                        best = (j as u32, r2);
                    }
                });
                if best.0 != u32::MAX {
                    return best.0;
                }
            }
            grid.nearest(c.position).map_or(0, |(j, _)| j as u32)
        };
        self.all.par_iter().map(owner).collect()
    }

    /// Moves each chosen one to the middle of the candidates it owns.
    fn center(&self, owners: &[u32], chosen: &mut [Candidate]) {
        let mut sums = vec![(DVec3::ZERO, DVec3::ZERO, 0.0); chosen.len()];
        for (c, &owner) in self.all.iter().zip(owners) {
            let sum = &mut sums[owner as usize];
            if chosen[owner as usize].normal.dot(c.normal) > SAME_SIDE {
                *sum = (sum.0 + c.position, sum.1 + c.normal, sum.2 + 1.0);
            }
        }
        for (c, (position, normal, count)) in chosen.iter_mut().zip(sums) {
            if count > 0.0 {
                c.position = position / count;
                c.normal = normal.try_normalize().unwrap_or(c.normal);
            }
        }
    }

    /// Ellipses that cover the candidates.
    fn ellipses(&self, chosen: &[Candidate], color: [u8; 3]) -> Surfels {
        let owners = self.owners(chosen);
        let mut starts = vec![0u32; chosen.len() + 1];
        owners.iter().for_each(|&o| starts[o as usize + 1] += 1);
        (0..chosen.len()).for_each(|i| starts[i + 1] += starts[i]);
        let mut owned = vec![0u32; owners.len()];
        let mut next = starts.clone();
        for (c, &o) in owners.iter().enumerate() {
            owned[next[o as usize] as usize] = c as u32;
            next[o as usize] += 1;
        }
        let axes: Vec<[DVec3; 2]> = (0..chosen.len())
            .into_par_iter()
            .map(|i| self.axes(chosen[i], &owned[starts[i] as usize..starts[i + 1] as usize]))
            .collect();
        Surfels {
            positions: chosen.iter().map(|c| c.position.as_vec3()).collect(),
            axes_u: axes.iter().map(|a| a[0].as_vec3()).collect(),
            axes_v: axes.iter().map(|a| a[1].as_vec3()).collect(),
            normals: chosen.iter().map(|c| c.normal.as_vec3()).collect(),
            colors: vec![color; chosen.len()],
            velocities: Vec::new(),
            exact: Vec::new(),
        }
    }

    /// Half-axes along the principal directions of the owned candidates, with a mild difference of lengths.
    fn axes(&self, own: Candidate, owned: &[u32]) -> [DVec3; 2] {
        let (x, y) = own.normal.any_orthonormal_pair();
        let flat = |&c: &u32| {
            let d = self.all[c as usize].position - own.position;
            DVec2::new(d.dot(x), d.dot(y))
        };
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for d in owned.iter().map(flat) {
            (xx, xy, yy) = (xx + d.x * d.x, xy + d.x * d.y, yy + d.y * d.y);
        }
        let (sin, cos) = (0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
        let spread = (0.25 * (xx - yy) * (xx - yy) + xy * xy).sqrt();
        let (large, small) = (0.5 * (xx + yy) + spread, 0.5 * (xx + yy) - spread);
        let stretch = if large > 0.0 { (small.max(0.0) / large).powf(0.25).max(0.8) } else { 1.0 };
        let (along, across) = (DVec2::new(cos, sin) * stretch, DVec2::new(-sin, cos) / stretch);
        // The scale at which the farthest candidate is covered, and what lies between it and the next one. A disc that
        // covers a square cell has a radius of 0.71 spacings.
        let farthest = owned.iter().map(flat).map(|d| DVec2::new(d.dot(along), d.dot(across)).length());
        let spacing = self.spacing * own.fine;
        let scale = (farthest.fold(0.0, f64::max) + self.gap * own.fine).clamp(0.75 * spacing, 2.5 * spacing);
        [(cos * x + sin * y) * scale / stretch, (cos * y - sin * x) * scale * stretch]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::shapes;
    use super::*;

    /// Part of random places on the surface that no surfel ellipse covers, looking along the surfel's normal.
    fn uncovered(shape: &dyn Shape, surfels: &Surfels) -> f64 {
        let surface = Triangulation::new(shape, shape.bounds().size().max_element() / 60.0);
        let places = spread(&surface, 20_000, |_| 1.0, 99).0;
        let positions: Vec<DVec3> = surfels.positions.iter().map(|p| p.as_dvec3()).collect();
        let largest = surfels.axes_u.iter().chain(&surfels.axes_v).fold(0.0f32, |m, a| m.max(a.length()));
        let grid = Grid::new(&positions, f64::from(largest));
        let missed = places.iter().filter(|place| {
            let mut covered = false;
            grid.for_each_within(place.position, 1.5 * f64::from(largest), |j, _| {
                let d = (place.position - positions[j]).as_vec3();
                let (u, v) = (surfels.axes_u[j], surfels.axes_v[j]);
                let (a, b) = (d.dot(u) / u.length_squared(), d.dot(v) / v.length_squared());
                covered |= a * a + b * b <= 1.0 && d.dot(surfels.normals[j]).abs() < largest;
            });
            !covered
        });
        missed.count() as f64 / places.len() as f64
    }

    #[test]
    fn surfels_lie_on_the_surface_and_leave_no_holes() {
        for (name, shape, _) in shapes() {
            let surfels = sample_surfels(&*shape, 3000, [200, 100, 50], 1);
            assert_eq!(surfels.len(), 3000, "{name}");
            assert_eq!(surfels.colors[7], [200, 100, 50]);
            let spacing = surfels.axes_u.iter().map(|u| u.length()).sum::<f32>() / 3000.0;
            for i in 0..surfels.len() {
                let off = shape.distance(surfels.positions[i].as_dvec3()).abs();
                assert!(off < 0.01 * f64::from(spacing), "{name}: {off}");
                let (u, v, n) = (surfels.axes_u[i], surfels.axes_v[i], surfels.normals[i]);
                assert!(u.dot(v).abs() < 1e-4 * u.length() * v.length() && (n.length() - 1.0).abs() < 1e-4);
                assert!(u.cross(v).normalize().dot(n) > 0.999, "{name}");
            }
            let missed = uncovered(&*shape, &surfels);
            assert!(missed < 2e-3, "{name}: {missed}");
        }
    }

    #[test]
    fn the_same_bits_on_any_number_of_threads() {
        let shape = shapes().swap_remove(2).1;
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let s = pool.install(|| sample_surfels(&*shape, 800, [0; 3], 3));
            (s.positions, s.axes_u, s.axes_v, s.normals)
        };
        let one = run(1);
        assert!((2..=4).all(|threads| run(threads) == one));
    }

    #[test]
    fn nothing_to_cover_gives_nothing() {
        use crate::geometry::{Cuboid, HalfSpace, Sphere};
        let plane = HalfSpace { normal: DVec3::Y, offset: 0.0 };
        assert!(sample_surfels(&plane, 10, [0; 3], 1).is_empty());
        assert!(sample_surfels(&Cuboid::new(DVec3::ZERO, 0.0), 10, [0; 3], 1).is_empty());
        assert!(sample_surfels(&Sphere { radius: 1.0 }, 0, [0; 3], 1).is_empty());
        assert_eq!(sample_surfels(&Sphere { radius: 1.0 }, 1, [0; 3], 1).len(), 1);
    }
}
