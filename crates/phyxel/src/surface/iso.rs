//! The surface of particles as a mesh: where the distance from their local mean equals a radius.
//!
//! φ(x) = |x - Σ w x_i / Σ w| - r with smooth weights over two spacings and r the local mean of half the spacing, on a grid of half a
//! spacing that stands still, so that the surface moves as smoothly as the particles do. Only blocks of cells near particles are kept.
//! In each cell that the surface crosses lies one vertex, at the mean of the crossings of its edges, and each edge that is crossed is
//! surrounded by two triangles (naive surface nets [Gib98]): closed, with even triangles and without tables. A few rounds of smoothing
//! take out what is left of the grid and of the single particles.
//!
//! Matter that is firm or tough has no pits of the size of its particles, though these may leave some between them. `around_tough` rolls a
//! ball over it: the surface a little farther out is found first, and what balls around its vertices do not reach is inside.
//!
//! Each block gathers what lies near it, in the order of the particles: the same bits on any number of threads.

use super::Surfels;
use crate::geometry::Mesh;
use crate::neighbors::Neighborhoods;
use glam::{DVec3, IVec3, UVec3, Vec3};
use rayon::prelude::*;

/// Edge of a grid cell over the spacing.
const CELL: f32 = 0.5;
/// Reach of the weights over the spacing.
const REACH: f32 = 2.0;
/// Radius r over the spacing: a half-space of particles ends half a layer outside of the outermost.
const RADIUS: f32 = 0.5;
/// What is farther than this from all particles is outside: between two sides of a gap their mean is near [spacings].
const ALONE: f32 = 0.95;
/// Radius of the ball that is rolled over tough matter, over the spacing: pits and gaps narrower than twice that are closed.
const ROLL: f32 = 0.7;
/// Largest radius of that ball over the spacing of the particle that it touches: the weights still reach so far.
const MOST_ROLL: f32 = 1.4;
/// How fast φ grows away from the surface: the mean of what is within reach comes along.
const SLOPE: f32 = 0.8;
/// Depth below the rolled balls that is told apart [cells]: that of a node beside the surface and a little more.
const EDGE: f32 = 1.5;
/// Cells along the edge of a block.
const BLOCK: i32 = 8;
/// Nodes along the edge of a block; those at its end are also those of the next.
const NODES: usize = BLOCK as usize + 1;
/// Nodes along a row with padding, so that rows are whole vectors.
const ROW: usize = 12;
/// Rounds of smoothing, and the part of the way to the mean of its neighbors that a vertex goes in each.
const ROUNDS: usize = 4;
const SMOOTHING: f32 = 0.5;
/// No vertex in a cell.
const NONE: u32 = u32::MAX;

/// A surface made of triangles, in f32: only pictures and exports read it.
#[derive(Debug, Clone, Default)]
pub struct IsoSurface {
    /// Vertices [m].
    pub positions: Vec<Vec3>,
    /// Unit outward normals of the vertices.
    pub normals: Vec<Vec3>,
    /// Vertices of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// A particle, or a ball that is rolled over them.
#[derive(Debug, Clone, Copy)]
struct Ball {
    /// [m].
    at: Vec3,
    /// Spacing of a particle [m].
    spacing: f32,
    /// Radius of what is rolled over it, or of the ball itself [m].
    roll: f32,
    /// How far it is felt [m].
    reach: f32,
}

/// Cells of one block.
#[derive(Debug, Default)]
struct Block {
    /// Place of its first cell in blocks.
    at: IVec3,
    /// Field at its nodes, x fastest.
    field: Vec<f32>,
    /// Balls that are rolled over the particles, where the surface farther out lies.
    rolled: Vec<Ball>,
    /// Number of the vertex in each cell.
    vertices: Vec<u32>,
    /// Vertices found.
    found: Vec<Vec3>,
}

impl IsoSurface {
    /// The surface of particles of one spacing [m]; particles that are not finite are left out.
    pub fn around(positions: &[Vec3], spacing: f32) -> Self {
        if !(spacing > 0.0 && spacing.is_finite()) {
            return Self::default();
        }
        let ball = |&at: &Vec3| Ball { at, spacing, roll: 0.0, reach: REACH * spacing };
        let balls: Vec<Ball> = positions.iter().filter(|p| p.is_finite()).map(ball).collect();
        Self::of(&balls, spacing)
    }

