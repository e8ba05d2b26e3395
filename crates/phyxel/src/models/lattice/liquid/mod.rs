//! The liquid: smoothed particles whose pressure is solved for, with viscosity and surface tension.
//!
//! `search` sorts matter into cells and makes lists, `walls` adds what colliders displace, `viscosity`, `tension` and
//! `pressure` change the velocities. Densities are sums of volumes, not masses, over that of the lattice at rest, so that light and
//! heavy matter may mix. Solid matter takes part as what is pushed: it fills space and gets the opposite of every force.

pub mod kernel;
mod pairs;
mod pressure;
mod rows;
mod search;
#[cfg(test)]
mod tank;
mod tension;
#[cfg(test)]
mod tests;
mod viscosity;
mod walls;

pub use kernel::{Dimensions, SUPPORT};
pub use pressure::Solved;

use crate::contact::Colliders;
use crate::models::mls::flow::lanes::Row;
use crate::neighbors::Grid;
use glam::{DVec3, Vec3};
use kernel::WallTable;
use pressure::Cell;
use rayon::prelude::*;
use rows::Eight;
use search::{Chunk, Found, Sorted};
use tension::Pull;
use walls::{Reach, Touch};

/// Part of an excess of density that a step takes away ...
const CORRECTION: f32 = 0.5;
/// ... and its largest rate, in the speed of the correction over the support. What has been pushed into each other during long steps would be thrown apart by a
/// short one.
const HASTE: f64 = 3.0;
/// Most iterations of the pressure in a step.
const MOST_ITERATIONS: usize = 200;
/// Diagonals below this part of that of the lattice mean a point without neighbors.
const LEAST_DIAGONAL: f32 = 1e-4;

/// One particle as the liquid sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Particle {
    /// [m]
    pub position: DVec3,
    /// At rest [m³]; in 2D the area times 1 m.
    pub volume: f64,
    /// [kg]; infinite for what is held.
    pub mass: f64,
    /// Dynamic viscosity [Pa s].
    pub viscosity: f64,
    /// Surface tension [N/m].
    pub tension: f64,
    /// Whether it has pressure; solid matter is only pushed.
    pub liquid: bool,
}

/// How the pressure is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pressure {
    /// Solved for, until the mean error of the density is below the tolerance.
    Solve {
        /// Mean error of the density over the density at rest.
        tolerance: f64,
        /// Speed with which matter that is too dense goes apart at most [m/s].
        haste: f64,
    },
    /// From the density by a speed of sound [m/s].
    Sound(f64),
}

/// Liquid matter of one spacing.
#[derive(Debug, Clone)]
pub struct Liquid {
    dimensions: Dimensions,
    /// Support radius H [m].
    support: f64,
    rest_density: f64,
    table: WallTable,
    share: f64,
    /// Surface tension of the lattice.
    pull: Pull,
    /// Pressure of every point of the table at the last step [Pa]; the next solve begins with it. State.
    pub pressures: Vec<f64>,
    /// Scratch: slots in the order of the cells.
    order: Vec<u32>,
    particles: Vec<Particle>,
    sorted: Sorted,
    chunks: Vec<Chunk>,
    found: Vec<Found>,
    touches: Vec<Touch>,
    wall_drags: Vec<f32>,
    /// Gradient of the density that walls add, and the density.
    behind: Vec<[f32; 4]>,
    rows: Vec<Row>,
    records: Vec<Eight>,
    cells: Vec<Cell>,
    scaled: Vec<f32>,
    velocities: Vec<Vec3>,
    heaviness: Vec<f32>,
    sums: Vec<[f32; 3]>,
    solver: pressure::Solver,
    viscous: viscosity::Solver,
}

/// What a step did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiquidReport {
    /// Of the pressure.
    pub pressure: Solved,
    /// Iterations of the viscosity.
    pub viscous_iterations: usize,
    /// Work of the surface tension [J].
    pub tension_work: f64,
    /// Work of the pressure [J]: all of it when it follows from the density, else what it may have done by correcting the density and by
    /// its own error.
    pub pressure_work: f64,
}

