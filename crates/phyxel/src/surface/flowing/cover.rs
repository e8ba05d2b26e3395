//! Where surfels are: found by place while some move and new ones are added.

use super::look::{SAME_SIDE, SEEN};
use super::{Element, FlowingSurface};
use crate::neighbors::Grid;
use glam::{DVec3, IVec3, Vec3};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Places in a cell of this edge are hardly apart [surfel spacings].
const APART: f32 = 0.5;

/// What a surfel shows to others.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// Center [m].
    pub position: Vec3,
    /// Piece that it belongs to.
    pub label: u32,
    pub normal: Vec3,
    /// Whether it touches a mold.
    pub touches: bool,
}

/// Spreads the numbers of cells; quicker than what is safe against chosen keys.
#[derive(Default)]
struct CellHasher(u64);

impl Hasher for CellHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_i32(i32::from(b)));
    }

    fn write_i32(&mut self, number: i32) {
        self.0 = (self.0.rotate_left(26) ^ number as u32 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}

/// Something in cells.
type Cells<T> = HashMap<IVec3, T, BuildHasherDefault<CellHasher>>;

/// Where surfels are: those of the start of the frame in a grid, new ones in cells.
pub(super) struct Cover {
    grid: Grid,
    /// What is looked at first of each surfel of the grid, in its order.
    spots: Vec<Spot>,
    cells: Cells<Vec<u32>>,
    /// Which of the surfels stay.
    pub alive: Vec<bool>,
    /// Edge of the cells of new ones; largest spacing of surfels [m].
    edge: f32,
    /// How far a surfel may have moved since the grid was made [m].
    drift: f32,
    /// Surfels from this one on are not painted yet.
    pub painted: u32,
}

impl FlowingSurface {
    /// Where the surfels are now.
    pub(super) fn cover(&self) -> Cover {
        let places: Vec<DVec3> = self.elements.iter().map(|e| e.position.as_dvec3()).collect();
        let edge = self.widest();
        let grid = Grid::new(&places, f64::from(0.9 * SEEN * edge));
        let count = self.elements.len();
        let (alive, painted) = (vec![true; count], count as u32);
        let spot = |&i: &u32| {
            let e = &self.elements[i as usize];
            Spot { position: e.position, label: self.label(e), normal: e.normal, touches: e.contact != 0.0 }
        };
        let spots = grid.order().iter().map(spot).collect();
        Cover { grid, spots, cells: HashMap::default(), alive, edge, drift: 0.5 * edge, painted }
    }
}

impl Cover {
    /// Notes that a surfel has been added behind all others.
    pub fn add(&mut self, i: u32, p: Vec3) {
        self.note(i, p);
        self.alive.push(true);
    }

    /// Notes where a surfel is that has moved far since the start of the frame.
    pub fn note(&mut self, i: u32, p: Vec3) {
        self.cells.entry(cell(p, self.edge)).or_default().push(i);
    }

    /// All surfels of the start of the frame, as they were then.
    pub fn spots(&self) -> impl Iterator<Item = (u32, &Spot)> {
        self.grid.order().iter().copied().zip(&self.spots)
    }

    /// Calls `visit(j, spot, offset)` for every surfel of the start of the frame that was nearer to `p` than `radius` [m].
    #[inline]
    pub fn for_each_spot(&self, p: Vec3, radius: f32, mut visit: impl FnMut(u32, &Spot, Vec3)) {
        let (place, reach) = (p.as_dvec3(), DVec3::splat(1.000_001 * f64::from(radius)));
        if self.spots.is_empty() || !p.is_finite() {
            return;
        }
        self.grid.for_each_range(self.grid.cell(place - reach), self.grid.cell(place + reach), |range| {
            for k in range {
                let offset = self.spots[k].position - p;
                if offset.length_squared() < radius * radius {
                    visit(self.grid.order()[k], &self.spots[k], offset);
                }
            }
        });
    }

    /// Calls `visit(j, offset)` for every surfel that stays and is nearer to `p` than `radius` [m].
    pub fn near(&self, elements: &[Element], p: Vec3, radius: f32, mut visit: impl FnMut(u32, Vec3)) {
        let mut test = |j: u32| {
            let offset = elements[j as usize].position - p;
            if self.alive[j as usize] && offset.length_squared() < radius * radius {
                visit(j, offset);
            }
        };
        self.grid.for_each_within(p.as_dvec3(), f64::from(radius + self.drift), |j, _| test(j as u32));
        if self.cells.is_empty() {
            return;
        }
        let (low, high) = (cell(p - radius, self.edge), cell(p + radius, self.edge));
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                for x in low.x..=high.x {
                    self.cells.get(&IVec3::new(x, y, z)).into_iter().flatten().for_each(|&j| test(j));
                }
            }
        }
    }

    /// Leaves out places wanted by surfels of the same side that nearly coincide with an earlier one.
    pub fn tell_apart(&self, elements: &[Element], wanted: &mut Vec<(u32, Vec3)>) {
        let mut known: Cells<u32> = HashMap::default();
        let normal = |i: u32| elements[i as usize].normal;
        wanted.retain(|&(parent, place)| {
            let first = *known.entry(cell(place, APART * self.edge)).or_insert(parent);
            first == parent || normal(first).dot(normal(parent)) <= SAME_SIDE
        });
    }

    /// The surfel of the start of the frame that is nearest to a place [m].
    pub fn nearest(&self, p: Vec3) -> Option<usize> {
        self.grid.nearest(p.as_dvec3()).map(|(j, _)| j)
    }

    /// Whether a surfel of the same side is nearer than `room` [m].
    pub fn taken(&self, elements: &[Element], p: Vec3, normal: Vec3, room: f32) -> bool {
        let mut taken = false;
        self.near(elements, p, room, |j, _| taken |= elements[j as usize].normal.dot(normal) > SAME_SIDE);
        taken
    }
}

fn cell(p: Vec3, edge: f32) -> IVec3 {
    (p / edge).floor().as_ivec3()
}
