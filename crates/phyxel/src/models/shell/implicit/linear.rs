//! The stiffness of a shell, positive semidefinite by construction.
//!
//! Each node's energy is a sum of squares of what its fibers measure. Gauss and Newton keep of its second derivative the squares of
//! the first derivatives: B ᵀB with one row of B per square. What is left out is of either sign, but for the part by which a taut
//! fiber resists being turned, which is kept: the square of the gradient of its length, and pull over length for its two chords.

use super::super::engine::Engine;
use super::super::engine::view::{CenterView, FiberView};
use crate::linalg::outer;
use crate::models::mls::implicit::widest;
use crate::models::shell::engine::wide_vectors;
use crate::models::shell::lanes::{LANES, Lane};
use crate::models::shell::stiffening;
use crate::sparse::BlockMatrix;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Nodes per parallel task.
const CHUNK: usize = 32;

/// The rows of B of all nodes, and where their products go.
#[derive(Debug, Clone, Default)]
pub struct Linearization {
    /// Neighbors of each node and then itself, node after node.
    members: Vec<u32>,
    /// First member of each node, and the end.
    starts: Vec<u32>,
    /// What each node wrote.
    centers: Vec<Center>,
    /// Per entry of the matrix at or left of the diagonal, the pairs of members whose products it is: first, and the end.
    gathered: Vec<u32>,
    /// Node and its two members.
    pairs: Vec<Pair>,
    /// Entry of the matrix across the diagonal from each.
    mirrors: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    center: u32,
    row: u16,
    column: u16,
}

/// One node's rows.
#[derive(Debug, Clone, Default)]
struct Center {
    /// Number of rows, a multiple of `LANES`.
    rows: usize,
    /// Derivatives: member, axis, row.
    numbers: Vec<f64>,
    /// Stiffness of the chord to each neighbor [N/m]; empty where no fiber is taut.
    chords: Vec<DMat3>,
}

impl Linearization {
    /// Of a network, and the zero matrix it fills.
    pub fn new(engine: &Engine) -> (Self, BlockMatrix) {
        let n = engine.len();
        let mut new = Self { starts: vec![0], centers: vec![Center::default(); n], ..Self::default() };
        for i in 0..n {
            new.members.extend(engine.center(i).neighbors);
            new.members.push(i as u32);
            new.starts.push(new.members.len() as u32);
        }
        let matrix = BlockMatrix::of_cliques(n, (0..n).map(|c| new.members_of(c)));
        let mut found: Vec<(usize, Pair)> = Vec::new();
        for c in 0..n {
            let members = new.members_of(c);
            for (row, &i) in members.iter().enumerate() {
                for (column, &j) in members.iter().enumerate().filter(|(_, j)| **j <= i) {
                    if let Some(place) = matrix.place(i as usize, j as usize) {
                        found.push((place, Pair { center: c as u32, row: row as u16, column: column as u16 }));
                    }
                }
            }
        }
        found.sort_by_key(|(place, pair)| (*place, pair.center));
        new.gathered = vec![0; matrix.blocks.len() + 1];
        found.iter().for_each(|(place, _)| new.gathered[place + 1] += 1);
        (0..matrix.blocks.len()).for_each(|k| new.gathered[k + 1] += new.gathered[k]);
        new.pairs = found.into_iter().map(|(_, pair)| pair).collect();
        new.mirrors = vec![0; matrix.blocks.len()];
        for i in 0..n {
            for k in matrix.starts[i]..matrix.starts[i + 1] {
                let mirror = matrix.place(matrix.columns[k as usize] as usize, i);
                new.mirrors[k as usize] = mirror.unwrap_or(k as usize) as u32;
            }
        }
        (new, matrix)
    }

    fn members_of(&self, c: usize) -> &[u32] {
        &self.members[self.starts[c] as usize..self.starts[c + 1] as usize]
    }

