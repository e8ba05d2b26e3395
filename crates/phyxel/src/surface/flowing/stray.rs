//! Detail surfels that flowing matter has left behind: flakes over the surface, sheets inside it.
//!
//! The winding number of all surfels of a piece (`inside.rs`) is 1/2 on the surface that they make together, 1/4 to 3/4 at edges, 0 and 1
//! away from it. A surfel that has got near 0 or 1 and was not so at rest is astray: it fades to the implicit surface, where crowded ones go.
//! So nothing is taken from where the surface is, and no hole is left.

use super::{Element, FlowingSurface, NONE};
use crate::surface::inside::Inside;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Surfels are asked in every so many frames, and of them a part in turn.
const TURN: u32 = 4;
const PARTS: u32 = 2;
/// Winding numbers below the first or above the second are astray, if they were nearer to 1/2 by `CHANGED` at rest.
const ASTRAY: (f32, f32) = (0.1, 0.9);
const CHANGED: f32 = 0.15;
/// Squared length over which surfels are smeared [of their area]: relief beside a surfel must not be taken for a flake.
const SMEARED: f64 = 1.0;
/// Fewer surfels do not make a surface.
const FEWEST: usize = 50;
/// Surfels per parallel task.
const CHUNK: usize = 64;

impl FlowingSurface {
    /// Takes down how the surfels of bodies that have just joined lie at rest.
    pub(super) fn know_rest(&mut self) {
        let detailed = |b: u32| self.joined.iter().any(|j| j.body == b && j.detail != 0);
        for body in self.newcomers.clone().into_iter().filter(|&b| detailed(b)) {
            let own: Vec<u32> = self.numbers(|e| e.body == body);
            for (i, w) in self.windings(&own, &own) {
                self.elements[i as usize].winding = w;
            }
        }
    }

    /// Marks the surfels of flowing matter that have come to lie astray, piece by piece.
    pub(super) fn find_strays(&mut self) {
        if !self.counters.frame.is_multiple_of(TURN) {
            return;
        }
        let (s, marks) = (&self.scratch, &self.marks);
        let known = |e: &Element| s.detailed.get(e.host as usize) == Some(&true);
        let mut pieces: Vec<(u32, u32)> =
            self.numbers(known).into_iter().map(|i| (s.labels[self.elements[i as usize].host as usize], i)).collect();
        pieces.sort_unstable();
        let part = self.counters.frame / TURN % PARTS;
        let loose = |e: &Element| {
            let faded = e.blend >= 1.0 || e.contact > 0.0 || e.origin != NONE;
            !faded && e.stray == 0 && e.id % PARTS == part && marks[e.host as usize].is_flowing()
        };
        let mut found = Vec::new();
        for piece in pieces.chunk_by(|a, b| a.0 == b.0) {
            let all: Vec<u32> = piece.iter().map(|p| p.1).collect();
            let asked: Vec<u32> = all.iter().copied().filter(|&i| loose(&self.elements[i as usize])).collect();
            found.extend(self.windings(&all, &asked));
        }
        for (i, w) in found {
            let e = &mut self.elements[i as usize];
            e.stray = u32::from(e.is_astray(w));
        }
    }

    /// Takes away what lies astray on matter that turns solid in this frame: from now on all that is there is its detail. Free surfels and
    /// those on molds are asked too: films and crumbs at the rim of a cast.
    pub(super) fn drop_films(&mut self, alive: &mut [bool]) {
        let s = &self.scratch;
        let known = |e: &Element| s.hardened.get(e.host as usize) == Some(&true);
        let mut pieces: Vec<(u32, u32)> =
            self.numbers(known).into_iter().map(|i| (s.labels[self.elements[i as usize].host as usize], i)).collect();
        pieces.retain(|p| alive[p.1 as usize]);
        pieces.sort_unstable();
        for piece in pieces.chunk_by(|a, b| a.0 == b.0) {
            let all: Vec<u32> = piece.iter().map(|p| p.1).collect();
            for (i, w) in self.windings(&all, &all) {
                alive[i as usize] = !self.elements[i as usize].is_astray(w);
            }
        }
    }

    fn numbers(&self, which: impl Fn(&Element) -> bool) -> Vec<u32> {
        let sound = |e: &Element| e.position.is_finite() && e.normal.is_finite();
        let own = self.elements.iter().enumerate().filter(|(_, e)| sound(e) && which(e));
        own.map(|(i, _)| i as u32).collect()
    }

    /// The winding numbers at those of `asked` of the surface that `all` make.
    fn windings(&self, all: &[u32], asked: &[u32]) -> Vec<(u32, f32)> {
        if all.len() < FEWEST || asked.is_empty() {
            return Vec::new();
        }
        let element = |i: u32| &self.elements[i as usize];
        let places: Vec<DVec3> = all.iter().map(|&i| element(i).position.as_dvec3()).collect();
        let normals: Vec<Vec3> = all.iter().map(|&i| element(i).normal).collect();
        let inside = Inside::new(&places, &normals, f64::from(self.spacing(element(all[0]).body)), SMEARED);
        let one = |&i: &u32| (i, inside.at(element(i).position.as_dvec3()) as f32);
        asked.par_iter().with_min_len(CHUNK).map(one).collect()
    }
}

impl Element {
    /// Whether a winding number says that it is astray, and was not so at rest.
    fn is_astray(&self, winding: f32) -> bool {
        let rest = if self.grown != 0 { 0.5 } else { self.winding };
        let (below, above) = (winding < ASTRAY.0, winding > ASTRAY.1);
        (below && winding < rest - CHANGED) || (above && winding > rest + CHANGED)
    }
}
