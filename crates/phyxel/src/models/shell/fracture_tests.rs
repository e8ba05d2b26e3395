//! Sheets pulled apart: they part cleanly, keep their momentum, and go on with the same bits after a restart.

use super::body::Shell;
use super::cracks::Piece;
use super::fracture::{Fracture, FractureLaw, Moment};
use super::law::{Sheet, ShellLaw};
use super::nodes::{NodeOptions, spread_nodes};
use super::stiffening::Stiffening;
use super::surface::TriangleSurface;
use crate::random::Random;
use glam::DVec3;

const SHEET: Sheet = Sheet { young: 5e5, poisson: 0.2, thickness: 0.002 };
const DENSITY: f64 = 300.0;
const LAW: FractureLaw =
    FractureLaw { tension: 0.1, bending: f64::INFINITY, microcracks: 0.0, thickness: SHEET.thickness };

/// A sheet of 1.0 x 0.7 m in a machine that pulls at its short sides, most where the weak point is.
#[derive(Clone)]
struct Pull {
    shell: Shell,
    fracture: Fracture,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    masses: Vec<f64>,
    time: f64,
    dt: f64,
    held: bool,
}

impl Pull {
    fn new(spacing: f64, seed: u64, law: FractureLaw) -> Self {
        let options = NodeOptions { spacing, rows: false, seed };
        let nodes = spread_nodes(&TriangleSurface::rectangle(1.0, 0.7), &options, &|p, n| (p, n));
        let weak = |p: &DVec3| if p.distance(DVec3::new(0.0, 0.0, -0.35)) < 0.7 * spacing { 0.4 } else { 1.0 };
        let strengths = nodes.positions.iter().map(weak).collect();
        let masses: Vec<f64> = nodes.areas.iter().map(|a| a * DENSITY * SHEET.thickness).collect();
        let positions = nodes.positions.clone();
        let mut shell = Shell::new(nodes, ShellLaw::Tensor, SHEET);
        let dt = shell.time_step(&masses);
        let fracture = Fracture::new(law, &shell, strengths);
        let velocities = vec![DVec3::ZERO; positions.len()];
        Self { shell, fracture, positions, velocities, masses, time: 0.0, dt, held: true }
    }

    /// Of a material that stiffens with strain.
    fn stiffening(mut self, stiffening: Stiffening) -> Self {
        self.shell = self.shell.with_stiffening(stiffening);
        self.fracture = Fracture::new(LAW, &self.shell, self.fracture.strengths().to_vec());
        self.dt /= (1.0 + 1.125 * stiffening.rise).sqrt();
        self
    }

    fn step(&mut self) {
        let mut forces = vec![DVec3::ZERO; self.positions.len()];
        // A little ahead, which damps the fastest vibrations.
        let ahead: Vec<DVec3> =
            self.positions.iter().zip(&self.velocities).map(|(x, v)| *x + 0.2 * self.dt * *v).collect();
        self.shell.measure(&ahead);
        self.shell.add_forces(&mut forces);
        let moment = Moment { time: self.time, positions: &self.positions, masses: &self.masses, density: DENSITY };
        if let Some(opened) = self.fracture.crack(&mut self.shell, &moment) {
            self.dt = self.dt.min(opened.step);
        }
        let rest = self.shell.nodes().positions.clone();
        for i in 0..forces.len() {
            self.velocities[i] += self.dt / self.masses[i] * forces[i];
            if self.held && rest[i].x.abs() > 0.45 {
                self.velocities[i] = DVec3::X * 0.3 * (0.5 - rest[i].z) * rest[i].x.signum();
            }
            self.positions[i] += self.dt * self.velocities[i];
        }
        self.time += self.dt;
    }

    fn run(&mut self, steps: usize) {
        (0..steps).for_each(|_| self.step());
    }

    fn pieces(&self) -> usize {
        let network = self.shell.network();
        crate::measure::count_pieces(network.len(), |i| network.neighbors_of(i).iter().map(|&j| j as usize))
    }

    fn momentum(&self) -> DVec3 {
        self.velocities.iter().zip(&self.masses).map(|(v, m)| *m * *v).sum()
    }
}

#[test]
fn a_sheet_parts_from_its_weak_point_down_and_leaves_two_pieces() {
    for seed in 0..4 {
        let mut pull = Pull::new(0.06, seed, LAW);
        pull.run(1200);
        println!("seed {seed}: {} s, {} pieces, {} of crack", pull.time, pull.pieces(), pull.fracture.pieces().len());
        let cracks = pull.fracture.pieces();
        assert!(cracks[0].from.distance(DVec3::new(0.0, 0.0, -0.35)) < 0.1, "seed {seed}: {:?}", cracks[0]);
        assert_eq!(pull.pieces(), 2, "seed {seed}: {} pieces of crack", cracks.len());
        let fastest = pull.velocities.iter().fold(0.0, |m: f64, v| m.max(v.length()));
        assert!(fastest < 10.0, "seed {seed}: {fastest} m/s");
        // Wavy, but not wild: the way is not much longer than the sheet is wide.
        let way: f64 = cracks.iter().map(|p| p.from.distance(p.to)).sum();
        assert!((0.65..1.0).contains(&way), "seed {seed}: {way} m");
    }
}

