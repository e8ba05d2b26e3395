//! Measures a detail surface of a run from its frames.
//!
//! `cargo run --release --example surface_check -- colors RUN FRAME`: part of the surfels that have another color than what is painted
//! where their matter was at rest; only where matter has stayed whole, and not nearer to the border of a field than a quarter spacing and twice
//! the mean error of the map that tells where it was.
//!
//! `... -- print RUN SOLID FRAME`: how far the surface in a frame after demolding is from the molds that it was in when it was
//! solid, in frame SOLID, and how much its normals differ; the points around each surfel tell where it was then.
//!
//! `... -- leaps RUN [FIRST [LAST]]`: how far the surface is, frame by frame, from where the points around have carried that of the frame
//! before: what appears (surfels of this frame led back) and what goes (those of the frame before led on), of what twenty views see, in spacings of the points.
//!
//! `... -- holes RUN FRAME`: pixels of twenty views, each half a half-axis of the surfels wide, in which the surface is seen through.

use glam::{DMat3, DVec3};
use phyxel::contact::Collider;
use phyxel::frame::{BodyFrame, Frame};
use phyxel::geometry::{Files, ShapeLibrary, build};
use phyxel::neighbors::Grid;
use phyxel::scene::{BodySpec, PatternKind, Scene};
use phyxel::sinks::FrameReader;
use phyxel::surface::{Surfels, seen, seen_through};
use rayon::prelude::*;
use std::path::Path;
use std::process::ExitCode;

/// Sides from which surfaces are looked at.
const VIEWS: usize = 20;
/// Holes whose places are told.
const SHOWN: usize = 12;

/// A place of one frame in another one, and how the matter there is turned and stretched; from the points around.
struct Back<'a> {
    now: Vec<DVec3>,
    then: Vec<DVec3>,
    grid: Grid,
    spacing: f64,
    body: &'a BodyFrame,
}

impl<'a> Back<'a> {
    fn new(now: &'a BodyFrame, then: &BodyFrame) -> Self {
        let places = |b: &BodyFrame| b.positions.iter().map(|p| p.as_dvec3()).collect::<Vec<_>>();
        let spacing = now.spacings.iter().map(|a| f64::from(*a)).sum::<f64>() / now.spacings.len() as f64;
        let grid = Grid::new(&places(now), 2.0 * spacing);
        Self { now: places(now), then: places(then), grid, spacing, body: now }
    }

    /// Least-squares affine map from the points within 2.5 spacings; None where matter has not stayed whole.
    fn at(&self, p: DVec3) -> Option<(DVec3, DMat3)> {
        let (host, _) = self.grid.nearest(p)?;
        let near = self.grid.within(p, 2.5 * self.spacing);
        let (mut sum, mut x, mut y) = (0.0, DVec3::ZERO, DVec3::ZERO);
        let weight = |j: u32| (1.0 - self.now[j as usize].distance_squared(p) / (2.5 * self.spacing).powi(2)).powi(2);
        for &j in &near {
            // What is near now was near then.
            if self.then[j as usize].distance(self.then[host]) > 3.5 * self.spacing {
                return None;
            }
            let w = weight(j);
            (sum, x, y) = (sum + w, x + w * self.now[j as usize], y + w * self.then[j as usize]);
        }
        let (x, y) = (x / sum, y / sum);
        let (mut moment, mut mixed) = (DMat3::ZERO, DMat3::ZERO);
        let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
        for &j in &near {
            let (a, b) = (self.now[j as usize] - x, self.then[j as usize] - y);
            moment += outer(weight(j) * a, a);
            mixed += outer(weight(j) * b, a);
        }
        let linear = mixed * moment.inverse();
        (near.len() > 7 && linear.is_finite()).then(|| (y + linear * (p - x), linear))
    }

    /// How far the points around are from where the map of `at` puts them, on average [m]: how exactly it is known where `p` was.
    fn doubt(&self, p: DVec3) -> f64 {
        let Some((place, linear)) = self.at(p) else { return f64::INFINITY };
        let (mut sum, mut off) = (0.0, 0.0);
        for j in self.grid.within(p, 2.5 * self.spacing) {
            let (now, then) = (self.now[j as usize], self.then[j as usize]);
            let w = (1.0 - now.distance_squared(p) / (2.5 * self.spacing).powi(2)).powi(2);
            (sum, off) = (sum + w, off + w * (place + linear * (now - p)).distance_squared(then));
        }
        (off / sum).sqrt()
    }

    /// Whether the points that were around the one nearest to `p` still are.
    fn is_whole(&self, p: DVec3, then: &Grid) -> bool {
        let Some((host, _)) = self.grid.nearest(p) else { return false };
        let beside = then.within(self.then[host], 1.7 * self.spacing);
        let kept = beside.iter().filter(|&&j| self.now[j as usize].distance(self.now[host]) < 2.5 * self.spacing);
        10 * kept.count() >= 9 * beside.len()
    }
}

