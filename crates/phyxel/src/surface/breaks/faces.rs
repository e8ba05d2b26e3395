//! Faces of a break: surfels along the borders between groups inside the body, one for each side, back to back.

use super::local::{Border, Local, Share, border};
use super::{Breaks, NEXT, Part};
use glam::{DVec3, IVec3};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How far from the middle of a pair places are tried [spacings]: inside the body, and beside its surface, where cells of points are open.
const TRIED: (f64, f64) = (0.62, 1.2);
/// Distance of tried places, and least distance of those that are taken [distances of surfels].
const STEP: f64 = 0.55;
const ROOM: f64 = 0.75;
/// Half-axis of a surfel [distances of surfels].
const RADIUS: f64 = 0.95;
/// Places nearer to others than to their own pair by more than this are theirs to try [squared spacings].
const MARGIN: f64 = 0.15;
/// Farthest way from the middle plane of a pair to the border [spacings], steps to it, and how well it must be met.
const FARTHEST: f64 = 0.6;
const STEPS: usize = 6;
const MET: f64 = 1e-3;
/// Faces that are one have normals with at least this cosine.
const LEVEL: f64 = 0.8;
/// Pairs per parallel task.
const CHUNK: usize = 16;

/// A place on the border between the groups of two points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    position: DVec3,
    /// Unit normal, from the first point's side to the other's.
    normal: DVec3,
    pair: [u32; 2],
}

impl Breaks {
    /// All faces, in the order of pairs.
    pub(super) fn faces(&mut self) -> Vec<Part> {
        let links = &self.links;
        let near = |i: usize, j: u32| links.places[i].distance(links.places[j as usize]) < NEXT * links.spacing;
        let gone = |i: usize| {
            let own = links.row(i).filter(move |(j, gone)| *gone && i < *j as usize && near(i, *j));
            own.map(move |(j, _)| [i as u32, j])
        };
        let pairs: Vec<[u32; 2]> = (0..links.pairs.len()).flat_map(gone).collect();
        let known = |pair: &[u32; 2]| {
            let local = self.around(*pair);
            let before = self.known.get(pair).filter(|(groups, _)| *groups == local.groups);
            let spots = before.map_or_else(|| self.spots(*pair, &local), |(_, spots)| spots.clone());
            (*pair, (local.groups, spots))
        };
        self.known = pairs.par_iter().with_min_len(CHUNK).map(known).collect::<Vec<_>>().into_iter().collect();
        let spots: Vec<Spot> = self.known.values().flat_map(|(_, spots)| spots.iter().copied()).collect();
        let kept = thinned(&spots, ROOM * self.distance);
        kept.par_iter().with_min_len(CHUNK).flat_map_iter(|spot| self.sides(spot)).collect()
    }

    /// The points around the middle of a pair.
    fn around(&self, pair: [u32; 2]) -> Local {
        let [a, b] = pair.map(|i| self.links.places[i as usize]);
        Local::at(0.5 * (a + b), &self.links)
    }

    /// Places on the border between the two points of a pair.
    fn spots(&self, pair: [u32; 2], local: &Local) -> Vec<Spot> {
        let links = &self.links;
        let [a, b] = pair.map(|i| links.places[i as usize]);
        let middle = 0.5 * (a + b);
        let (Some(own), Some(other)) = (local.group_of(pair[0]), local.group_of(pair[1])) else { return Vec::new() };
        if own == other {
            return Vec::new();
        }
        let outer = pair.iter().any(|i| self.outer[*i as usize]);
        let radius = links.spacing * if outer { TRIED.1 } else { TRIED.0 };
        let count = (std::f64::consts::PI * (radius / (STEP * self.distance)).powi(2)).ceil() as usize;
        let Some(along) = (b - a).try_normalize() else { return Vec::new() };
        let (x, y) = along.any_orthonormal_pair();
        let own_cell = |p: DVec3| {
            let nearest = p.distance_squared(a) - MARGIN * links.spacing * links.spacing;
            local.members.iter().all(|&k| links.places[k as usize].distance_squared(p) > nearest)
        };
        let mut shares = Vec::new();
        let spot = |k: usize| {
            let r = radius * ((k as f64 + 0.5) / count as f64).sqrt();
            let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
            let start = middle + r * (cos * x + sin * y);
            if !own_cell(start) {
                return None;
            }
            let (position, normal) =
                meet(start, along, [own, other], |p, out| local.shares(p, links, out), &mut shares)?;
            (position.distance(start) < FARTHEST * links.spacing && self.shape.distance(position) <= 0.0)
                .then_some(Spot { position, normal, pair })
        };
        (0..count).filter_map(spot).collect()
    }

