//! How open the space around a shape is: the part of a place's surroundings that balls can fill.
//!
//! Points next to a wall have neighbors on one side only, and none where relief is narrower than they are. What is full there is told by the
//! density of points beside the share of the surroundings that they could fill at all: o(y) is 1 where some ball outside the shape, of at
//! least `BALL` spacings' radius, covers y (the opening of the free space), and the openness of x is the mean of o around it, with the weight
//! (1 - r²/R²)³ of a smeared point, R = 2 spacings. On a plane wall it is 1/2.
//!
//! Relief narrower than the balls is a nook: what is in it is told by what is at its mouth, to which each place in it knows the way (`nooks.rs`),
//! and by how far matter has come around it (`wide.rs`).
//!
//! Like the grid of distances (`baked.rs`) it is sampled on bricks that are filled when they are first asked: what a place is told depends on the
//! place alone. Between nodes quadratic splines, so that the slope is exactly that of the value.

use super::Shape;
use super::baked::nodes_around;
use super::nooks::{MARGIN, Nook, find_nooks, is_nook, nook_at};
use super::wide::{APART, Moments, moments, moments_at, rooms};
use glam::DVec3;
use std::sync::{Arc, OnceLock};

/// Nodes per spacing; nodes within a reach of two spacings.
const FINE: usize = 4;
const REACH: usize = 2 * FINE;
/// Smallest radius of balls that find room, and of those that surely do [spacings].
const BALL: (f64, f64) = (0.55, 0.65);
/// A ball covers what is within this distance, fading over twice the other one [spacings]: more than its radius, because nodes are coarse and
/// distances of smooth combinations too small.
const COVERS: f64 = 0.8;
const SLACK: f64 = 0.05;
/// Balls are looked for up to this far away [nodes].
const SEARCH: isize = 4;
/// Cells along the side of a brick, and nodes of it with one more on each side for the spline.
const CELLS: usize = 8;
const NODES: usize = CELLS + 3;
/// Nodes that a brick's own look at.
const WIDE: usize = NODES + 2 * REACH;
/// Most bricks of a grid.
const MOST: f64 = 2e6;

/// The openness around a shape.
pub struct Openness {
    shape: Arc<dyn Shape>,
    /// Radius of what is around a place [m].
    reach: f64,
    origin: DVec3,
    cell: f64,
    /// Bricks along each axis; 0 if the shape has no bounds: its walls are taken as plane then.
    counts: [usize; 3],
    covers: Vec<OnceLock<Cover>>,
    shares: Vec<OnceLock<Shares>>,
}

/// What is open around a place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open {
    /// The part of the surroundings that balls can fill, 0 ..= 1.
    pub share: f64,
    /// Its slope [1/m].
    pub slope: DVec3,
    /// Of a place in a nook, where no ball gets to: the way to its mouth [m]. Elsewhere 0.
    pub mouth: DVec3,
    /// How long that is around corners [m].
    pub depth: f64,
    /// What balls can fill in wider surroundings; in nooks only.
    pub wide: Moments,
}

/// What is known at the nodes of a brick; one number where all are alike.
struct Cover {
    /// How far balls cover each, 0 ..= 1.
    covered: Box<[f32]>,
    /// Signed distance from the shape [spacings].
    distances: Box<[f32]>,
}

/// The same with those one node around it.
struct Shares {
    /// Shares of the surroundings.
    shares: Box<[f32]>,
    nooks: Option<Nooks>,
}

/// What is known of the nooks of a brick.
struct Nooks {
    /// Ways to mouths and depths [spacings], at the nodes of the brick and one around it.
    ways: Box<[Nook]>,
    /// What is open in wider surroundings.
    wide: Box<[Moments]>,
}

impl Openness {
    /// Of the space around a shape for points that are `spacing` [m] apart.
    pub fn new(shape: &Arc<dyn Shape>, spacing: f64) -> Self {
        let (cell, reach) = (spacing / FINE as f64, spacing * (REACH / FINE) as f64);
        let bounds = shape.bounds().grown(reach + 2.0 * cell);
        let sides = (bounds.size() / (cell * CELLS as f64)).ceil().max(DVec3::ONE);
        let fits = bounds.is_finite() && cell > 0.0 && sides.element_product() < MOST;
        let counts = if fits { sides.to_array().map(|n| n as usize) } else { [0; 3] };
        let count = counts.iter().product();
        let origin = if fits { bounds.min } else { DVec3::ZERO };
        let (covers, shares) = (empty(count), empty(count));
        Self { shape: shape.clone(), reach, origin, cell, counts, covers, shares }
    }

