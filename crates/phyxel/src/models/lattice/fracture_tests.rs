//! Bars that are pulled apart, and faces that do not heal.

use super::tests::{block_of, material};
use super::*;
use crate::points::Points;
use crate::scene::{LatticeSpec, MaterialSpec};
use glam::DVec3;

/// A bar along x whose ends are gripped.
struct Bar {
    model: LatticeModel,
    points: Points,
    grips: Vec<(usize, f64)>,
    length: f64,
    step: u64,
}

impl Bar {
    fn new(dimensions: usize, size: DVec3, spacing: f64, material: &MaterialSpec, seed: u64) -> Self {
        let (model, points) = block_of(dimensions, size, spacing, glam::DMat3::IDENTITY, material, seed);
        let far = points.positions.iter().map(|p| p.x).fold(0.0, f64::max);
        let ends = points.positions.iter().enumerate().filter(|(_, p)| p.x.abs() > far - 1.6 * spacing);
        let grips = ends.map(|(i, p)| (i, p.x.signum())).collect();
        Self { model, points, grips, length: 2.0 * (far - 1.6 * spacing), step: 0 }
    }

    /// Moves the grips apart at a strain rate [1/s] for a time [s] or until it is in pieces; the strain at the end.
    fn pull(&mut self, rate: f64, time: f64, part_of_step: f64) -> f64 {
        let dt = part_of_step * self.model.stable_time_step();
        let speed = 0.5 * rate * self.length;
        let whole = self.model.count_pieces(0);
        let steps = (time / dt) as u64;
        for n in 0..steps {
            self.model.prepare(&self.points, dt, self.step);
            self.points.forces.fill(DVec3::ZERO);
            self.model.add_forces(&mut self.points, dt);
            for i in 0..self.points.len() {
                self.points.velocities[i] += self.points.forces[i] * (dt / self.points.masses[i]);
            }
            self.model.damp(&mut self.points, dt);
            for &(i, side) in &self.grips {
                self.points.velocities[i] = DVec3::X * (side * speed);
            }
            for i in 0..self.points.len() {
                self.points.positions[i] += self.points.velocities[i] * dt;
            }
            self.step += 1;
            if n % 50 == 0 && rate > 0.0 && self.model.count_pieces(0) != whole {
                return n as f64 * dt * rate;
            }
        }
        time * rate
    }

    fn lost(&self, before: usize) -> f64 {
        1.0 - bonds(&self.model) as f64 / before as f64
    }
}

fn bonds(model: &LatticeModel) -> usize {
    model.bonds().partners.iter().filter(|p| **p != NOBODY).count()
}

fn brittle(strain: f64) -> MaterialSpec {
    MaterialSpec { damping: 30.0, ..material(Some(strain)) }
}

#[test]
fn bars_break_at_their_strain_in_one_crack() {
    for (dimensions, size, spacing, low, high) in
        [(2, DVec3::new(0.8, 0.24, 0.1), 0.04, 0.83, 1.02), (3, DVec3::new(0.7, 0.2, 0.2), 0.06, 0.9, 1.06)]
    {
        let mut bar = Bar::new(dimensions, size, spacing, &brittle(0.1), 1);
        let before = bonds(&bar.model);
        let strain = bar.pull(0.4, 0.4, 1.0);
        println!("{dimensions}d breaks at {strain}, loses {}", bar.lost(before));
        assert!(strain > low * 0.1 && strain < high * 0.1, "{dimensions}: {strain}");
        bar.pull(0.4, 0.02, 1.0);
        assert_eq!(bar.model.count_pieces(0), Some(2));
        assert!(bar.lost(before) < 0.12, "{dimensions}: {}", bar.lost(before));
        // Pressed back past contact: the faces push, and do not heal.
        bar.pull(-1.0, strain + 0.02, 1.0);
        assert!(bar.model.count_pieces(0) >= Some(2));
    }
}

#[test]
fn the_break_strain_does_not_depend_on_the_step() {
    let breaks = |part: f64| Bar::new(2, DVec3::new(0.6, 0.2, 0.1), 0.04, &brittle(0.1), 1).pull(0.4, 0.4, part);
    let (one, half) = (breaks(1.0), breaks(0.5));
    assert!((one / half - 1.0).abs() < 0.03, "{one} {half}");
}

#[test]
fn open_slots_dock_at_their_rate_whatever_the_step() {
    // Slots that were just emptied, partners in place: after a time t a part exp(-λt) is still open.
    let open_after = |dt: f64| {
        let (mut model, points) = block_of(3, DVec3::splat(0.3), 0.03, glam::DMat3::IDENTITY, &material(None), 1);
        model.bonds.partners.fill(NOBODY);
        let all = model.bonds.partners.len() as f64;
        let inside = |m: &LatticeModel| m.bonds.partners.iter().filter(|p| **p != NOBODY).count() as f64;
        let full = {
            let (other, _) = block_of(3, DVec3::splat(0.3), 0.03, glam::DMat3::IDENTITY, &material(None), 1);
            inside(&other)
        };
        model.bonds.rates.fill(50.0);
        for n in 0..(0.01 / dt).round() as u64 {
            // A look at the state at rest: nothing moves.
            model.prepare(&points, dt, n);
        }
        assert!(full < all);
        inside(&model) / full
    };
    let (coarse, fine) = (open_after(2e-3), open_after(2e-4));
    assert!((coarse - fine).abs() < 0.03 && coarse > 0.2 && coarse < 0.6, "{coarse} {fine}");
}