impl Liquid {
    /// Liquid of lattice spacing `spacing` [m].
    pub fn new(dimensions: Dimensions, spacing: f64) -> Self {
        let table = WallTable::new(dimensions);
        let rest_density = kernel::rest_density(dimensions);
        Self {
            dimensions,
            support: SUPPORT * spacing,
            rest_density,
            pull: Pull::new(dimensions),
            share: kernel::wall_share(dimensions, &table),
            table,
            pressures: Vec::new(),
            order: Vec::new(),
            particles: Vec::new(),
            sorted: Sorted::default(),
            chunks: Vec::new(),
            found: Vec::new(),
            touches: Vec::new(),
            wall_drags: Vec::new(),
            behind: Vec::new(),
            rows: Vec::new(),
            records: Vec::new(),
            cells: Vec::new(),
            scaled: Vec::new(),
            velocities: Vec::new(),
            heaviness: Vec::new(),
            sums: Vec::new(),
            solver: pressure::Solver::default(),
            viscous: viscosity::Solver::default(),
        }
    }

    /// Density over that at rest of each slot, walls included. Slot k is point `order()[k]`.
    pub fn densities(&self) -> impl Iterator<Item = f64> {
        self.found.iter().zip(&self.behind).map(|(f, b)| f64::from(f.density + b[3]))
    }

    /// Point of each slot.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Finds who is near whom among `members` and how dense it is, with walls as they are in a step of `dt` [s].
    pub fn find(&mut self, members: &[u32], particle: impl Fn(u32) -> Particle + Sync, colliders: &Colliders, dt: f64) {
        let places: Vec<DVec3> = members.par_iter().map(|&i| particle(i).position).collect();
        // A hair wider than the radius, so that rounding never puts two neighbors two cells apart.
        let grid = Grid::new(&places, self.support * (1.0 + 1e-5));
        self.order.clear();
        self.order.extend(grid.order().iter().map(|&k| members[k as usize]));
        self.order.par_iter().map(|&i| particle(i)).collect_into_vec(&mut self.particles);
        self.sort();
        let scale = (self.dimensions.norm() / self.rest_density) as f32;
        search::search(&grid, &self.sorted, scale, &mut self.chunks, &mut self.found);
        let reach =
            Reach { table: &self.table, support: self.support, share: self.share, rest_density: self.rest_density, dt };
        let positions = |s: usize| self.particles[s].position;
        self.touches = walls::find(&grid, self.order.len(), positions, colliders, &reach);
        self.behind.clear();
        self.behind.resize(self.order.len(), [0.0; 4]);
        for touch in &self.touches {
            let behind = &mut self.behind[touch.slot as usize];
            let gradient = touch.gradient.as_vec3().to_array();
            for k in 0..3 {
                behind[k] += gradient[k];
            }
            behind[3] += touch.density as f32;
        }
    }

    /// Coordinates in units of the support, from the middle of all matter.
    fn sort(&mut self) {
        let bounds = crate::geometry::Bounds::of(self.particles.iter().map(|p| p.position));
        let middle = if self.particles.is_empty() { DVec3::ZERO } else { bounds.center() };
        let per_volume = self.support.powi(-self.dimensions.count());
        let Sorted { x, y, z, volumes } = &mut self.sorted;
        for list in [&mut *x, &mut *y, &mut *z, &mut *volumes] {
            list.clear();
        }
        for p in &self.particles {
            let at = (p.position - middle) / self.support;
            x.push(at.x as f32);
            y.push(at.y as f32);
            z.push(at.z as f32);
            volumes.push((p.volume * per_volume) as f32);
        }
    }

    /// Changes the velocities [m/s] of a step of `dt` [s] by viscosity, surface tension and pressure. `find` comes before.
    pub fn push(&mut self, velocities: &mut [DVec3], pressure: Pressure, dt: f64) -> LiquidReport {
        let mut report = LiquidReport::default();
        if self.order.is_empty() || dt <= 0.0 {
            return report;
        }
        let reference = self.particles.iter().map(|p| p.mass / p.volume).find(|d| d.is_finite() && *d > 0.0);
        let reference = reference.unwrap_or(1000.0);
        self.load(velocities, reference);
        let start = self.velocities.clone();
        report.tension_work = self.contract(reference, dt);
        report.viscous_iterations = self.resist(reference, dt);
        let (solved, work) = self.press(pressure, reference, dt);
        report.pressure = solved;
        report.pressure_work = match pressure {
            Pressure::Sound(_) => work,
            Pressure::Solve { haste, .. } => {
                self.correction_work(self.most_correction(haste, dt)) + solved.slack * self.unit_energy(reference, dt)
            }
        };
        let out = self.velocities.iter().zip(&start);
        for (&i, (v, before)) in self.order.iter().zip(out) {
            velocities[i as usize] += (*v - *before).as_dvec3();
        }
        report
    }