    /// What is open around a place [m].
    pub fn at(&self, p: DVec3) -> Open {
        if self.counts[0] == 0 {
            let (distance, normal) = self.shape.distance_normal(p);
            let (share, slope) = beside_plane(distance, normal, self.reach);
            return Open { share, slope, ..Open::default() };
        }
        let at = (p - self.origin) / self.cell;
        let top = DVec3::from_array(self.counts.map(|n| (n * CELLS) as f64));
        if !(at.cmpge(DVec3::ZERO).all() && at.cmplt(top).all()) {
            return Open { share: 1.0, ..Open::default() };
        }
        let brick = at.to_array().map(|x| x as usize / CELLS);
        let Shares { shares, nooks } = self.shares[self.number(brick)].get_or_init(|| self.fill(brick));
        let at = at - DVec3::from_array(brick.map(|b| (b * CELLS) as f64));
        let (share, slope) = match &**shares {
            [all] => (f64::from(*all), DVec3::ZERO),
            shares => nodes_around(shares, NODES, at),
        };
        let (nook, wide) = match nooks {
            Some(nooks) => (nook_at(&nooks.ways, NODES, at), moments_at(&nooks.wide, at)),
            None => Default::default(),
        };
        let spacing = self.cell * FINE as f64;
        Open {
            share,
            slope: slope / self.cell,
            mouth: spacing * nook.way.as_dvec3(),
            depth: spacing * f64::from(nook.depth),
            wide,
        }
    }

    fn number(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.counts[1] + y) * self.counts[0] + x
    }

    fn place(&self, node: [isize; 3]) -> DVec3 {
        self.origin + self.cell * DVec3::from_array(node.map(|n| n as f64))
    }

    /// Calls `act` with what is known of each node of the cube of `side` nodes from `first` on; None beyond the grid, where there is no wall.
    fn for_each_node(&self, first: [isize; 3], side: usize, mut act: impl FnMut(usize, Option<(f32, f32)>)) {
        let top = self.counts.map(|n| (n * CELLS) as isize);
        // The brick asked last.
        let mut known: (usize, Option<&Cover>) = (usize::MAX, None);
        for k in 0..side * side * side {
            let own = [k % side, k / side % side, k / (side * side)];
            let node = [0, 1, 2].map(|a| first[a] + own[a] as isize);
            if (0..3).any(|a| node[a] < 0 || node[a] >= top[a]) {
                act(k, None);
                continue;
            }
            let home = node.map(|n| n as usize / CELLS);
            let number = self.number(home);
            if known.0 != number {
                known = (number, Some(self.covers[number].get_or_init(|| self.cover(home))));
            }
            let [x, y, z] = node.map(|n| n as usize % CELLS);
            let at = (z * CELLS + y) * CELLS + x;
            let value = |list: &[f32]| if list.len() == 1 { list[0] } else { list[at] };
            act(k, known.1.map(|cover| (value(&cover.covered), value(&cover.distances))));
        }
    }

    /// What is known at the nodes of a brick and one around it.
    fn fill(&self, brick: [usize; 3]) -> Shares {
        let from = |margin: usize| brick.map(|b| (b * CELLS) as isize - 1 - margin as isize);
        let mut covered = vec![0f32; WIDE * WIDE * WIDE];
        // Of the cell around a node at the wall a part is free.
        let free = |distance: f32| (distance * FINE as f32 + 0.5).clamp(0.0, 1.0);
        let share = |(covered, distance): (f32, f32)| covered * free(distance);
        self.for_each_node(from(REACH), WIDE, |k, known| covered[k] = known.map_or(1.0, share));
        let alike = covered.iter().all(|c| *c == covered[0]);
        let shares = if alike { Box::new([covered[0]]) } else { mean(&covered) };
        let mut narrow = false;
        self.for_each_node(from(0), NODES, |_, known| narrow |= known.is_some_and(is_nook));
        let nooks = narrow.then(|| {
            const SIDE: usize = NODES + 2 * MARGIN;
            let mut nodes = vec![(1.0, 1e3); SIDE * SIDE * SIDE];
            self.for_each_node(from(MARGIN), SIDE, |k, known| nodes[k] = known.unwrap_or(nodes[k]));
            let rooms = rooms(|k| (share(nodes[k]), nodes[k].1), SIDE);
            let ways = find_nooks(&nodes, SIDE, FINE as f32);
            let deep = |[x, y, z]: [usize; 3]| {
                let nook = ways[(z * NODES + y) * NODES + x];
                nook.depth > 0.0 && nook.depth.is_finite()
            };
            // Nodes of the brick begin one before its cells.
            let span = |x: usize| (x + 1).saturating_sub(APART)..=(x + 1 + APART).min(NODES - 1);
            let asked = |[x, y, z]: [usize; 3]| span(z).any(|z| span(y).any(|y| span(x).any(|x| deep([x, y, z]))));
            Nooks { wide: moments(&rooms, asked), ways }
        });
        Shares { shares, nooks }
    }

    /// How far balls outside of the shape cover the nodes of a brick.
    fn cover(&self, brick: [usize; 3]) -> Cover {
        const AROUND: usize = CELLS + 2 * SEARCH as usize;
        let spacing = self.cell * FINE as f64;
        let corner = brick.map(|b| (b * CELLS) as isize);
        let half = 0.5 * (CELLS as f64) * self.cell;
        let middle = self.shape.distance(self.place(corner) + half);
        // Farther from the wall than its own corners are from the middle.
        if middle.abs() > 1.8 * half + spacing {
            let covered = Box::new([f32::from(u8::from(middle > 0.0))]);
            return Cover { covered, distances: Box::new([(middle / spacing) as f32]) };
        }
        let mut distances = Vec::with_capacity(AROUND * AROUND * AROUND);
        for k in 0..AROUND * AROUND * AROUND {
            let own = [k % AROUND, k / AROUND % AROUND, k / (AROUND * AROUND)];
            let node = [0, 1, 2].map(|a| corner[a] - SEARCH + own[a] as isize);
            distances.push(self.shape.distance(self.place(node)) / spacing);
        }
        let offsets = offsets();
        let index = |k: usize, o: [isize; 3]| {
            let own = [k % CELLS, k / CELLS % CELLS, k / (CELLS * CELLS)];
            let [x, y, z] = [0, 1, 2].map(|a| (own[a] as isize + SEARCH + o[a]) as usize);
            (z * AROUND + y) * AROUND + x
        };
        let node = |k: usize| {
            let distance = distances[index(k, [0; 3])];
            if distance <= -0.5 / FINE as f64 || distance >= BALL.1 {
                return f32::from(u8::from(distance > 0.0));
            }
            let ball = |&(o, way): &([isize; 3], f64)| {
                let radius = distances[index(k, o)];
                let fits = ((radius - BALL.0) / (BALL.1 - BALL.0)).clamp(0.0, 1.0);
                fits * ((COVERS - way) / (2.0 * SLACK) + 0.5).clamp(0.0, 1.0)
            };
            offsets.iter().map(ball).fold(0.0, f64::max) as f32
        };
        let all = 0..CELLS * CELLS * CELLS;
        let own = all.clone().map(|k| distances[index(k, [0; 3])] as f32).collect();
        Cover { covered: all.map(node).collect(), distances: own }
    }
}

