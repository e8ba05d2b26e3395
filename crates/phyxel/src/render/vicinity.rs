//! Vicinity: what a splat learns from those around it on the same body.
//!
//! The light it sees is smoothed over the neighbors that face the same way, which takes the grain of the maps out; those
//! that see nothing at all, because the place they were asked at lies behind the other wall of a crease, hardly count.
//! How normals and light change from splat to splat is what they change over each, so that a few flat splats show a round
//! edge round and a shadow's border straight (normals as in [BSK04]; there the change is known beforehand).
//! Where the planes of neighbors cut a splat at an edge or in a crease, it is clipped there, so that edges are straight
//! although ellipses are round, and in creases the two sides are not blended. How densely splats overlap says at which weight the surface counts as closed. All of it changes
//! smoothly with the places and radii, and the order of the splats does not matter.

use super::cells::{Cells, Near};
use super::splats::Splats;
use glam::Vec3;
use rayon::prelude::*;
use std::ops::Range;

/// Splats around which light is gathered [radii].
const REACH: f32 = 2.5;
/// Normals that differ by more than this cosine make an edge.
const EDGE: f32 = 0.6;
/// How far a clipped splat stands over the edge, so that none is left open [radii].
const OVERHANG: f32 = 0.06;
/// Planes farther away than this do not cut [half-axes].
const CUT_REACH: f32 = 1.6;
/// Weight of the planes that are needed to clip, and how well they must agree: length of their mean normal.
const ENOUGH: f32 = 0.8;
const AGREED: f32 = 0.9;
/// Neighbors that turn the normal are nearer than this [radii] and have normals of at least this cosine.
const TURN_REACH: f32 = 1.8;
const TURN: f32 = 0.4;
/// On one smooth surface the way to a neighbor lies across the mean of both normals: with a cosine up to the first it is taken to be on one, from
/// the second on beyond an edge or a crease.
const SMOOTH: (f32, f32) = (0.25, 0.5);
/// Largest turn of the normal over a half-axis [rad].
const STEEPEST: f32 = 0.7;
/// Largest change of the light over a half-axis.
const BRIGHTEST: f32 = 0.25;
const CHUNK: usize = 512;
/// Mean place of the neighbors of a splat beyond which it is near a border, and from which on it is on it [radii]; 0.68 at a
/// straight one.
const INNER: f32 = 0.3;
const BORDER: f32 = 0.6;
/// How much less weight closes a sheet away from its borders: there a gap is one between splats, and no window.
const INNER_CLOSED: f32 = 0.4;

/// What lies beyond a plane is not drawn: places p with p · normal > offset. A zero normal clips nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clip {
    pub normal: Vec3,
    pub offset: f32,
}

/// Changes from the middle of a splat to the end of a half-axis.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    pub normal: Vec3,
    /// Of the light as in `Vicinity::seen`.
    pub seen: [f32; 3],
}

/// What the splats of a frame learned; written by `update`.
#[derive(Debug, Default)]
pub(super) struct Vicinity {
    /// Fraction of the key light, of the sky light, and brightness of the ground, smoothed.
    pub seen: Vec<[f32; 3]>,
    pub clips: Vec<Clip>,
    /// What changes along each half-axis.
    pub turns: Vec<[Turn; 2]>,
    /// How much larger the ellipses are drawn, so that their weights overlap well.
    pub grows: Vec<f32>,
    /// One over the summed weight at which the surface counts as closed.
    pub inverse_closed: Vec<f32>,
    /// Mean summed weight around each splat.
    overlaps: Vec<f32>,
    /// How near each splat is to a border: 0 not at all, 1 on it.
    borders: Vec<f32>,
    /// Scratch of `close`.
    sorted: Vec<f32>,
    cells: Cells,
}

/// A surface counts as closed at this share of the mean weight: what a straight border has.
pub(super) const CLOSED_SHARE: f32 = 0.5;

