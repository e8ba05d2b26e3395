//! The cubic spline kernel, its sums over the close-packed lattice and its integrals over walls.
//!
//! All in units of the support radius H: q = r / H, volumes over H³ (H² in 2D). H = 1.8 spacings, where the lattice is a stable
//! arrangement under pressure.

use std::f64::consts::PI;

/// Support radius over the lattice spacing.
pub const SUPPORT: f64 = 1.8;

/// Entries of the table of wall integrals, from distance 0 to H.
const TABLE: usize = 256;

/// Number of space dimensions that matter lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dimensions {
    /// Hexagonal lattice in the xy plane; volumes are areas times 1 m.
    Two,
    /// Cubic close packing.
    #[default]
    Three,
}

impl Dimensions {
    /// 2 or 3.
    pub fn count(self) -> i32 {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }

    /// Volume of one lattice cell over the spacing cubed (squared in 2D).
    pub fn cell_volume(self) -> f64 {
        match self {
            Self::Two => 0.75f64.sqrt(),
            Self::Three => 0.5f64.sqrt(),
        }
    }

    /// Factor that makes the kernel integrate to 1.
    pub fn norm(self) -> f64 {
        match self {
            Self::Two => 40.0 / (7.0 * PI),
            Self::Three => 8.0 / PI,
        }
    }
}

/// Kernel without its norm.
#[inline]
pub fn shape(q: f64) -> f64 {
    let (a, b) = ((1.0 - q).max(0.0), (0.5 - q).max(0.0));
    2.0 * a * a * a - 8.0 * b * b * b
}

/// Derivative of `shape`.
#[inline]
pub fn slope(q: f64) -> f64 {
    let (a, b) = ((1.0 - q).max(0.0), (0.5 - q).max(0.0));
    24.0 * b * b - 6.0 * a * a
}

/// Sum of volume times kernel over the whole lattice, the point itself included: the density of matter at rest.
pub fn rest_density(dimensions: Dimensions) -> f64 {
    lattice_sum(dimensions, |_| true)
}

/// Force of a pressure that grows evenly through the lattice over that in a continuum: sums over so few neighbors fall short by 3 %. A
/// pressure that holds matter is higher than it would be by as much.
pub fn pressure_force(dimensions: Dimensions) -> f64 {
    let sum = lattice_sum_of(dimensions, |_| true, |q| -slope(q) * q);
    sum / f64::from(dimensions.count()) / rest_density(dimensions)
}

/// Height of a close-packed layer over the spacing.
fn layer(dimensions: Dimensions) -> f64 {
    match dimensions {
        Dimensions::Two => 0.75f64.sqrt(),
        Dimensions::Three => (2.0f64 / 3.0).sqrt(),
    }
}

/// Half-space integral s for which h² / s, at half a layer from a face, is what the missing half of the lattice adds.
pub fn wall_share(dimensions: Dimensions, table: &WallTable) -> f64 {
    let missing = lattice_sum(dimensions, |layer| layer < 0);
    table.at(0.5 * layer(dimensions) / SUPPORT).0.powi(2) / missing
}

/// Sum of the kernel over the close-packed layers that are wanted.
fn lattice_sum(dimensions: Dimensions, wanted: impl Fn(i32) -> bool) -> f64 {
    lattice_sum_of(dimensions, wanted, shape)
}

/// Sum of volume times `value(q)` over the close-packed layers that are wanted.
fn lattice_sum_of(dimensions: Dimensions, wanted: impl Fn(i32) -> bool, value: impl Fn(f64) -> f64) -> f64 {
    let reach = SUPPORT.ceil() as i32 + 1;
    let axis = || -reach..=reach;
    let height = if dimensions == Dimensions::Three { axis() } else { 0..=0 };
    let mut sum = 0.0;
    for (l, m, n) in height.flat_map(|n| axis().flat_map(move |m| axis().map(move |l| (l, m, n)))) {
        if !wanted(if dimensions == Dimensions::Three { n } else { m }) {
            continue;
        }
        let (l, m, n) = (f64::from(l), f64::from(m), f64::from(n));
        let x = l + 0.5 * (m + n);
        let y = 0.75f64.sqrt() * m + (1.0f64 / 12.0).sqrt() * n;
        let z = (2.0f64 / 3.0).sqrt() * n;
        sum += value((x * x + y * y + z * z).sqrt() / SUPPORT);
    }
    sum * dimensions.norm() * dimensions.cell_volume() / SUPPORT.powi(dimensions.count())
}

