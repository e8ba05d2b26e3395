//! Depth maps: how far the light of one direction comes.

use super::light::Caster;
use super::splats::Splats;
use glam::{Vec2, Vec3};

/// Depths seen from one direction, orthographic.
#[derive(Debug, Default, Clone)]
pub(super) struct DepthMap {
    /// Towards the light.
    pub direction: Vec3,
    /// Across the map, per texel.
    side: Vec3,
    up: Vec3,
    /// Added to projected places.
    origin: Vec3,
    size: usize,
    /// Size of a texel [m].
    pub texel: f32,
    depths: Vec<f32>,
}

impl DepthMap {
    /// Aims the map at a sphere and clears it.
    pub fn look(&mut self, direction: Vec3, center: Vec3, radius: f32, size: usize) {
        self.direction = direction;
        self.size = size;
        // Two texels of border stay empty, so that lookups need no other care.
        self.texel = 2.0 * radius.max(1e-9) / (size as f32 - 4.0);
        let (side, up) = direction.any_orthonormal_pair();
        (self.side, self.up) = (side / self.texel, up / self.texel);
        let middle = 0.5 * (size as f32 - 1.0);
        self.origin = Vec3::new(middle - center.dot(self.side), middle - center.dot(self.up), -center.dot(direction));
        self.depths.clear();
        self.depths.resize(size * size, f32::NEG_INFINITY);
    }

    /// Texel coordinates (texel centers at integers) and height towards the light.
    fn project(&self, p: Vec3) -> (Vec2, f32) {
        let at = Vec2::new(p.dot(self.side) + self.origin.x, p.dot(self.up) + self.origin.y);
        (at, p.dot(self.direction) + self.origin.z)
    }

    /// Whether a splat of a part cannot be the nearest to the light.
    fn is_hidden(&self, part: &Caster, normal: Vec3) -> bool {
        part.closed && normal.dot(self.direction) < -0.1
    }

    /// Draws every splat of a part as the ellipse it is, with the depth of its plane.
    pub fn draw_exact(&mut self, splats: &Splats, part: &Caster) {
        for i in part.range.clone() {
            if self.is_hidden(part, splats.normals[i]) {
                continue;
            }
            let (at, height) = self.project(splats.positions[i]);
            let (u, v) = (splats.axes_u[i], splats.axes_v[i]);
            let ball = splats.normals[i] == Vec3::ZERO;
            let across = splats.radii[i] / self.texel;
            let flat = |a: Vec3| Vec2::new(a.dot(self.side), a.dot(self.up));
            let (u2, v2) = if ball { (Vec2::X * across, Vec2::Y * across) } else { (flat(u), flat(v)) };
            let reach = Vec2::new((u2.x * u2.x + v2.x * v2.x).sqrt(), (u2.y * u2.y + v2.y * v2.y).sqrt());
            let determinant = u2.perp_dot(v2);
            if reach.max_element() < 0.7 || determinant.abs() < 0.3 {
                let (x, y) = self.clamped(at + 0.5);
                self.raise(y * self.size + x, height);
                continue;
            }
            // Coordinates along the axes are linear in the texel.
            let (a, b) = (Vec2::new(v2.y, -v2.x) / determinant, Vec2::new(-u2.y, u2.x) / determinant);
            let slope = a * u.dot(self.direction) + b * v.dot(self.direction);
            let (lo, hi) = (self.clamped(at - reach + 1.0), self.clamped(at + reach));
            for y in lo.1..=hi.1 {
                for x in lo.0..=hi.0 {
                    let d = Vec2::new(x as f32, y as f32) - at;
                    let (s, t) = (a.dot(d), b.dot(d));
                    if s * s + t * t <= 1.0 {
                        self.raise(y * self.size + x, height + slope.dot(d));
                    }
                }
            }
        }
    }

