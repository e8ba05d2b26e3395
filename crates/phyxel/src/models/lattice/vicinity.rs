//! Who is near the liquid: solid matter far from it takes no part in its pressure.

use crate::geometry::Bounds;
use glam::{DVec3, IVec3};

/// Cells that are kept at most; a liquid that is scattered further is near everything.
const MOST_CELLS: f64 = 4e6;

/// Cells as wide as the reach of the liquid, marked where it is and around.
pub struct Vicinity {
    first: DVec3,
    edge: f64,
    size: IVec3,
    /// Empty: everything is near.
    marked: Vec<bool>,
}

impl Vicinity {
    /// Around liquid at `places` [m] of a `reach` [m].
    pub fn new(places: impl Iterator<Item = DVec3> + Clone, reach: f64) -> Self {
        let bounds = Bounds::of(places.clone()).grown(1.5 * reach);
        let cells = ((bounds.max - bounds.min) / reach).ceil();
        let mut vicinity = Self { first: bounds.min, edge: reach, size: IVec3::ZERO, marked: Vec::new() };
        let count = cells.x * cells.y * cells.z;
        if !(count.is_finite() && count <= MOST_CELLS) {
            return vicinity;
        }
        vicinity.size = cells.as_ivec3();
        vicinity.marked.resize(count as usize, false);
        let mut seen = vec![false; count as usize];
        for place in places {
            let cell = vicinity.cell(place);
            let Some(k) = vicinity.number(cell).filter(|k| !seen[*k]) else { continue };
            seen[k] = true;
            for offset in (0..27).map(|k| IVec3::new(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1)) {
                if let Some(k) = vicinity.number(cell + offset) {
                    vicinity.marked[k] = true;
                }
            }
        }
        vicinity
    }

    fn cell(&self, place: DVec3) -> IVec3 {
        ((place - self.first) / self.edge).floor().as_ivec3()
    }

    fn number(&self, cell: IVec3) -> Option<usize> {
        let inside = cell.cmpge(IVec3::ZERO).all() && cell.cmplt(self.size).all();
        inside.then(|| ((cell.z * self.size.y + cell.y) * self.size.x + cell.x) as usize)
    }

    /// Those of `count` particles that flow or may be within the reach of one that does.
    pub fn members(&self, count: usize, place: impl Fn(usize) -> DVec3, flows: impl Fn(usize) -> bool) -> Vec<u32> {
        let near =
            |k: usize| self.marked.is_empty() || self.number(self.cell(place(k))).is_some_and(|c| self.marked[c]);
        (0..count).filter(|&k| flows(k) || near(k)).map(|k| k as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn all_within_the_reach_are_members_and_what_is_far_is_not() {
        let mut random = Random::new(3, 5);
        let mut place = || DVec3::from_array(std::array::from_fn(|_| 4.0 * random.unit() - 2.0));
        let liquid: Vec<DVec3> = (0..20).map(|_| 0.3 * place()).collect();
        let solid: Vec<DVec3> = (0..500).map(|_| place()).collect();
        let all: Vec<DVec3> = liquid.iter().chain(&solid).copied().collect();
        let members = Vicinity::new(liquid.iter().copied(), 0.2).members(all.len(), |k| all[k], |k| k < liquid.len());
        let nearest = |p: DVec3| liquid.iter().map(|l| l.distance(p)).fold(f64::INFINITY, f64::min);
        for (k, p) in all.iter().enumerate() {
            let member = members.contains(&(k as u32));
            assert!(member || nearest(*p) > 0.2, "{k}");
            assert!(!member || nearest(*p) < 0.2 * 2.0 * 3.0_f64.sqrt(), "{k}");
        }
        assert!(members.len() < all.len());
        // Liquid that is nowhere in particular.
        let lost = Vicinity::new([DVec3::ZERO, DVec3::splat(1e9)].into_iter(), 0.2);
        assert_eq!(lost.members(3, |_| DVec3::ONE, |_| false), [0, 1, 2]);
        let broken = Vicinity::new([DVec3::NAN].into_iter(), 0.2);
        assert_eq!(broken.members(1, |_| DVec3::ONE, |_| true), [0]);
    }
}
