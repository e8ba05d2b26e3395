//! Who is near whom: lists with a skin, made anew when something has moved too far.

use crate::neighbors::Neighborhoods;
use glam::DVec3;

/// Pairs are listed this much beyond their reach, in spacings; half of it may be moved by one particle before the lists
/// are made anew.
const SKIN: f64 = 0.3;

/// Neighbors within a reach, good until something has moved half the skin against the others.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    near: Neighborhoods,
    /// Positions at which the lists were made [m].
    anchors: Vec<DVec3>,
    /// Whose neighbors were wanted then; the others have none.
    listed: Vec<bool>,
    skin: f64,
}

impl Lists {
    /// Brings the lists up to the positions; returns whether they were made anew. `reach` [m], `spacing` [m]. Pairs of which one is not
    /// `wanted` may be missing.
    pub fn update(&mut self, positions: &[DVec3], reach: f64, spacing: f64, wanted: impl Fn(usize) -> bool) -> bool {
        let limit = (0.5 * self.skin).powi(2);
        if self.anchors.len() == positions.len() {
            // What all go together changes no distance: what falls keeps its lists.
            let way = |i: usize| positions[i] - self.anchors[i];
            let own = (0..positions.len()).filter(|i| wanted(*i));
            let (sum, count) = own.fold((DVec3::ZERO, 0.0), |(sum, count), i| (sum + way(i), count + 1.0));
            let common = sum / f64::max(count, 1.0);
            let lasts = |i: usize| self.listed[i] && (way(i) - common).length_squared() <= limit;
            if (0..positions.len()).all(|i| lasts(i) || !wanted(i)) {
                return false;
            }
        }
        self.skin = SKIN * spacing;
        self.listed.clear();
        self.listed.extend((0..positions.len()).map(wanted));
        self.near = among(positions, &self.listed, reach + self.skin);
        self.anchors.clear();
        self.anchors.extend_from_slice(positions);
        true
    }

    /// The next `update` makes the lists anew.
    pub fn forget(&mut self) {
        self.anchors.clear();
    }

    /// Neighbors of a particle, ascending: all within the reach, and some a little beyond.
    #[inline]
    pub fn of(&self, i: usize) -> &[u32] {
        let range = self.near.starts[i] as usize..self.near.starts[i + 1] as usize;
        &self.near.neighbors[range]
    }

    /// Whether a pair may come closer than `distance` [m] before the lists are made anew.
    #[inline]
    pub fn may_come_within(&self, i: usize, j: usize, distance: f64) -> bool {
        self.anchors[i].distance_squared(self.anchors[j]) < (distance + self.skin).powi(2)
    }
}

/// Neighbors within `radius` [m] of those and among those that are wanted.
fn among(positions: &[DVec3], wanted: &[bool], radius: f64) -> Neighborhoods {
    let members: Vec<u32> = (0..positions.len() as u32).filter(|i| wanted[*i as usize]).collect();
    if members.len() == positions.len() {
        return Neighborhoods::within_radius(positions, radius);
    }
    let places: Vec<DVec3> = members.iter().map(|i| positions[*i as usize]).collect();
    let found = Neighborhoods::within_radius(&places, radius);
    let mut starts = Vec::with_capacity(positions.len() + 1);
    let mut rows = 0;
    starts.push(0);
    for wanted in wanted {
        rows += usize::from(*wanted);
        starts.push(found.starts[rows]);
    }
    // Numbers ascend among the members as among all.
    let neighbors = found.neighbors.iter().map(|k| members[*k as usize]).collect();
    Neighborhoods { starts, neighbors }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_last_until_something_has_moved_half_the_skin() {
        let mut positions: Vec<DVec3> = (0..5).map(|i| DVec3::X * f64::from(i)).collect();
        let mut lists = Lists::default();
        assert!(lists.update(&positions, 1.0, 1.0, |_| true));
        assert_eq!(lists.of(1), [0, 2]);
        // What moves as a whole keeps its lists.
        positions.iter_mut().for_each(|p| p.z += 7.0);
        assert!(!lists.update(&positions, 1.0, 1.0, |_| true));
        positions[1].y += 0.17;
        assert!(!lists.update(&positions, 1.0, 1.0, |_| true));
        positions[1].y += 0.03;
        assert!(!lists.update(&positions, 1.0, 1.0, |i| i != 1));
        assert!(lists.update(&positions, 1.0, 1.0, |_| true));
        lists.forget();
        assert!(lists.update(&positions, 1.0, 1.0, |_| true));
    }
    #[test]
    fn who_is_not_wanted_has_no_neighbors_until_it_is() {
        let positions: Vec<DVec3> = (0..6).map(|i| DVec3::X * f64::from(i)).collect();
        let mut lists = Lists::default();
        assert!(lists.update(&positions, 1.0, 1.0, |i| i != 2 && i != 3));
        assert_eq!([lists.of(1), lists.of(2), lists.of(3), lists.of(4)], [&[0][..], &[], &[], &[5]]);
        assert!(!lists.update(&positions, 1.0, 1.0, |i| i != 2 && i != 3));
        assert!(lists.update(&positions, 1.0, 1.0, |i| i != 3));
        assert_eq!([lists.of(1), lists.of(2), lists.of(3), lists.of(4)], [&[0, 2][..], &[1], &[], &[5]]);
    }
}
