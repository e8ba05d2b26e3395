//! Where the embedding is solved when only a part of a body flows.
//!
//! Points that flow and those around them move on their own. What is farther off keeps its shape in embedded space and moves as one:
//! each connected piece of it has a single displacement among the unknowns, so that a bar that is drawn out in its middle still grows
//! longer. This is the least-squares fit among fewer motions; what it leaves is in P, as ever.

use super::part::Part;

/// Rings of neighbors around what flows that move on their own.
const RINGS: usize = 3;
/// Part of the body beyond which all of it is solved for.
const MOST: f64 = 0.5;

/// The unknowns of a solve in a part of a body.
#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    /// Points that move on their own, ascending.
    pub points: Vec<u32>,
    /// Unknown of each point of the body: the place among `points`, or behind them the number of what moves as one.
    pub unknowns: Vec<u32>,
    /// Number of unknowns.
    pub count: usize,
}

impl Region {
    /// Whether a point moves on its own.
    pub fn moves(&self, i: usize) -> bool {
        (self.unknowns[i] as usize) < self.points.len()
    }

    /// The largest of what moves as one in each piece: any point of it; None where all points move on their own. `labels` are the
    /// numbers of the pieces.
    pub fn largest(&self, labels: &[u32], pieces: usize) -> Vec<Option<usize>> {
        let own = self.points.len();
        let mut sizes = vec![0usize; self.count - own];
        let mut members = vec![usize::MAX; self.count - own];
        for (i, &unknown) in self.unknowns.iter().enumerate().filter(|(_, u)| **u as usize >= own) {
            sizes[unknown as usize - own] += 1;
            members[unknown as usize - own] = i;
        }
        let mut largest: Vec<Option<usize>> = vec![None; pieces];
        for (k, &member) in members.iter().enumerate() {
            let best = &mut largest[labels[member] as usize];
            let size = |i: usize| sizes[self.unknowns[i] as usize - own];
            if best.is_none_or(|b| sizes[k] > size(b)) {
                *best = Some(member);
            }
        }
        largest
    }
}

impl Part {
    /// Where to solve; None: everywhere.
    pub(super) fn region(&self) -> Option<Region> {
        const NONE: u32 = u32::MAX;
        let mut unknowns = vec![NONE; self.len()];
        let mut points: Vec<u32> = (0..self.len() as u32).filter(|&i| self.memories[i as usize].recent > 0.0).collect();
        points.iter().for_each(|&i| unknowns[i as usize] = 0);
        let most = (MOST * self.len() as f64) as usize;
        let mut ring = 0..points.len();
        for _ in 0..RINGS {
            for k in ring.clone() {
                for &j in self.stencils.list(points[k] as usize).neighbors {
                    if unknowns[j as usize] == NONE {
                        unknowns[j as usize] = 0;
                        points.push(j);
                    }
                }
                if points.len() > most {
                    return None;
                }
            }
            ring = ring.end..points.len();
        }
        points.sort_unstable();
        points.iter().enumerate().for_each(|(k, &i)| unknowns[i as usize] = k as u32);
        let mut count = points.len();
        flood(&self.stencils, &mut unknowns, NONE, |_| {
            count += 1;
            count as u32 - 1
        });
        Some(Region { points, unknowns, count })
    }
}

/// Gives each connected set of points that have the number `none` another one, in the order of their first points.
pub(super) fn flood(
    stencils: &super::stencils::Stencils,
    numbers: &mut [u32],
    none: u32,
    mut next: impl FnMut(usize) -> u32,
) {
    let mut stack: Vec<u32> = Vec::new();
    for first in 0..numbers.len() {
        if numbers[first] != none {
            continue;
        }
        let number = next(first);
        numbers[first] = number;
        stack.push(first as u32);
        while let Some(i) = stack.pop() {
            for &j in stencils.list(i as usize).neighbors {
                if numbers[j as usize] == none {
                    numbers[j as usize] = number;
                    stack.push(j);
                }
            }
        }
    }
}