    /// Draws every `stride`-th splat of a part, made larger accordingly, as a small rectangle in its plane.
    pub fn draw_coarse(&mut self, splats: &Splats, part: &Caster, stride: usize) {
        let grow = 0.8 * (stride as f32).sqrt();
        for i in part.range.clone().step_by(stride) {
            if self.is_hidden(part, splats.normals[i]) {
                continue;
            }
            let (at, height) = self.project(splats.positions[i]);
            let (u, v, normal) = (splats.axes_u[i], splats.axes_v[i], splats.normals[i]);
            let ball = normal == Vec3::ZERO;
            let reach = if ball {
                Vec2::splat(grow * splats.radii[i] / self.texel)
            } else {
                let across = |axis: Vec3| (u.dot(axis) * u.dot(axis) + v.dot(axis) * v.dot(axis)).sqrt() * grow;
                Vec2::new(across(self.side), across(self.up))
            };
            // Height per texel in the plane of the splat, as far as that can be told.
            let facing = normal.dot(self.direction);
            let steep = if ball { 0.0 } else { self.texel * self.texel / facing.abs().max(0.25).copysign(facing) };
            let slope = Vec2::new(normal.dot(self.side), normal.dot(self.up)) * -steep;
            let (lo, hi) = (self.clamped(at - reach + 0.5), self.clamped(at + reach + 0.5));
            for y in lo.1..=hi.1 {
                let mut here = height + slope.y * (y as f32 - at.y) + slope.x * (lo.0 as f32 - at.x);
                for depth in &mut self.depths[y * self.size + lo.0..=y * self.size + hi.0] {
                    *depth = if here > *depth { here } else { *depth };
                    here += slope.x;
                }
            }
        }
    }

    fn raise(&mut self, i: usize, height: f32) {
        let depth = &mut self.depths[i];
        *depth = if height > *depth { height } else { *depth };
    }

    /// The texel a place lies in, rounded down and kept inside.
    fn clamped(&self, at: Vec2) -> (usize, usize) {
        let limit = self.size as i32 - 1;
        ((at.x as i32).clamp(0, limit) as usize, (at.y as i32).clamp(0, limit) as usize)
    }

    /// Fraction of the light that reaches a place, 0 to 1: four texels, each a soft comparison that starts to darken when
    /// the place lies `near` texels below what the map saw and is dark at `far`.
    #[inline]
    pub fn visible(&self, p: Vec3, near: f32, far: f32) -> f32 {
        let (at, height) = self.project(p);
        let limit = (self.size - 1) as f32;
        if !(at.x >= 0.0 && at.y >= 0.0 && at.x < limit && at.y < limit) {
            return 1.0;
        }
        let (x, y) = (at.x as i32, at.y as i32);
        let (fx, fy) = (at.x - x as f32, at.y - y as f32);
        let i = y as usize * self.size + x as usize;
        let scale = 1.0 / ((far - near) * self.texel);
        let top = height + far * self.texel;
        let lit = |depth: f32| {
            let t = (top - depth) * scale;
            let t = if t < 1.0 { t } else { 1.0 };
            if t > 0.0 { t } else { 0.0 }
        };
        let (low, high) = (&self.depths[i..i + 2], &self.depths[i + self.size..i + self.size + 2]);
        let (a, b, c, d) = (lit(low[0]), lit(low[1]), lit(high[0]), lit(high[1]));
        let (a, c) = (a + (b - a) * fx, c + (d - c) * fx);
        a + (c - a) * fy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_shadows_what_is_below_it() {
        let mut splats = Splats::default();
        splats.positions.push(Vec3::Y);
        splats.axes_u.push(Vec3::X * 0.5);
        splats.axes_v.push(Vec3::Z * 0.5);
        splats.normals.push(Vec3::Y);
        splats.radii.push(0.5);
        let mut map = DepthMap::default();
        map.look(Vec3::Y, Vec3::ZERO, 2.0, 128);
        map.draw_exact(&splats, &Caster { range: 0..1, closed: false });
        assert_eq!(map.visible(Vec3::ZERO, 0.0, 1.0), 0.0);
        assert_eq!(map.visible(Vec3::new(0.45, 0.0, 0.0), 0.0, 1.0), 0.0);
        assert_eq!(map.visible(Vec3::new(0.6, 0.0, 0.0), 0.0, 1.0), 1.0);
        assert_eq!(map.visible(Vec3::new(0.0, 1.2, 0.0), 0.0, 1.0), 1.0);
        assert_eq!(map.visible(Vec3::splat(1e6), 0.0, 1.0), 1.0);
    }
}