fn empty<T>(count: usize) -> Vec<OnceLock<T>> {
    (0..count).map(|_| OnceLock::new()).collect()
}

/// The nodes around one where balls may have their middle, and how far they are [spacings].
fn offsets() -> Vec<([isize; 3], f64)> {
    let mut all = Vec::new();
    for z in -SEARCH..=SEARCH {
        for y in -SEARCH..=SEARCH {
            for x in -SEARCH..=SEARCH {
                let square = x * x + y * y + z * z;
                if square <= SEARCH * SEARCH {
                    all.push(([x, y, z], (square as f64).sqrt() / FINE as f64));
                }
            }
        }
    }
    all
}

/// Weighted means around the nodes of a brick of what is known at the wide ones.
fn mean(wide: &[f32]) -> Box<[f32]> {
    let reach = REACH as isize;
    let mut shares = vec![0f32; NODES * NODES * NODES];
    let mut sum = 0f32;
    for dz in -reach..=reach {
        for dy in -reach..=reach {
            for dx in -reach..=reach {
                let q2 = (dx * dx + dy * dy + dz * dz) as f32 / (reach * reach) as f32;
                if q2 >= 1.0 {
                    continue;
                }
                let weight = (1.0 - q2).powi(3);
                sum += weight;
                for (row, out) in shares.chunks_exact_mut(NODES).enumerate() {
                    let y = (row % NODES) as isize + reach + dy;
                    let z = (row / NODES) as isize + reach + dz;
                    let from = ((z as usize * WIDE) + y as usize) * WIDE + (reach + dx) as usize;
                    for (out, known) in out.iter_mut().zip(&wide[from..from + NODES]) {
                        *out += weight * known;
                    }
                }
            }
        }
    }
    shares.iter_mut().for_each(|s| *s /= sum);
    shares.into_boxed_slice()
}

