//! Collider: a rigid shape with prescribed motion, friction and restitution.

use super::resolve::Touch;
use crate::geometry::{Baked, Bounds, Celled, Open, Openness, Shape};
use crate::linalg::rotation_xyz;
use crate::motion::{Motion, MotionState};
use crate::scene::{ColliderSpec, ShapeKind};
use glam::{DAffine3, DMat3, DVec3};
use std::fmt;
use std::sync::Arc;

/// Place and turn of a rigid thing: `world = origin + axes * own`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Where the thing's origin is [m].
    pub origin: DVec3,
    /// Its axes, a rotation.
    pub axes: DMat3,
}

impl Pose {
    /// From the thing's own frame to the world.
    pub fn to_world(&self, p: DVec3) -> DVec3 {
        self.origin + self.axes * p
    }
    /// From the world to the thing's own frame.
    pub fn to_own(&self, p: DVec3) -> DVec3 {
        self.axes.transpose() * (p - self.origin)
    }
    /// World box around a box of the thing's own frame; everything when the box is not finite.
    fn bounds(&self, own: Bounds) -> Bounds {
        if !(own.min.is_finite() && own.max.is_finite()) {
            return Bounds { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        }
        let half = 0.5 * own.size();
        let a = self.axes;
        let reach = a.x_axis.abs() * half.x + a.y_axis.abs() * half.y + a.z_axis.abs() * half.z;
        let center = self.to_world(own.center());
        Bounds { min: center - reach, max: center + reach }
    }
}

/// Cells of the parts of a combination, in cells of its grid of distances.
const PARTS: f64 = 2.0;

/// Balls of at least this radius touch what the grid of distances knows of a dear shape [cells]: what is finer they could not enter.
const COARSE: f64 = 1.1;

/// A rigid thing with prescribed motion that points cannot enter.
#[derive(Clone)]
pub struct Collider {
    /// Name in the scene.
    pub name: String,
    /// Shape in the collider's own frame.
    pub shape: Arc<dyn Shape>,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Part of the normal speed given back to a point that hits.
    pub restitution: f64,
    /// False once removed: nothing touches it.
    pub active: bool,
    motion: Motion,
    at: DVec3,
    axes: DMat3,
    /// Its distance on a grid, where it is dear. Written by `bake`.
    baked: Option<Arc<Baked>>,
    /// How open the space around it is to points of several spacings [m]. Written by `measure_openness`.
    open: Vec<(f64, Arc<Openness>)>,
    /// Normal and offset in the own frame of a half-space {p: normal·p < offset}.
    half_space: Option<(DVec3, f64)>,
    /// Pose at the start and at the end of the step. Written by `advance`.
    start: Pose,
    end: Pose,
    still: bool,
    /// Velocity and spin at the end of the step. Written by `advance`.
    state: MotionState,
}

impl fmt::Debug for Collider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collider").field("name", &self.name).field("end", &self.end).finish_non_exhaustive()
    }
}

impl Collider {
    /// A still collider at the origin with friction 0.5 and no restitution (the elasticity of the bodies bounces).
    pub fn new(name: impl Into<String>, shape: Arc<dyn Shape>) -> Self {
        let pose = Pose { origin: DVec3::ZERO, axes: DMat3::IDENTITY };
        Self {
            name: name.into(),
            shape,
            friction: 0.5,
            restitution: 0.0,
            active: true,
            motion: Motion::default(),
            at: DVec3::ZERO,
            axes: DMat3::IDENTITY,
            baked: None,
            open: Vec::new(),
            half_space: None,
            start: pose,
            end: pose,
            still: true,
            state: MotionState::STILL,
        }
    }

    /// A half-space with the given outward normal through `offset * normal`; `shape` must describe the same.
    /// Planes made this way take a faster path.
    pub fn half_space(name: impl Into<String>, shape: Arc<dyn Shape>) -> Self {
        let normal = shape.normal(DVec3::ZERO);
        let offset = -shape.distance(DVec3::ZERO);
        Self { half_space: Some((normal, offset)), ..Self::new(name, shape) }
    }

