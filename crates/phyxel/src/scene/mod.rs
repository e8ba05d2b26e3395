//! Scene: what the user wrote, as plain checked data in SI units; no physics.
//!
//! Field names are the keys of the scene file (`docs/scene_format.md`), except that lists are plural here
//! (`[[body]]` fills `bodies`). Reading, units and checks live in the sibling files.

pub mod builtin;
pub mod docs;
mod heat;
mod keys;
mod load;
mod material;
mod overrides;
mod patches;
mod probe;
mod read;
mod read_embedded;
mod read_heat;
mod read_lattice;
mod read_material;
mod read_shape;
mod read_shell;
mod read_world;
mod reader;
mod schema;
mod shape;
mod spot;
pub mod starter;
mod suggest;
mod tree;
pub mod units;
mod write;

pub use heat::{AirSpec, HeatKind, HeatSpec};
pub use material::{
    Anisotropy, BreakSpec, EmbeddedLaw, EmbeddedSpec, LatticeSpec, MaterialChange, MaterialSpec, ShellEnergy, ShellSpec,
};
pub use patches::PatchSpec;
pub use probe::{Axis, Measure, PointQuantity, Statistic};
pub use read::METRIC_COLUMNS;
pub use schema::json_schema;
pub use shape::{ShapeKind, ShapeSpec};

use glam::DVec3;
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything a run depends on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scene {
    /// Version of the scene format; 1.
    pub format: u32,
    /// Name of the scene; names the run folder.
    pub name: String,
    /// Acceleration of gravity [m/s²].
    pub gravity: DVec3,
    /// Simulated time [s].
    pub duration: f64,
    /// Frames per simulated second [1/s].
    pub fps: f64,
    /// All randomness comes from here.
    pub seed: u64,
    /// How to integrate; `auto` picks by cost.
    pub integrator: Integrator,
    /// Number format of the pair loops.
    pub precision: Precision,
    /// Upper bound on the time step [s]; the stability limit still holds. None: chosen from material, spacing and motion.
    pub time_step: Option<f64>,
    /// Shapes defined once and used by name: `[shape.name]`.
    pub shapes: BTreeMap<String, ShapeSpec>,
    /// `[[body]]`.
    pub bodies: Vec<BodySpec>,
    /// `[[collider]]`.
    pub colliders: Vec<ColliderSpec>,
    /// `[[pin]]`.
    pub pins: Vec<PinSpec>,
    /// `[[force]]`.
    pub forces: Vec<ForceSpec>,
    /// `[air]`; None: no heat is exchanged with it.
    pub air: Option<AirSpec>,
    /// `[[heat]]`.
    pub heats: Vec<HeatSpec>,
    /// `[[event]]`.
    pub events: Vec<EventSpec>,
    /// `[[probe]]`.
    pub probes: Vec<ProbeSpec>,
    /// `[[expect]]`.
    pub expects: Vec<ExpectSpec>,
    /// `[camera]`.
    pub camera: CameraSpec,
}

/// `integrator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Integrator {
    /// Explicit unless its step would be so small that implicit is several times cheaper.
    #[default]
    Auto,
    /// Leap-frog.
    Explicit,
    /// Implicit Euler with Newton's method.
    Implicit,
}

/// `precision` of the pair loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// f64 state, f32 pair data.
    #[default]
    Mixed,
    /// f32 where it pays most.
    F32,
    /// f64 throughout.
    F64,
}

/// `[[body]]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BodySpec {
    /// Unique name.
    pub name: String,
    /// Which method moves it.
    pub model: ModelKind,
    /// Its shape in its own frame.
    pub shape: ShapeSpec,
    /// Place of the shape's origin [m].
    pub at: DVec3,
    /// Rotation [degrees], about x, then y, then z.
    pub rotate: DVec3,
    /// Scale factor, uniform.
    pub scale: f64,
    /// Initial velocity [m/s].
    pub velocity: DVec3,
    /// Initial angular velocity about the center of mass [rad/s].
    pub spin: DVec3,
    /// Distance between points [m]; exactly one of `spacing`, `points` is set (after defaults).
    pub spacing: Option<f64>,
    /// Wanted number of points.
    pub points: Option<usize>,
    /// How points fill the volume.
    pub sampling: Sampling,
    /// Most points of an embedded body over those it starts with.
    pub resample: f64,
    /// 2: a lattice in a plane; 3: in space.
    pub dimensions: u8,
    /// Solid or liquid at the start; has a meaning for lattices.
    pub phase: Phase,
    /// What it is made of.
    pub material: MaterialSpec,
    /// Temperature at the start [K]; has a meaning where the material takes part in heat.
    pub temperature: f64,
    /// What is drawn.
    pub surface: SurfaceSpec,
    /// sRGB color.
    pub color: [u8; 3],
    /// Parts of a shell's surface that are left out, in the frame of its shape.
    pub cuts: Vec<RegionPlace>,
    /// Regions of a shell with a strength of their own.
    pub weak: Vec<WeakSpec>,
    /// Named parts of the body, in world space at the start.
    pub regions: Vec<RegionSpec>,
    /// Regions of a shell whose matter is stiffer or thicker.
    pub patches: Vec<PatchSpec>,
}