/// The same beside a plane at that distance [m] with that normal, for surroundings of radius `reach` [m].
pub fn beside_plane(distance: f64, normal: DVec3, reach: f64) -> (f64, DVec3) {
    let t = (distance / reach).clamp(-1.0, 1.0);
    let s = t * t;
    // The integral of (1 - t²)⁴ from -1, over that up to 1, which is 256/315.
    let part = 0.5 + 315.0 / 256.0 * t * (1.0 - s * (4.0 / 3.0 - s * (6.0 / 5.0 - s * (4.0 / 7.0 - s / 9.0))));
    (part, normal * (315.0 / 256.0 * (1.0 - s).powi(4) / reach))
}

impl std::fmt::Debug for Openness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Openness").field("reach", &self.reach).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Combined, Cuboid, HalfSpace, Operation, Placed, Pose};
    use crate::random::Random;

    /// A block whose upper side is at y = 0, with a groove along z, 0.7 wide and 1.5 deep; spacing 1.
    fn grooved() -> Openness {
        let at = |shape: Arc<dyn Shape>, y: f64| {
            Arc::new(Placed::new(shape, Pose { translation: DVec3::Y * y, ..Pose::IDENTITY })) as Arc<dyn Shape>
        };
        let block = at(Arc::new(Cuboid::new(DVec3::new(14.0, 8.0, 14.0), 0.0)), -4.0);
        let groove = at(Arc::new(Cuboid::new(DVec3::new(0.7, 3.0, 20.0), 0.0)), 0.0);
        let shape: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Difference, vec![block, groove], 0.0));
        Openness::new(&shape, 1.0)
    }

    #[test]
    fn it_is_that_of_a_plane_beside_a_plane_and_its_slope_is_its_own() {
        let open = grooved();
        for k in 0..300 {
            let p = DVec3::new(3.7, 0.0, 0.0) + 1.2 * Random::new(5, k).in_cube();
            let (found, (wanted, _)) = (open.at(p), beside_plane(p.y, DVec3::Y, 2.0));
            assert!((found.share - wanted).abs() < 0.02 && found.depth == 0.0, "{p}: {} {wanted}", found.share);
            let step = 1e-4 * Random::new(6, k).direction();
            let change = open.at(p + step).share - open.at(p - step).share;
            assert!((change - 2.0 * found.slope.dot(step)).abs() < 1e-6, "{p}");
        }
        // What has no bounds is a plane everywhere.
        let plane: Arc<dyn Shape> = Arc::new(HalfSpace { normal: DVec3::Y, offset: 0.0 });
        assert!((Openness::new(&plane, 1.0).at(DVec3::ZERO).share - 0.5).abs() < 1e-12);
        assert_eq!(open.at(DVec3::Y * 50.0).share, 1.0);
    }

    #[test]
    fn a_groove_narrower_than_balls_knows_the_way_to_its_mouth() {
        let open = grooved();
        for (p, depth) in [(DVec3::new(0.0, -1.0, 0.5), 1.0), (DVec3::new(0.2, -1.5, -1.0), 1.5), (DVec3::Y, 0.0)] {
            let found = open.at(p);
            let mouth = p + found.mouth;
            assert!((found.depth - depth).abs() < 0.3, "{p}: {}", found.depth);
            assert!((mouth.y - p.y - depth).abs() < 0.3 && (mouth.z - p.z).abs() < 0.05, "{p}: {mouth}");
            assert!(depth == 0.0 || open.at(mouth).share > 0.3, "{p}: {}", open.at(mouth).share);
        }
    }

    #[test]
    fn a_slot_through_a_wall_leads_to_the_nearer_of_its_mouths() {
        let wall: Arc<dyn Shape> = Arc::new(Cuboid::new(DVec3::new(3.0, 10.0, 10.0), 0.0));
        let slot: Arc<dyn Shape> = Arc::new(Cuboid::new(DVec3::new(4.0, 0.7, 12.0), 0.0));
        let shape: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Difference, vec![wall, slot], 0.0));
        let open = Openness::new(&shape, 1.0);
        for k in 0..20 {
            let x = -1.2 + 0.12 * f64::from(k);
            let found = open.at(DVec3::new(x, 0.0, 0.3));
            let mouth = x + found.mouth.x;
            assert!((1.0..1.9).contains(&mouth.abs()), "{x}: {mouth}");
            assert!(x.abs() < 0.2 || mouth * x > 0.0, "{x}: {mouth}");
        }
    }
}
