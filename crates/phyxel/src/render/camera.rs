//! Camera: where a picture is taken from, and a good place found from the bounds of what is seen.

use crate::frame::{ColliderLook, Frame};
use glam::{Vec2, Vec3};

/// A perspective camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Eye [m].
    pub from: Vec3,
    /// Looked-at place [m].
    pub look_at: Vec3,
    /// The direction that is up in the picture.
    pub up: Vec3,
    /// Vertical field of view [rad].
    pub fov_y: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self { from: Vec3::new(1.5, 1.0, 3.0), look_at: Vec3::ZERO, up: Vec3::Y, fov_y: DEFAULT_FOV }
    }
}

/// About a 60 mm lens: little distortion, still some depth [rad].
const DEFAULT_FOV: f32 = 0.48;

/// Right, up and forward of a camera, orthonormal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Basis {
    pub right: Vec3,
    pub up: Vec3,
    pub forward: Vec3,
}

impl Camera {
    /// Orthonormal axes; a degenerate camera looks along -z.
    pub(super) fn basis(&self) -> Basis {
        let forward = (self.look_at - self.from).try_normalize().unwrap_or(Vec3::NEG_Z);
        let right = forward.cross(self.up).try_normalize().unwrap_or_else(|| forward.any_orthonormal_vector());
        Basis { right, up: right.cross(forward), forward }
    }

    /// Tangent of half the vertical field of view, kept in a sensible range.
    pub(super) fn tan_half(&self) -> f32 {
        (0.5 * if self.fov_y.is_finite() { self.fov_y } else { DEFAULT_FOV }).clamp(0.005, 1.4).tan()
    }
}

/// An axis-aligned box around everything that should stay in view [m]; empty at first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Smallest corner.
    pub min: Vec3,
    /// Largest corner.
    pub max: Vec3,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY }
    }
}

impl Bounds {
    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        !(self.min.cmple(self.max).all())
    }

    /// Grows to hold a place; places that are not finite are left out.
    pub fn add(&mut self, place: Vec3) {
        if place.is_finite() {
            self.min = self.min.min(place);
            self.max = self.max.max(place);
        }
    }

    /// Grows to hold another box.
    pub fn join(&mut self, other: &Bounds) {
        if !other.is_empty() {
            self.add(other.min);
            self.add(other.max);
        }
    }

    /// One box around the bodies and the visible colliders that are not planes.
    pub fn of_frame(frame: &Frame) -> Self {
        let mut boxes = Vec::new();
        Self::each_of_frame(frame, &mut boxes);
        let mut all = Self::default();
        boxes.iter().for_each(|b| all.join(b));
        all
    }

    /// Appends a box around each body and each visible collider that is not a plane. The boxes of all frames of a run
    /// keep its bodies in view.
    pub fn each_of_frame(frame: &Frame, boxes: &mut Vec<Self>) {
        for body in &frame.bodies {
            let mut bounds = Self::default();
            body.positions.iter().for_each(|&p| bounds.add(p));
            body.surfels.positions.iter().for_each(|&p| bounds.add(p));
            boxes.push(bounds);
        }
        for collider in &frame.colliders {
            if let ColliderLook::Surfels(surfels) = &collider.look {
                let mut bounds = Self::default();
                let pose = collider.pose.as_affine3();
                surfels.positions.iter().for_each(|&p| bounds.add(pose.transform_point3(p)));
                boxes.push(bounds);
            }
        }
    }

    fn corners(&self) -> [Vec3; 8] {
        std::array::from_fn(|i| {
            let pick = |bit: usize, lo: f32, hi: f32| if i & bit == 0 { lo } else { hi };
            Vec3::new(pick(1, self.min.x, self.max.x), pick(2, self.min.y, self.max.y), pick(4, self.min.z, self.max.z))
        })
    }
}

/// A three-quarter view from slightly above, turned towards the wider side, with the boxes filling about three quarters
/// of the height (or four fifths of the width) of a picture with this `aspect` (width over height). Where the boxes are
/// small in the whole, because bodies travel or lie apart, they fill up to nine tenths, so that bodies are not small.
pub fn auto(boxes: &[Bounds], aspect: f32) -> Camera {
    let mut bounds = Bounds::default();
    boxes.iter().for_each(|b| bounds.join(b));
    if bounds.is_empty() {
        bounds = Bounds { min: Vec3::splat(-0.5), max: Vec3::splat(0.5) };
    }
    let size = bounds.max - bounds.min;
    // A flat or pointlike subject still needs some room.
    let pad = 0.5 * (0.15 * size.max_element() - size).max(Vec3::ZERO) + Vec3::splat(1e-4);
    let corners: Vec<Vec3> = match boxes {
        [] | [_] => Bounds { min: bounds.min - pad, max: bounds.max + pad }.corners().to_vec(),
        // Where the boxes of a run leave the corners of the whole empty, the subject may be larger.
        _ => boxes.iter().filter(|b| !b.is_empty()).flat_map(Bounds::corners).collect(),
    };

    // Turned by the subject itself, not by the way it goes.
    let first = boxes.first().filter(|b| !b.is_empty()).map_or(size, |b| b.max - b.min);
    let (azimuth, elevation) = (wide_side(first) + 30f32.to_radians(), 17f32.to_radians());
    let towards_eye =
        Vec3::new(azimuth.sin() * elevation.cos(), elevation.sin(), azimuth.cos() * elevation.cos()).normalize();
    let largest = boxes.iter().filter(|b| !b.is_empty()).fold(0.0, |d: f32, b| d.max(b.max.distance(b.min)));
    let share = largest / size.length().max(1e-9);
    let aspect = if aspect.is_finite() { aspect.clamp(0.1, 10.0) } else { 16.0 / 9.0 };
    fit(&corners, 0.5 * (bounds.min + bounds.max), towards_eye, fill_of(share) * Vec2::new(aspect, 1.0))
}

