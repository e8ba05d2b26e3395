use super::*;
use crate::models::shell::Shell;
use crate::models::shell::law::{Sheet, ShellLaw};
use crate::models::shell::nodes::{NodeOptions, spread_nodes};
use crate::models::shell::surface::TriangleSurface;

const SHEET: Sheet = Sheet { young: 60e3, poisson: 0.3, thickness: 2e-3 };
const DENSITY: f64 = 300.0;

/// Sheets that move by their own forces and contact alone.
struct Lab {
    shells: Vec<Shell>,
    firsts: Vec<usize>,
    points: Points,
    contact: ShellContact,
    dt: f64,
    /// Angular momentum that each pass has changed so far [N m s].
    turned: [f64; 2],
}

impl Lab {
    /// Sheets of 0.5 m by 0.35 m, placed by `place` and shaped as it says.
    fn new(count: usize, spacing: f64, place: impl Fn(usize, DVec3) -> DVec3) -> Self {
        let mut lab = Self {
            shells: Vec::new(),
            firsts: Vec::new(),
            points: Points::default(),
            contact: ShellContact::default(),
            dt: 1.0,
            turned: [0.0; 2],
        };
        let mut sheets = Vec::new();
        for s in 0..count {
            let options = NodeOptions { spacing, rows: false, seed: 1 + s as u64 };
            let nodes = spread_nodes(&TriangleSurface::rectangle(0.5, 0.35), &options, &|p, n| (p, n));
            let mut shell = Shell::new(nodes, ShellLaw::Tensor, SHEET);
            let first = lab.points.len();
            for (p, a) in shell.nodes().positions.iter().zip(&shell.nodes().areas) {
                let volume = a * SHEET.thickness;
                let i = lab.points.push(s as u32, place(s, *p), DENSITY * volume, volume, spacing);
                lab.points.rest_positions[i] = *p;
            }
            lab.dt = lab.dt.min(shell.time_step(&lab.points.masses[first..]));
            sheets.push(ContactSheet::of(&shell, first, 0.3));
            lab.shells.push(shell);
            lab.firsts.push(first);
        }
        lab.contact = ShellContact::new(sheets, lab.points.len());
        lab.contact.hold(&lab.points.masses, [].iter());
        lab
    }

    fn step(&mut self, gravity: f64, floor: Option<f64>) {
        let (points, dt) = (&mut self.points, self.dt);
        points.forces.fill(DVec3::ZERO);
        for (shell, &first) in self.shells.iter_mut().zip(&self.firsts) {
            let range = first..first + shell.nodes().positions.len();
            // A little ahead, as `smoothing` does.
            let ahead: Vec<DVec3> =
                range.clone().map(|i| points.positions[i] + 0.1 * dt * points.velocities[i]).collect();
            shell.measure(&ahead);
            shell.add_forces(&mut points.forces[range]);
        }
        for i in 0..points.len() {
            points.velocities[i] += dt * (points.forces[i] / points.masses[i] - gravity * DVec3::Y);
        }
        let spin =
            |p: &Points| (0..p.len()).map(|i| p.masses[i] * p.positions[i].cross(p.velocities[i])).sum::<DVec3>();
        let before = spin(points);
        self.contact.touch(points, dt);
        self.turned[0] += (spin(points) - before).length();
        if let Some(height) = floor {
            for i in 0..points.len() {
                let least = (height - points.positions[i].y) / dt;
                if points.velocities[i].y < least {
                    points.velocities[i] = DVec3::Y * least.min(0.1);
                }
            }
        }
        let before = spin(points);
        self.contact.keep_apart(points, dt);
        self.turned[1] += (spin(points) - before).length();
        for i in 0..points.len() {
            let v = points.velocities[i];
            points.positions[i] += dt * v;
        }
    }

    fn momentum(&self) -> DVec3 {
        self.points.masses.iter().zip(&self.points.velocities).map(|(m, v)| *m * *v).sum()
    }

    fn mean_velocity(&self, s: usize) -> f64 {
        let range = self.firsts[s]..self.firsts.get(s + 1).copied().unwrap_or(self.points.len());
        range.clone().map(|i| self.points.velocities[i].y).sum::<f64>() / range.len() as f64
    }
}

