//! The molds near a place, and how much of its surroundings they leave to matter.

use super::mold::Mold;
use crate::geometry::{Open, beside_plane};
use glam::{DVec3, Vec3A};

/// Openness below which nothing is told any more.
const LEAST: f64 = 0.01;
/// Radius of what is around a place [spacings]: that of the kernels.
const REACH: f64 = 2.0;

/// The molds that the matter around a place may feel.
#[derive(Clone, Copy)]
pub(super) struct Walls<'a> {
    molds: &'a [Mold<'a>],
    /// A bit for each that is near; the last for all from there on.
    near: u64,
    /// Distance of the points [m].
    spacing: f64,
}

impl<'a> Walls<'a> {
    /// No mold.
    #[cfg(test)]
    pub const NONE: Self = Self { molds: &[], near: 0, spacing: 1.0 };

    /// Those of `molds` whose bits are set, for points `spacing` [m] apart.
    pub fn new(molds: &'a [Mold<'a>], near: u64, spacing: f64) -> Self {
        Self { molds, near, spacing }
    }

    /// Bit of a mold.
    pub fn bit(mold: usize) -> u64 {
        1 << mold.min(63)
    }

    /// Whether none is near.
    pub fn is_empty(&self) -> bool {
        self.near == 0
    }

    /// How open the surroundings of a place [m] are, or in a nook those of its mouth.
    pub fn at(&self, place: DVec3) -> Opening {
        let (open, slope, (mouth, depth)) = self.openness(place);
        if depth <= 0.0 {
            return Opening::new(place, open, slope, 0.0);
        }
        let mouth = place + mouth;
        let (open, slope, _) = self.openness(mouth);
        Opening::new(mouth, open, slope, depth)
    }

    /// The part of the surroundings of a place [m] that they leave to matter, its slope [1/m], and the way to the mouth of a nook with its
    /// depth [m]. Of several the parts are multiplied: exact where they do not overlap in the surroundings, and where they meet at a right
    /// angle; the deepest nook counts.
    fn openness(&self, place: DVec3) -> (f64, DVec3, (DVec3, f64)) {
        let (mut open, mut slope, mut nook) = (1.0, DVec3::ZERO, (DVec3::ZERO, 0.0));
        let near = |(k, _): &(usize, &Mold)| self.near & Self::bit(*k) != 0;
        for (_, mold) in self.molds.iter().enumerate().filter(near) {
            let own = match mold.open {
                Some(ask) => ask(place, self.spacing),
                None => {
                    let (distance, normal) = (mold.probe)(place);
                    let (share, slope) = beside_plane(distance, normal, REACH * self.spacing);
                    Open { share, slope, ..Open::default() }
                }
            };
            (open, slope) = (open * own.share, own.share * slope + open * own.slope);
            nook = if own.depth > nook.1 { (own.mouth, own.depth) } else { nook };
        }
        (open, slope, nook)
    }

    /// Distance of the points [m].
    pub fn spacing(&self) -> f32 {
        self.spacing as f32
    }
}

/// What walls leave open around a place.
pub(super) struct Opening {
    /// The place itself, or the mouth of the nook that it is in [m].
    pub place: DVec3,
    /// The part of the surroundings there that matter can fill, and its slope [1/m].
    pub share: f32,
    pub slope: Vec3A,
    /// Length of the way from the mouth [m].
    pub depth: f32,
}

impl Opening {
    fn new(place: DVec3, share: f64, slope: DVec3, depth: f64) -> Self {
        let (share, slope) = if share > LEAST { (share, slope) } else { (LEAST, DVec3::ZERO) };
        Self { place, share: share as f32, slope: slope.as_vec3a(), depth: depth as f32 }
    }
}