    /// The surfels of both sides at a place.
    fn sides(&self, spot: &Spot) -> Vec<Part> {
        let local = Local::at(spot.position, &self.links);
        let groups = spot.pair.map(|i| local.group_of(i));
        let [Some(own), Some(other)] = groups else { return Vec::new() };
        if own == other {
            return Vec::new();
        }
        let mut shares = Vec::new();
        local.shares(spot.position, &self.links, &mut shares);
        let (x, y) = spot.normal.any_orthonormal_pair();
        let radius = RADIUS * self.distance;
        let color = self.inner.unwrap_or_else(|| self.color_near(spot.position));
        let side = |(group, other, normal): (u32, u32, DVec3)| {
            let part = Part {
                position: spot.position,
                axis_u: radius * x,
                axis_v: radius * y,
                normal,
                color,
                carriers: self.carriers(spot.position, &local, group),
            };
            let inside = border(&shares, group, Some(other), normal);
            let ends = [inside, self.outline(spot.position, normal)].into_iter().flatten();
            match ends.min_by(|a, b| a.way.total_cmp(&b.way)) {
                Some(end) => part.before(end),
                None => part,
            }
        };
        [(own, other, spot.normal), (other, own, -spot.normal)].map(side).into()
    }

    /// Where the body ends, in the plane across `normal`.
    pub(super) fn outline(&self, place: DVec3, normal: DVec3) -> Option<Border> {
        let (distance, outward) = self.shape.distance_normal(place);
        let flat = outward - normal * normal.dot(outward);
        let way = -distance / flat.length();
        way.is_finite().then_some(Border { across: flat.normalize_or_zero(), way, beyond: None })
    }

    /// The color of the surface of the whole body nearest to a place.
    pub(super) fn color_near(&self, place: DVec3) -> [u8; 3] {
        let nearest = self.skin.nearest(place);
        nearest.and_then(|(s, _)| self.whole.rest().colors.get(s).copied()).unwrap_or([128; 3])
    }
}

/// Goes along a line to where two groups have the same share and no other has more. Gives the place and the unit normal from the first
/// group to the second.
fn meet(
    start: DVec3,
    along: DVec3,
    [own, other]: [u32; 2],
    shares: impl Fn(DVec3, &mut Vec<Share>),
    found: &mut Vec<Share>,
) -> Option<(DVec3, DVec3)> {
    let mut place = start;
    for _ in 0..STEPS {
        shares(place, found);
        let (mine, others) = (found[own as usize], found[other as usize]);
        let (lead, slope) = (mine.log - others.log, mine.slope - others.slope);
        if lead.abs() < MET {
            let largest = found.iter().all(|s| s.log <= mine.log.max(others.log));
            return (-slope).try_normalize().filter(|_| largest).map(|normal| (place, normal));
        }
        place -= lead / along.dot(slope) * along;
        if !place.is_finite() {
            return None;
        }
    }
    None
}

/// Places of one face that keep a distance [m] from each other, the first ones first.
fn thinned(spots: &[Spot], room: f64) -> Vec<Spot> {
    let cell = |p: DVec3| (p / room).floor().as_ivec3().to_array();
    let mut taken: BTreeMap<[i32; 3], Vec<usize>> = BTreeMap::new();
    let mut kept: Vec<Spot> = Vec::new();
    for spot in spots {
        let at = IVec3::from(cell(spot.position));
        let mut cells = (0..27).map(|k| (at + IVec3::new(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1)).to_array());
        let close = |&k: &usize| {
            let other = &kept[k];
            other.position.distance_squared(spot.position) < room * room && other.normal.dot(spot.normal).abs() > LEVEL
        };
        if cells.any(|c| taken.get(&c).is_some_and(|list| list.iter().any(close))) {
            continue;
        }
        taken.entry(at.to_array()).or_default().push(kept.len());
        kept.push(*spot);
    }
    kept
}