    /// The collider a scene describes; `shape` is its shape built in its own frame (`spec.shape` with its transform).
    pub fn from_spec(spec: &ColliderSpec, shape: Arc<dyn Shape>) -> Self {
        let flat = matches!(spec.shape.kind, ShapeKind::Plane { .. });
        let collider = match flat {
            true => Self::half_space(&spec.name, shape),
            false => Self::new(&spec.name, shape),
        };
        let collider = collider.with_surface(spec.friction, spec.restitution).with_pose(spec.at, spec.rotate);
        collider.with_motion(Motion::new(&spec.motion))
    }

    /// The same collider with another friction coefficient and restitution.
    pub fn with_surface(self, friction: f64, restitution: f64) -> Self {
        Self { friction, restitution, ..self }
    }

    /// The same collider at another place [m], turned by xyz angles [degrees].
    pub fn with_pose(mut self, at: DVec3, rotate: DVec3) -> Self {
        self.at = at;
        self.axes = DMat3::from_quat(rotation_xyz(rotate));
        self.advance(0.0, 0.0);
        self
    }

    /// The same collider moving: the offset is added to its place, the turn is about its own origin.
    pub fn with_motion(mut self, motion: Motion) -> Self {
        self.still = motion.is_still();
        self.motion = motion;
        self.advance(0.0, 0.0);
        self
    }

    /// Sets the poses at the start `time` and the end `time + dt` of a step [s].
    pub fn advance(&mut self, time: f64, dt: f64) {
        let pose = |state: &MotionState| Pose {
            origin: self.at + state.offset,
            axes: DMat3::from_quat(state.rotation) * self.axes,
        };
        let (from, to) = (self.motion.at(time), self.motion.at(time + dt));
        (self.start, self.end) = (pose(&from), pose(&to));
        self.state = to;
    }