impl Vicinity {
    /// Looks around every splat; `seen` is the light that the single ones see.
    pub fn update(&mut self, splats: &Splats, seen: &[[f32; 3]]) {
        let count = splats.len();
        self.seen.clear();
        self.seen.extend_from_slice(seen);
        self.clips.clear();
        self.clips.resize(count, Clip::default());
        self.turns.clear();
        self.turns.resize(count, [Turn::default(); 2]);
        self.overlaps.clear();
        self.overlaps.resize(count, 0.0);
        self.borders.clear();
        self.borders.resize(count, 1.0);
        // What belongs to no surface are balls: drawn as they are, always closed.
        self.grows.clear();
        self.grows.resize(count, 1.0);
        self.inverse_closed.clear();
        self.inverse_closed.resize(count, 1e6);
        for surface in &splats.surfaces {
            self.look_around(splats, seen, surface.clone());
            self.close(splats, surface.clone());
            for i in surface.clone().filter(|&i| splats.sheets[i] > 0) {
                self.inverse_closed[i] /= INNER_CLOSED + (1.0 - INNER_CLOSED) * self.borders[i];
            }
        }
    }

    fn look_around(&mut self, splats: &Splats, seen: &[[f32; 3]], surface: Range<usize>) {
        self.cells.build(splats, surface.clone(), REACH);
        let cells = &self.cells;
        let smooth = self.seen[surface.clone()].par_chunks_mut(CHUNK);
        let clips = self.clips[surface.clone()].par_chunks_mut(CHUNK);
        let turns = self.turns[surface.clone()].par_chunks_mut(CHUNK);
        let overlaps = self.overlaps[surface.clone()].par_chunks_mut(CHUNK);
        let borders = self.borders[surface.clone()].par_chunks_mut(CHUNK);
        let outs = smooth.zip(clips).zip(turns).zip(overlaps).zip(borders);
        outs.enumerate().for_each_init(
            Near::default,
            |near, (chunk, ((((smooth, clips), turns), overlaps), borders))| {
                near.home = None;
                for k in 0..smooth.len() {
                    let mut look = Look::new(splats, seen, surface.start + chunk * CHUNK + k);
                    cells.find_near(look.position, near);
                    near.list.iter().for_each(|&j| look.at(splats, seen, j as usize));
                    smooth[k] = look.sum.map(|s| s / look.weight.max(1e-9));
                    (clips[k], turns[k], overlaps[k]) = (look.clip(), look.turn(), look.overlap);
                    borders[k] = look.border();
                }
            },
        );
    }

    /// Finds the weight of a closed surface from how densely its ellipses overlap: low for thin coverage, so that it has
    /// no holes; higher for dense coverage, so that borders are straight and do not grow. The median counts: a part that
    /// is crowded for a while must not open the rest. Where it is thinner than that, away from borders, what is there
    /// counts: new surface that covers itself better must not open the old one beside it.
    fn close(&mut self, splats: &Splats, surface: Range<usize>) {
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.overlaps[surface.clone()]);
        let overlap = match surface.len() {
            0..8 => 0.6,
            count => *self.sorted.select_nth_unstable_by(count / 2, f32::total_cmp).1,
        };
        for i in surface {
            // Sheets have windows, and a rule of their own for gaps.
            let inner = if splats.sheets[i] > 0 { 0.0 } else { 1.0 - self.borders[i] };
            let (grow, closed) = coverage(overlap - inner * (overlap - self.overlaps[i]).max(0.0));
            (self.grows[i], self.inverse_closed[i]) = (grow, 1.0 / closed);
        }
    }
}

/// How much larger ellipses with that mean summed weight are drawn, and the weight at which they count as closed.
fn coverage(overlap: f32) -> (f32, f32) {
    let grow = (1.75 / overlap.max(0.1)).sqrt().clamp(1.0, 1.6);
    let overlap = overlap * grow * grow;
    (grow, (CLOSED_SHARE * overlap * ((overlap - 0.5) / 0.8).clamp(0.12, 1.0)).max(0.02))
}

/// One splat looking at its neighbors.
struct Look {
    position: Vec3,
    normal: Vec3,
    axes: [Vec3; 2],
    /// One over the squared lengths of the half-axes.
    inverse_squares: [f32; 2],
    radius: f32,
    /// Area over that of a disk of its radius.
    roundness: f32,
    sum: [f32; 3],
    weight: f32,
    /// Planes that cut it at a convex edge and in a crease.
    edge: Cuts,
    crease: Cuts,
    overlap: f32,
    /// Sums of kernel and of kernel times place of what is alike [radii].
    around: (f32, Vec3),
    /// Least squares of the change of the normal: moments of the places in half-axes, and with the changes.
    moments: [f32; 3],
    changes: [Turn; 2],
    own_seen: [f32; 3],
}