/// Widths of a bar in slices along it, over its width at the start, and the number of particles in each.
fn profile(points: &Points, width: f64, spacing: f64) -> Vec<(f64, usize)> {
    let far = points.positions.iter().map(|p| p.x).fold(0.0, f64::max);
    let mut slices = vec![(f64::INFINITY, f64::NEG_INFINITY, 0); 16];
    for p in &points.positions {
        let slice = &mut slices[(((p.x + far) / (2.0 * far) * 16.0) as usize).min(15)];
        *slice = (slice.0.min(p.y), slice.1.max(p.y), slice.2 + 1);
    }
    let height = 0.75f64.sqrt() * spacing;
    slices.iter().map(|s| if s.2 > 0 { ((s.1 - s.0 + height) / width, s.2) } else { (0.0, 0) }).collect()
}

fn ductile(poisson: f64, yield_bound: f64) -> MaterialSpec {
    let lattice = LatticeSpec { poisson, yield_bound, ..LatticeSpec::default() };
    MaterialSpec { young: 3e5, damping: 30.0, lattice: Some(lattice), ..material(None) }
}

fn mean_volume(bar: &mut Bar) -> f64 {
    let mut stretches = vec![glam::DMat3::IDENTITY; bar.points.len()];
    bar.model.write_deformations(&bar.points, &mut stretches);
    stretches.iter().map(|f| f.determinant()).sum::<f64>() / stretches.len() as f64
}

#[test]
fn a_bar_with_a_poissons_ratio_gets_thinner_by_it() {
    for (dimensions, size) in [(2, DVec3::new(1.0, 0.24, 0.1)), (3, DVec3::new(0.8, 0.24, 0.24))] {
        let spacing = if dimensions == 2 { 0.03 } else { 0.05 };
        let mut bar = Bar::new(dimensions, size, spacing, &ductile(0.4, 0.8), 1);
        let middle: Vec<usize> = (0..bar.points.len()).filter(|&i| bar.points.positions[i].x.abs() < 0.15).collect();
        let spread = |bar: &Bar, axis: DVec3| {
            let far = |s: f64| middle.iter().map(|&i| s * bar.points.positions[i].dot(axis)).fold(0.0, f64::max);
            far(1.0) + far(-1.0)
        };
        let before = [spread(&bar, DVec3::X), spread(&bar, DVec3::Y)];
        bar.pull(0.2, 0.2, 1.0);
        bar.pull(0.0, 0.3, 1.0);
        let along = spread(&bar, DVec3::X) / before[0] - 1.0;
        let across = spread(&bar, DVec3::Y) / before[1] - 1.0;
        println!("{dimensions}: {along} {across}: {}", -across / along);
        assert!(along > 0.03 && (-across / along - 0.4).abs() < 0.06, "{dimensions}: {along} {across}");
    }
}

#[test]
fn a_ductile_bar_necks_keeps_its_volume_and_breaks_at_the_neck() {
    let (width, spacing) = (0.24, 0.03);
    let mut bar = Bar::new(2, DVec3::new(1.0, width, 0.1), spacing, &ductile(0.45, 0.15), 1);
    let (mut thinnest, mut place, mut volume, mut strain) = (1.0, 0, 1.0, 0.0);
    while strain < 0.4 && bar.model.count_pieces(0) == Some(1) {
        bar.pull(0.2, 0.025, 1.0);
        strain += 0.005;
        let slices = profile(&bar.points, width, spacing);
        let inner = &slices[2..14];
        let mut widths: Vec<f64> = inner.iter().map(|s| s.0).collect();
        widths.sort_by(f64::total_cmp);
        let narrow = widths[0] / widths[8];
        if narrow < thinnest && bar.model.count_pieces(0) == Some(1) {
            let narrowest = (0..12).min_by(|a, b| inner[*a].0.total_cmp(&inner[*b].0)).unwrap_or(0);
            (thinnest, place, volume) = (narrow, narrowest, mean_volume(&mut bar));
        }
    }
    bar.pull(0.2, 0.15, 1.0);
    bar.pull(0.2, 0.15, 1.0);
    let slices = profile(&bar.points, width, spacing);
    let broken = (0..12).min_by_key(|k| slices[2 + *k].1).unwrap_or(0);
    println!("neck {thinnest} of the rest at {place}, volume {volume}, breaks at {strain} in {broken}");
    assert!(thinnest < 0.8, "{thinnest}");
    assert!((volume - 1.0).abs() < 0.04, "{volume}");
    assert!(strain > 0.1 && strain < 0.4, "{strain}");
    assert!(place.abs_diff(broken) <= 2, "{place} {broken}");
    assert!(bar.model.count_pieces(0) >= Some(2));
}
