//! Motion: keyframes to a smooth rigid motion, for colliders and pins.
//!
//! Each of the six numbers of a keyframe (offset and turning angles) is a monotone piecewise cubic of time with the
//! tangents of [FB84]: it never overshoots its keys and its velocity is continuous. Before the first and after the
//! last key the pose is constant, so the velocity is zero at both ends.

use crate::linalg::rotation_xyz;
use crate::scene::Keyframe;
use glam::{DQuat, DVec3};

/// Keyframed rigid motion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Motion {
    /// Keys in the order of time.
    keys: Vec<Keyframe>,
    /// Rate of change at each key: offset [m/s], angles [degree/s].
    rates: Vec<[DVec3; 2]>,
}

/// Pose and velocity at one moment, relative to the state without motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotionState {
    /// Offset [m].
    pub offset: DVec3,
    /// Turn about the center the caller chooses.
    pub rotation: DQuat,
    /// Velocity of the center [m/s].
    pub velocity: DVec3,
    /// Angular velocity [rad/s].
    pub spin: DVec3,
}

impl MotionState {
    /// No motion at all.
    pub const STILL: Self =
        Self { offset: DVec3::ZERO, rotation: DQuat::IDENTITY, velocity: DVec3::ZERO, spin: DVec3::ZERO };

    /// Where a point at `rest` goes when the turn is about `center` [m].
    pub fn carry(&self, center: DVec3, rest: DVec3) -> DVec3 {
        center + self.offset + self.rotation * (rest - center)
    }

    /// Velocity of the moving thing at the world point `position` [m/s]; `center` is that of the state at rest.
    pub fn velocity_at(&self, center: DVec3, position: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(position - center - self.offset)
    }
}

impl Motion {
    /// Motion through the keys. They are put in order of time; of several at one time the last counts, and keys with
    /// a time that is not finite are left out.
    pub fn new(keys: &[Keyframe]) -> Self {
        let mut sorted: Vec<Keyframe> = Vec::with_capacity(keys.len());
        sorted.extend(keys.iter().filter(|k| k.t.is_finite()));
        sorted.sort_by(|a, b| a.t.total_cmp(&b.t));
        let mut keys: Vec<Keyframe> = Vec::with_capacity(sorted.len());
        for key in sorted {
            match keys.last_mut() {
                Some(last) if last.t == key.t => *last = key,
                _ => keys.push(key),
            }
        }
        let rates = (0..keys.len()).map(|k| key_rates(&keys, k)).collect();
        Self { keys, rates }
    }

    /// Whether the pose never changes.
    pub fn is_still(&self) -> bool {
        self.keys.windows(2).all(|w| w[0].at == w[1].at && w[0].rotate == w[1].rotate)
    }

    /// Pose and velocity at time `t` [s].
    pub fn at(&self, t: f64) -> MotionState {
        let (Some(first), Some(last)) = (self.keys.first(), self.keys.last()) else { return MotionState::STILL };
        // The number of keys at or before t, found by bisection.
        let next = self.keys.partition_point(|k| k.t <= t);
        if next == 0 {
            return resting(first);
        }
        if next == self.keys.len() {
            return resting(last);
        }
        let (a, b) = (&self.keys[next - 1], &self.keys[next]);
        let (rate_a, rate_b) = (self.rates[next - 1], self.rates[next]);
        let (offset, velocity) = hermite(a.t, b.t, [a.at, b.at], [rate_a[0], rate_b[0]], t);
        let (degrees, turning) = hermite(a.t, b.t, [a.rotate, b.rotate], [rate_a[1], rate_b[1]], t);
        MotionState { offset, rotation: rotation_xyz(degrees), velocity, spin: spin(degrees, turning) }
    }

    /// Largest speed of the center and largest angular speed between `from` and `to`, sampled [m/s, rad/s].
    pub fn max_speeds(&self, from: f64, to: f64) -> (f64, f64) {
        const SAMPLES: usize = 8;
        (0..=SAMPLES).fold((0.0, 0.0), |(speed, spin), k| {
            let state = self.at(from + (to - from) * k as f64 / SAMPLES as f64);
            (f64::max(speed, state.velocity.length()), f64::max(spin, state.spin.length()))
        })
    }
}

fn resting(key: &Keyframe) -> MotionState {
    MotionState { offset: key.at, rotation: rotation_xyz(key.rotate), ..MotionState::STILL }
}

/// Angular velocity of `rotation_xyz(degrees)` [rad/s] when the angles change at `rates` [degree/s].
fn spin(degrees: DVec3, rates: DVec3) -> DVec3 {
    let rate = rates * std::f64::consts::PI / 180.0;
    let about_z = DQuat::from_rotation_z(degrees.z.to_radians());
    let about_zy = about_z * DQuat::from_rotation_y(degrees.y.to_radians());
    DVec3::Z * rate.z + about_z * (DVec3::Y * rate.y) + about_zy * (DVec3::X * rate.x)
}