impl Look {
    fn new(splats: &Splats, seen: &[[f32; 3]], i: usize) -> Self {
        Self {
            position: splats.positions[i],
            normal: splats.normals[i],
            axes: [splats.axes_u[i], splats.axes_v[i]],
            inverse_squares: [splats.axes_u[i], splats.axes_v[i]].map(|a| 1.0 / a.length_squared().max(1e-30)),
            radius: splats.radii[i],
            roundness: splats.axes_u[i].cross(splats.axes_v[i]).length() / (splats.radii[i] * splats.radii[i]),
            sum: [0.0; 3],
            weight: 0.0,
            edge: Cuts::default(),
            crease: Cuts::default(),
            overlap: 0.0,
            around: (0.0, Vec3::ZERO),
            moments: [0.0; 3],
            changes: [Turn::default(); 2],
            own_seen: seen[i],
        }
    }

    /// Takes neighbor `j`, or the splat itself, into account.
    #[inline]
    fn at(&mut self, splats: &Splats, seen: &[[f32; 3]], j: usize) {
        let d = splats.positions[j] - self.position;
        let square = d.length_squared() / (self.radius * self.radius);
        if square >= REACH * REACH {
            return;
        }
        let normal = splats.normals[j];
        let alike = self.normal.dot(normal);
        let near = 1.0 - square / (REACH * REACH);
        if alike > 0.3 {
            // A disk of twice the radius holds 4 pi r^2 times the density, the weight (1 - a^2 - b^2)^2 integrates to
            // pi u v / 3, and the mean of this kernel over the disk is a half.
            let kernel = (1.0 - 0.25 * square).max(0.0);
            self.overlap += kernel * self.roundness / 6.0;
            // Not the splat itself, nor its like at the same place.
            let kernel = if square > 1e-6 { kernel } else { 0.0 };
            self.around.0 += kernel;
            self.around.1 += d * (kernel / self.radius);
            let open = 0.03 + (seen[j][1] / 0.3).min(1.0);
            let weight = near * near * ((alike - 0.3) / 0.7) * open;
            for k in 0..3 {
                self.sum[k] += weight * seen[j][k];
            }
            self.weight += weight;
        }
        if alike > TURN && square < TURN_REACH * TURN_REACH {
            let [u, v] = self.axes;
            let (a, b) = (d.dot(u) * self.inverse_squares[0], d.dot(v) * self.inverse_squares[1]);
            let (near, change) = (1.0 - square / (TURN_REACH * TURN_REACH), normal - self.normal);
            let bend = d.dot(normal + self.normal).abs() / (d.length() * (normal + self.normal).length()).max(1e-12);
            let smooth = ((SMOOTH.1 - bend) / (SMOOTH.1 - SMOOTH.0)).clamp(0.0, 1.0);
            let weight = near * (alike - TURN) * smooth;
            let (wa, wb) = (weight * a, weight * b);
            self.moments = [self.moments[0] + wa * a, self.moments[1] + wa * b, self.moments[2] + wb * b];
            for (sum, w) in self.changes.iter_mut().zip([wa, wb]) {
                sum.normal += w * change;
                for k in 0..3 {
                    sum.seen[k] += w * (seen[j][k] - self.own_seen[k]);
                }
            }
        }
        if alike < EDGE {
            self.cut(splats, j, d, normal);
        }
    }

    /// Notes the plane of a neighbor that cuts: beyond a convex edge each center lies behind the other's plane, beyond a crease before it, and
    /// what is not to be drawn there lies inside of the body.
    fn cut(&mut self, splats: &Splats, j: usize, d: Vec3, normal: Vec3) {
        let (behind, other_behind) = (d.dot(normal), -d.dot(self.normal));
        let margin = 0.02 * self.radius;
        // One of the centers may lie in the edge or crease itself.
        let (least, most) = (behind.min(other_behind), behind.max(other_behind));
        let (cuts, side) = match (least > -margin && most > margin, least < -margin && most < margin) {
            (true, _) => (&mut self.edge, 1.0),
            (_, true) => (&mut self.crease, -1.0),
            _ => return,
        };
        let height = self.axes[0].dot(normal).hypot(self.axes[1].dot(normal));
        let weight = 1.0 - behind.abs() / (CUT_REACH * height).max(1e-12);
        if weight > 0.0 {
            cuts.normal += weight * side * normal;
            cuts.offset += weight * side * normal.dot(splats.positions[j]);
            cuts.weight += weight;
        }
    }

