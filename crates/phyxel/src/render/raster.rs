//! Raster: splats blended into the samples of one tile.
//!
//! First the nearest depth per sample, then a blend, weighted (1 - a² - b²)², of everything within a small distance of it.
//!
//! Where the weights do not add up to a closed surface (rims that stick out over an edge), the same is done once more for
//! what lies behind: the shader lets it shine through, so that edges come out straight although ellipses are round. A sheet
//! that turns away at its outline has a rim on both sides, one behind the other, so where that is not closed either, it is
//! done for what lies behind that, and once more. Splats that show their back are drawn only where nothing shows its front,
//! for sheets seen from behind; where the back of a body is seen, a gap is closed (`gaps.rs`).

use super::gaps::Gaps;
use super::project::{Projection, ScreenSplat};

/// Samples per pixel side.
pub(super) const SUB: usize = 2;
/// Size of a tile [samples].
pub(super) const TILE_WIDTH: usize = 64;
pub(super) const TILE_HEIGHT: usize = 32;

/// First and one past the last sample of a box.
type SampleRange = ((usize, usize), (usize, usize));

/// Channels of a blended sample. The first eight may change over a splat.
pub(super) const TURNING: usize = 8;
pub(super) const WEIGHT: usize = 0;
pub(super) const NORMAL: usize = 1;
pub(super) const SEEN: usize = 4;
pub(super) const CLOSED: usize = 7;
pub(super) const ALBEDO: usize = 8;
pub(super) const INVERSE_DEPTH: usize = 11;
pub(super) const CHANNELS: usize = 12;

/// Layers of fronts that are looked for beyond the second one.
const DEEPER: usize = 2;

/// Fronts beyond the second layer.
#[derive(Debug)]
struct Layer {
    nearest: Vec<f32>,
    samples: Vec<[f32; CHANNELS]>,
}

/// Buffers of one tile, reused.
#[derive(Debug)]
pub(super) struct Tile {
    /// Largest inverse depth of a front, 0 where there is none.
    nearest: Vec<f32>,
    /// Sheet that is nearest, 0 where none is: what lies close behind it is not blended into it.
    nearest_sheet: Vec<u16>,
    /// Blended front samples, row by row.
    pub samples: Vec<[f32; CHANNELS]>,
    /// Whether `behind` holds something; only then it is valid.
    pub has_behind: bool,
    /// The same for fronts behind the nearest one, and for backs, at the samples that are not closed.
    open: Vec<bool>,
    nearest_behind: Vec<f32>,
    nearest_back: Vec<f32>,
    /// Blended fronts behind, or backs if there is no front at all.
    pub behind: Vec<[f32; CHANNELS]>,
    /// How closed the backs between the nearest front and the one behind are: 1 says that this is inside a body.
    pub inside: Vec<f32>,
    /// The same for the backs farther than that.
    pub beyond: Vec<f32>,
    gaps: Gaps,
    deeper: [Layer; DEEPER],
    /// Layers of `deeper` that hold something; only these are valid.
    depth: usize,
}

impl Default for Tile {
    fn default() -> Self {
        let n = TILE_WIDTH * TILE_HEIGHT;
        Self {
            nearest: vec![0.0; n],
            nearest_sheet: vec![0; n],
            samples: vec![[0.0; CHANNELS]; n],
            has_behind: false,
            open: vec![false; n],
            nearest_behind: vec![0.0; n],
            nearest_back: vec![0.0; n],
            behind: vec![[0.0; CHANNELS]; n],
            inside: vec![0.0; n],
            beyond: vec![0.0; n],
            gaps: Gaps::default(),
            deeper: std::array::from_fn(|_| Layer { nearest: vec![0.0; n], samples: vec![[0.0; CHANNELS]; n] }),
            depth: 0,
        }
    }
}

impl Tile {
    /// Draws the listed splats into the tile whose first sample is `corner`.
    pub fn draw(&mut self, projection: &Projection, all: &[Option<ScreenSplat>], list: &[u32], corner: (usize, usize)) {
        let splats = || list.iter().filter_map(|&i| all[i as usize].as_ref());
        self.nearest.fill(0.0);
        self.samples.fill([0.0; CHANNELS]);
        for splat in splats().filter(|s| !s.back) {
            splat.raise(projection, corner, &mut self.nearest);
        }
        self.find_sheets(splats, corner);
        for splat in splats().filter(|s| !s.back) {
            self.blend(projection, splat, corner);
        }
        self.gaps.close(splats, corner, &mut self.nearest, &mut self.samples);

        self.depth = 0;
        self.open.iter_mut().zip(&self.samples).for_each(|(open, sample)| *open = sample[CLOSED] < 1.0);
        let open_box = self.open_box(corner);
        self.has_behind = open_box.is_some();
        if let Some((lo, hi)) = open_box {
            let splats = || splats().filter(|s| !s.is_ball() && s.touches(lo, hi));
            self.nearest_behind.fill(0.0);
            self.nearest_back.fill(0.0);
            self.behind.fill([0.0; CHANNELS]);
            self.inside.fill(0.0);
            self.beyond.fill(0.0);
            for splat in splats() {
                self.find_behind(splat, corner);
            }
            for splat in splats() {
                self.blend_behind(splat, corner);
            }
            self.peel(splats, corner);
        }
    }

