//! When and how a shell breaks [WSG05] sec. 7.2.
//!
//! A fiber is to break when its elastic strain, or that on the outer side by bending, is beyond what its node bears. The most
//! urgent one is dealt with in each step: if the tip of a crack is near, the crack grows there; else a new crack begins. A tip
//! grows no faster than a part of the speed of shear waves, so that cracks do not depend on the time step.

mod lists;
mod state;

use super::body::Shell;
use super::cracks::{CrackEvent, Piece, Tip};
use super::engine::{BreakLimits, Urgent};
use super::growth::{ADVANCE, Ground, NO_PIECES, newer};
use super::rebuild::{Broken, Change, Whole};
use super::time_step::{STEP_FRACTION, highest_frequency};
use crate::neighbors::Grid;
use glam::DVec3;
use std::collections::BTreeMap;

/// A fiber within this distance of a tip makes it grow, in spacings.
const NEAR_TIP: f64 = 1.7;
/// Strength near a tip: fibers are longer than the place where the strain peaks.
const TIP_STRENGTH: f64 = 0.5;
/// How far before a tip strength is less, in spacings.
const TIP_REACH: f64 = 1.5;
/// No crack begins nearer to a tip than this, in spacings.
const TIP_SHADOW: f64 = 3.0;
/// And that for so long after the tip has come to its end, in spacings over the speed of membrane waves: what was strained before it
/// has not heard of that yet.
const ECHO: f64 = 20.0;
/// No crack begins before a running tip, nor around one that has just come to its end, nearer than this, in spacings: what is strained there is strained
/// by the tip, and is its to break or about to be unloaded.
const TIP_LEAD: f64 = 8.0;
/// A crack that would go from edge to edge at once does not begin if it would cut off less than this many nodes: the tip of a corner.
const LEAST_CUT: usize = 4;
/// A crack that begins nearer than this to another begins at its flank, in spacings.
const FLANK: f64 = 1.2;
/// Strength of nodes at a flank, at least: a weak point has done its work when a crack has passed it, and one-sided neighborhoods
/// measure less well.
const FLANK_STRENGTH: f64 = 1.2;
/// Cosine of the angle to the flank below which it may.
const FLANK_COSINE: f64 = 0.64;
/// Highest speed of a crack over that of shear waves.
const CRACK_SPEED: f64 = 0.5;
/// Part of the breaking strain that the fitted strain of a node must have for a crack to begin there.
const BORNE_OUT: f64 = 1.0;
/// Time between two beginnings, in spacings over the speed of membrane waves.
const REST: f64 = 3.0;

/// Fibers that are looked at closely in one step, at most.
const MOST_ASKED: usize = 8;

/// How a shell breaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FractureLaw {
    /// Elastic strain at which a fiber breaks by tension, stretch less 1; infinite: never.
    pub tension: f64,
    /// Elastic strain on the outer side at which it breaks by bending; infinite: never.
    pub bending: f64,
    /// Part of the fibers of a node that break before a crack opens there.
    pub microcracks: f64,
    /// Thickness of the sheet [m].
    pub thickness: f64,
}

impl FractureLaw {
    /// Whether anything can break.
    pub fn is_active(&self) -> bool {
        self.tension.is_finite() || self.bending.is_finite()
    }

    fn limits(&self) -> BreakLimits {
        BreakLimits { tension: self.tension, bending: self.bending, thickness: self.thickness }
    }
}

/// Where and when a shell is asked whether it breaks.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// Time [s].
    pub time: f64,
    /// Positions of the nodes [m].
    pub positions: &'a [DVec3],
    /// Masses of the nodes [kg].
    pub masses: &'a [f64],
    /// Mass per volume [kg/m³].
    pub density: f64,
}

/// What breaking did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opened {
    /// What to tell, if a crack opened or grew.
    pub event: Option<CrackEvent>,
    /// Elastic energy that appeared, or less than 0 that went [J].
    pub energy: f64,
    /// Longest step that the nodes around bear now [s].
    pub step: f64,
}

/// The cracks of a shell.
#[derive(Debug, Clone)]
pub struct Fracture {
    law: FractureLaw,
    /// Strength of each node, in that of the material.
    strengths: Vec<f64>,
    /// The same with what tips take away. Written by `weaken`.
    weakened: Vec<f64>,
    pieces: Vec<Piece>,
    tips: Vec<Tip>,
    /// Fibers that broke without a crack, in rising order.
    broken: Vec<Broken>,
    /// No crack begins before [s].
    ready: f64,
    /// The shell before any crack.
    whole: Whole,
    grid: Grid,
    /// Neighbors that nodes at cracks got in place of those they lost.
    added: BTreeMap<u32, Vec<u32>>,
    urgent: Vec<Urgent>,
}