    /// Linearizes at positions [m].
    pub fn measure(&mut self, engine: &Engine, positions: &[DVec3]) {
        self.centers.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, out)| out.fill(engine, i, positions));
    }

    /// Writes `scale` times the stiffness [N/m], with `diagonal` added on the diagonal.
    pub fn assemble(&self, scale: f64, diagonal: &[DMat3], matrix: &mut BlockMatrix) {
        let (starts, columns) = (&matrix.starts, &matrix.columns);
        let mut rows: Vec<&mut [DMat3]> = Vec::with_capacity(diagonal.len());
        let mut rest = &mut matrix.blocks[..];
        for i in 0..diagonal.len() {
            let (row, later) = rest.split_at_mut((starts[i + 1] - starts[i]) as usize);
            rows.push(row);
            rest = later;
        }
        let wide = wide_vectors();
        rows.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, row)| {
            let first = starts[i] as usize;
            if wide {
                widest(
                    #[inline(always)]
                    || self.gather::<true>(first, row),
                );
            } else {
                self.gather::<false>(first, row);
            }
            for (k, block) in row.iter_mut().enumerate() {
                *block *= scale;
                if columns[first + k] as usize == i {
                    *block += diagonal[i];
                }
            }
        });
        // What lies right of the diagonal is known now.
        for i in 0..diagonal.len() {
            for place in starts[i] as usize..starts[i + 1] as usize {
                if columns[place] as usize > i {
                    matrix.blocks[place] = matrix.blocks[self.mirrors[place] as usize].transpose();
                }
            }
        }
    }

    /// Blocks of a row, from entry `first` on.
    #[inline(always)]
    fn gather<const W: bool>(&self, first: usize, row: &mut [DMat3]) {
        for (k, block) in row.iter_mut().enumerate() {
            let range = self.gathered[first + k] as usize..self.gathered[first + k + 1] as usize;
            let mut sum = DMat3::ZERO;
            for pair in &self.pairs[range] {
                sum += self.product::<W>(*pair);
            }
            *block = sum;
        }
    }

    /// Block of two members of a node.
    #[inline(always)]
    fn product<const W: bool>(&self, pair: Pair) -> DMat3 {
        let center = &self.centers[pair.center as usize];
        let numbers = |member: u16| &center.numbers[usize::from(member) * 3 * center.rows..][..3 * center.rows];
        let (row, column) = (numbers(pair.row), numbers(pair.column));
        let mut sums = [[Lane::<W>::ZERO; 3]; 3];
        let groups = center.rows / LANES;
        let (row, column) = (row.as_chunks::<LANES>().0, column.as_chunks::<LANES>().0);
        for g in 0..groups {
            let [a, b] = [row, column].map(|member| [0, 1, 2].map(|axis| Lane::<W>(member[axis * groups + g])));
            for c in 0..3 {
                for r in 0..3 {
                    sums[c][r] += a[r] * b[c];
                }
            }
        }
        let block = DMat3::from_cols_array_2d(&sums.map(|column| column.map(Lane::sum)));
        if center.chords.is_empty() { block } else { block + center.chord(pair) }
    }
}

impl Center {
    /// What taut chords add to the block of two members.
    fn chord(&self, pair: Pair) -> DMat3 {
        let own = self.chords.len();
        match (usize::from(pair.row), usize::from(pair.column)) {
            (r, c) if r == own && c == own => self.chords.iter().fold(DMat3::ZERO, |sum, k| sum + *k),
            (r, c) if r == c => self.chords[r],
            (r, c) if r == own => -self.chords[c],
            (r, c) if c == own => -self.chords[r],
            _ => DMat3::ZERO,
        }
    }

    fn fill(&mut self, engine: &Engine, i: usize, positions: &[DVec3]) {
        let center = engine.center(i);
        let fan = Fan::new(&center, i, positions);
        let fibers: Vec<Measured> = engine.fibers(i).map(|f| Measured::new(f, &fan, engine.least_guard())).collect();
        let mut rows = Rows { members: center.neighbors.len() + 1, ..Rows::default() };
        self.chords.clear();
        let stress = [0, 1].map(|kind| Stress::new(kind, center.stiffness[kind], &fibers));
        let changes = [0, 1].map(|kind| Change::new(engine.rise(), center.per_energy[kind], &stress[kind], &fibers));
        for kind in 0..2 {
            rows.add_tensor(&stress[kind], &changes[kind], &fibers, &fan);
            rows.add_residuals(&stress[kind], &changes[kind], &fibers, &fan);
        }
        for fiber in &fibers {
            // Derivative of the energy by strain; a taut fiber resists turning.
            let pull = stress[0].pull(fiber) * changes[0].root * changes[0].root;
            if pull > 0.0 {
                rows.add_taut(fiber, pull);
                self.chords.resize(center.neighbors.len(), DMat3::ZERO);
                for end in fiber.view.ends {
                    let length = fan.d[end].length();
                    let unit = fan.d[end] / length.max(f64::MIN_POSITIVE);
                    let stiffness = pull * fiber.length / (fiber.view.rest_length.powi(2) * length);
                    if stiffness.is_finite() {
                        self.chords[end] += stiffness * (DMat3::IDENTITY - outer(unit, unit));
                    }
                }
            }
        }
        rows.write(self);
    }
}