#[test]
fn two_sheets_shot_at_each_other_at_30_m_s_do_not_pass() {
    // The upper one is turned and tilted, so that edges and corners meet too.
    let turn = glam::DQuat::from_scaled_axis(DVec3::new(0.1, 0.6, 0.05));
    let mut lab = Lab::new(2, 0.04, |s, p| if s == 0 { p } else { turn * p + DVec3::Y * 0.06 });
    let first = lab.firsts[1];
    for i in 0..lab.points.len() {
        lab.points.velocities[i] = DVec3::Y * if i < first { 15.0 } else { -15.0 };
    }
    let before = lab.momentum();
    let size: f64 = lab.points.masses.iter().sum::<f64>() * 15.0;
    for step in 0..60 {
        lab.step(0.0, None);
        assert!(step % 5 > 0 || lab.contact.crossings(&lab.points.positions) == 0, "step {step}");
    }
    let after = lab.momentum();
    assert!((after - before).length() < 1e-12 * size, "{}", after - before);
    // Friction acts at a distance of the thickness, and the second pass pushes where parts will meet, not where they are.
    assert!(lab.turned.iter().all(|t| *t < 0.03 * 0.25 * size), "{:?} of {size}", lab.turned);
    // They have met and no longer approach; free of each other they would be 0.8 m past each other.
    assert!(lab.mean_velocity(0) < 5.0 && lab.mean_velocity(1) > -5.0);
    assert_eq!(lab.contact.crossings(&lab.points.positions), 0);
}

#[test]
fn a_folded_cloth_comes_to_rest_on_itself_at_its_thickness() {
    // Folded over at x = 0 with a gap of 3 cm; both halves fall on the floor.
    let radius = 0.015;
    let fold = |_: usize, p: DVec3| {
        let bent = std::f64::consts::PI * radius;
        let around = (p.x / radius + 0.5 * std::f64::consts::PI).clamp(0.0, std::f64::consts::PI);
        let flat = DVec3::new(-radius * around.sin(), -radius * (1.0 + around.cos()), p.z);
        let beyond = if p.x > 0.5 * bent { p.x - 0.5 * bent } else { (-0.5 * bent - p.x).max(0.0) };
        DVec3::new(flat.x + beyond, flat.y + 2.0 * radius + 0.01, flat.z)
    };
    let mut lab = Lab::new(1, 0.035, fold);
    for i in 0..lab.points.len() {
        lab.points.velocities[i].y = -3.0 * (lab.points.positions[i].y > 0.025) as u8 as f64;
    }
    for step in 0..700 {
        lab.step(9.81, Some(0.0));
        if step % 50 == 0 {
            assert_eq!(lab.contact.crossings(&lab.points.positions), 0, "step {step}");
            // Drag, so that it comes to rest soon.
            lab.points.velocities.iter_mut().for_each(|v| *v *= 0.7);
        }
    }
    assert_eq!(lab.contact.crossings(&lab.points.positions), 0);
    // Where both layers lie flat they are about a thickness apart, far less than half a spacing.
    let upper = |p: &&DVec3| p.x > 0.05 && p.x < 0.15 && p.y > 1e-3;
    let heights: Vec<f64> = lab.points.positions.iter().filter(upper).map(|p| p.y).collect();
    let mean = heights.iter().sum::<f64>() / heights.len() as f64;
    assert!(heights.len() > 5 && mean > 0.9 * SHEET.thickness && mean < 0.012, "{} at {mean}", heights.len());
    let fastest = lab.points.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
    assert!(fastest < 0.3, "{fastest}");
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_with_fresh_lists() {
    let run = |threads: usize, refresh: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut lab = Lab::new(2, 0.05, |s, p| p + DVec3::new(0.02, 0.02 * s as f64, 0.01));
            let first = lab.firsts[1];
            lab.points.velocities[first..].fill(DVec3::new(0.5, -8.0, 0.2));
            for _ in 0..40 {
                if refresh {
                    lab.contact.refresh();
                }
                lab.step(9.81, Some(-0.01));
            }
            lab.points.positions
        })
    };
    let one = run(1, false);
    assert!(one == run(3, false), "threads");
    assert!(one == run(2, true), "lists");
}

#[test]
fn without_sheets_and_with_held_points_nothing_bad_happens() {
    let mut points = Points::default();
    points.push(0, DVec3::ZERO, 1.0, 1.0, 0.1);
    let mut none = ShellContact::new(Vec::new(), 1);
    none.touch(&mut points, 1e-3);
    none.keep_apart(&mut points, 1e-3);
    // The lower sheet is held: the upper one stops and the lower one does not move.
    let mut lab = Lab::new(2, 0.06, |s, p| p + DVec3::Y * (0.02 * s as f64));
    let first = lab.firsts[1];
    let held: Vec<u32> = (0..first as u32).collect();
    lab.points.velocities[first..].fill(DVec3::Y * -30.0);
    lab.contact.hold(&lab.points.masses, held.iter());
    lab.contact.touch(&mut lab.points, 2e-3);
    lab.contact.keep_apart(&mut lab.points, 2e-3);
    assert!(lab.points.velocities[..first].iter().all(|v| *v == DVec3::ZERO));
    assert!(lab.points.velocities[first..].iter().all(|v| 0.02 + v.y * 2e-3 > 0.0));
}