/// A new piece of crack, and whether it ends for good.
struct Growth {
    piece: Piece,
    ended: bool,
}

impl Fracture {
    /// A whole shell, with the strength of each node in that of the material.
    pub fn new(law: FractureLaw, shell: &Shell, strengths: Vec<f64>) -> Self {
        Self {
            law,
            weakened: strengths.clone(),
            strengths,
            pieces: Vec::new(),
            tips: Vec::new(),
            broken: Vec::new(),
            ready: f64::NEG_INFINITY,
            whole: shell.whole(),
            grid: Grid::new(&shell.nodes.positions, 1.5 * shell.spacing()),
            added: BTreeMap::new(),
            urgent: Vec::new(),
        }
    }

    /// Changes the law.
    pub fn set_law(&mut self, law: FractureLaw) {
        self.law = law;
    }

    /// Strength of each node in that of the material.
    #[cfg(test)]
    pub(super) fn strengths(&self) -> &[f64] {
        &self.strengths
    }

    /// The pieces of all cracks, oldest first.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Breaks what is most urgent at the last `measure` of the shell, if anything is.
    pub fn crack(&mut self, shell: &mut Shell, moment: &Moment) -> Option<Opened> {
        self.urgent.clear();
        shell.engine.urgent(&self.law.limits(), &self.weakened, &mut self.urgent);
        let mut urgent = std::mem::take(&mut self.urgent);
        urgent.sort_by(|a, b| b.urgency.total_cmp(&a.urgency).then((a.node, a.fiber).cmp(&(b.node, b.fiber))));
        // Of one node only the most urgent fiber asks, and of those that have to be looked at closely only the first few.
        let mut asked: Vec<u32> = Vec::new();
        let mut opened = None;
        for fiber in &urgent {
            if asked.contains(&fiber.node) || self.waits(shell, moment, fiber) {
                continue;
            }
            asked.push(fiber.node);
            opened = self.open_at(shell, moment, fiber);
            if opened.is_some() || asked.len() == MOST_ASKED {
                break;
            }
        }
        self.urgent = urgent;
        opened
    }

    fn ground<'a>(&'a self, shell: &'a Shell) -> Ground<'a> {
        Ground {
            shell,
            whole: &self.whole.network,
            grid: &self.grid,
            pieces: &self.pieces,
            law: &self.law,
            strengths: &self.strengths,
            h: shell.spacing(),
        }
    }

    /// Whether the crack that a fiber asks for must wait.
    fn waits(&self, shell: &Shell, moment: &Moment, fiber: &Urgent) -> bool {
        if self.breaks_alone(shell, fiber).is_some() {
            return false;
        }
        let (ground, place) = (self.ground(shell), shell.nodes.positions[fiber.node as usize]);
        match self.nearest_tip(&ground, place) {
            Some(k) => moment.time < self.tips[k].ready,
            None => moment.time < self.ready || self.is_shadowed(&ground, moment, place),
        }
    }

    /// Opens or grows the crack that a fiber asks for; None when it may not.
    fn open_at(&mut self, shell: &mut Shell, moment: &Moment, fiber: &Urgent) -> Option<Opened> {
        if let Some(broken) = self.breaks_alone(shell, fiber) {
            return Some(self.break_fiber(shell, moment, broken));
        }
        let place = shell.nodes.positions[fiber.node as usize];
        let ground = self.ground(shell);
        let growing = self.nearest_tip(&ground, place);
        let growths = match growing {
            Some(k) => vec![self.grow(&ground, k, moment.time)],
            None => self.begin(&ground, fiber, moment.time)?,
        };
        let event = CrackEvent {
            time: moment.time,
            body: 0,
            place: moment.positions[fiber.node as usize],
            rest: growths[0].piece.from,
            direction: growths[0].piece.direction(),
            length: growths.iter().map(|g| g.piece.from.distance(g.piece.to)).sum(),
            begins: growing.is_none(),
            bending: fiber.bends,
        };
        let first = self.pieces.len();
        self.take(shell, moment, growing, growths);
        let changes = self.changes(shell, first);
        Some(self.apply(shell, moment, &changes, Some(event)))
    }

