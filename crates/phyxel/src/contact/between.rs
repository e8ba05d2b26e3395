//! Colliders against sheets between their nodes: what is smaller than the distance of the nodes does not slip through.

use super::colliders::{Colliders, Sum};
use crate::points::Points;
use glam::DVec3;

impl Colliders {
    /// After `collide`: corrects the velocities of the corners of triangles whose middles, balls of half the thickness of their sheet,
    /// would enter a collider during the step of `dt` [s]. Planes need no look: their points keep the triangles out.
    pub fn collide_between<'a>(
        &mut self,
        triangles: impl Iterator<Item = &'a [u32; 3]> + Clone,
        halves: &[f64],
        points: &mut Points,
        dt: f64,
    ) {
        for (collider, total) in self.list.iter().zip(&mut self.totals) {
            if !collider.active || collider.planes().is_some() {
                continue;
            }
            let space = collider.bounds();
            let mut sum = Sum::default();
            for corners in triangles.clone() {
                let corners = corners.map(|i| i as usize);
                let mean = |list: &[DVec3]| corners.iter().map(|&i| list[i]).sum::<DVec3>() / 3.0;
                let (x, v, half) = (mean(&points.positions), mean(&points.velocities), halves[corners[0]]);
                if space.distance(x) > half + dt * v.length() {
                    continue;
                }
                let Some(touch) = collider.touch(x, v, half, dt, None) else { continue };
                let change = touch.velocity - v;
                corners.iter().for_each(|&i| points.velocities[i] += change);
                let impulse = corners.iter().map(|&i| points.masses[i]).sum::<f64>() * change;
                sum.add(&Sum { impulse, work: impulse.dot(touch.velocity), touched: 1 });
            }
            total.add(&sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Collider;
    use super::*;
    use crate::geometry::Sphere;
    use std::sync::Arc;

    #[test]
    fn a_small_ball_does_not_slip_between_the_nodes() {
        let mut points = Points::default();
        for p in [DVec3::new(-0.1, 0.0, -0.075), DVec3::new(0.1, 0.0, -0.075), DVec3::new(0.0, 0.0, 0.15)] {
            let i = points.push(0, p + DVec3::Y * 0.03, 1.0, 1e-3, 0.2);
            points.velocities[i] = DVec3::Y * -3.0;
        }
        let ball = Collider::new("ball", Arc::new(Sphere { radius: 0.02 }));
        let mut colliders = Colliders::new(vec![ball]);
        colliders.set_radii(vec![0.002; 3]);
        for _ in 0..60 {
            colliders.collide(&mut points, 1e-3);
            colliders.collide_between([[0, 1, 2]].iter(), &[0.002; 3], &mut points, 1e-3);
            for i in 0..3 {
                let v = points.velocities[i];
                points.positions[i] += 1e-3 * v;
            }
        }
        let middle = points.positions.iter().sum::<DVec3>() / 3.0;
        assert!((middle.length() - 0.022).abs() < 2e-3, "{middle}");
        assert!(points.velocities.iter().all(|v| v.length() < 1e-6));
    }
}