/// A region of a shell with a strength of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeakSpec {
    /// Name of the region.
    pub region: String,
    /// Strength in that of the material.
    pub strength: f64,
}

/// `model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Moving-least-squares elasticity [MKN04].
    #[default]
    Mls,
    /// Thin shells by fibers [WSG05].
    Shell,
    /// Multiplicative elastoplasticity with an embedded rest shape [War12].
    Embedded,
    /// Close-packed lattices of particles, solid or liquid [WHP06].
    Lattice,
}

/// `phase` of a lattice at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Holds its shape.
    #[default]
    Solid,
    /// Flows.
    Liquid,
}

/// `sampling` of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// Cell centers of a cubic grid.
    Regular,
    /// Blue noise, relaxed.
    #[default]
    Poisson,
    /// Fine at the surface, coarse inside.
    Graded,
}

/// `surface`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SurfaceSpec {
    /// What kind of surface.
    pub kind: SurfaceKind,
    /// Wanted number of surfels.
    pub count: usize,
    /// What is painted over the color of the body.
    pub pattern: Option<PatternSpec>,
    /// sRGB color of surface that appears where matter breaks; None: that of the surface around.
    pub inner: Option<[u8; 3]>,
    /// sRGB color of what has melted; None: that of the body.
    pub molten: Option<[u8; 3]>,
}

/// `surface.pattern`, in the frame of the body's shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PatternSpec {
    /// What is painted.
    pub kind: PatternKind,
    /// Width of a field [m].
    pub size: f64,
    /// sRGB color of every second field.
    pub color: [u8; 3],
}

/// `surface.pattern.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternKind {
    /// Cubes of two colors.
    Checker,
    /// Layers of two colors, one above the other.
    Stripes,
}

impl PatternSpec {
    /// Whether its color is that of a place in the frame of the shape [m].
    pub fn covers(&self, p: DVec3) -> bool {
        // What lies on the border of two fields, but for rounding, is on one side of it.
        let cell = (p / self.size + 1e-6).floor();
        let number = match self.kind {
            PatternKind::Checker => cell.x + cell.y + cell.z,
            PatternKind::Stripes => cell.y,
        };
        number.rem_euclid(2.0) >= 1.0
    }
}

/// `surface.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SurfaceKind {
    /// Nothing is drawn.
    None,
    /// The points themselves, as balls.
    Points,
    /// Surface elements carried by the points.
    #[default]
    Surfels,
    /// Nodes and fibers of a shell.
    Fibers,
    /// The triangles of the shape, which ride on the points and open where matter breaks.
    Skin,
    /// A mesh around the particles of a lattice.
    Mesh,
    /// Surface elements that keep their detail wherever matter stays whole.
    Detail,
}

/// A named part of a body, by the points it holds at the start, in world space.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionSpec {
    /// Name, unique in the body.
    pub name: String,
    /// Where it is.
    pub place: RegionPlace,
}

/// Where a region is; one key of the region's table names the kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionPlace {
    /// `box = { min, max }` [m].
    Box {
        /// Lower corner.
        min: DVec3,
        /// Upper corner.
        max: DVec3,
    },
    /// `sphere = { center, radius }` [m].
    Sphere {
        /// Center.
        center: DVec3,
        /// Radius.
        radius: f64,
    },
    /// `half_space = { normal, offset }`: points p with normal·p > offset.
    HalfSpace {
        /// Direction.
        normal: DVec3,
        /// Offset along it [m].
        offset: f64,
    },
    /// `nearest = { to, count }`: the `count` points nearest to a place.
    Nearest {
        /// The place [m].
        to: DVec3,
        /// How many points.
        count: usize,
    },
    /// `path = { through, radius }`: points near to a line through places.
    Path {
        /// The places [m].
        through: Vec<DVec3>,
        /// How near [m].
        radius: f64,
    },
    /// `painted = "#rrggbb"`: points where the mesh has about this color.
    Painted {
        /// sRGB color.
        color: [u8; 3],
    },
    /// Every point of the body; the region `all` always exists.
    All,
}

/// `[[collider]]`: a rigid thing with prescribed motion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColliderSpec {
    /// Unique name.
    pub name: String,
    /// Its shape in its own frame.
    pub shape: ShapeSpec,
    /// Place [m].
    pub at: DVec3,
    /// Rotation [degrees, xyz].
    pub rotate: DVec3,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Part of the normal speed given back to a point that hits.
    pub restitution: f64,
    /// Held temperature [K], if any.
    pub temperature: Option<f64>,
    /// Heat exchange at the contact [W/(m² K)]; None: no resistance.
    pub exchange: Option<f64>,
    /// Keyframes, relative to `at` and `rotate`; empty: still.
    pub motion: Vec<Keyframe>,
    /// sRGB color.
    pub color: [u8; 3],
    /// Drawn in pictures.
    pub visible: bool,
    /// Detail surfaces of flowing matter take its print.
    pub mold: bool,
    /// What takes its print takes its color too.
    pub stain: bool,
}

