//! Prints CPU nanoseconds per point of each phase of an explicit elastic substep, with a floor contact loop.
//!
//! `cargo run --release --example kernel_bench -- [side] [rounds] [jitter] [threads]`; side 27 (19683 points), 40 rounds, no jitter,
//! one thread. With more threads the times are wall times: run it on a quiet machine.
#![allow(unsafe_code, reason = "the CPU clock of a thread is a system call that std does not offer")]

use glam::{DMat3, DVec3};
use phyxel::models::mls::{Instructions, MlsBody, MlsModel};
use phyxel::points::Points;
use phyxel::random::Random;
use phyxel::scene::{MaterialSpec, Precision};

fn main() {
    let threads = std::env::args().nth(4).and_then(|a| a.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    pool.install(run);
}

fn run() {
    let argument = |k: usize, default: f64| std::env::args().nth(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (side, rounds, jitter) = (argument(1, 27.0) as usize, argument(2, 40.0) as usize, argument(3, 0.0));
    let material = MaterialSpec {
        young: 1e6,
        poisson: 0.3,
        density: 1000.0,
        damping: 0.0,
        smoothing: 0.0,
        friction: 0.5,
        collapse_ratio: 0.6,
        ..MaterialSpec::default()
    };
    let points = cube(side, jitter);
    let n = points.len();
    println!(
        "{n} points, {} threads, ns per point, best of {rounds} rounds of 3 substeps; {:?}",
        rayon::current_num_threads(),
        Instructions::best()
    );
    println!(
        "{:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}",
        "format", "stress", "kick", "floor", "move", "total", "bytes/pt"
    );
    let mut runs: Vec<_> = [Precision::F32, Precision::Mixed, Precision::F64]
        .into_iter()
        .map(|precision| {
            let body = MlsBody { range: 0..n, material: &material, rotation: DMat3::IDENTITY, patches: &[] };
            let model = MlsModel::new(&points, &[body], precision).expect("a valid material");
            Run { precision, model, points: points.clone(), best: [f64::INFINITY; 5] }
        })
        .collect();
    for _ in 0..rounds {
        for run in &mut runs {
            run.round();
        }
    }
    for run in &runs {
        let ns = run.best.map(|t| t / n as f64);
        let bytes = run.model.packed_bytes() / n;
        println!(
            "{:>8} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>10}",
            format!("{:?}", run.precision),
            ns[0],
            ns[1],
            ns[2],
            ns[3],
            ns[4],
            bytes
        );
        assert!(run.points.velocities.iter().all(|v| v.is_finite() && v.length() < 50.0), "the run blew up");
    }
    let counts = runs[0].model.stencil_report();
    println!("neighbors: fewest {}, mean {:.1}, most {}", counts.fewest, counts.mean, counts.most);
}

struct Run {
    precision: Precision,
    model: MlsModel,
    points: Points,
    /// Best time of each phase and of a whole substep [ns].
    best: [f64; 5],
}

impl Run {
    fn round(&mut self) {
        let dt = self.model.stable_time_step();
        let gravity = DVec3::new(0.0, -9.81, 0.0);
        self.model.external_forces = false;
        for _ in 0..3 {
            let mut marks = [clock(), 0.0, 0.0, 0.0, 0.0];
            self.model.compute_stresses(&self.points);
            marks[1] = clock();
            self.model.integrate_velocities(&mut self.points, dt, gravity);
            marks[2] = clock();
            floor(&mut self.points, dt);
            marks[3] = clock();
            assert!(self.model.move_points(&mut self.points, dt).finite);
            marks[4] = clock();
            for k in 0..4 {
                self.best[k] = self.best[k].min(marks[k + 1] - marks[k]);
            }
            self.best[4] = self.best[4].min(marks[4] - marks[0]);
        }
    }
}

/// Stops points at y = 0, with Coulomb friction.
fn floor(points: &mut Points, dt: f64) {
    for (x, v) in points.positions.iter().zip(&mut points.velocities) {
        let landing = -x.y / dt;
        if v.y < landing {
            let impulse = landing - v.y;
            let tangential = DVec3::new(v.x, 0.0, v.z);
            let speed = tangential.length();
            let left = if speed > 0.0 { (1.0 - 0.5 * impulse / speed).max(0.0) } else { 0.0 };
            *v = tangential * left + DVec3::Y * landing;
        }
    }
}

/// A cube of edge 1 m just above the floor.
fn cube(side: usize, jitter: f64) -> Points {
    let a = 1.0 / side as f64;
    let mut random = Random::new(1, 0);
    let mut points = Points::default();
    for z in 0..side {
        for y in 0..side {
            for x in 0..side {
                let center = DVec3::new(x as f64 + 0.5, y as f64 + 0.5, z as f64 + 0.5) * a;
                let place = center + random.in_cube() * jitter * a + DVec3::Y * 1e-3;
                points.push(0, place, 1000.0 * a * a * a, a * a * a, a);
            }
        }
    }
    points.velocities.fill(DVec3::new(0.1, -1.0, 0.0));
    points
}

/// CPU time of this thread, wall time with several threads [ns].
#[cfg(target_os = "linux")]
fn clock() -> f64 {
    if rayon::current_num_threads() > 1 {
        return wall();
    }
    #[repr(C)]
    struct Time {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Time) -> i32;
    }
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is a valid place; 3 is CLOCK_THREAD_CPUTIME_ID.
    unsafe { clock_gettime(3, &mut time) };
    time.seconds as f64 * 1e9 + time.nanoseconds as f64
}

/// Wall time where the thread clock is not known [ns].
#[cfg(not(target_os = "linux"))]
fn clock() -> f64 {
    wall()
}

/// Wall time [ns].
fn wall() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as f64
}
