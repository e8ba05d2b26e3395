//! Sews what is left of a mesh to new surface: one watertight mesh.
//!
//! Triangles of the old mesh that stay have borders; so has the part of a closed mesh made anew that lies beyond them. Borders that
//! run along each other are joined by a band of triangles, all others get a cap. Every border is a simple ring (`rings.rs`), and a band
//! or a cap uses each of its edges once: so the result is closed and manifold whatever the shapes are.

mod band;
mod rings;

use crate::geometry::{Bounds, Bvh, Mesh, closest_on_triangle as closest};
use crate::neighbors::Grid;
use band::{band, cap};
use glam::DVec3;
use rayon::prelude::*;
use rings::{Ring, rings, tidy};
use std::collections::BTreeMap;

/// New surface begins this far from the old [cells].
const GAP: f64 = 0.7;
/// Surface made anew that is farther than this from the old is new, whatever else is known of it [cells].
const FAR: f64 = 3.0;
/// Patches of less area go [squares of a cell].
const PATCH: f64 = 8.0;
/// Old patches without new surface beside them go if they have less than this part of the area.
const ISLAND: f64 = 0.1;
/// Rings are joined if they are nearer than this on average [cells].
const ALONG: f64 = 6.0;

/// A mesh with vertices at the same place taken as one.
#[derive(Clone, Copy)]
pub(super) struct Fabric<'a> {
    pub positions: &'a [DVec3],
    /// For each vertex the first one at the same place.
    pub places: &'a [u32],
    pub triangles: &'a [[u32; 3]],
}

/// What was sewn. Vertices are those of the old mesh, all of them, then some of the mesh made anew, then the middles of caps.
#[derive(Debug, Clone, Default)]
pub(super) struct Sewn {
    /// Triangles of the old mesh that stay, by their numbers.
    pub stay: Vec<u32>,
    /// Vertices of the mesh made anew that are used.
    pub taken: Vec<u32>,
    /// Middles of caps [m].
    pub middles: Vec<DVec3>,
    /// Triangles beside those that stay.
    pub triangles: Vec<[u32; 3]>,
}

/// Sews the triangles of `old` that `stays` names to the part of the closed mesh `made`, of cells as wide as `cell` [m], that lies beyond
/// them. `fresh` says of its vertices whether matter has changed there.
pub(super) fn sew(old: Fabric, mut stays: Vec<bool>, made: &Mesh, fresh: &[bool], cell: f64) -> Sewn {
    let places: Vec<u32> = (0..made.positions.len() as u32).collect();
    let new = Fabric { positions: &made.positions, places: &places, triangles: &made.triangles };
    // Where islands of the old surface go the new one takes their place: once more.
    for last in [false, true] {
        tidy(old, &mut stays, PATCH * cell * cell);
        let beyond = beyond(old, &stays, made, fresh, cell);
        let mut taken: Vec<bool> = made.triangles.iter().map(|t| t.iter().all(|&v| beyond[v as usize])).collect();
        tidy(new, &mut taken, PATCH * cell * cell);
        let (inner, outer) = (rings(old, &stays), rings(new, &taken));
        let pairs = pair(&inner, &outer, (old.positions, &made.positions), ALONG * cell);
        let paired: Vec<bool> = (0..inner.len()).map(|k| pairs.contains_key(&k)).collect();
        if !last && drop_loose(old, &mut stays, (&inner, &paired), ISLAND) {
            continue;
        }
        let paired: Vec<bool> = (0..outer.len()).map(|k| pairs.values().any(|o| *o == k)).collect();
        drop_loose(new, &mut taken, (&outer, &paired), f64::INFINITY);
        return finish((old, &stays, &inner), (new, &taken, &outer), &pairs);
    }
    Sewn::default()
}

/// Which vertices of the mesh made anew are new surface.
fn beyond(old: Fabric, stays: &[bool], made: &Mesh, fresh: &[bool], cell: f64) -> Vec<bool> {
    let corners: Vec<[DVec3; 3]> = (0..old.triangles.len())
        .filter(|&t| stays[t])
        .map(|t| old.triangles[t].map(|v| old.positions[v as usize]))
        .collect();
    let boxes: Vec<Bounds> = corners.iter().map(|c| Bounds::of(*c)).collect();
    let bvh = Bvh::new(&boxes);
    let look = |(p, fresh): (&DVec3, &bool)| {
        let reach = if *fresh { GAP * cell } else { FAR * cell };
        let mut far = true;
        bvh.nearest(*p, reach * reach, |range, mut best| {
            for k in range {
                let squared = closest(&corners[bvh.order[k] as usize], *p).0.distance_squared(*p);
                if squared < best {
                    (best, far) = (squared, false);
                }
            }
            best
        });
        far
    };
    made.positions.par_iter().zip(fresh).with_min_len(256).map(look).collect()
}