#[test]
fn breaking_keeps_momentum_and_forces_are_still_slopes() {
    for stiffening in [Stiffening::default(), Stiffening { rise: 2.0, strain: 0.05 }] {
        keeps_momentum(Pull::new(0.08, 1, LAW).stiffening(stiffening));
    }
}

fn keeps_momentum(mut pull: Pull) {
    while pull.fracture.pieces().len() < 4 {
        pull.step();
    }
    pull.held = false;
    let (before, cracks) = (pull.momentum(), pull.fracture.pieces().len());
    pull.run(60);
    assert!(pull.fracture.pieces().len() > cracks);
    let shear = (SHEET.young / (2.0 * (1.0 + SHEET.poisson) * DENSITY)).sqrt();
    let scale = pull.masses.iter().sum::<f64>() * shear;
    assert!((pull.momentum() - before).length() < 1e-12 * scale);
    let wobble = |i: usize| 0.002 * Random::new(5, i as u64).in_cube();
    let positions: Vec<DVec3> = pull.positions.iter().enumerate().map(|(i, p)| *p + wobble(i)).collect();
    let mut evaluate = |positions: &[DVec3]| {
        let mut out = vec![DVec3::ZERO; positions.len()];
        pull.shell.measure(positions);
        pull.shell.add_forces(&mut out);
        (out, pull.shell.energy().iter().sum::<f64>())
    };
    let (forces, _) = evaluate(&positions);
    let largest = forces.iter().fold(0.0, |m: f64, f| m.max(f.length()));
    for i in (0..positions.len()).step_by(5) {
        let mut at = |s: f64| {
            let mut moved = positions.clone();
            moved[i].x += s;
            evaluate(&moved).1
        };
        let slope = (at(1e-7) - at(-1e-7)) / 2e-7;
        assert!((slope + forces[i].x).abs() < 1e-5 * largest, "{slope} {}", forces[i].x);
    }
}

#[test]
fn a_run_goes_on_with_the_same_bits_from_its_numbers() {
    let law = FractureLaw { microcracks: 0.3, ..LAW };
    let mut pull = Pull::new(0.08, 3, law);
    while pull.fracture.pieces().len() < 5 {
        pull.step();
    }
    let mut numbers = Vec::new();
    pull.fracture.save(&mut numbers);
    let mut other = Pull::new(0.08, 3, law);
    assert!(other.fracture.load(&mut other.shell, &numbers).is_some_and(|left| left.is_empty()));
    (other.positions, other.velocities) = (pull.positions.clone(), pull.velocities.clone());
    (other.time, other.dt) = (pull.time, pull.dt);
    // Back from later to before, too.
    let mut late = pull.clone();
    late.run(80);
    assert!(late.fracture.pieces().len() > pull.fracture.pieces().len());
    late.fracture.load(&mut late.shell, &numbers).unwrap();
    (late.positions, late.velocities) = (pull.positions.clone(), pull.velocities.clone());
    (late.time, late.dt) = (pull.time, pull.dt);
    for run in [&mut pull, &mut other, &mut late] {
        run.run(80);
    }
    assert!(pull.positions == other.positions, "from the start");
    assert!(pull.positions == late.positions, "from later");
    let pieces = |p: &Pull| p.fracture.pieces().to_vec();
    assert!(pieces(&pull) == pieces(&other) && pieces(&pull).len() > 5);
    assert!(other.fracture.load(&mut other.shell, &numbers[..numbers.len() - 1]).is_none());
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut pull = Pull::new(0.08, 2, LAW);
            pull.run(500);
            (pull.positions, pull.fracture.pieces().to_vec())
        })
    };
    let one: (Vec<DVec3>, Vec<Piece>) = run(1);
    assert!(!one.1.is_empty() && (2..=3).all(|threads| run(threads) == one));
}

#[test]
fn loose_nodes_and_scraps_stay_calm() {
    // Cut by hand into scraps of a few nodes each.
    let mut pull = Pull::new(0.1, 1, LAW);
    let cut = |from: DVec3, to: DVec3| Piece::new(from, to, DVec3::Y, 0.0);
    let mut numbers = vec![0.0, 0.0, 0.0, f64::INFINITY];
    let mut count = 0;
    for k in -3..=3 {
        let at = 0.15 * f64::from(k) + 0.02;
        for piece in [
            cut(DVec3::new(at, 0.0, -0.5), DVec3::new(at, 0.0, 0.5)),
            cut(DVec3::new(-0.6, 0.0, at), DVec3::new(0.6, 0.0, at)),
        ] {
            numbers.extend(piece.numbers());
            count += 1;
        }
    }
    numbers[0] = f64::from(count);
    pull.fracture.load(&mut pull.shell, &numbers).unwrap();
    assert!(pull.pieces() > 20);
    pull.held = false;
    for (i, v) in pull.velocities.iter_mut().enumerate() {
        *v = Random::new(3, i as u64).in_cube();
    }
    let energy = |pull: &mut Pull| {
        pull.shell.measure(&pull.positions);
        let kinetic: f64 = pull.velocities.iter().zip(&pull.masses).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        kinetic + pull.shell.energy().iter().sum::<f64>()
    };
    let before = energy(&mut pull);
    pull.run(3000);
    let after = energy(&mut pull);
    assert!(after < 1.1 * before, "{after} of {before}");
}