    /// The surface of tough matter, whose particles have different spacings [m], and the least of these: no pits between particles, also
    /// where coarse ones come to the surface.
    pub fn around_tough(positions: &[Vec3], spacings: &[f32]) -> (Self, f32) {
        let usable = |(p, a): (&Vec3, &f32)| (p.is_finite() && *a > 0.0 && a.is_finite()).then_some((*p, *a));
        let (places, spacings): (Vec<Vec3>, Vec<f32>) = positions.iter().zip(spacings).filter_map(usable).unzip();
        let least = spacings.iter().copied().fold(f32::INFINITY, f32::min);
        if places.is_empty() {
            return (Self::default(), 1.0);
        }
        let means = mean_spacings(&places, &spacings);
        let ball = |((&at, &spacing), &mean): ((&Vec3, &f32), &f32)| {
            let roll = (ROLL * mean).min(MOST_ROLL * spacing);
            Ball { at, spacing, roll, reach: REACH * spacing }
        };
        let balls: Vec<Ball> = places.iter().zip(&spacings).zip(&means).map(ball).collect();
        (Self::of(&balls, least), least)
    }

    /// The surface of particles, on a grid for this spacing [m].
    fn of(balls: &[Ball], spacing: f32) -> Self {
        let cell = CELL * spacing;
        let bins = Bins::new(balls, cell * BLOCK as f32);
        let mut blocks: Vec<Block> = bins.blocks_near(balls).into_par_iter().map(Block::new).collect();
        let alike = all_alike(balls);
        let rolls = balls.iter().any(|b| b.roll > 0.0);
        blocks.par_iter_mut().for_each(|block| block.fill(&bins, (balls, rolls), alike, cell));
        if rolls {
            let rolled: Vec<Ball> = blocks.iter_mut().flat_map(|b| std::mem::take(&mut b.rolled)).collect();
            let bins = Bins::new(&rolled, cell * BLOCK as f32);
            blocks.par_iter_mut().for_each(|block| block.roll(&bins, &rolled, cell));
        }
        blocks.par_iter_mut().for_each(|block| block.find_vertices(cell));
        let mut surface = Self::default();
        for block in &mut blocks {
            let first = surface.positions.len() as u32;
            block.vertices.iter_mut().filter(|v| **v != NONE).for_each(|v| *v += first);
            surface.positions.append(&mut block.found);
        }
        let net = Net { blocks: &blocks };
        let triangles: Vec<Vec<[u32; 3]>> = (0..blocks.len()).into_par_iter().map(|b| net.triangles(b)).collect();
        surface.triangles = triangles.concat();
        surface.smooth();
        surface.find_normals();
        surface
    }

    /// Moves every vertex towards the mean of those it shares an edge with, out and back so that volume is kept [Tau95].
    fn smooth(&mut self) {
        let mut sums = vec![(Vec3::ZERO, 0.0f32); self.positions.len()];
        for round in 0..2 * ROUNDS {
            sums.fill((Vec3::ZERO, 0.0));
            for t in &self.triangles {
                let p = t.map(|v| self.positions[v as usize]);
                for k in 0..3 {
                    let sum = &mut sums[t[k] as usize];
                    *sum = (sum.0 + p[(k + 1) % 3] + p[(k + 2) % 3], sum.1 + 2.0);
                }
            }
            let part = if round % 2 == 0 { SMOOTHING } else { -1.04 * SMOOTHING };
            for (p, (sum, count)) in self.positions.iter_mut().zip(&sums).filter(|(_, s)| s.1 > 0.0) {
                *p += part * (*sum / *count - *p);
            }
        }
    }

    fn find_normals(&mut self) {
        self.normals.clear();
        self.normals.resize(self.positions.len(), Vec3::ZERO);
        for t in &self.triangles {
            let [a, b, c] = t.map(|v| self.positions[v as usize]);
            let area = (b - a).cross(c - a);
            t.iter().for_each(|&v| self.normals[v as usize] += area);
        }
        self.normals.iter_mut().for_each(|n| *n = n.try_normalize().unwrap_or(Vec3::Y));
    }