    /// The living tip that a place belongs to.
    fn nearest_tip(&self, ground: &Ground, place: DVec3) -> Option<usize> {
        let near = |tip: &Tip| {
            let front = tip.at + 0.15 * ground.h * tip.direction;
            let distance = tip.at.distance(place);
            (tip.alive && distance < NEAR_TIP * ground.h && !ground.separated(front, place)).then_some(distance)
        };
        let all = self.tips.iter().enumerate().filter_map(|(k, tip)| Some((near(tip)?, k)));
        all.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, k)| k)
    }

    fn is_shadowed(&self, ground: &Ground, moment: &Moment, place: DVec3) -> bool {
        let echo = ECHO * ground.h / waves(ground.shell, moment);
        let counts = |t: &Tip| t.alive || moment.time < t.ready + echo;
        let near = |t: &Tip| counts(t) && t.at.distance(place) < TIP_SHADOW * ground.h;
        self.tips.iter().any(|t| near(t) || self.comes(ground, moment, t, place))
    }

    /// Whether a tip that has grown lately may be on its way to a place, or the news that it has come to its end.
    fn comes(&self, ground: &Ground, moment: &Moment, tip: &Tip, place: DVec3) -> bool {
        let way = place - tip.at;
        let ahead = !tip.alive || way.dot(tip.direction) > 0.0;
        let length = way.length();
        let on_its_way = || moment.time < tip.ready + length / (CRACK_SPEED * shear_waves(ground.shell, moment));
        let hidden = || ground.separated(tip.at + 0.15 * ground.h * tip.direction, place);
        ahead && length < TIP_LEAD * ground.h && on_its_way() && !hidden()
    }

    fn grow(&self, ground: &Ground, k: usize, time: f64) -> Growth {
        let tip = &self.tips[k];
        let way = ground.onward(tip);
        let (to, ended) = ground.reach(tip.at, way, ADVANCE * ground.h, &tip.recent);
        Growth { piece: Piece::new(tip.at, to, ground.up(tip.at), time), ended }
    }

    /// The one or two arms of a new crack.
    fn begin(&self, ground: &Ground, fiber: &Urgent, time: f64) -> Option<Vec<Growth>> {
        let i = fiber.node as usize;
        let (shell, x) = (ground.shell, ground.shell.nodes.positions[i]);
        let range = shell.network.fiber_range(i);
        let ends = shell.network.ends(i, &shell.network.fibers[range.start + fiber.fiber as usize]);
        let up = ground.up(x);
        let chord = shell.nodes.positions[ends[1]] - shell.nodes.positions[ends[0]];
        let way = match ground.outset(i) {
            // One fiber alone may be mistaken where the sheet trembles.
            Some((pull, _)) if pull < BORNE_OUT * self.weakened[i] * fiber.tired => return None,
            Some((_, way)) => way,
            None => up.cross(chord).normalize_or_zero(),
        };
        if let Some(at) = self.flank(ground, x) {
            let (at, along) = at;
            let away = x - at;
            let way = if way.dot(away) < 0.0 { -way } else { way };
            if along.dot(way).abs() > FLANK_COSINE {
                return None;
            }
            let start = at - 0.1 * ground.h * way;
            let own: Vec<u32> = self.near_pieces(ground, at);
            let (to, ended) = ground.reach(at, way, ADVANCE * ground.h, &own);
            return Some(vec![Growth { piece: Piece::new(start, to, up, time), ended }]);
        }
        // Between the node and the end of the fiber across the crack, so that no node lies on it.
        let across = up.cross(way);
        let half = ends.map(|j| (shell.nodes.positions[j] - x).dot(across));
        let offset = 0.5 * if half[0].abs() > half[1].abs() { half[0] } else { half[1] };
        let start = x + offset.clamp(-0.5 * ground.h, 0.5 * ground.h) * across;
        let arm = |way: DVec3| {
            let (to, ended) = ground.reach(start, way, 0.6 * ADVANCE * ground.h, &[]);
            Growth { piece: Piece::new(start, to, up, time), ended }
        };
        let arms = vec![arm(way), arm(-way)];
        let nips = arms.iter().all(|a| a.ended) && ground.least_side(start, across) < LEAST_CUT;
        (!nips).then_some(arms)
    }

    /// The nearest place on a crack and its direction there, if that is near.
    fn flank(&self, ground: &Ground, x: DVec3) -> Option<(DVec3, DVec3)> {
        let all = self.pieces.iter().map(|p| (p.nearest(x), p.direction()));
        let near = all.filter(|(at, _)| at.distance(x) < FLANK * ground.h);
        near.min_by(|a, b| a.0.distance_squared(x).total_cmp(&b.0.distance_squared(x)))
    }

    fn near_pieces(&self, ground: &Ground, at: DVec3) -> Vec<u32> {
        let near = |p: &Piece| p.nearest(at).distance(at) < 1.5 * ground.h;
        (0..self.pieces.len() as u32).filter(|&k| near(&self.pieces[k as usize])).collect()
    }

    /// Takes new pieces and moves or makes their tips.
    fn take(&mut self, shell: &Shell, moment: &Moment, growing: Option<usize>, growths: Vec<Growth>) {
        let shear = shear_waves(shell, moment);
        let first = self.pieces.len();
        let count = growths.len();
        for (k, Growth { piece, ended }) in growths.into_iter().enumerate() {
            self.pieces.push(piece);
            let recent = growing.map_or(NO_PIECES, |t| self.tips[t].recent);
            // The arms of a new crack know each other.
            let recent = if count > 1 { newer(recent, first + 1 - k) } else { recent };
            let tip = Tip {
                at: piece.to,
                direction: piece.direction(),
                ready: moment.time + piece.from.distance(piece.to) / (CRACK_SPEED * shear),
                recent: newer(recent, first + k),
                alive: !ended,
            };
            match growing {
                Some(t) => self.tips[t] = tip,
                None => self.tips.push(tip),
            }
        }
        if growing.is_none() {
            self.ready = moment.time + REST * shell.spacing() / waves(shell, moment);
        }
        self.weaken(shell);
    }

    /// Less strength before tips, and no weak points at flanks.
    fn weaken(&mut self, shell: &Shell) {
        self.weakened.clone_from(&self.strengths);
        let flank = FLANK * shell.spacing();
        for piece in &self.pieces {
            self.grid.for_each_within(piece.disc.center, flank + piece.disc.radius, |i, _| {
                if piece.nearest(shell.nodes.positions[i]).distance(shell.nodes.positions[i]) < flank {
                    self.weakened[i] = self.strengths[i].max(FLANK_STRENGTH);
                }
            });
        }
        let reach = TIP_REACH * shell.spacing();
        for tip in self.tips.iter().filter(|t| t.alive) {
            self.grid.for_each_within(tip.at, reach, |i, _| {
                if (shell.nodes.positions[i] - tip.at).dot(tip.direction) > -0.3 * reach {
                    self.weakened[i] = TIP_STRENGTH * self.strengths[i];
                }
            });
        }
    }

    /// The fiber as one that breaks without a crack; None: a crack opens.
    fn breaks_alone(&self, shell: &Shell, fiber: &Urgent) -> Option<Broken> {
        let i = fiber.node as usize;
        let range = shell.network.fiber_range(i);
        let all = range.len() as f64 / shell.fitted.membrane.0.intact[i].max(f64::MIN_POSITIVE);
        let left = range.len() as f64 - 1.0;
        if 1.0 - left / all >= self.law.microcracks {
            return None;
        }
        let ends = shell.network.ends(i, &shell.network.fibers[range.start + fiber.fiber as usize]);
        let [a, b] = ends.map(|j| j as u32);
        Some([fiber.node, a.min(b), a.max(b)])
    }

    fn break_fiber(&mut self, shell: &mut Shell, moment: &Moment, broken: Broken) -> Opened {
        let place = self.broken.partition_point(|b| *b < broken);
        self.broken.insert(place, broken);
        let list = self.list(&shell.nodes.positions, broken[0]);
        self.apply(shell, moment, &[Change { node: broken[0], list }], None)
    }

    /// Rebuilds the shell where neighbors have changed, and looks what that did.
    fn apply(&self, shell: &mut Shell, moment: &Moment, changes: &[Change], event: Option<CrackEvent>) -> Opened {
        let mut region: Vec<u32> = changes.iter().map(|c| c.node).collect();
        for _ in 0..2 {
            let around: Vec<u32> =
                region.iter().flat_map(|&i| shell.network.neighbors_of(i as usize)).copied().collect();
            region.extend(around);
            region.sort_unstable();
            region.dedup();
        }
        let energy = |shell: &Shell| {
            let (mut part, members) = shell.engine.subset(&region);
            let positions: Vec<DVec3> = members.iter().map(|&i| moment.positions[i as usize]).collect();
            part.measure(&positions);
            part.energy().iter().sum::<f64>()
        };
        let before = energy(shell);
        shell.rebuild(changes, &self.broken, &self.whole);
        let after = energy(shell);
        let (mut part, members) = shell.engine.subset(&region);
        let rest: Vec<DVec3> = members.iter().map(|&i| shell.nodes.positions[i as usize]).collect();
        let masses: Vec<f64> = members.iter().map(|&i| moment.masses[i as usize]).collect();
        let frequency = highest_frequency(&mut part, &rest, &masses, shell.spacing());
        Opened { event, energy: after - before, step: STEP_FRACTION * 2.0 / frequency.max(f64::MIN_POSITIVE) }
    }
}

/// Speed of shear waves [m/s].
fn shear_waves(shell: &Shell, moment: &Moment) -> f64 {
    let sheet = shell.sheet();
    (sheet.young / (2.0 * (1.0 + sheet.poisson) * moment.density)).sqrt()
}

/// Speed of membrane waves [m/s].
fn waves(shell: &Shell, moment: &Moment) -> f64 {
    (shell.sheet().membrane() / (moment.density * shell.sheet().thickness)).sqrt()
}