    /// Adds the impulses [N s] that colliders gave through the pressure in the last `push` of `dt` [s], and returns the work of those that
    /// moved [J].
    pub fn add_impulses(&self, impulses: &mut [DVec3], dt: f64) -> f64 {
        let mut work = 0.0;
        for touch in &self.touches {
            let (s, k) = (touch.slot as usize, touch.collider as usize);
            let particle = &self.particles[s];
            if let (Some(impulse), true) = (impulses.get_mut(k), particle.liquid) {
                let pressure = self.pressures[self.order[s] as usize];
                let given = -touch.gradient * (pressure * particle.volume * dt / self.support);
                *impulse += given;
                work += given.dot(touch.velocity);
            }
        }
        work
    }

    /// Energy of a unit of scaled pressure in a unit of scaled volume [J].
    fn unit_energy(&self, reference: f64, dt: f64) -> f64 {
        reference * (self.support / dt).powi(2) * self.support.powi(self.dimensions.count())
    }

    /// Pressure times the volume that is given back [J].
    fn correction_work(&self, most: f32) -> f64 {
        let given = |density: f64| f64::from(corrected((density - 1.0) as f32, most).max(0.0));
        let one = |(c, (p, &i)): (f64, (&Particle, &u32))| given(c) * p.volume * self.pressures[i as usize];
        self.densities().zip(self.particles.iter().zip(&self.order)).map(one).sum()
    }

    /// Largest part of the density that a step of `dt` [s] takes away.
    fn most_correction(&self, haste: f64, dt: f64) -> f32 {
        (HASTE * haste * dt / self.support) as f32
    }

    fn load(&mut self, velocities: &[DVec3], reference: f64) {
        self.velocities.clear();
        self.velocities.extend(self.order.iter().map(|&i| velocities[i as usize].as_vec3()));
        self.heaviness.clear();
        self.heaviness.extend(self.particles.iter().map(|p| (p.mass / (p.volume * reference)) as f32));
        let Sorted { x, y, z, volumes } = &self.sorted;
        self.rows.clear();
        self.rows.extend((0..x.len()).map(|s| Row([x[s], y[s], z[s], volumes[s], 0.0, 0.0, 0.0, 0.0])));
        self.sums.resize(x.len(), [0.0; 3]);
    }

    /// Surface tension.
    fn contract(&mut self, reference: f64, dt: f64) -> f64 {
        let tension = self.particles.iter().fold(0.0, |m: f64, p| m.max(p.tension));
        if tension <= 0.0 {
            return 0.0;
        }
        let strongest = tension.sqrt();
        for (row, p) in self.rows.iter_mut().zip(&self.particles) {
            row.0[4] = (p.tension.max(0.0).sqrt() / strongest) as f32;
        }
        pairs::sum(&pairs::Cohesion, &self.chunks, &self.rows, &mut self.sums);
        let spacing = self.support / SUPPORT;
        let strength = (tension * self.pull.strength * dt / (reference * spacing * spacing)) as f32;
        let mut work = 0.0;
        for (s, v) in self.velocities.iter_mut().enumerate() {
            let change = Vec3::from_array(self.sums[s]) * (-strength / self.heaviness[s]);
            let mass = self.particles[s].mass;
            if mass.is_finite() {
                work += mass * f64::from(change.dot(*v + 0.5 * change));
            }
            *v += change;
        }
        work
    }

    fn resist(&mut self, reference: f64, dt: f64) -> usize {
        if self.particles.iter().all(|p| p.viscosity <= 0.0) {
            return 0;
        }
        for (row, p) in self.rows.iter_mut().zip(&self.particles) {
            row.0[7] = p.viscosity as f32;
        }
        self.wall_drags.clear();
        self.wall_drags.extend(self.touches.iter().map(|t| {
            let p = &self.particles[t.slot as usize];
            (p.viscosity * t.drag * dt / reference) as f32
        }));
        let factor =
            f64::from(self.dimensions.count() + 2) * dt * self.rest_density / (reference * self.support.powi(2));
        let mut problem = viscosity::Problem {
            chunks: &self.chunks,
            rows: &mut self.rows,
            heaviness: &self.heaviness,
            touches: &self.touches,
            wall_drags: &self.wall_drags,
            factor: factor as f32,
        };
        self.viscous.solve(&mut problem, &mut self.velocities)
    }