    /// Volume inside [m³].
    pub fn volume(&self) -> f64 {
        let one = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| self.positions[v as usize].as_dvec3());
            a.dot(b.cross(c)) / 6.0
        };
        self.triangles.iter().map(one).sum()
    }

    /// As a mesh.
    pub fn mesh(&self) -> Mesh {
        let vectors = |list: &[Vec3]| -> Vec<DVec3> { list.iter().map(|v| v.as_dvec3()).collect() };
        Mesh {
            positions: vectors(&self.positions),
            triangles: self.triangles.clone(),
            normals: vectors(&self.normals),
            ..Mesh::default()
        }
    }

    /// The smoothed `values` of particles at each vertex; particles and spacing [m] as for `around`.
    pub fn mean_of(&self, values: &[f32], positions: &[Vec3], spacing: f32) -> Vec<f32> {
        let reach = REACH * spacing;
        let usable = |(p, v): (&Vec3, &f32)| (p.is_finite() && v.is_finite()).then_some((*p, *v));
        let (places, values): (Vec<Vec3>, Vec<f32>) = positions.iter().zip(values).filter_map(usable).unzip();
        let ball = |&at: &Vec3| Ball { at, spacing, roll: 0.0, reach };
        let balls: Vec<Ball> = places.iter().map(ball).collect();
        let bins = Bins::new(&balls, reach);
        let mean = |at: &Vec3| {
            let home = (*at / reach).floor().as_ivec3();
            let (mut sum, mut total) = (0.0, 0.0);
            for offset in (0..27).map(|k| IVec3::new(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1)) {
                for &i in bins.bin(home + offset) {
                    let near = (1.0 - places[i as usize].distance_squared(*at) / (reach * reach)).max(0.0);
                    let weight = near * near * near;
                    sum += weight * values[i as usize];
                    total += weight;
                }
            }
            if total > 0.0 { sum / total } else { 0.0 }
        };
        self.positions.par_iter().map(mean).collect()
    }

    /// Surfels at the vertices, large enough to cover what lies between them; without velocities.
    pub fn write_surfels(&self, spacing: f32, color: [u8; 3], out: &mut Surfels) {
        // The farthest corner of a triangle of two cells' diagonals is covered from three sides.
        let radius = 0.8 * CELL * spacing;
        out.exact.clear();
        out.velocities.clear();
        out.positions.clone_from(&self.positions);
        out.normals.clone_from(&self.normals);
        out.axes_u.clear();
        out.axes_u.extend(self.normals.iter().map(|n| n.any_orthonormal_vector() * radius));
        out.axes_v.clear();
        out.axes_v.extend(self.normals.iter().zip(&out.axes_u).map(|(n, u)| n.cross(*u)));
        out.colors.clear();
        out.colors.resize(self.positions.len(), color);
    }
}

/// One of them if all have the same spacing and roll.
fn all_alike(balls: &[Ball]) -> Option<Ball> {
    let first = *balls.first()?;
    balls.iter().all(|b| b.spacing == first.spacing && b.roll == first.roll).then_some(first)
}

/// Mean spacing around each particle, by volume [m]: that of the coarse ones where these come near.
fn mean_spacings(places: &[Vec3], spacings: &[f32]) -> Vec<f32> {
    if spacings.iter().all(|a| *a == spacings[0]) {
        return spacings.to_vec();
    }
    let wide: Vec<DVec3> = places.iter().map(|p| p.as_dvec3()).collect();
    let radii: Vec<f64> = spacings.iter().map(|a| f64::from(REACH * a)).collect();
    let near = Neighborhoods::with_radii(&wide, &radii);
    let mean = |i: usize| {
        let volume = |j: usize| spacings[j].powi(3);
        let (mut sum, mut total) = (volume(i) * spacings[i], volume(i));
        for j in near.of(i) {
            let reach = 0.5 * REACH * (spacings[i] + spacings[j]);
            let q = (1.0 - places[i].distance_squared(places[j]) / (reach * reach)).max(0.0);
            let weight = q * q * q * volume(j);
            sum += weight * spacings[j];
            total += weight;
        }
        sum / total
    };
    (0..places.len()).into_par_iter().map(mean).collect()
}

/// Balls sorted by block.
struct Bins {
    edge: f32,
    /// How many blocks away a ball may be and still be felt.
    around: i32,
    /// Block of each bin, ascending.
    keys: Vec<[i32; 3]>,
    /// First particle of each bin, and the end.
    starts: Vec<usize>,
    /// Particles by bin, ascending inside.
    order: Vec<u32>,
}