/// Vectors to the neighbors, and the fan normal.
struct Fan {
    d: Vec<DVec3>,
    closed: bool,
    normal: DVec3,
}

impl Fan {
    fn new(center: &CenterView, i: usize, positions: &[DVec3]) -> Self {
        let d: Vec<DVec3> = center.neighbors.iter().map(|&j| positions[j as usize] - positions[i]).collect();
        let mut fan = Self { d, closed: center.closed, normal: DVec3::ZERO };
        fan.normal = fan.pairs().map(|(f, g)| fan.d[f].cross(fan.d[g])).sum();
        fan
    }

    /// Neighbors that follow each other.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let count = self.d.len();
        let around = (self.closed && count > 1).then(|| (count - 1, 0));
        (1..count).map(|g| (g - 1, g)).chain(around)
    }
}

/// What a fiber measures, and its gradient.
struct Measured {
    view: FiberView,
    length: f64,
    /// Strain and change of curvature [1/m].
    values: [f64; 2],
    /// Gradients of these by the ends.
    ends: [[DVec3; 2]; 2],
    /// Gradient of the length by the ends.
    length_ends: [DVec3; 2],
    /// Gradient of the curvature by the fan normal.
    normal: DVec3,
}

impl Measured {
    fn new(view: FiberView, fan: &Fan, least_guard: f64) -> Self {
        let [d1, d2] = view.ends.map(|e| fan.d[e]);
        let length = view.knots.length(d1, d2);
        let angle = view.knots.angle(d1, d2, fan.normal);
        let per_rest2 = 1.0 / (view.rest_length * view.rest_length);
        let per_turn = view.per_turn * angle.guard.max(least_guard);
        let slope = length.value * per_rest2;
        Self {
            view,
            length: length.value,
            values: [0.5 * length.value * length.value * per_rest2 - 0.5, (angle.value - view.rest_angle) * per_turn],
            ends: [length.ends.map(|g| slope * g), angle.ends.map(|g| per_turn * g)],
            length_ends: length.ends,
            normal: per_turn * angle.normal,
        }
    }
}

/// The stress of stretching or bending of a node.
struct Stress {
    kind: usize,
    stiffness: DVec3,
    tensor: DVec3,
    stress: DVec3,
    plain: DVec3,
}

/// How the squares of a node change where stiffness depends on strain. With E = g(½ |r|²) for all its squares r, the second derivative is
/// that of the vector √g' (r - lean r r·dr): more or less of what is strained already.
struct Change {
    /// √g'.
    root: f64,
    /// (1 - √(tangent / g')) / |r|² [1/J].
    lean: f64,
    /// Derivative of ½ |r|² by what each fiber measures; empty: nothing changes.
    pulls: Vec<f64>,
}

impl Change {
    fn new(rise: f64, per_energy: f64, stress: &Stress, fibers: &[Measured]) -> Self {
        let twice = if rise * per_energy != 0.0 { stress.twice_energy(fibers) } else { 0.0 };
        let x = 0.5 * per_energy * twice;
        if !x.is_finite() || x <= 0.0 {
            return Self { root: 1.0, lean: 0.0, pulls: Vec::new() };
        }
        let (secant, tangent) = (stiffening::secant(rise, x), stiffening::tangent(rise, x));
        let lean = (1.0 - (tangent / secant).max(0.0).sqrt()) / twice;
        Self { root: secant.sqrt(), lean, pulls: fibers.iter().map(|f| stress.pull(f)).collect() }
    }

    /// The share of fiber `k` in a square whose root is `value`, by its share without the change.
    fn share(&self, value: f64, share: f64, k: usize) -> f64 {
        match self.pulls.get(k) {
            Some(pull) => self.root * (share - self.lean * value * pull),
            None => share,
        }
    }
}

impl Stress {
    fn new(kind: usize, [mean, deviator]: [f64; 2], fibers: &[Measured]) -> Self {
        let tensor: DVec3 = fibers.iter().map(|f| f.view.terms[kind].tensor * f.values[kind]).sum();
        let plain = fibers.iter().map(|f| f.view.terms[kind].plain * f.values[kind]).sum();
        let stress = DVec3::new(mean * tensor.x, deviator * tensor.y, deviator * tensor.z);
        Self { kind, stiffness: DVec3::new(mean, deviator, deviator), tensor, stress, plain }
    }