/// One keyframe; between two the motion is smooth (cubic, no overshoot) in position and turning angle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Keyframe {
    /// Time [s].
    pub t: f64,
    /// Offset [m].
    pub at: DVec3,
    /// Turn [degrees, xyz].
    pub rotate: DVec3,
}

/// `[[pin]]`: holds or drags a region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PinSpec {
    /// Unique name (defaults to `pin0`, `pin1`, ...).
    pub name: String,
    /// Body.
    pub body: String,
    /// Region of that body.
    pub region: String,
    /// Time at which it begins, gripping what lies in the region then [s].
    pub from: f64,
    /// Time of release [s]; None: never.
    pub until: Option<f64>,
    /// Held directions; `"xyz"` by default.
    pub axes: [bool; 3],
    /// Offset and turn (about the region's center) over time; empty: held still.
    pub motion: Vec<Keyframe>,
}

/// `[[force]]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForceSpec {
    /// What kind.
    pub kind: ForceKind,
    /// Start [s].
    pub from: f64,
    /// End [s]; None: never.
    pub until: Option<f64>,
}

/// `force.kind` with its keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ForceKind {
    /// A total force spread over a region by mass.
    Region {
        /// Body.
        body: String,
        /// Region.
        region: String,
        /// Sum over the region [N].
        total: DVec3,
    },
    /// A pressure inside of a closed shell, which follows its surface.
    Pressure {
        /// Body.
        body: String,
        /// Pressure against the outside [Pa].
        pressure: f64,
        /// Time over which it rises from zero [s].
        ramp: f64,
        /// Pressure outside [Pa] against which a fixed amount of gas works, which has `pressure` at the volume at rest; None:
        /// the pressure is given, whatever the volume.
        outside: Option<f64>,
    },
    /// Wind on shells.
    Wind {
        /// Body; None: all shells.
        body: Option<String>,
        /// Velocity of the air [m/s].
        velocity: DVec3,
        /// Density of the air [kg/m³].
        density: f64,
        /// Coefficient of drag of a plate across the wind.
        drag: f64,
    },
    /// An acceleration on everything, or on one body.
    Field {
        /// Body; None: all.
        body: Option<String>,
        /// Acceleration [m/s²].
        acceleration: DVec3,
    },
}

/// `[[event]]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventSpec {
    /// When it happens (once).
    pub when: EventTime,
    /// What happens.
    pub action: EventAction,
}

/// When an event happens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum EventTime {
    /// `at = "2 s"`.
    At(f64),
    /// `when = { probe = "tip", below = 0.1 }`.
    Below {
        /// Probe.
        probe: String,
        /// Value in the probe's unit.
        value: f64,
    },
    /// `when = { probe = "tip", above = 0.1 }`.
    Above {
        /// Probe.
        probe: String,
        /// Value in the probe's unit.
        value: f64,
    },
}

/// What an event does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum EventAction {
    /// `body = "...", set = { young = ... }`: material keys that change. Any subset; None keeps.
    Set {
        /// Body.
        body: String,
        /// New values.
        set: Box<MaterialChange>,
    },
    /// `release = "pin"`.
    Release(String),
    /// `remove = "collider"`.
    Remove(String),
    /// `melt = "body"`: its matter is melted, whatever its temperature.
    Melt(String),
    /// `solidify = "body"`: its matter is solid, whatever its temperature.
    Solidify(String),
}

/// `[[probe]]`: a number per frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeSpec {
    /// Column name.
    pub name: String,
    /// Body measured.
    pub body: Option<String>,
    /// Region of it; `all` by default.
    pub region: String,
    /// Second region, for `distance`.
    pub to_region: Option<String>,
    /// Pin, for reactions.
    pub pin: Option<String>,
    /// Collider, for reactions.
    pub collider: Option<String>,
    /// What is measured, e.g. `mean_y`; see `measure::Measure`.
    pub measure: String,
}

/// `[[expect]]`: makes a scene a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExpectSpec {
    /// Probe.
    pub probe: String,
    /// When.
    pub at: ExpectTime,
    /// What.
    pub want: Want,
}

/// `expect.at`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectTime {
    /// A time [s]: the frame nearest to it.
    Time(f64),
    /// The last frame.
    End,
    /// The largest value over the run.
    Max,
    /// The smallest value over the run.
    Min,
    /// Every frame.
    Always,
}

/// `between`, `below`, `above`, or `near` with `tolerance`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Want {
    /// From, to.
    Between([f64; 2]),
    /// Less than.
    Below(f64),
    /// More than.
    Above(f64),
    /// Within a distance.
    Near {
        /// Center.
        value: f64,
        /// Largest distance.
        tolerance: f64,
    },
}

/// `[camera]`; what is None is found automatically.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct CameraSpec {
    /// Eye [m].
    pub from: Option<DVec3>,
    /// Looked-at place [m].
    pub look_at: Option<DVec3>,
    /// Vertical field of view [degrees].
    pub fov: Option<f64>,
}

#[cfg(test)]
mod heat_tests;
#[cfg(test)]
mod shell_tests;
#[cfg(test)]
mod tests;