fn colors(scene: &Scene, rest: &BodyFrame, now: &BodyFrame) {
    let spec: &BodySpec = &scene.bodies[0];
    let Some(pattern) = spec.surface.pattern else { return eprintln!("nothing is painted") };
    let back = Back::new(now, rest);
    let then = Grid::new(&back.then, 2.0 * back.spacing);
    let (mut asked, mut wrong, mut error) = (0, 0, 0.0);
    let own = back.body.surfels.positions.iter().zip(&back.body.surfels.colors);
    for (p, color) in own {
        let p = p.as_dvec3();
        if !back.is_whole(p, &then) {
            continue;
        }
        let Some((place, _)) = back.at(p) else { continue };
        let place = place - spec.at;
        let off = place / pattern.size - (place / pattern.size).round();
        let border = match pattern.kind {
            PatternKind::Checker => off.abs().min_element(),
            PatternKind::Stripes => off.y.abs(),
        };
        // Nearer to a border than twice what is not known of the place, nobody can tell which color is right.
        if border * pattern.size < (2.0 * back.doubt(p)).max(0.25 * back.spacing) {
            continue;
        }
        let wanted = if pattern.covers(place) { pattern.color } else { spec.color };
        let apart: f64 = (0..3).map(|k| f64::from(color[k].abs_diff(wanted[k])) / 255.0 / 3.0).sum();
        asked += 1;
        wrong += usize::from(apart > 0.02);
        error += apart;
    }
    let part = |n: f64| 100.0 * n / f64::from(asked.max(1));
    println!(
        "{asked} of {} surfels asked, {wrong} have another color ({:.2} %), mean color error {:.2} %",
        now.surfels.len(),
        part(wrong as f64),
        part(error)
    );
}