/// The kernel integrated over planes and half-spaces, as a table between whose entries the plane integral is linear: the
/// half-space integral is exactly its integral, so that forces are exactly the gradient of densities.
#[derive(Debug, Clone)]
pub struct WallTable {
    /// Integral over the plane at distance k / TABLE.
    planes: [f64; TABLE + 2],
    /// Integral over what lies behind it.
    behind: [f64; TABLE + 2],
}

impl WallTable {
    /// The table of a kernel.
    pub fn new(dimensions: Dimensions) -> Self {
        let mut table = Self { planes: [0.0; TABLE + 2], behind: [0.0; TABLE + 2] };
        let step = 1.0 / TABLE as f64;
        for k in 0..TABLE {
            table.planes[k] = plane(dimensions, k as f64 * step);
        }
        for k in (0..TABLE).rev() {
            table.behind[k] = table.behind[k + 1] + 0.5 * step * (table.planes[k] + table.planes[k + 1]);
        }
        table
    }

    /// Integrals over the half-space at distance `d` [H] and over its plane: the first falls with `d` as the second says.
    /// Points behind the face see more than half.
    pub fn at(&self, d: f64) -> (f64, f64) {
        let t = (d.abs() * TABLE as f64).min(TABLE as f64);
        let k = t as usize;
        let f = t - k as f64;
        let plane = self.planes[k] + f * (self.planes[k + 1] - self.planes[k]);
        let behind = self.behind[k] - 0.5 * (f / TABLE as f64) * (self.planes[k] + plane);
        (if d < 0.0 { 2.0 * self.behind[0] - behind } else { behind }, plane)
    }
}

/// The kernel integrated over a plane (a line in 2D) at distance `d`.
fn plane(dimensions: Dimensions, d: f64) -> f64 {
    let norm = dimensions.norm();
    match dimensions {
        Dimensions::Three => {
            let (a, b) = ((1.0 - d).max(0.0), (0.5 - d).max(0.0));
            2.0 * PI * norm * (0.5 * a.powi(4) - 0.4 * a.powi(5) - b.powi(4) + 1.6 * b.powi(5))
        }
        Dimensions::Two => {
            let (top, steps) = ((1.0 - d * d).max(0.0).sqrt(), 400);
            let ds = top / f64::from(steps);
            (0..steps).map(|k| 2.0 * norm * shape(((f64::from(k) + 0.5) * ds).hypot(d)) * ds).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_that_of_the_golden_data() {
        let text = include_str!("../../../../tests/vectors/lattice/kernel.json");
        let golden: serde_json::Value = serde_json::from_str(text).expect("golden data");
        let numbers = |key: &str| -> Vec<f64> {
            golden[key].as_array().expect(key).iter().map(|x| x.as_f64().expect("number")).collect()
        };
        let q = numbers("q");
        for (dimensions, value, derivative) in [(Dimensions::Two, "W2d", "dW2d"), (Dimensions::Three, "W3d", "dW3d")] {
            for (k, (w, d)) in numbers(value).into_iter().zip(numbers(derivative)).enumerate() {
                assert!((dimensions.norm() * shape(q[k]) - w).abs() < 1e-12, "{k}");
                assert!((dimensions.norm() * slope(q[k]) - d).abs() < 1e-11, "{k}");
            }
        }
    }

    #[test]
    fn matter_at_rest_is_nearly_of_density_one() {
        assert!((rest_density(Dimensions::Three) - 0.996_560).abs() < 1e-6);
        assert!((rest_density(Dimensions::Two) - 0.998_685).abs() < 1e-6);
        assert!((pressure_force(Dimensions::Two) - 0.973_637).abs() < 1e-6);
        assert!((pressure_force(Dimensions::Three) - 0.970_545).abs() < 1e-6);
    }

    #[test]
    fn walls_are_integrals_of_the_kernel() {
        for dimensions in [Dimensions::Two, Dimensions::Three] {
            let table = WallTable::new(dimensions);
            assert!((table.at(0.0).0 - 0.5).abs() < 2e-5, "{}", table.at(0.0).0);
            assert!(table.at(1.0).0.abs() < 1e-12 && table.at(7.0).0.abs() < 1e-12);
            assert!((table.at(-2.0).0 - 1.0).abs() < 4e-5);
            for d in [-0.7, -0.2, 0.1, 0.3, 0.77] {
                let change = (table.at(d + 1e-6).0 - table.at(d - 1e-6).0) / 2e-6;
                assert!((change + table.at(d).1).abs() < 1e-6, "{d}: {change} {}", table.at(d).1);
                assert!((table.at(d).1 - plane(dimensions, f64::abs(d))).abs() < 1e-4);
            }
        }
    }
}