    /// How near it is to a border, by where the middle of its neighbors lies.
    fn border(&self) -> f32 {
        let lean = self.around.1.length() / self.around.0.max(1e-9);
        ((lean - INNER) / (BORDER - INNER)).clamp(0.0, 1.0)
    }

    /// What changes along each half-axis; it leans toward nothing where few neighbors tell.
    fn turn(&self) -> [Turn; 2] {
        let lean = 0.1 + 0.02 * (self.moments[0] + self.moments[2]);
        let (xx, xy, yy) = (self.moments[0] + lean, self.moments[1], self.moments[2] + lean);
        let inverse = 1.0 / (xx * yy - xy * xy).max(1e-9);
        let solve = |p: f32, q: f32| {
            let [a, b] = self.changes;
            let normal = (a.normal * p + b.normal * q) * inverse;
            // Only across the normal, and no wilder than a splat can show.
            let normal = (normal - self.normal * self.normal.dot(normal)).clamp_length_max(STEEPEST);
            let seen = [0, 1, 2].map(|k| ((a.seen[k] * p + b.seen[k] * q) * inverse).clamp(-BRIGHTEST, BRIGHTEST));
            Turn { normal, seen }
        };
        [solve(yy, -xy), solve(-xy, xx)]
    }

    /// Where it is clipped: one plane is all that it has, that of the edge or crease that is nearer.
    fn clip(&self) -> Clip {
        let nearer = if self.edge.weight >= self.crease.weight { &self.edge } else { &self.crease };
        nearer.mean(OVERHANG * self.radius)
    }
}

/// Weighted sums over planes that cut a splat.
#[derive(Default)]
struct Cuts {
    normal: Vec3,
    offset: f32,
    weight: f32,
}