impl Bins {
    fn new(balls: &[Ball], edge: f32) -> Self {
        let key = |b: &Ball| {
            let k = (b.at / edge).floor().clamp(Vec3::splat(-1e8), Vec3::splat(1e8)).as_ivec3();
            [k.z, k.y, k.x]
        };
        let mut sorted: Vec<([i32; 3], u32)> = balls.iter().enumerate().map(|(i, b)| (key(b), i as u32)).collect();
        sorted.par_sort_unstable();
        let widest = balls.iter().map(|b| b.reach).fold(0.0, f32::max);
        let around = (widest / edge).ceil() as i32;
        let order = Vec::with_capacity(balls.len());
        let mut bins = Self { edge, around, keys: Vec::new(), starts: Vec::new(), order };
        for (k, (key, i)) in sorted.into_iter().enumerate() {
            if bins.keys.last() != Some(&key) {
                bins.keys.push(key);
                bins.starts.push(k);
            }
            bins.order.push(i);
        }
        bins.starts.push(balls.len());
        bins
    }

    fn bin(&self, at: IVec3) -> &[u32] {
        match self.keys.binary_search(&[at.z, at.y, at.x]) {
            Ok(k) => &self.order[self.starts[k]..self.starts[k + 1]],
            Err(_) => &[],
        }
    }

    /// All balls that may be felt in a block, in a fixed order.
    fn near<'a>(&'a self, at: IVec3, balls: &'a [Ball]) -> impl Iterator<Item = Ball> + 'a {
        let span = move || -self.around..=self.around;
        let blocks = span().flat_map(move |z| span().flat_map(move |y| span().map(move |x| IVec3::new(x, y, z))));
        blocks.flat_map(move |offset| self.bin(at + offset)).map(|&i| balls[i as usize])
    }

    /// Blocks in which a ball is felt, ascending.
    fn blocks_near(&self, balls: &[Ball]) -> Vec<IVec3> {
        let mut near = Vec::with_capacity(8 * self.keys.len());
        for (k, key) in self.keys.iter().enumerate() {
            let at = IVec3::new(key[2], key[1], key[0]);
            let own = at.as_vec3() * self.edge;
            let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
            for ball in self.order[self.starts[k]..self.starts[k + 1]].iter().map(|&i| balls[i as usize]) {
                low = low.min(ball.at - own - ball.reach);
                high = high.max(ball.at - own + ball.reach);
            }
            let most = IVec3::splat(self.around);
            let from = (low / self.edge).floor().as_ivec3().max(-most);
            let to = (high / self.edge).floor().as_ivec3().min(most);
            for z in from.z..=to.z {
                for y in from.y..=to.y {
                    near.extend((from.x..=to.x).map(|x| [at.z + z, at.y + y, at.x + x]));
                }
            }
        }
        near.sort_unstable();
        near.dedup();
        near.into_iter().map(|k| IVec3::new(k[2], k[1], k[0])).collect()
    }
}

fn node(x: usize, y: usize, z: usize) -> usize {
    (z * NODES + y) * NODES + x
}

fn cell_number(x: i32, y: i32, z: i32) -> usize {
    ((z * BLOCK + y) * BLOCK + x) as usize
}

impl Block {
    fn new(at: IVec3) -> Self {
        Self { at, ..Self::default() }
    }

    /// Evaluates the field of particles; where balls are to be rolled over some of them, finds where these lie.
    fn fill(&mut self, bins: &Bins, (balls, rolls): (&[Ball], bool), alike: Option<Ball>, cell: f32) {
        let origin = self.at.as_vec3() * bins.edge;
        let mut sums = vec![Row::default(); NODES * NODES];
        let mut any = false;
        for ball in bins.near(self.at, balls) {
            let ball = Ball { at: ball.at - origin, ..ball };
            any |= match alike {
                Some(_) => splat::<false>(&mut sums, ball, cell),
                None => splat::<true>(&mut sums, ball, cell),
            };
        }
        if !any {
            return;
        }
        let means = |row: &Row, k: usize| match alike {
            Some(ball) => (ball.spacing, ball.roll),
            None => (row.spacing[k] / row.weight[k], row.roll[k] / row.weight[k]),
        };
        let distance = |(row, k): (&Row, usize)| match row.weight[k] > 1e-6 {
            true => {
                let (spacing, roll) = means(row, k);
                let nearest = REACH * spacing * (1.0 - row.nearest[k]).max(0.0).sqrt();
                let mean = Vec3::new(row.x[k], row.y[k], row.z[k]).length() / row.weight[k];
                // Above the hollows of a layer the nearest particle is farther than the layer is.
                let above = RADIUS * spacing + roll;
                let alone = (above * above + (ALONE * ALONE - RADIUS * RADIUS) * spacing * spacing).sqrt();
                (mean - RADIUS * spacing - SLOPE * roll).max(nearest - alone)
            }
            false => REACH * cell / CELL,
        };
        self.field = sums.iter().flat_map(|row| (0..NODES).map(move |k| (row, k))).map(distance).collect();
        if !rolls {
            return;
        }
        for [x, y, z] in Self::cells() {
            let Some(p) = self.crossing(x, y, z) else { continue };
            let corners = (0..8).map(|c| (&sums[(z + (c >> 2)) * NODES + y + (c >> 1 & 1)], x + (c & 1)));
            let felt = corners.filter(|(row, k)| row.weight[*k] > 1e-6);
            let (sum, count) = felt.fold((0.0, 0.0), |(sum, n), (row, k)| (sum + means(row, k).1, n + 1.0));
            let roll = sum / count;
            self.rolled.push(Ball { at: origin + p * cell, spacing: 0.0, roll, reach: roll + EDGE * cell });
        }
    }