/// Pairs of rings, of the old surface and of the new, that run along each other: those that are nearest to each other.
fn pair(inner: &[Ring], outer: &[Ring], places: (&[DVec3], &[DVec3]), farthest: f64) -> BTreeMap<usize, usize> {
    let votes = |from: &[Ring], at: &[DVec3], to: &[Ring], there: &[DVec3]| -> Vec<Option<usize>> {
        let all: Vec<(DVec3, usize)> =
            to.iter().enumerate().flat_map(|(k, r)| r.iter().map(move |&v| (there[v as usize], k))).collect();
        let grid = Grid::new(&all.iter().map(|a| a.0).collect::<Vec<_>>(), farthest);
        let best = |ring: &Ring| {
            let mut counts: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
            for v in ring {
                if let Some((j, squared)) = grid.nearest(at[*v as usize]) {
                    let entry = counts.entry(all[j].1).or_default();
                    (entry.0, entry.1) = (entry.0 + 1, entry.1 + squared.sqrt());
                }
            }
            let near = counts.into_iter().filter(|(_, (n, sum))| *sum < farthest * *n as f64);
            near.max_by_key(|(k, (n, _))| (*n, usize::MAX - k)).map(|(k, _)| k)
        };
        from.iter().map(best).collect()
    };
    let to_outer = votes(inner, places.0, outer, places.1);
    let to_inner = votes(outer, places.1, inner, places.0);
    let mutual = |(i, o): (usize, &Option<usize>)| o.filter(|&o| to_inner[o] == Some(i)).map(|o| (i, o));
    to_outer.iter().enumerate().filter_map(mutual).collect()
}

/// Drops patches that have borders, none of which runs along one of the other surface, and no more than a part `most` of the area: flakes and
/// islands. Says whether there were any.
fn drop_loose(fabric: Fabric, stays: &mut [bool], (borders, paired): (&[Ring], &[bool]), most: f64) -> bool {
    let heads = rings::patches(fabric, stays);
    let mut bound: BTreeMap<u32, bool> = BTreeMap::new();
    for (ring, paired) in borders.iter().zip(paired) {
        *bound.entry(heads[ring[0] as usize]).or_default() |= *paired;
    }
    let areas = rings::areas(fabric, stays, &heads);
    let whole: f64 = areas.values().sum();
    let loose = |head: &u32| bound.get(head) == Some(&false) && areas.get(head).is_some_and(|a| *a <= most * whole);
    let mut dropped = false;
    for (t, _) in fabric.triangles.iter().enumerate().filter(|(_, t)| loose(&heads[t[0] as usize])) {
        dropped |= std::mem::replace(&mut stays[t], false);
    }
    dropped
}

/// One side of the seam: triangles, which of them are there, and their borders.
type Side<'a> = (Fabric<'a>, &'a [bool], &'a [Ring]);

/// Puts all together.
fn finish((old, stays, inner): Side, (new, taken, outer): Side, pairs: &BTreeMap<usize, usize>) -> Sewn {
    let mut sewn = Sewn { stay: (0..stays.len() as u32).filter(|&t| stays[t as usize]).collect(), ..Sewn::default() };
    let first = old.positions.len() as u32;
    let mut numbers = vec![u32::MAX; new.positions.len()];
    for corners in new.triangles.iter().zip(taken).filter(|(_, t)| **t).map(|(c, _)| *c) {
        let triangle = corners.map(|v| {
            let number = &mut numbers[v as usize];
            if *number == u32::MAX {
                *number = first + sewn.taken.len() as u32;
                sewn.taken.push(v);
            }
            *number
        });
        sewn.triangles.push(triangle);
    }
    let place = |v: u32| old.positions[v as usize];
    let made = |sewn: &Sewn, v: u32| new.positions[sewn.taken[(v - first) as usize] as usize];
    let outer: Vec<Ring> = outer.iter().map(|r| r.iter().map(|&v| numbers[v as usize]).collect()).collect();
    let left: Vec<bool> = outer.iter().map(|r| r.iter().all(|&v| v != u32::MAX)).collect();
    for (&i, &o) in pairs {
        let (a, b) = (&inner[i], &outer[o]);
        let x: Vec<DVec3> = a.iter().map(|&v| place(v)).collect();
        let y: Vec<DVec3> = b.iter().map(|&v| made(&sewn, v)).collect();
        sewn.triangles.extend(band((a, &x), (b, &y)));
    }
    let open = |paired: bool, ring: &Ring, places: Vec<DVec3>| (!paired).then(|| (ring.clone(), places));
    let mut caps: Vec<(Ring, Vec<DVec3>)> = Vec::new();
    for (k, ring) in inner.iter().enumerate() {
        caps.extend(open(pairs.contains_key(&k), ring, ring.iter().map(|&v| place(v)).collect()));
    }
    for (k, ring) in outer.iter().enumerate().filter(|(k, _)| left[*k]) {
        let paired = pairs.values().any(|o| *o == k);
        caps.extend(open(paired, ring, ring.iter().map(|&v| made(&sewn, v)).collect()));
    }
    let next = first + sewn.taken.len() as u32;
    for (ring, places) in caps {
        let (triangles, middle) = cap(&ring, &places, next + sewn.middles.len() as u32);
        sewn.triangles.extend(triangles);
        sewn.middles.extend(middle);
    }
    sewn
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::shells_and_handles;