    /// Finds and applies the pressure; its work [J].
    fn press(&mut self, pressure: Pressure, reference: f64, dt: f64) -> (Solved, f64) {
        let per_speed = dt / self.support;
        let unit = reference / (per_speed * per_speed);
        let most = match pressure {
            Pressure::Solve { haste, .. } => self.most_correction(haste, dt),
            Pressure::Sound(_) => f32::INFINITY,
        };
        self.fill_cells(per_speed as f32, most);
        self.pressures
            .resize(self.pressures.len().max(1 + self.order.iter().copied().max().unwrap_or(0) as usize), 0.0);
        self.scaled.clear();
        let mut solved = Solved::default();
        match pressure {
            Pressure::Sound(speed) => {
                let stiffness = (reference * speed * speed / unit) as f32;
                let excess = self.found.iter().zip(&self.behind).map(|(f, b)| f.density + b[3] - 1.0);
                self.scaled.extend(excess.zip(&self.cells).map(|(c, cell)| {
                    if cell.per_diagonal > 0.0 { stiffness * c.max(0.0) / cell.lightness } else { 0.0 }
                }));
            }
            Pressure::Solve { tolerance, .. } => {
                let known = &self.pressures;
                self.scaled.extend(self.order.iter().map(|&i| (known[i as usize] / unit) as f32));
                solved = self.solver.solve(&self.chunks, &self.cells, &mut self.scaled, tolerance, MOST_ITERATIONS);
            }
        }
        for ((row, p), &i) in self.rows.iter_mut().zip(&self.scaled).zip(&self.order) {
            row.0[4] = *p;
            self.pressures[i as usize] = f64::from(*p) * unit;
        }
        pairs::sum(&pairs::Pressure, &self.chunks, &self.rows, &mut self.sums);
        let per_speed = 1.0 / per_speed as f32;
        let mut work = 0.0;
        for (s, v) in self.velocities.iter_mut().enumerate() {
            let [x, y, z, _] = self.behind[s];
            let push = Vec3::from_array(self.sums[s]) + self.scaled[s] * Vec3::new(x, y, z);
            let change = push * (-self.cells[s].lightness * per_speed);
            if self.particles[s].mass.is_finite() {
                work += self.particles[s].mass * f64::from(change.dot(*v + 0.5 * change));
            }
            *v += change;
        }
        (solved, work)
    }

    /// Gradients, diagonals and the density after the step without pressure.
    fn fill_cells(&mut self, per_speed: f32, most: f32) {
        let Sorted { x, y, z, volumes } = &self.sorted;
        let velocities = &self.velocities;
        self.records.clear();
        self.records.extend((0..x.len()).map(|s| {
            let (at, u, v) = (Vec3::new(x[s], y[s], z[s]), velocities[s] * per_speed, volumes[s]);
            Eight([v * at.x, v * at.y, v * at.z, v, v * u.x, v * u.y, v * u.z, v * at.dot(u)])
        }));
        // A step may take walls along.
        let mut carried = vec![0.0f32; x.len()];
        for t in &self.touches {
            carried[t.slot as usize] += t.gradient.dot(t.velocity) as f32 * per_speed;
        }
        let lightest = self.heaviness.iter().fold(0.0f32, |m, h| m.max(1.0 / h));
        let (found, behind, particles, heaviness) = (&self.found, &self.behind, &self.particles, &self.heaviness);
        self.cells.resize(x.len(), Cell::default());
        let typical = volumes.first().copied().unwrap_or(1.0);
        rows::sum(&self.chunks, &self.records, &mut self.cells, |s, sum, cell| {
            let (at, u) = (Vec3::new(x[s], y[s], z[s]), velocities[s] * per_speed);
            let wall = Vec3::new(behind[s][0], behind[s][1], behind[s][2]);
            let inner = at * sum[3] - Vec3::new(sum[0], sum[1], sum[2]);
            let gradient = inner + wall;
            let flow = inner.dot(u) - at.dot(Vec3::new(sum[4], sum[5], sum[6])) + sum[7];
            let dense = found[s].density + behind[s][3] - 1.0;
            let dense = corrected(dense, most);
            let lightness = 1.0 / heaviness[s];
            let diagonal = lightness * gradient.length_squared() + lightest * volumes[s] * found[s].stiffness;
            *cell = Cell {
                x: at.to_array(),
                volume: volumes[s],
                gradient: gradient.to_array(),
                lightness,
                excess: dense + flow + wall.dot(u) - carried[s],
                per_diagonal: if particles[s].liquid && diagonal > LEAST_DIAGONAL * typical {
                    1.0 / diagonal
                } else {
                    0.0
                },
            };
            [0.0; 2]
        });
    }
}

/// What a step takes away of an excess of density, `most` at most; what is missing counts whole.
fn corrected(excess: f32, most: f32) -> f32 {
    if excess > 0.0 { (CORRECTION * excess).min(most) } else { excess }
}