    /// First and one past the last sample of the box of what is open: splats outside it need no further look.
    fn open_box(&self, corner: (usize, usize)) -> Option<SampleRange> {
        let (mut lo, mut hi) = ((TILE_WIDTH, TILE_HEIGHT), (0, 0));
        for i in (0..self.open.len()).filter(|&i| self.open[i]) {
            let (x, y) = (i % TILE_WIDTH, i / TILE_WIDTH);
            (lo, hi) = ((lo.0.min(x), lo.1.min(y)), (hi.0.max(x + 1), hi.1.max(y + 1)));
        }
        (hi.0 > 0).then(|| ((corner.0 + lo.0, corner.1 + lo.1), (corner.0 + hi.0, corner.1 + hi.1)))
    }

    /// Finds the fronts beyond the second layer where that is not closed.
    fn peel<'a, I: Iterator<Item = &'a ScreenSplat>>(&mut self, splats: impl Fn() -> I, corner: (usize, usize)) {
        for k in 0..DEEPER {
            let (done, rest) = self.deeper.split_at_mut(k);
            let (last, above) =
                done.last().map_or((&self.nearest_behind, &self.behind), |layer| (&layer.nearest, &layer.samples));
            for (i, open) in self.open.iter_mut().enumerate() {
                *open &= last[i] > 0.0 && above[i][CLOSED] + self.beyond[i] < 1.0;
            }
            let (open, Layer { nearest, samples }) = (&self.open, &mut rest[0]);
            if !open.contains(&true) {
                return;
            }
            nearest.fill(0.0);
            samples.fill([0.0; CHANNELS]);
            for s in splats().filter(|s| !s.back) {
                s.for_each_sample(corner, |i, _, depth| {
                    if open[i] && depth < last[i] - s.slack {
                        nearest[i] = nearest[i].max(depth);
                    }
                });
            }
            for s in splats().filter(|s| !s.back) {
                s.for_each_sample(corner, |i, place, depth| {
                    if open[i] && depth < last[i] - s.slack && depth >= nearest[i] - s.slack {
                        s.add(&mut samples[i], place, depth);
                    }
                });
            }
            self.depth = k + 1;
        }
    }

    /// Blended fronts of the layer that comes `k` after `behind`; None where there are none.
    pub fn deeper(&self, i: usize, k: usize) -> Option<&[f32; CHANNELS]> {
        let layer = self.deeper[..self.depth].get(k)?;
        Some(&layer.samples[i]).filter(|s| s[WEIGHT] > 0.0)
    }

    /// Whether nothing was drawn at a sample.
    pub fn is_empty(&self, i: usize) -> bool {
        self.samples[i][WEIGHT] == 0.0 && !(self.has_behind && self.behind[i][WEIGHT] > 0.0)
    }

    fn find_sheets<'a, I: Iterator<Item = &'a ScreenSplat>>(&mut self, splats: impl Fn() -> I, corner: (usize, usize)) {
        self.nearest_sheet.fill(0);
        let (nearest, sheets) = (&self.nearest, &mut self.nearest_sheet);
        for splat in splats().filter(|s| s.sheet > 0 && !s.is_ball()) {
            splat.for_each_sample(corner, |i, _, depth| {
                if depth >= nearest[i] * (1.0 - 1e-6) {
                    sheets[i] = splat.sheet;
                }
            });
        }
    }

    fn blend(&mut self, projection: &Projection, s: &ScreenSplat, corner: (usize, usize)) {
        let (nearest, sheets, samples) = (&self.nearest, &self.nearest_sheet, &mut self.samples);
        if s.is_ball() {
            s.for_each_ball_sample(projection, corner, |i, depth, at| {
                if depth > 0.0 && depth >= nearest[i] {
                    samples[i] = projection.ball_sample(s, depth, at);
                }
            });
        } else {
            s.for_each_sample(corner, |i, place, depth| {
                if depth >= nearest[i] - s.slack && s.sheet == sheets[i] {
                    s.add(&mut samples[i], place, depth);
                }
            });
        }
    }

    fn find_behind(&mut self, s: &ScreenSplat, corner: (usize, usize)) {
        s.for_each_sample(corner, |i, _, depth| {
            if self.open[i] && s.back {
                self.nearest_back[i] = self.nearest_back[i].max(depth);
            } else if self.open[i] && depth < self.nearest[i] - s.slack {
                self.nearest_behind[i] = self.nearest_behind[i].max(depth);
            }
        });
    }

    fn blend_behind(&mut self, s: &ScreenSplat, corner: (usize, usize)) {
        s.for_each_sample(corner, |i, place, depth| {
            if !self.open[i] {
                return;
            }
            let near_front = depth >= self.nearest[i] - s.slack;
            if !s.back && !near_front && depth >= self.nearest_behind[i] - s.slack {
                s.add(&mut self.behind[i], place, depth);
            } else if s.back && self.nearest[i] > 0.0 {
                // What fills a body, or lies at its back, is no farther than that.
                let inner = depth > self.nearest_behind[i] - s.slack;
                let sum = if inner { &mut self.inside[i] } else { &mut self.beyond[i] };
                *sum += place.weight() * s.attributes[CLOSED];
            } else if s.back && self.nearest[i] == 0.0 && depth >= self.nearest_back[i] - s.slack {
                s.add(&mut self.behind[i], place, depth);
            }
        });
    }
}