impl Cuts {
    /// The mean of the planes, moved by `over` [m], if several agree: one that is turned the wrong way must not tear a hole.
    fn mean(&self, over: f32) -> Clip {
        let agree = self.normal.length() / self.weight.max(1e-9);
        if self.weight < ENOUGH || agree < AGREED {
            return Clip::default();
        }
        let inverse = 1.0 / self.weight;
        Clip { normal: self.normal * inverse, offset: self.offset * inverse + over }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Surfels of radius 0.7 spacings on the two sides of an edge along z: the top of a block (y = 0, x < 0) and its
    /// right side (x = 0, y < 0). `order` gives the place in the table.
    fn block(order: impl Fn(usize) -> usize) -> Splats {
        let mut all = Vec::new();
        for i in 0..20 {
            for k in 0..20 {
                let (a, z) = (-(i as f32) - 0.4, k as f32);
                all.push((Vec3::new(a, 0.0, z), Vec3::X, Vec3::Y));
                all.push((Vec3::new(0.0, a, z), Vec3::Y, Vec3::X));
            }
        }
        let mut splats = Splats::default();
        for i in 0..all.len() {
            let (p, u, n) = all[order(i)];
            splats.positions.push(p);
            splats.axes_u.push(0.7 * u);
            splats.axes_v.push(0.7 * Vec3::Z);
            splats.normals.push(n);
            splats.radii.push(0.7);
            splats.sheets.push(0);
        }
        splats.surfaces.push(0..all.len());
        splats
    }

    #[test]
    fn an_edge_clips_and_a_face_does_not() {
        let splats = block(|i| i);
        let mut vicinity = Vicinity::default();
        vicinity.update(&splats, &vec![[1.0; 3]; splats.len()]);
        for (i, clip) in vicinity.clips.iter().enumerate() {
            let (p, n) = (splats.positions[i], splats.normals[i]);
            let to_edge = -p.x.min(p.y);
            if to_edge < 0.5 {
                let other = Vec3::new(n.y, n.x, 0.0);
                assert!(clip.normal.distance(other) < 1e-5 && (0.0..0.1).contains(&clip.offset), "{p}: {clip:?}");
            } else if to_edge > 2.0 {
                assert_eq!(clip.normal, Vec3::ZERO, "{p}");
            }
        }
    }

    #[test]
    fn in_a_crease_each_side_ends_where_the_other_begins() {
        // The corner turned inside out: two walls that face each other.
        let mut splats = block(|i| i);
        splats.positions.iter_mut().for_each(|p| *p = Vec3::new(-p.x, -p.y, p.z));
        let mut vicinity = Vicinity::default();
        vicinity.update(&splats, &vec![[1.0; 3]; splats.len()]);
        for (i, clip) in vicinity.clips.iter().enumerate() {
            let (p, n) = (splats.positions[i], splats.normals[i]);
            let to_crease = p.x.max(p.y);
            if to_crease < 0.5 {
                let other = -Vec3::new(n.y, n.x, 0.0);
                assert!(clip.normal.distance(other) < 1e-5 && (0.0..0.1).contains(&clip.offset), "{p}: {clip:?}");
            } else if to_crease > 2.0 {
                assert_eq!(clip.normal, Vec3::ZERO, "{p}");
            }
        }
    }

    #[test]
    fn what_lies_in_an_edge_or_crease_is_cut_through_its_middle() {
        for side in [1.0, -1.0] {
            let mut splats = block(|i| i);
            for (p, n) in splats.positions.iter_mut().zip(&splats.normals) {
                // The first rows lie in the edge.
                let to_edge = 0.4 * Vec3::new(n.y, n.x, 0.0);
                *p = (*p + to_edge) * Vec3::new(side, side, 1.0);
            }
            let mut vicinity = Vicinity::default();
            vicinity.update(&splats, &vec![[1.0; 3]; splats.len()]);
            for (i, clip) in vicinity.clips.iter().enumerate() {
                let (p, n) = (splats.positions[i], splats.normals[i]);
                if p.x.abs().max(p.y.abs()) < 1e-6 {
                    let other = side * Vec3::new(n.y, n.x, 0.0);
                    assert!(clip.normal.distance(other) < 1e-5 && (0.0..0.1).contains(&clip.offset), "{p}: {clip:?}");
                }
            }
        }
    }

    #[test]
    fn a_bead_on_a_plane_does_not_turn_the_normals_beside_it() {
        // The plane y = 0 left of z, and a quarter of a cylinder that rises from there.
        let mut splats = Splats::default();
        let rows = (0..8).map(|k| {
            let angle = 0.18 + 0.37 * k as f32;
            (2.7 * Vec3::new(1.0 - angle.cos(), angle.sin(), 0.0), Vec3::new(-angle.cos(), angle.sin(), 0.0))
        });
        for (place, normal) in rows.chain((0..8).map(|k| (Vec3::new(-0.5 - k as f32, 0.0, 0.0), Vec3::Y))) {
            for z in 0..20 {
                splats.positions.push(place + z as f32 * Vec3::Z);
                splats.axes_u.push(1.1 * normal.cross(Vec3::Z));
                splats.axes_v.push(1.1 * Vec3::Z);
                splats.normals.push(normal);
                splats.radii.push(1.1);
                splats.sheets.push(0);
            }
        }
        splats.surfaces.push(0..splats.len());
        let mut vicinity = Vicinity::default();
        vicinity.update(&splats, &vec![[1.0; 3]; splats.len()]);
        for i in 8 * 20 + 5..8 * 20 + 15 {
            let [u, v] = vicinity.turns[i];
            assert!(u.normal.length() < 0.05 && v.normal.length() < 0.05, "{}: {u:?} {v:?}", splats.positions[i]);
        }
    }

    #[test]
    fn normals_turn_with_the_surface() {
        // On a cylinder of radius 5 about z, the normal turns by the way over the radius.
        let mut splats = Splats::default();
        for i in 0..400 {
            let (angle, z) = (0.2 * (i / 20) as f32, (i % 20) as f32);
            let normal = Vec3::new(angle.cos(), angle.sin(), 0.0);
            splats.positions.push(5.0 * normal + z * Vec3::Z);
            splats.axes_u.push(0.8 * Vec3::Z.cross(normal));
            splats.axes_v.push(0.8 * Vec3::Z);
            splats.normals.push(normal);
            splats.radii.push(0.8);
            splats.sheets.push(0);
        }
        splats.surfaces.push(0..400);
        let mut vicinity = Vicinity::default();
        vicinity.update(&splats, &[[1.0; 3]; 400]);
        let (middle, along) = (210, Vec3::Z.cross(splats.normals[210]));
        let [u, v] = vicinity.turns[middle];
        assert!((u.normal.dot(along) - 0.16).abs() < 0.02 && v.normal.length() < 1e-3, "{u:?} {v:?}");
        assert_eq!(u.seen, [0.0; 3]);
    }

    #[test]
    fn a_thin_part_is_closed_by_its_own_coverage_whatever_covers_the_rest() {
        // A plane of discs; those of one half are twice as large, and more than half of all.
        let plane = |large: f32| {
            let mut splats = Splats::default();
            for i in 0..1600 {
                let (x, z) = ((i % 40) as f32 - 14.0, (i / 40) as f32 - 19.5);
                let radius = if x > 0.0 { large } else { 0.7 };
                splats.positions.push(Vec3::new(x, 0.0, z));
                splats.normals.push(Vec3::Y);
                splats.axes_u.push(radius * Vec3::X);
                splats.axes_v.push(radius * Vec3::Z);
                splats.radii.push(radius);
                splats.sheets.push(0);
            }
            splats.surfaces.push(0..1600);
            let mut vicinity = Vicinity::default();
            vicinity.update(&splats, &vec![[0.5; 3]; 1600]);
            // In the middle of the thin half.
            (vicinity.grows[20 * 40 + 7], vicinity.inverse_closed[20 * 40 + 7])
        };
        let (alone, beside) = (plane(0.7), plane(1.4));
        assert!((alone.0 - beside.0).abs() < 0.02 && (alone.1 / beside.1 - 1.0).abs() < 0.05, "{alone:?} {beside:?}");
    }

    #[test]
    fn a_sheet_is_closed_by_less_weight_away_from_its_borders() {
        let mut splats = block(|i| i);
        splats.sheets.fill(1);
        let mut vicinity = Vicinity::default();
        vicinity.update(&splats, &vec![[1.0; 3]; splats.len()]);
        let closed = |i: usize| 1.0 / vicinity.inverse_closed[i];
        // Rows of the top at the end and in the middle of z.
        let (border, inner) = (closed(40 * 8), closed(40 * 8 + 20));
        assert!(inner < 0.6 * border, "{inner} {border}");
    }

    #[test]
    fn one_that_sees_nothing_takes_the_light_of_its_neighbors() {
        let splats = block(|i| i);
        let mut seen = vec![[0.8, 0.6, 0.5]; splats.len()];
        seen[401] = [0.0; 3];
        let mut vicinity = Vicinity::default();
        vicinity.update(&splats, &seen);
        let [key, sky, _] = vicinity.seen[401];
        assert!((0.75..=0.8).contains(&key) && (0.57..=0.6).contains(&sky), "{key} {sky}");
    }

    #[test]
    fn the_order_of_splats_does_not_matter() {
        let light = |p: Vec3| [0.5 + 0.02 * p.x, 0.4 + 0.02 * p.y, 0.1 + 0.01 * p.z];
        let look = |order: &dyn Fn(usize) -> usize| {
            let splats = block(order);
            let seen: Vec<_> = splats.positions.iter().map(|&p| light(p)).collect();
            let mut vicinity = Vicinity::default();
            vicinity.update(&splats, &seen);
            vicinity
        };
        let (a, b) = (look(&|i| i), look(&|i| (i * 7) % 800));
        for i in 0..800 {
            let j = (i * 7) % 800;
            assert!((0..3).all(|k| (a.seen[j][k] - b.seen[i][k]).abs() < 1e-5));
            assert!(a.clips[j].normal.distance(b.clips[i].normal) < 1e-5);
        }
        assert!((a.inverse_closed[0] - b.inverse_closed[0]).abs() < 1e-4 * a.inverse_closed[0]);
    }
}