    /// Puts the depth below what the balls reach in place of the field, whose inside they do not enter.
    fn roll(&mut self, bins: &Bins, rolled: &[Ball], cell: f32) {
        if self.field.is_empty() {
            return;
        }
        let origin = self.at.as_vec3() * bins.edge;
        let side = |f: f32| if f < 0.0 { -EDGE * cell } else { EDGE * cell };
        let fields = self.field.chunks(NODES);
        let mut rows: Vec<[f32; ROW]> =
            fields.map(|row| std::array::from_fn(|k| side(row.get(k).copied().unwrap_or(0.0)))).collect();
        for ball in bins.near(self.at, rolled) {
            let at = ball.at - origin;
            let Some((low, high)) = nodes_within(at, ball.reach, cell) else { continue };
            let dx2: [f32; ROW] = std::array::from_fn(|k| (at.x - k as f32 * cell).powi(2));
            for z in low.z..=high.z {
                for y in low.y..=high.y {
                    let across = (at.y - y as f32 * cell).powi(2) + (at.z - z as f32 * cell).powi(2);
                    if across > ball.reach * ball.reach {
                        continue;
                    }
                    let row = &mut rows[z as usize * NODES + y as usize];
                    for k in 0..ROW {
                        row[k] = row[k].max(ball.roll - (across + dx2[k]).sqrt());
                    }
                }
            }
        }
        self.field.clear();
        rows.iter().for_each(|row| self.field.extend(&row[..NODES]));
    }

    /// Cells with their numbers along the axes.
    fn cells() -> impl Iterator<Item = [usize; 3]> {
        let n = BLOCK as usize;
        (0..n * n * n).map(move |k| [k % n, k / n % n, k / (n * n)])
    }

    fn find_vertices(&mut self, cell: f32) {
        if self.field.is_empty() {
            return;
        }
        let origin = self.at.as_vec3() * (cell * BLOCK as f32);
        self.vertices = vec![NONE; (BLOCK * BLOCK * BLOCK) as usize];
        for (k, [x, y, z]) in Self::cells().enumerate() {
            if let Some(p) = self.crossing(x, y, z) {
                self.vertices[k] = self.found.len() as u32;
                self.found.push(origin + p * cell);
            }
        }
    }

    /// Mean of the crossings of the edges of a cell [cells].
    fn crossing(&self, x: usize, y: usize, z: usize) -> Option<Vec3> {
        let corners: [f32; 8] = std::array::from_fn(|c| self.field[node(x + (c & 1), y + (c >> 1 & 1), z + (c >> 2))]);
        let inside = corners.iter().filter(|f| **f < 0.0).count();
        if inside == 0 || inside == 8 {
            return None;
        }
        let place = |c: usize| Vec3::new((c & 1) as f32, (c >> 1 & 1) as f32, (c >> 2) as f32);
        let (mut sum, mut count) = (Vec3::ZERO, 0.0);
        for a in 0..8usize {
            for axis in [1usize, 2, 4] {
                let b = a | axis;
                if b != a && (corners[a] < 0.0) != (corners[b] < 0.0) {
                    let t = corners[a] / (corners[a] - corners[b]);
                    sum += place(a) + t * (place(b) - place(a));
                    count += 1.0;
                }
            }
        }
        Some(sum / count + Vec3::new(x as f32, y as f32, z as f32))
    }
}