    /// What no tensor explains of a fiber.
    fn residual(&self, fiber: &Measured) -> f64 {
        fiber.values[self.kind] - fiber.view.terms[self.kind].response.dot(self.plain)
    }

    fn pull(&self, fiber: &Measured) -> f64 {
        let term = &fiber.view.terms[self.kind];
        term.tensor.dot(self.stress) + term.residual * self.residual(fiber)
    }

    /// Twice the energy at the stiffness of small strain [J].
    fn twice_energy(&self, fibers: &[Measured]) -> f64 {
        let residual = |f: &Measured| f.view.terms[self.kind].residual * self.residual(f).powi(2);
        self.tensor.dot(self.stress) + fibers.iter().map(residual).sum::<f64>()
    }
}

/// Rows of B, one after the other: gradients by the neighbors and, at last, by the node itself.
#[derive(Default)]
struct Rows {
    members: usize,
    numbers: Vec<DVec3>,
}

impl Rows {
    fn next(&mut self) -> &mut [DVec3] {
        let start = self.numbers.len();
        self.numbers.resize(start + self.members, DVec3::ZERO);
        &mut self.numbers[start..]
    }

    /// The square of a weighted sum of what the fibers measure.
    fn add(&mut self, kind: usize, fibers: &[Measured], fan: &Fan, weight: impl Fn(usize) -> f64) {
        let row = self.next();
        let mut normal = DVec3::ZERO;
        for (k, fiber) in fibers.iter().enumerate() {
            let weight = weight(k);
            for end in 0..2 {
                row[fiber.view.ends[end]] += weight * fiber.ends[kind][end];
            }
            normal += weight * fiber.normal;
        }
        if kind == 1 {
            for (f, g) in fan.pairs() {
                row[f] += fan.d[g].cross(normal);
                row[g] += normal.cross(fan.d[f]);
            }
        }
        close(row);
    }

    fn add_tensor(&mut self, stress: &Stress, change: &Change, fibers: &[Measured], fan: &Fan) {
        let kind = stress.kind;
        for (component, stiffness) in stress.stiffness.to_array().into_iter().enumerate() {
            if stiffness > 0.0 {
                let root = stiffness.sqrt();
                let value = root * stress.tensor[component];
                let weight = |k: usize| change.share(value, root * fibers[k].view.terms[kind].tensor[component], k);
                self.add(kind, fibers, fan, weight);
            }
        }
    }

    fn add_residuals(&mut self, stress: &Stress, change: &Change, fibers: &[Measured], fan: &Fan) {
        let kind = stress.kind;
        for (j, own) in fibers.iter().enumerate() {
            let term = own.view.terms[kind];
            if term.residual > 0.0 {
                let root = term.residual.sqrt();
                let value = root * stress.residual(own);
                let weight = |k: usize| {
                    let explained = term.response.dot(fibers[k].view.terms[kind].plain);
                    change.share(value, root * (f64::from(u8::from(j == k)) - explained), k)
                };
                self.add(kind, fibers, fan, weight);
            }
        }
    }

    fn add_taut(&mut self, fiber: &Measured, pull: f64) {
        let root = pull.sqrt() / fiber.view.rest_length;
        let row = self.next();
        for end in 0..2 {
            row[fiber.view.ends[end]] += root * fiber.length_ends[end];
        }
        close(row);
    }

    fn write(&self, out: &mut Center) {
        let rows = self.numbers.len() / self.members;
        out.rows = rows.next_multiple_of(LANES);
        out.numbers.clear();
        out.numbers.resize(3 * self.members * out.rows, 0.0);
        for (r, row) in self.numbers.chunks_exact(self.members).enumerate() {
            for (m, g) in row.iter().enumerate() {
                for (axis, x) in g.to_array().into_iter().enumerate() {
                    // What is not finite has no direction to resist in.
                    out.numbers[(3 * m + axis) * out.rows + r] = if x.is_finite() { x } else { 0.0 };
                }
            }
        }
    }
}

/// The gradient by the node itself: nothing changes when all move alike.
fn close(row: &mut [DVec3]) {
    if let Some((own, others)) = row.split_last_mut() {
        *own = -others.iter().sum::<DVec3>();
    }
}
