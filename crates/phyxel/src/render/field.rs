//! Fields on points: their range, their unit, and their values at surfels.

use crate::frame::{BodyFrame, Frame};
use glam::{IVec3, Vec3};

/// Unit of a field in the legend; empty for numbers without unit.
pub fn unit(name: &str) -> &'static str {
    match name {
        "stress" | "pressure" => "Pa",
        "speed" => "m/s",
        "temperature" => "°C",
        "density" => "kg/m3",
        "energy" => "J",
        "displacement" => "m",
        _ => "",
    }
}

/// A value, in SI units, as the legend shows it in its unit: temperatures in degrees Celsius.
pub fn shown(name: &str, value: f32) -> f32 {
    if name == "temperature" { value - 273.15 } else { value }
}

/// Smallest and largest finite value of a field over all bodies of a frame; `speed` is always there. None: no such field
/// or no finite value. Join the ranges of a run's frames to give a film one scale.
pub fn range(frame: &Frame, name: &str) -> Option<(f32, f32)> {
    let mut found = (f32::INFINITY, f32::NEG_INFINITY);
    for body in &frame.bodies {
        for i in 0..body.positions.len() {
            if let Some(value) = value(body, name, i).filter(|v| v.is_finite()) {
                found = (found.0.min(value), found.1.max(value));
            }
        }
    }
    (found.0 <= found.1).then_some(found)
}

/// Whether a body carries a field.
pub(super) fn has(body: &BodyFrame, name: &str) -> bool {
    name == "speed" || body.fields.iter().any(|(field, _)| *field == name)
}

/// Value of a field at a point of a body.
pub(super) fn value(body: &BodyFrame, name: &str, i: usize) -> Option<f32> {
    match body.fields.iter().find(|(field, _)| *field == name) {
        Some((_, values)) => values.get(i).copied(),
        None if name == "speed" => body.velocities.get(i).map(|v| v.length()),
        None => None,
    }
}

/// Points of a body in cells, to look up the nearest few; the buffers are reused.
#[derive(Debug, Default)]
pub(super) struct PointCells {
    min: Vec3,
    cell: f32,
    size: IVec3,
    starts: Vec<u32>,
    order: Vec<u32>,
    values: Vec<f32>,
}

impl PointCells {
    /// Sorts the finite points of a body into cells of about one and a half spacings.
    pub fn build(&mut self, body: &BodyFrame, name: &str) {
        let points = &body.positions;
        let (mut lo, mut hi) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let mut spacing = 0.0;
        let mut count = 0usize;
        self.values.clear();
        for (i, &p) in points.iter().enumerate() {
            self.values.push(value(body, name, i).unwrap_or(f32::NAN));
            if p.is_finite() {
                (lo, hi) = (lo.min(p), hi.max(p));
                spacing += body.spacings.get(i).copied().unwrap_or(0.0);
                count += 1;
            }
        }
        if count == 0 {
            (lo, hi) = (Vec3::ZERO, Vec3::ZERO);
        }
        let extent = (hi - lo).max_element().max(1e-9);
        // At most 64 cells along the longest side: a few stretched-away points must not cost memory.
        self.cell = (1.5 * spacing / count.max(1) as f32).max(extent / 64.0);
        self.min = lo;
        self.size = ((hi - lo) / self.cell).as_ivec3() + 1;
        self.starts.clear();
        self.starts.resize((self.size.x * self.size.y * self.size.z) as usize + 1, 0);
        self.order.clear();
        self.order.resize(count, 0);
        self.sort(points);
    }