fn print(scene: &Scene, solid: &BodyFrame, time: f64, now: &BodyFrame) {
    let (library, files) =
        (ShapeLibrary::new(&scene.shapes, &|_| None), Files { base: "scenes".into(), allow_outside: false });
    let mut molds: Vec<Collider> = scene
        .colliders
        .iter()
        .filter(|c| c.mold)
        .filter_map(|c| build(&c.shape, &library, &files).ok().map(|b| Collider::from_spec(c, b.shape)))
        .collect();
    molds.iter_mut().for_each(|m| m.advance(time, 0.0));
    let back = Back::new(now, solid);
    let area: f64 = now.surfels.len() as f64;
    let (mut far, mut angles) = (Vec::new(), Vec::new());
    for (p, n) in now.surfels.positions.iter().zip(&now.surfels.normals) {
        let Some((place, linear)) = back.at(p.as_dvec3()) else { continue };
        let normal = (linear.inverse().transpose() * n.as_dvec3()).normalize_or_zero();
        let nearest = molds.iter().map(|m| m.distance_normal(place)).min_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        let Some((distance, outward)) = nearest else { continue };
        // The contact area: what is near the wall and faces it.
        if distance.abs() < 0.5 * back.spacing && normal.dot(-outward) > 0.5 {
            far.push(distance.abs());
            angles.push(normal.dot(-outward).clamp(-1.0, 1.0).acos().to_degrees());
        }
    }
    far.sort_by(f64::total_cmp);
    angles.sort_by(f64::total_cmp);
    let at = |list: &[f64], part: f64| list.get((part * list.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
    println!(
        "{} of {area} surfels in contact; distance to the mold mean {:.3} mm, 90 % {:.3}, 95 % {:.3}, 99 % {:.3}; points are {:.2} mm apart",
        far.len(),
        1e3 * mean(&far),
        1e3 * at(&far, 0.9),
        1e3 * at(&far, 0.95),
        1e3 * at(&far, 0.99),
        1e3 * back.spacing
    );
    println!("normals off by {:.2} degrees on average, 95 % below {:.1}", mean(&angles), at(&angles, 0.95));
}

fn holes(now: &BodyFrame) {
    let half_axis = half_axis(&now.surfels);
    let found = seen_through(&now.surfels, VIEWS, 0.5 * half_axis);
    println!(
        "{} surfels, half-axes {:.2} mm: {} pixels are seen through",
        now.surfels.len(),
        1e3 * half_axis,
        found.len()
    );
    for (place, toward) in found.iter().take(SHOWN) {
        println!("  at {place:.4}, seen from {toward:.2}");
    }
}

/// Mean half-axis [m].
fn half_axis(surfels: &Surfels) -> f32 {
    let area: f32 = surfels.axes_u.iter().zip(&surfels.axes_v).map(|(u, v)| u.length() * v.length()).sum();
    (area / surfels.len().max(1) as f32).sqrt()
}

/// How far the surfels of a frame that one sees, led to another moment by the points around, are from the surface there [spacings]; sorted.
fn leaps(of: &BodyFrame, to: &BodyFrame) -> Vec<(f64, DVec3)> {
    let back = Back::new(of, to);
    let surface: Vec<DVec3> = to.surfels.positions.iter().map(|p| p.as_dvec3()).collect();
    let reach = 0.5 * back.spacing;
    let grid = Grid::new(&surface, reach);
    let off = |place: DVec3| {
        let beside = |s: u32| {
            let s = s as usize;
            let (across, half) = (surface[s] - place, to.surfels.axes_u[s].length().max(to.surfels.axes_v[s].length()));
            let height = across.dot(to.surfels.normals[s].as_dvec3()).abs();
            let along = (across.length_squared() - height * height).max(0.0).sqrt();
            height + (along - 1.5 * f64::from(half)).max(0.0)
        };
        let nearest = grid.within(place, reach).into_iter().map(beside).fold(f64::INFINITY, f64::min);
        let far = || grid.nearest(place).map_or(f64::INFINITY, |(_, d2)| d2.sqrt());
        if nearest < reach { nearest } else { far() }
    };
    let half = half_axis(&of.surfels);
    let seen = seen(&of.surfels, VIEWS, half, half);
    let own = of.surfels.positions.par_iter().zip(&seen);
    let mut found: Vec<(f64, DVec3)> = own
        .filter(|(_, seen)| **seen)
        .map(|(p, _)| {
            let p = p.as_dvec3();
            // Beside a fold the points around are of both its sides: what the nearest one explains is no leap. Velocities of surfels must not explain
            // anything: they are their ways since the last frame, leaps and all.
            let host = back.grid.nearest(p).map(|(i, _)| p + back.then[i] - back.now[i]);
            let led = [back.at(p).map(|led| led.0), host];
            let off = led.into_iter().flatten().map(off).fold(f64::INFINITY, f64::min);
            (off / back.spacing, p)
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

fn tell_leaps(before: &Frame, now: &Frame) {
    let (Some(then), Some(body)) = (before.bodies.first(), now.bodies.first()) else { return };
    let told = |what: &str, list: &[(f64, DVec3)]| {
        let above = |bound: f64| list.iter().filter(|(d, _)| *d > bound).count();
        let (worst, place) = list.last().copied().unwrap_or_default();
        let most = list.get(list.len() * 999 / 1000).map_or(0.0, |d| d.0);
        format!(
            "{what} 99.9 % {most:.2}, more than a quarter {}, a half {}, worst {worst:.2} at {place:.3}",
            above(0.25),
            above(0.5)
        )
    };
    let (comes, goes) = (leaps(body, then), leaps(then, body));
    println!("{}: {}; {}", now.index, told("comes", &comes), told("goes", &goes));
}

fn all_leaps(reader: &mut FrameReader, first: u32, last: u32) -> Result<(), String> {
    let mut before: Option<Frame> = None;
    for index in first..=last {
        let now = reader.read(index).map_err(|e| e.to_string())?;
        if let Some(before) = &before {
            tell_leaps(before, &now);
        }
        before = Some(now);
    }
    Ok(())
}

const USAGE: &str =
    "usage: surface_check colors RUN FRAME, print RUN SOLID FRAME, holes RUN FRAME, or leaps RUN [FIRST [LAST]]";

fn check(arguments: &[String]) -> Result<(), String> {
    let [what, run, numbers @ ..] = arguments else { return Err(USAGE.to_owned()) };
    let run = Path::new(run);
    let mut reader = FrameReader::open(run.join("frames"));
    let count = reader.count();
    if count == 0 {
        return Err(format!("{} holds no frames\n  expected: the folder of a run", run.display()));
    }
    let index = |text: &String| match text.parse() {
        Ok(index) if index < count => Ok(index),
        _ => Err(format!("there is no frame \"{text}\"\n  expected: a number from 0 to {}", count - 1)),
    };
    let numbers: Vec<u32> = numbers.iter().map(index).collect::<Result<_, _>>()?;
    let mut read = |index: u32| {
        let frame = reader.read(index).map_err(|e| e.to_string())?;
        let body = frame.bodies.into_iter().next().ok_or("the run has no bodies")?;
        Ok::<(f64, BodyFrame), String>((frame.time, body))
    };
    let scene = || {
        let text = std::fs::read_to_string(run.join("scene.toml")).map_err(|e| format!("scene.toml: {e}"))?;
        Scene::from_toml(&text, None, &[]).map_err(|e| e.to_string())
    };
    match (what.as_str(), numbers.as_slice()) {
        ("colors", &[frame]) => colors(&scene()?, &read(0)?.1, &read(frame)?.1),
        ("print", &[solid, frame]) => {
            let (time, solid) = read(solid)?;
            print(&scene()?, &solid, time, &read(frame)?.1);
        }
        ("holes", &[frame]) => holes(&read(frame)?.1),
        ("leaps", &[]) => return all_leaps(&mut reader, 0, count - 1),
        ("leaps", &[first]) => return all_leaps(&mut reader, first, count - 1),
        ("leaps", &[first, last]) if first < last => return all_leaps(&mut reader, first, last),
        _ => return Err(USAGE.to_owned()),
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match check(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}
