//! Measures a detail surface of a run from its frames.
//!
//! `cargo run --release --example surface_check -- colors RUN FRAME`: part of the surfels that have another color than what is painted
//! where their matter was at rest; only where matter has stayed whole, and not nearer to the border of a field than a quarter spacing and twice
//! the mean error of the map that tells where it was.
//!
//! `... -- print RUN SOLID FRAME`: how far the surface in a frame after demolding is from the molds that it was in when it was
//! solid, in frame SOLID, and how much its normals differ; the points around each surfel tell where it was then.
//!
//! `... -- holes RUN FRAME`: pixels of twenty views, each half a half-axis of the surfels wide, in which the surface is seen through.

use glam::{DMat3, DVec3};
use phyxel::contact::Collider;
use phyxel::frame::BodyFrame;
use phyxel::geometry::{Files, ShapeLibrary, build};
use phyxel::neighbors::Grid;
use phyxel::scene::{BodySpec, PatternKind, Scene};
use phyxel::sinks::FrameReader;
use phyxel::surface::seen_through;
use std::path::Path;

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

fn print(scene: &Scene, solid: &BodyFrame, now: &BodyFrame) {
    let (library, files) =
        (ShapeLibrary::new(&scene.shapes, &|_| None), Files { base: "scenes".into(), allow_outside: false });
    let molds: Vec<Collider> = scene
        .colliders
        .iter()
        .filter(|c| c.mold)
        .filter_map(|c| build(&c.shape, &library, &files).ok().map(|b| Collider::from_spec(c, b.shape)))
        .collect();
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
    let area: f32 = now.surfels.axes_u.iter().zip(&now.surfels.axes_v).map(|(u, v)| u.length() * v.length()).sum();
    let half_axis = (area / now.surfels.len().max(1) as f32).sqrt();
    let found = seen_through(&now.surfels, 20, 0.5 * half_axis);
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

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let usage = "surface_check colors RUN FRAME, surface_check print RUN SOLID FRAME, or surface_check holes RUN FRAME";
    let (Some(what), Some(run)) = (arguments.get(1), arguments.get(2).map(Path::new)) else {
        return eprintln!("{usage}");
    };
    let zero = "0".to_owned();
    let text = std::fs::read_to_string(run.join("scene.toml")).unwrap_or_default();
    let scene = match Scene::from_toml(&text, None, &[]) {
        Ok(scene) => scene,
        Err(e) => return eprintln!("{e}"),
    };
    let read = |index: Option<&String>| {
        let frame = FrameReader::open(run.join("frames")).read(index?.parse().ok()?).ok()?;
        frame.bodies.into_iter().next()
    };
    let (first, last) = (read(if what == "print" { arguments.get(3) } else { Some(&zero) }), read(arguments.last()));
    match (what.as_str(), first, last) {
        ("colors", Some(rest), Some(now)) => colors(&scene, &rest, &now),
        ("print", Some(solid), Some(now)) => print(&scene, &solid, &now),
        ("holes", _, Some(now)) => holes(&now),
        _ => eprintln!("{usage}"),
    }
}
