//! Numbers about the world: energies, momenta, volume, probes, expectations, timings.

mod expect;
mod pieces;
mod probe;
mod timing;
mod totals;

pub use expect::{Outcome, evaluate};
pub use pieces::count_pieces;
pub use probe::{Probe, Target};
pub use timing::Timings;
pub use totals::{Totals, totals};

use glam::DVec3;

/// One row of `metrics.csv`, without the probes. Everything is at the end of the frame except the step sizes and times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MetricsRow {
    /// Number of the frame.
    pub frame: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Smallest time step since the last frame [s].
    pub dt_min: f64,
    /// Largest time step since the last frame [s].
    pub dt_max: f64,
    /// Time steps since the last frame.
    pub substeps: u64,
    /// Kinetic energy [J].
    pub kinetic: f64,
    /// Elastic energy [J], zero-energy control and volume terms included.
    pub elastic: f64,
    /// Potential energy in the field of gravity, measured from the origin [J].
    pub gravity: f64,
    /// Heat content above the start [J].
    pub heat: f64,
    /// Work done since the start by forces, pins and moving colliders [J].
    pub work: f64,
    /// Taken by plastic flow since the start [J].
    pub dissipated: f64,
    /// Put in since the start by changes of material and phase [J].
    pub switched: f64,
    /// Momentum [kg m/s].
    pub momentum: DVec3,
    /// Angular momentum about the center of mass [kg m²/s].
    pub angular: DVec3,
    /// Mass [kg].
    pub mass: f64,
    /// Volume, rest volumes times the volume ratio [m³].
    pub volume: f64,
    /// Number of points.
    pub points: usize,
    /// Number of surfels.
    pub surfels: usize,
    /// Number of connected pieces of matter.
    pub pieces: usize,
    /// Largest speed of a point [m/s].
    pub max_speed: f64,
    /// Largest Green strain (Frobenius norm) of a point.
    pub max_strain: f64,
    /// Smallest volume ratio of a point.
    pub min_det_f: f64,
    /// Wall time of the physics since the last frame [s].
    pub seconds_physics: f64,
    /// Wall time of the surface since the last frame [s].
    pub seconds_surface: f64,
}

impl MetricsRow {
    /// Names of the columns, in the order of [`MetricsRow::values`].
    pub const COLUMNS: [&'static str; 28] = [
        "frame",
        "time",
        "dt_min",
        "dt_max",
        "substeps",
        "kinetic",
        "elastic",
        "gravity",
        "heat",
        "work",
        "dissipated",
        "switched",
        "momentum_x",
        "momentum_y",
        "momentum_z",
        "angular_x",
        "angular_y",
        "angular_z",
        "mass",
        "volume",
        "points",
        "surfels",
        "pieces",
        "max_speed",
        "max_strain",
        "min_det_f",
        "seconds_physics",
        "seconds_surface",
    ];

    /// The values as numbers.
    pub fn values(&self) -> [f64; 28] {
        [
            f64::from(self.frame),
            self.time,
            self.dt_min,
            self.dt_max,
            self.substeps as f64,
            self.kinetic,
            self.elastic,
            self.gravity,
            self.heat,
            self.work,
            self.dissipated,
            self.switched,
            self.momentum.x,
            self.momentum.y,
            self.momentum.z,
            self.angular.x,
            self.angular.y,
            self.angular.z,
            self.mass,
            self.volume,
            self.points as f64,
            self.surfels as f64,
            self.pieces as f64,
            self.max_speed,
            self.max_strain,
            self.min_det_f,
            self.seconds_physics,
            self.seconds_surface,
        ]
    }
}
