//! CPU splat renderer: frames to pictures and film.
//!
//! Phases of a picture: gather splats, draw light maps and evaluate them per splat and on the ground,
//! let every splat look at its neighbors, project and sort the
//! splats into tiles, then per tile blend and shade. Every phase gathers, so the picture has the same bits for any number
//! of threads; buffers are kept from picture to picture.

pub mod camera;
mod cells;
mod color;
mod depth_map;
pub mod field;
mod film;
mod floor;
mod gaps;
mod ground;
mod image;
mod legend;
mod light;
mod project;
mod raster;
mod shade;
mod splats;
pub mod text;
mod vicinity;

pub use camera::{Bounds, Camera};
pub use color::{color_map, heat_map};
pub use film::Film;
pub use image::{Image, sheet};
pub use legend::quantity;

use crate::frame::Frame;
use floor::Floor;
use ground::Ground;
use light::Light;
use project::{Projection, ScreenSplat};
use raster::{SUB, TILE_HEIGHT, TILE_WIDTH, Tile};
use rayon::prelude::*;
use shade::Shader;
use splats::Splats;
use std::sync::Mutex;
use std::time::Instant;
use vicinity::Vicinity;

/// What a picture shows and how.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Where it is taken from.
    pub camera: Camera,
    /// What the colors say.
    pub color: Coloring,
    /// Surfaces or points.
    pub draw: Draw,
    /// sRGB color of the backdrop.
    pub background: [u8; 3],
    /// A line in the lower left corner; empty: none.
    pub caption: String,
}

impl Default for View {
    fn default() -> Self {
        let (color, draw) = (Coloring::Body, Draw::Surface);
        Self { camera: Camera::default(), color, draw, background: [206, 208, 212], caption: String::new() }
    }
}

/// What colors say.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Coloring {
    /// The colors of the bodies and their surfels.
    #[default]
    Body,
    /// A field on the points, with a legend.
    Field {
        /// Its name in [`crate::frame::BodyFrame::fields`], or `speed`.
        name: String,
        /// Values of the ends of the color map; None: smallest and largest of the frame. Give a film one range.
        range: Option<(f32, f32)>,
    },
}

/// What bodies are drawn as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Draw {
    /// Surfels; bodies without them as points.
    #[default]
    Surface,
    /// Every point as a ball.
    Points,
}

