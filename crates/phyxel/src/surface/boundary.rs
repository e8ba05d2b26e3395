//! How much a point is at the boundary of its matter: two measures over its neighbors.

use crate::linalg::{outer, trace};
use glam::{DMat3, DVec3};

/// Fewer neighbors than this are no neighborhood: the point counts as boundary.
const FEWEST: usize = 4;
/// Share of the moment's trace added to its diagonal.
const LEAN: f64 = 1e-3;

/// P of [MKN04] eq. 29: 1 - det C / (tr C / 3)³, C the covariance of the point and its neighbors; 0 where they spread evenly.
/// `offsets` are the neighbors relative to the point, without it [m]. Elastic stretch changes it.
pub fn anisotropy(offsets: impl Iterator<Item = DVec3>) -> f64 {
    let (mut count, mut sum, mut second) = (1.0, DVec3::ZERO, DMat3::ZERO);
    for r in offsets {
        count += 1.0;
        sum += r;
        second += outer(r, r);
    }
    if count <= FEWEST as f64 {
        return 1.0;
    }
    let mean = sum / count;
    let covariance = second * (1.0 / count) - outer(mean, mean);
    let size = (trace(covariance) / 3.0).powi(3);
    if size > 0.0 { 1.0 - covariance.determinant() / size } else { 1.0 }
}

/// Q = mᵀ A⁻¹ m, m the mean and A the mean second moment of the neighbors relative to the point: 0 inside, 0.4 at a flat
/// face, more at edges, 1 for a point without a neighborhood. An affine map of the neighbors does not change it.
pub fn exposure(offsets: impl Iterator<Item = DVec3>) -> f64 {
    let (mut count, mut sum, mut second) = (0usize, DVec3::ZERO, DMat3::ZERO);
    for r in offsets {
        count += 1;
        sum += r;
        second += outer(r, r);
    }
    if count < FEWEST {
        return 1.0;
    }
    let per_count = 1.0 / count as f64;
    let (mean, moment) = (sum * per_count, second * per_count);
    let lean = LEAN * trace(moment);
    if !(lean > 0.0 && lean.is_finite()) {
        return 1.0;
    }
    let value = mean.dot((moment + DMat3::from_diagonal(DVec3::splat(lean))).inverse() * mean);
    if value.is_finite() { value } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets to the lattice points within 2.33 of one that has none beyond a plane.
    fn lattice(keep: impl Fn(DVec3) -> bool) -> Vec<DVec3> {
        let axis = || -2..=2;
        let all = axis()
            .flat_map(|x| axis().flat_map(move |y| axis().map(move |z| DVec3::new(x.into(), y.into(), z.into()))));
        all.filter(|r| *r != DVec3::ZERO && r.length() < 2.33 && keep(*r)).collect()
    }

    #[test]
    fn inside_and_face_are_far_apart() {
        let (inside, face) = (lattice(|_| true), lattice(|r| r.y <= 0.0));
        assert!(exposure(inside.iter().copied()) < 1e-9 && anisotropy(inside.into_iter()) < 1e-9);
        let q = exposure(face.iter().copied());
        assert!((q - 0.42).abs() < 0.01, "{q}");
        let p = anisotropy(face.into_iter());
        assert!((p - 0.22).abs() < 0.02, "{p}");
    }

    #[test]
    fn stretch_does_not_look_like_a_boundary() {
        let map = DMat3::from_cols(DVec3::new(2.0, 0.3, 0.0), DVec3::new(-0.2, 0.7, 0.1), DVec3::new(0.0, 0.4, 0.9));
        for keep in [-3.0, 0.0] {
            let here = lattice(|r| r.y >= keep);
            let (q, stretched) = (exposure(here.iter().copied()), exposure(here.iter().map(|r| map * *r)));
            assert!((q - stretched).abs() < 0.01, "{q} {stretched}");
        }
    }

    #[test]
    fn too_few_neighbors_are_a_boundary() {
        let three = [DVec3::X, DVec3::Y, DVec3::Z];
        assert_eq!((exposure(three.into_iter()), anisotropy(three.into_iter())), (1.0, 1.0));
        assert_eq!(exposure([DVec3::ZERO; 9].into_iter()), 1.0);
        assert_eq!(anisotropy([DVec3::ZERO; 9].into_iter()), 1.0);
    }
}