/// Sums at a row of nodes along x.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Σ w (x_i - x).
    x: [f32; ROW],
    y: [f32; ROW],
    z: [f32; ROW],
    /// Σ w.
    weight: [f32; ROW],
    /// Σ w times the spacing, and times the radius of what is rolled over, where particles differ in them.
    spacing: [f32; ROW],
    roll: [f32; ROW],
    /// Largest 1 - r²/reach².
    nearest: [f32; ROW],
}

/// First and last node of a block within `reach` of `at`, seen from its corner [m].
fn nodes_within(at: Vec3, reach: f32, cell: f32) -> Option<(UVec3, UVec3)> {
    let low = ((at - reach) / cell).max(Vec3::ZERO);
    let high = ((at + reach) / cell).min(Vec3::splat((NODES - 1) as f32));
    (!low.cmpgt(high).any()).then(|| (low.as_uvec3(), high.as_uvec3()))
}

/// Adds a particle to the nodes within reach; says whether there are any. Where not all are alike, their spacings are summed too.
fn splat<const UNEVEN: bool>(rows: &mut [Row], ball: Ball, cell: f32) -> bool {
    let Ball { at, spacing, roll, reach } = ball;
    let Some((low, high)) = nodes_within(at, reach, cell) else { return false };
    let per_reach2 = 1.0 / (reach * reach);
    let dx: [f32; ROW] = std::array::from_fn(|k| at.x - k as f32 * cell);
    let part: [f32; ROW] = std::array::from_fn(|k| dx[k] * dx[k] * per_reach2);
    for z in low.z..=high.z {
        let dz = at.z - z as f32 * cell;
        for y in low.y..=high.y {
            let dy = at.y - y as f32 * cell;
            let rest = 1.0 - (dy * dy + dz * dz) * per_reach2;
            if rest <= 0.0 {
                continue;
            }
            let row = &mut rows[z as usize * NODES + y as usize];
            for k in 0..ROW {
                let q = (rest - part[k]).max(0.0);
                let w = q * q * q;
                row.x[k] += w * dx[k];
                row.y[k] += w * dy;
                row.z[k] += w * dz;
                row.weight[k] += w;
                if UNEVEN {
                    row.spacing[k] += w * spacing;
                    row.roll[k] += w * roll;
                }
                row.nearest[k] = row.nearest[k].max(q);
            }
        }
    }
    true
}

/// The blocks, for looking at cells of each other.
struct Net<'a> {
    blocks: &'a [Block],
}

impl Net<'_> {
    /// Vertex in a cell of a block, or of one beside it.
    fn vertex(&self, b: usize, cell: IVec3) -> Option<u32> {
        let step = cell.map(|c| c.div_euclid(BLOCK));
        let block = match step == IVec3::ZERO {
            true => &self.blocks[b],
            false => {
                let at = self.blocks[b].at + step;
                let key = [at.z, at.y, at.x];
                let found = self.blocks.binary_search_by(|o| [o.at.z, o.at.y, o.at.x].cmp(&key)).ok()?;
                &self.blocks[found]
            }
        };
        let c = cell - step * BLOCK;
        block.vertices.get(cell_number(c.x, c.y, c.z)).copied().filter(|v| *v != NONE)
    }

    /// Two triangles around each crossed edge that begins at a node of the block.
    fn triangles(&self, b: usize) -> Vec<[u32; 3]> {
        let block = &self.blocks[b];
        let mut out = Vec::new();
        if block.field.is_empty() {
            return out;
        }
        let axes = [IVec3::X, IVec3::Y, IVec3::Z];
        for z in 0..BLOCK {
            for y in 0..BLOCK {
                for x in 0..BLOCK {
                    let at = IVec3::new(x, y, z);
                    let value = |n: IVec3| block.field[node(n.x as usize, n.y as usize, n.z as usize)];
                    let here = value(at) < 0.0;
                    for a in 0..3 {
                        if here == (value(at + axes[a]) < 0.0) {
                            continue;
                        }
                        let (u, v) = (axes[(a + 1) % 3], axes[(a + 2) % 3]);
                        let around = [at - u - v, at - v, at, at - u].map(|c| self.vertex(b, c));
                        let [Some(p), Some(q), Some(r), Some(s)] = around else { continue };
                        // From inside to outside along the axis the four cells go around counter-clockwise.
                        match here {
                            true => out.extend([[p, q, r], [p, r, s]]),
                            false => out.extend([[p, r, q], [p, s, r]]),
                        }
                    }
                }
            }
        }
        out
    }
}

#[cfg(test)]
#[path = "iso_tests.rs"]
mod tests;