/// Rates of offset and angles at key `k`: zero at the ends, [FB84] tangents inside.
fn key_rates(keys: &[Keyframe], k: usize) -> [DVec3; 2] {
    if k == 0 || k + 1 == keys.len() {
        return [DVec3::ZERO; 2];
    }
    let (a, b, c) = (&keys[k - 1], &keys[k], &keys[k + 1]);
    let (before, after) = (b.t - a.t, c.t - b.t);
    let tangents = |x: DVec3, y: DVec3, z: DVec3| {
        let (s, t) = ((y - x) / before, (z - y) / after);
        DVec3::from_array([0, 1, 2].map(|c| monotone_tangent(s[c], t[c], before, after)))
    };
    [tangents(a.at, b.at, c.at), tangents(a.rotate, b.rotate, c.rotate)]
}

/// [FB84]: weighted harmonic mean of the slopes on both sides, zero at an extremum.
fn monotone_tangent(slope_before: f64, slope_after: f64, before: f64, after: f64) -> f64 {
    if slope_before * slope_after <= 0.0 {
        return 0.0;
    }
    let weight = (before + 2.0 * after) / (3.0 * (before + after));
    slope_before * slope_after / (weight * slope_after + (1.0 - weight) * slope_before)
}

/// Cubic with given values and rates at both ends: value and rate at `t`.
fn hermite(t0: f64, t1: f64, value: [DVec3; 2], rate: [DVec3; 2], t: f64) -> (DVec3, DVec3) {
    let width = t1 - t0;
    let s = (t - t0) / width;
    let (s2, s3) = (s * s, s * s * s);
    let step = value[1] - value[0];
    let x = value[0] + step * (3.0 * s2 - 2.0 * s3) + width * (rate[0] * (s3 - 2.0 * s2 + s) + rate[1] * (s3 - s2));
    let v = step * (6.0 * (s - s2) / width) + rate[0] * (3.0 * s2 - 4.0 * s + 1.0) + rate[1] * (3.0 * s2 - 2.0 * s);
    (x, v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(t: f64, at: [f64; 3], rotate: [f64; 3]) -> Keyframe {
        Keyframe { t, at: at.into(), rotate: rotate.into() }
    }

    fn three() -> Motion {
        Motion::new(&[
            key(1.0, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
            key(2.0, [1.0, -2.0, 0.5], [90.0, 20.0, -30.0]),
            key(2.5, [1.5, -2.0, 0.7], [120.0, 20.0, 45.0]),
            key(4.0, [0.0, 3.0, 4.0], [0.0, 360.0, 45.0]),
        ])
    }

    #[test]
    fn passes_through_its_keys_and_rests_outside() {
        let motion = three();
        assert_eq!(Motion::new(&[]).at(3.0), MotionState::STILL);
        assert_eq!(motion.at(0.0).offset, DVec3::ZERO);
        assert!((motion.at(2.0).offset - DVec3::new(1.0, -2.0, 0.5)).length() < 1e-14);
        let end = motion.at(9.0);
        assert_eq!((end.offset, end.velocity, end.spin), (DVec3::new(0.0, 3.0, 4.0), DVec3::ZERO, DVec3::ZERO));
        assert!(Motion::new(&[key(0.0, [1.0; 3], [0.0; 3])]).is_still() && !motion.is_still());
    }

    #[test]
    fn never_overshoots_and_velocity_is_continuous() {
        let motion = three();
        let mut before = motion.at(0.9).velocity;
        for k in 0..4000 {
            let t = 0.9 + k as f64 * 1e-3;
            let state = motion.at(t);
            assert!(state.offset.y >= -2.0 - 1e-12 && state.offset.y <= 3.0 + 1e-12);
            assert!(state.offset.x >= -1e-12 && state.offset.x <= 1.5 + 1e-12);
            assert!((state.velocity - before).length() < 0.05, "jump at {t}");
            before = state.velocity;
        }
    }

    #[test]
    fn velocity_is_the_derivative_of_the_pose() {
        let motion = three();
        let center = DVec3::new(0.3, 0.1, -0.2);
        let rest = DVec3::new(0.7, -0.4, 0.9);
        for t in [1.3, 1.9, 2.2, 3.1, 3.9] {
            let step = 1e-6;
            let carried = |t: f64| motion.at(t).carry(center, rest);
            let measured = (carried(t + step) - carried(t - step)) / (2.0 * step);
            let state = motion.at(t);
            let given = state.velocity_at(center, state.carry(center, rest));
            assert!((measured - given).length() < 1e-7 * given.length().max(1.0), "{measured} {given}");
        }
    }

    #[test]
    fn unordered_and_repeated_keys_are_put_in_order() {
        let motion = Motion::new(&[
            key(2.0, [2.0, 0.0, 0.0], [0.0; 3]),
            key(f64::NAN, [9.0; 3], [0.0; 3]),
            key(0.0, [0.0; 3], [0.0; 3]),
            key(2.0, [3.0, 0.0, 0.0], [0.0; 3]),
        ]);
        assert_eq!(motion.at(5.0).offset.x, 3.0);
        assert!((motion.at(1.0).offset.x - 1.5).abs() < 1e-14);
    }

    #[test]
    fn turns_about_x_then_y_then_z() {
        let turned = rotation_xyz(DVec3::new(90.0, 0.0, 90.0)) * DVec3::Y;
        // About x: y goes to z; about z: z stays.
        assert!((turned - DVec3::Z).length() < 1e-15);
        let turned = rotation_xyz(DVec3::new(90.0, 90.0, 0.0)) * DVec3::Y;
        assert!((turned - DVec3::X).length() < 1e-15);
    }
}