    /// Pose at the end of the step.
    pub fn pose(&self) -> Pose {
        self.end
    }
    /// Pose at the end of the step as an affine map, for pictures.
    pub fn affine(&self) -> DAffine3 {
        DAffine3::from_mat3_translation(self.end.axes, self.end.origin)
    }
    /// Its keyframed motion.
    pub fn motion(&self) -> &Motion {
        &self.motion
    }
    /// Whether it never moves.
    pub fn is_still(&self) -> bool {
        self.still
    }
    /// Velocity of the collider's matter at a world point at the end of the step [m/s].
    pub fn velocity_at(&self, position: DVec3) -> DVec3 {
        self.state.velocity_at(self.at, position)
    }
    /// Signed distance of a world point at the end of the step [m].
    pub fn distance(&self, position: DVec3) -> f64 {
        self.shape.distance(self.end.to_own(position))
    }
    /// Signed distance of a world point from what a ball of a radius [m] around it touches, at the end of the step [m].
    pub(super) fn distance_to_touch(&self, position: DVec3, radius: f64) -> f64 {
        self.touchable(radius).distance(self.end.to_own(position))
    }
    /// What balls of a radius [m] touch.
    fn touchable(&self, radius: f64) -> &dyn Shape {
        match &self.baked {
            Some(baked) if radius >= COARSE * baked.cell() => &**baked,
            _ => &*self.shape,
        }
    }
    /// Whether `least_distance` is sooner told than the distance.
    pub fn is_baked(&self) -> bool {
        self.baked.is_some()
    }
    /// No more than the distance, sooner told where there is a grid, see `bake`.
    pub fn least_distance(&self, position: DVec3) -> f64 {
        let own = self.end.to_own(position);
        self.baked.as_ref().map_or_else(|| self.shape.distance(own), |baked| baked.least_distance(own))
    }
    /// Distance [m] and its slope, smooth over about `blur` [m] where the nearest face changes; beyond `reach` [m] anything above
    /// that and any slope. Where there is a grid the slope is exactly that of the distance.
    pub fn smooth_distance(&self, position: DVec3, reach: f64, blur: f64) -> (f64, DVec3) {
        if let Some(baked) = &self.baked {
            let (distance, slope) = baked.smooth(self.end.to_own(position));
            return (distance, self.end.axes * slope);
        }
        let distance = self.distance(position);
        if distance >= reach {
            return (distance, DVec3::Y);
        }
        let along = |axis: DVec3| self.distance(position + axis * blur) - self.distance(position - axis * blur);
        (distance, DVec3::new(along(DVec3::X), along(DVec3::Y), along(DVec3::Z)) / (2.0 * blur))
    }
    /// Makes it quick to ask if it is dear: a grid of cells of `cell` [m] that knows the distance of places within `reach` [m], and of
    /// combinations what each region of them depends on.
    pub fn bake(&mut self, cell: f64, reach: f64) {
        if let Some(celled) = Celled::new(&self.shape, PARTS * cell, reach) {
            self.shape = Arc::new(celled);
        }
        self.baked = Baked::new(&self.shape, cell, reach).map(Arc::new);
    }
    /// Prepares it to tell how open it is to points of that spacing [m].
    pub fn measure_openness(&mut self, spacing: f64) {
        let shape = match &self.baked {
            Some(baked) => baked.clone() as Arc<dyn Shape>,
            None => self.shape.clone(),
        };
        self.open.push((spacing, Arc::new(Openness::new(&shape, spacing))));
    }
    /// What it leaves open around a world point to points of about that spacing [m], at the end of the step; None if nobody has prepared it.
    pub fn openness(&self, position: DVec3, spacing: f64) -> Option<Open> {
        let off = |own: f64| (own / spacing).ln().abs();
        let (_, open) = self.open.iter().min_by(|a, b| off(a.0).total_cmp(&off(b.0)))?;
        let open = open.at(self.end.to_own(position));
        let axes = self.end.axes;
        let wide = if open.depth > 0.0 { open.wide.turned(axes) } else { open.wide };
        Some(Open { slope: axes * open.slope, mouth: axes * open.mouth, wide, ..open })
    }
    /// Outward unit normal nearest to a world point at the end of the step.
    pub fn normal(&self, position: DVec3) -> DVec3 {
        self.end.axes * self.shape.normal(self.end.to_own(position))
    }
    /// sRGB color of its surface next to a world point, where its shape brings colors of its own.
    pub fn color(&self, position: DVec3) -> Option<[u8; 3]> {
        self.shape.color(self.end.to_own(position))
    }
    /// Both at once.
    pub fn distance_normal(&self, position: DVec3) -> (f64, DVec3) {
        let (distance, normal) = self.shape.distance_normal(self.end.to_own(position));
        (distance, self.end.axes * normal)
    }
    /// Box around the collider during the step.
    pub fn bounds(&self) -> Bounds {
        let own = self.shape.bounds();
        self.start.bounds(own).union(self.end.bounds(own))
    }

    /// World normal and offset of a half-space at the start and the end of the step.
    pub(super) fn planes(&self) -> Option<[(DVec3, f64); 2]> {
        let (normal, offset) = self.half_space?;
        Some([self.start, self.end].map(|pose| {
            let n = pose.axes * normal;
            (n, offset + n.dot(pose.origin))
        }))
    }

    /// New velocity of a point that would enter the collider in this step, or None. `known` is its `distance_to_touch` if
    /// somebody has asked for it and the collider stands still.
    pub(super) fn touch(
        &self,
        position: DVec3,
        velocity: DVec3,
        radius: f64,
        dt: f64,
        known: Option<f64>,
    ) -> Option<Touch> {
        // All in the collider's own frame at the end of the step, where it stands still.
        let own = self.start.to_own(position);
        let carried = match self.still {
            true => DVec3::ZERO,
            false => (self.end.to_world(own) - position) / dt,
        };
        let relative = self.end.axes.transpose() * (velocity - carried);
        // Most points are too far away, which a grid tells sooner.
        let path = radius + relative.length() * dt;
        if known.is_none() && self.baked.as_ref().is_some_and(|baked| baked.least_distance(own) > path) {
            return None;
        }
        let shape = self.touchable(radius);
        let distance = known.unwrap_or_else(|| shape.distance(own));
        let touch = super::resolve::resolve((shape, distance), self, own, relative, radius, dt)?;
        Some(Touch {
            velocity: carried + self.end.axes * touch.velocity,
            normal: self.end.axes * touch.normal,
            min_normal_velocity: touch.min_normal_velocity,
            carried,
        })
    }
}