/// Azimuth from which the wider horizontal side is seen: 0 looks along -z, a quarter turn along -x.
fn wide_side(size: Vec3) -> f32 {
    if size.z > 1.05 * size.x { std::f32::consts::FRAC_PI_2 } else { 0.0 }
}

/// How much of width and height is filled when the largest box has this share of the whole.
fn fill_of(share: f32) -> Vec2 {
    let t = ((1.0 - share) / 0.4).clamp(0.0, 1.0);
    Vec2::new(0.8, 0.76).lerp(Vec2::splat(0.9), t)
}

/// Moves the camera along a fixed direction until the projected corners have half the size `wanted` and are centered.
fn fit(corners: &[Vec3], mut center: Vec3, towards_eye: Vec3, wanted: Vec2) -> Camera {
    let mut camera = Camera { up: Vec3::Y, fov_y: DEFAULT_FOV, ..Camera::default() };
    let tan = camera.tan_half();
    let reach = corners.iter().fold(0.0, |r: f32, c| r.max(c.distance(center)));
    let mut distance = (2.0 * reach / tan).max(1e-3);
    for _ in 0..24 {
        camera.look_at = center;
        camera.from = center + distance * towards_eye;
        let basis = camera.basis();
        let (mut lo, mut hi) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
        for &corner in corners {
            let d = corner - camera.from;
            let depth = d.dot(basis.forward).max(0.05 * distance);
            let p = Vec2::new(d.dot(basis.right), d.dot(basis.up)) / (depth * tan);
            (lo, hi) = (lo.min(p), hi.max(p));
        }
        // Picture coordinates run from -1 to 1 upwards, and -aspect to aspect sideways.
        let fill = (0.5 * (hi - lo) / wanted).max_element();
        let middle = 0.5 * (lo + hi);
        center += (basis.right * middle.x + basis.up * middle.y) * distance * tan;
        distance *= fill.clamp(0.5, 2.0);
    }
    camera.look_at = center;
    camera.from = center + distance * towards_eye;
    camera
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projected(camera: &Camera, bounds: &Bounds) -> (Vec2, Vec2) {
        let basis = camera.basis();
        bounds.corners().iter().fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(lo, hi), &corner| {
            let d = corner - camera.from;
            let p = Vec2::new(d.dot(basis.right), d.dot(basis.up)) / (d.dot(basis.forward) * camera.tan_half());
            (lo.min(p), hi.max(p))
        })
    }

    #[test]
    fn auto_fills_three_quarters_and_centers() {
        for size in [Vec3::ONE, Vec3::new(0.2, 3.0, 0.2), Vec3::new(8.0, 0.5, 1.0), Vec3::new(1.0, 0.5, 8.0)] {
            let bounds = Bounds { min: Vec3::new(3.0, 0.0, -2.0), max: Vec3::new(3.0, 0.0, -2.0) + size };
            let camera = auto(&[bounds], 16.0 / 9.0);
            let (lo, hi) = projected(&camera, &bounds);
            let fill = (0.5 * (hi.y - lo.y) / 0.76).max(0.5 * (hi.x - lo.x) / (0.8 * 16.0 / 9.0));
            assert!((0.95..1.02).contains(&fill), "{size}: {fill}");
            assert!((lo + hi).length() < 0.08, "{size}: {lo} {hi}");
            assert!(camera.from.y > camera.look_at.y);
        }
    }

    #[test]
    fn a_travelling_body_fills_more_and_stays_inside() {
        let at = |y: f32| Bounds { min: Vec3::new(-0.5, y, -0.5), max: Vec3::new(0.5, y + 1.0, 0.5) };
        let boxes: Vec<Bounds> = (0..=20).map(|i| at(0.1 * i as f32)).collect();
        let camera = auto(&boxes, 16.0 / 9.0);
        let (lo, hi) = boxes
            .iter()
            .map(|b| projected(&camera, b))
            .fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let height = 0.5 * (hi.y - lo.y);
        assert!((0.85..0.93).contains(&height) && hi.y < 0.95 && lo.y > -0.95, "{lo} {hi}");
    }

    #[test]
    fn auto_of_nothing_or_one_point_is_finite() {
        assert!(auto(&[], 1.5).from.is_finite());
        let mut bounds = Bounds::default();
        bounds.add(Vec3::ONE);
        bounds.add(Vec3::NAN);
        assert!(auto(&[bounds], f32::NAN).from.is_finite());
        assert!((auto(&[bounds], 1.5).look_at - Vec3::ONE).length() < 1e-3);
    }
}