    /// Counting sort by cell; within a cell the points keep their order.
    fn sort(&mut self, points: &[Vec3]) {
        for &p in points.iter().filter(|p| p.is_finite()) {
            let c = self.index(self.cell_of(p));
            self.starts[c + 1] += 1;
        }
        for c in 1..self.starts.len() {
            self.starts[c] += self.starts[c - 1];
        }
        for (i, &p) in points.iter().enumerate().rev().filter(|(_, p)| p.is_finite()) {
            let c = self.index(self.cell_of(p));
            self.starts[c + 1] -= 1;
            self.order[self.starts[c + 1] as usize] = i as u32;
        }
        // The loop above left each end at its start; shift back by one cell.
        let cells = self.starts.len() - 1;
        self.starts.copy_within(1..=cells, 0);
        self.starts[cells] = self.order.len() as u32;
    }

    fn cell_of(&self, p: Vec3) -> IVec3 {
        ((p - self.min) / self.cell).as_ivec3().clamp(IVec3::ZERO, self.size - 1)
    }

    fn index(&self, c: IVec3) -> usize {
        ((c.z * self.size.y + c.y) * self.size.x + c.x) as usize
    }

    /// Value at a place: the points around it, weighted smoothly by distance; NaN if there is none at all.
    pub fn at(&self, points: &[Vec3], place: Vec3) -> f32 {
        let home = self.cell_of(place);
        let mut rings = 1;
        while rings <= self.size.max_element() {
            let reach = self.cell * rings as f32;
            let (mut sum, mut weights) = (0.0, 0.0);
            let (lo, hi) = ((home - rings).max(IVec3::ZERO), (home + rings).min(self.size - 1));
            for z in lo.z..=hi.z {
                for y in lo.y..=hi.y {
                    let row = self.index(IVec3::new(lo.x, y, z))..=self.index(IVec3::new(hi.x, y, z));
                    for k in self.starts[*row.start()]..self.starts[*row.end() + 1] {
                        let i = self.order[k as usize] as usize;
                        let near = 1.0 - points[i].distance_squared(place) / (reach * reach);
                        if near > 0.0 && self.values[i].is_finite() {
                            let weight = near * near * near;
                            sum += weight * self.values[i];
                            weights += weight;
                        }
                    }
                }
            }
            if weights > 0.0 {
                return sum / weights;
            }
            rings *= 2;
        }
        f32::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid_body() -> BodyFrame {
        let mut body = BodyFrame::default();
        for i in 0..1000 {
            let p = Vec3::new((i % 10) as f32, (i / 10 % 10) as f32, (i / 100) as f32) * 0.1;
            body.positions.push(p);
            body.velocities.push(Vec3::new(0.0, 3.0 * p.x, 0.0));
            body.spacings.push(0.1);
        }
        body
    }

    #[test]
    fn linear_fields_come_back_inside() {
        let body = grid_body();
        let mut cells = PointCells::default();
        cells.build(&body, "speed");
        for place in [Vec3::splat(0.45), Vec3::new(0.31, 0.52, 0.4), Vec3::new(0.6, 0.4, 0.55)] {
            let value = cells.at(&body.positions, place);
            assert!((value - 3.0 * place.x).abs() < 0.03, "{value} at {place}");
        }
    }

    #[test]
    fn bad_points_and_values_are_left_out() {
        let mut body = grid_body();
        body.positions[7] = Vec3::NAN;
        body.velocities[500] = Vec3::NAN;
        let mut cells = PointCells::default();
        cells.build(&body, "speed");
        assert!(cells.at(&body.positions, Vec3::new(0.7, 0.0, 0.0)).is_finite());
        assert!(cells.at(&body.positions, Vec3::new(50.0, 0.0, 0.0)).is_nan());
        cells.build(&BodyFrame::default(), "speed");
        assert!(cells.at(&[], Vec3::ZERO).is_nan());
    }

    #[test]
    fn range_needs_a_field() {
        let frame = Frame { bodies: vec![grid_body()], ..Frame::default() };
        assert_eq!(range(&frame, "nothing"), None);
        let (lo, hi) = range(&frame, "speed").unwrap();
        assert!(lo == 0.0 && (hi - 2.7).abs() < 1e-5);
    }
}
