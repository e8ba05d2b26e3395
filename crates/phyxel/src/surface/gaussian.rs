//! The implicit surface of [MKN04] 5.2.1: F(x) = Σ w_i f(|x - y_i|) = 1, one Gaussian per point.
//!
//! f is that of [MKN04] eq. 28, shifted so that it ends at a finite distance d:
//! f(r) = (e^{B (1 - r²/R²)} - c) / (1 - c), c = e^{B (1 - d²/R²)}, f(R) = 1.
//! The plain form, in f64: what drawn surfaces use instead of it, and why, is in docs/methods/surface.md.

use crate::neighbors::Grid;
use glam::DVec3;

/// Relative height at which the kernel is cut off.
const CUT: f64 = 1e3;
/// Most Newton steps.
const STEPS: usize = 40;
/// Halvings of the fallback.
const HALVINGS: usize = 60;

/// Points smeared by one Gaussian each.
#[derive(Debug, Clone)]
pub struct GaussianField {
    grid: Grid,
    positions: Vec<DVec3>,
    weights: Vec<f64>,
    /// R [m].
    radius: f64,
    /// |B|.
    steepness: f64,
    /// d [m].
    reach: f64,
    /// c.
    floor: f64,
}

/// Where a place ended on the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnSurface {
    /// [m].
    pub position: DVec3,
    /// Unit outward normal.
    pub normal: DVec3,
}

impl GaussianField {
    /// The field of points with weights, for R [m] and |B|.
    pub fn new(positions: &[DVec3], weights: &[f64], radius: f64, steepness: f64) -> Self {
        let reach = radius * (1.0 + CUT.ln() / steepness).sqrt();
        let floor = (steepness * (1.0 - (reach / radius).powi(2))).exp();
        let grid = Grid::new(positions, 0.5 * reach);
        Self { grid, positions: positions.to_vec(), weights: weights.to_vec(), radius, steepness, reach, floor }
    }

    /// How far a point is felt [m].
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// F and its gradient [1/m] at a place.
    pub fn sample(&self, x: DVec3) -> (f64, DVec3) {
        let (mut value, mut gradient) = (0.0, DVec3::ZERO);
        let per_radius2 = 1.0 / (self.radius * self.radius);
        let scale = 1.0 / (1.0 - self.floor);
        self.grid.for_each_within(x, self.reach, |i, r2| {
            let bell = (self.steepness * (1.0 - r2 * per_radius2)).exp();
            value += self.weights[i] * scale * (bell - self.floor);
            let slope = -2.0 * self.steepness * per_radius2 * bell * scale * self.weights[i];
            gradient += slope * (x - self.positions[i]);
        });
        (value, gradient)
    }

    /// Moves a place to F = 1: Newton on ln F, which is nearly quadratic far out; where that fails, halving on the ray from the
    /// nearest point through the place. None where there is no point or no surface on that ray.
    pub fn project(&self, from: DVec3) -> Option<OnSurface> {
        self.newton(from).or_else(|| self.halve(from))
    }

    fn newton(&self, from: DVec3) -> Option<OnSurface> {
        let longest = 0.6 * self.radius;
        let mut x = from;
        for _ in 0..STEPS {
            let (value, gradient) = self.sample(x);
            let slope = gradient.length();
            if value < 1e-4 || slope * self.radius < 1e-9 {
                return None;
            }
            let normal = -gradient / slope;
            if value.ln().abs() < 1e-12 {
                return Some(OnSurface { position: x, normal });
            }
            x += (value * value.ln() / slope).clamp(-longest, longest) * normal;
        }
        None
    }

    fn halve(&self, from: DVec3) -> Option<OnSurface> {
        let (i, _) = self.grid.nearest(from)?;
        let start = self.positions[i];
        let ray = (from - start).try_normalize().unwrap_or(DVec3::Y);
        let at = |t: f64| self.sample(start + t * ray).0;
        let step = 0.1 * self.radius;
        let most = (2.0 * self.reach / step) as usize;
        let out = (0..=most).map(|k| k as f64 * step).find(|&t| at(t) < 1.0)?;
        let (mut low, mut high) = ((out - step).max(0.0), out);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if at(middle) < 1.0 { high = middle } else { low = middle }
        }
        let position = start + low * ray;
        let normal = (-self.sample(position).1).try_normalize().unwrap_or(ray);
        Some(OnSurface { position, normal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_point_is_a_ball_of_its_radius() {
        let field = GaussianField::new(&[DVec3::ONE], &[1.0], 0.5, 0.5);
        for from in [DVec3::new(1.3, 1.0, 1.0), DVec3::new(1.0, 5.0, 1.0), DVec3::ONE] {
            let on = field.project(from).expect("a point has a surface");
            assert!((on.position.distance(DVec3::ONE) - 0.5).abs() < 1e-9, "{}", on.position);
            assert!(on.normal.dot(on.position - DVec3::ONE) > 0.499);
        }
        let faint = GaussianField::new(&[DVec3::ONE], &[0.1], 0.5, 0.5);
        assert!((faint.project(DVec3::new(1.2, 1.0, 1.0)).expect("its middle").position - DVec3::ONE).length() < 1e-9);
        assert!(GaussianField::new(&[], &[], 0.5, 0.5).project(DVec3::X).is_none());
    }
}
