//! Gaps between the splats of a body: bodies are closed, so these are no windows.
//!
//! A ray that meets the back of a body before any front of it has gone through a gap: it shows the inside, or what fills it. What is around the
//! gap, and before that back, is drawn over it, from its rim inward.

use super::project::ScreenSplat;
use super::raster::{CHANNELS, CLOSED, INVERSE_DEPTH, TILE_HEIGHT, TILE_WIDTH, WEIGHT};
use super::vicinity::CLOSED_SHARE;

/// How far from its rim a gap is drawn over [samples].
const WIDEST: usize = 24;
/// Samples around one that tell what is drawn over a gap, at least.
const TELLING: usize = 2;
/// Backs that cover a sample less than this are rims that stand over an outline.
const COVERED: f32 = 0.6;

/// Buffers of one tile, reused.
#[derive(Debug)]
pub(super) struct Gaps {
    /// Largest inverse depth of a back, 0 where there is none; the surface it belongs to, and how much two of one surface differ in depth.
    backs: Vec<f32>,
    owners: Vec<u16>,
    slacks: Vec<f32>,
    /// How closed these backs are.
    closed: Vec<f32>,
    /// Surface of the nearest front, 0 where there is none or it has no number.
    fronts: Vec<u16>,
}

impl Default for Gaps {
    fn default() -> Self {
        let n = TILE_WIDTH * TILE_HEIGHT;
        let (backs, slacks, closed) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        Self { backs, slacks, closed, owners: vec![0; n], fronts: vec![0; n] }
    }
}

impl Gaps {
    /// Draws over the gaps of a tile. `nearest` are inverse depths of fronts and `samples` what they show.
    pub fn close<'a, I: Iterator<Item = &'a ScreenSplat>>(
        &mut self,
        splats: impl Fn() -> I,
        corner: (usize, usize),
        nearest: &mut [f32],
        samples: &mut [[f32; CHANNELS]],
    ) {
        let backs = || splats().filter(|s| s.back && s.sheet == 0 && s.surface > 0 && !s.is_ball());
        let Some(first) = backs().next().map(|s| s.surface) else { return };
        // Where one body covers all, nothing is open.
        if splats().all(|s| s.surface == first) && samples.iter().all(|s| s[CLOSED] >= 1.0) {
            return;
        }
        self.find_backs(backs, corner);
        self.fronts.fill(0);
        for s in splats().filter(|s| !s.back && !s.is_ball()) {
            s.for_each_sample(corner, |i, _, depth| {
                if depth >= nearest[i] * (1.0 - 1e-6) {
                    self.fronts[i] = s.surface;
                }
            });
        }
        let is_gap = |i: &usize| {
            let seen = self.fronts[*i] != self.owners[*i] && self.backs[*i] >= nearest[*i] - self.slacks[*i];
            seen && self.closed[*i] * CLOSED_SHARE > COVERED
        };
        let mut open: Vec<usize> = (0..nearest.len()).filter(is_gap).collect();
        for _ in 0..WIDEST {
            let found: Vec<(usize, [f32; CHANNELS])> =
                open.iter().filter_map(|&i| self.around(i, samples).map(|mean| (i, mean))).collect();
            if found.is_empty() {
                break;
            }
            for (i, mean) in found {
                (samples[i], nearest[i], self.fronts[i]) = (mean, mean[INVERSE_DEPTH], self.owners[i]);
            }
            open.retain(|&i| self.fronts[i] != self.owners[i]);
        }
    }

    fn find_backs<'a, I: Iterator<Item = &'a ScreenSplat>>(&mut self, backs: impl Fn() -> I, corner: (usize, usize)) {
        self.backs.fill(0.0);
        self.owners.fill(0);
        self.closed.fill(0.0);
        for s in backs() {
            s.for_each_sample(corner, |i, _, depth| {
                if depth > self.backs[i] {
                    (self.backs[i], self.owners[i], self.slacks[i]) = (depth, s.surface, s.slack);
                }
            });
        }
        for s in backs() {
            s.for_each_sample(corner, |i, place, depth| {
                if s.surface == self.owners[i] && depth >= self.backs[i] - s.slack {
                    self.closed[i] += place.weight() * s.attributes[CLOSED];
                }
            });
        }
    }

    /// The mean of what the samples around one show of its surface, as far as that is before the back seen there.
    fn around(&self, i: usize, samples: &[[f32; CHANNELS]]) -> Option<[f32; CHANNELS]> {
        let (x, y) = ((i % TILE_WIDTH) as isize, (i / TILE_WIDTH) as isize);
        let (mut count, mut mean) = (0, [0.0; CHANNELS]);
        for k in 0..9 {
            let (x, y) = (x + k % 3 - 1, y + k / 3 - 1);
            if !(0..TILE_WIDTH as isize).contains(&x) || !(0..TILE_HEIGHT as isize).contains(&y) {
                continue;
            }
            let j = y as usize * TILE_WIDTH + x as usize;
            let (sample, weight) = (&samples[j], samples[j][WEIGHT]);
            let before = sample[INVERSE_DEPTH] > self.backs[i] * weight;
            if self.fronts[j] == self.owners[i] && weight > 0.0 && before {
                count += 1;
                mean.iter_mut().zip(sample).for_each(|(mean, s)| *mean += s / weight);
            }
        }
        mean.iter_mut().for_each(|m| *m /= count.max(1) as f32);
        (mean[WEIGHT], mean[CLOSED]) = (1.0, 1.0);
        (count >= TELLING).then_some(mean)
    }
}