/// Draws frames; keep one for a whole film, its buffers are reused.
#[derive(Debug, Default)]
pub struct Renderer {
    image: Image,
    splats: Splats,
    light: Light,
    vicinity: Vicinity,
    ground: Vec<Ground>,
    floor: Floor,
    screen: Vec<Option<ScreenSplat>>,
    tile_starts: Vec<u32>,
    tile_lists: Vec<u32>,
    tiles: Vec<Mutex<Tile>>,
    phases: [(&'static str, f64); 4],
}

impl Renderer {
    /// A renderer for pictures of that size [pixels], at least 1 and at most 16384 each.
    pub fn new(width: usize, height: usize) -> Self {
        let image = Image::new(width.clamp(1, 16384), height.clamp(1, 16384), [0; 3]);
        Self { image, ..Self::default() }
    }

    /// Draws a frame.
    pub fn render(&mut self, frame: &Frame, view: &View) -> &Image {
        let start = Instant::now();
        let range = match &view.color {
            Coloring::Body => None,
            Coloring::Field { name, range } => range.or_else(|| field::range(frame, name)),
        };
        self.splats.gather(frame, view, range);
        let planes = frame.colliders.iter().fold(0, |count, collider| {
            if self.ground.len() == count {
                self.ground.push(Ground::default());
            }
            count + usize::from(self.ground[count].set(collider))
        });
        self.ground.truncate(planes);
        let gathered = start.elapsed().as_secs_f64();

        self.light.update(&self.splats, shade::key_direction(&view.camera), &mut self.ground, view.camera.from);
        self.vicinity.update(&self.splats, &self.light.seen);
        let lit = start.elapsed().as_secs_f64();

        let projection = Projection::new(&view.camera, self.image.width, self.image.height);
        self.project(&projection);
        self.sort_into_tiles();
        let sorted = start.elapsed().as_secs_f64();

        self.draw_tiles(projection, view);
        match &view.color {
            Coloring::Body => {}
            Coloring::Field { name, .. } => legend::draw(&mut self.image, name, range),
        }
        if !view.caption.is_empty() {
            legend::caption(&mut self.image, &view.caption);
        }
        let drawn = start.elapsed().as_secs_f64();
        self.phases =
            [("gather", gathered), ("light", lit - gathered), ("sort", sorted - lit), ("draw", drawn - sorted)];
        &self.image
    }

    /// The last picture.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Wall time of the phases of the last picture [s].
    pub fn phases(&self) -> &[(&'static str, f64)] {
        &self.phases
    }

    fn project(&mut self, projection: &Projection) {
        let (splats, vicinity) = (&self.splats, &self.vicinity);
        self.screen.clear();
        self.screen.resize(splats.len(), None);
        self.screen.par_chunks_mut(512).enumerate().for_each(|(chunk, out)| {
            for (k, out) in out.iter_mut().enumerate() {
                let i = chunk * 512 + k;
                *out = projection.splat(splats, vicinity, i);
            }
        });
        // Only those on the screen go on, in their order.
        self.screen.retain(Option::is_some);
    }

    fn tile_columns(&self) -> usize {
        (self.image.width * SUB).div_ceil(TILE_WIDTH)
    }

    fn tile_rows(&self) -> usize {
        (self.image.height * SUB).div_ceil(TILE_HEIGHT)
    }

    /// Lists per tile the splats that touch it, in splat order.
    fn sort_into_tiles(&mut self) {
        let columns = self.tile_columns();
        self.tile_starts.clear();
        self.tile_starts.resize(columns * self.tile_rows() + 1, 0);
        for splat in self.screen.iter().flatten() {
            for_tiles(splat, columns, |tile| self.tile_starts[tile + 1] += 1);
        }
        for tile in 1..self.tile_starts.len() {
            self.tile_starts[tile] += self.tile_starts[tile - 1];
        }
        self.tile_lists.clear();
        self.tile_lists.resize(self.tile_starts.last().copied().unwrap_or(0) as usize, 0);
        // Filling backwards turns the ends into starts and keeps the order.
        for (i, splat) in self.screen.iter().enumerate().rev() {
            let Some(splat) = splat else { continue };
            for_tiles(splat, columns, |tile| {
                self.tile_starts[tile + 1] -= 1;
                self.tile_lists[self.tile_starts[tile + 1] as usize] = i as u32;
            });
        }
        let tiles = self.tile_starts.len() - 1;
        self.tile_starts.copy_within(1..=tiles, 0);
        self.tile_starts[tiles] = self.tile_lists.len() as u32;
    }

    fn draw_tiles(&mut self, projection: Projection, view: &View) {
        let (columns, width) = (self.tile_columns(), self.image.width);
        self.floor.update(view, &projection, &self.ground, width, self.image.height);
        let shader = Shader::new(projection, view, (&self.floor, width), &self.ground, self.light.key_maps());
        let threads = rayon::current_num_threads();
        self.tiles.resize_with(threads.max(self.tiles.len()), Mutex::default);
        let (tiles, screen, starts, lists) = (&self.tiles, &self.screen, &self.tile_starts, &self.tile_lists);
        let band = TILE_HEIGHT / SUB;
        self.image.rgb.par_chunks_mut(3 * width * band).enumerate().for_each(|(row, pixels)| {
            // One buffer per thread; nothing below waits, so it is never contended.
            let own = rayon::current_thread_index().unwrap_or(0) % tiles.len();
            let mut buffer = tiles[own].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            for column in 0..columns {
                let k = row * columns + column;
                let list = &lists[starts[k] as usize..starts[k + 1] as usize];
                let corner = (column * TILE_WIDTH, row * TILE_HEIGHT);
                let tile = if list.is_empty() {
                    None
                } else {
                    buffer.draw(&shader.projection, screen, list, corner);
                    Some(&*buffer)
                };
                shade_tile(&shader, tile, corner, pixels, width);
            }
        });
    }
}

/// Calls `act` with the number of every tile that a splat's box touches.
fn for_tiles(splat: &ScreenSplat, columns: usize, mut act: impl FnMut(usize)) {
    let (x0, x1) = (splat.lo.0 as usize / TILE_WIDTH, (splat.hi.0 as usize - 1) / TILE_WIDTH);
    let (y0, y1) = (splat.lo.1 as usize / TILE_HEIGHT, (splat.hi.1 as usize - 1) / TILE_HEIGHT);
    for y in y0..=y1 {
        for x in x0..=x1 {
            act(y * columns + x);
        }
    }
}

/// Shades the pixels of a tile into its band of the picture.
fn shade_tile(shader: &Shader, tile: Option<&Tile>, corner: (usize, usize), band: &mut [u8], width: usize) {
    let (left, top) = (corner.0 / SUB, corner.1 / SUB);
    let right = (left + TILE_WIDTH / SUB).min(width);
    for (row, line) in band.chunks_exact_mut(3 * width).enumerate() {
        for x in left..right {
            let first = row * SUB * TILE_WIDTH + (x - left) * SUB;
            let color = shader.pixel(tile, first, x, top + row);
            line[3 * x..3 * x + 3].copy_from_slice(&color);
        }
    }
}

#[cfg(test)]
mod tests;
