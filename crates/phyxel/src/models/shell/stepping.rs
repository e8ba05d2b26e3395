//! Implicit steps of the shells of a world.

use super::implicit::{Pace, Problem, SolveReport, Solver, Touch};
use super::model::ShellModel;
use crate::models::mls::implicit::Held;
use crate::points::Points;
use glam::DVec3;
use std::ops::Range;

/// What an implicitly stepped shell keeps.
#[derive(Debug, Default)]
pub(super) struct ImplicitPart {
    solver: Solver,
    pace: Pace,
    held: Vec<Held>,
    touches: Vec<Touch>,
}

/// What acts during a step; points are those of the world.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Step [s].
    pub dt: f64,
    /// Acceleration of gravity [m/s²].
    pub gravity: DVec3,
    /// Pins.
    pub held: &'a [Held],
    /// Colliders; their stiffness is set here.
    pub touches: &'a [Touch],
}

impl ShellModel {
    /// Steps all shells implicitly from now on.
    pub fn step_implicitly(&mut self) {
        self.parts.iter_mut().for_each(|part| part.implicit = Some(Box::default()));
    }

    /// Whether shells are stepped implicitly.
    pub fn is_implicit(&self) -> bool {
        self.parts.iter().any(|part| part.implicit.is_some())
    }

    /// Longest implicit step now [s].
    pub fn implicit_time_step(&self) -> f64 {
        let paces = self.parts.iter().filter_map(|part| part.implicit.as_ref());
        paces.map(|implicit| implicit.pace.step).fold(f64::INFINITY, f64::min)
    }

    /// Forgets what only speeds up steps, so that a resumed run has the same bits.
    pub fn forget(&mut self) {
        self.parts.iter_mut().filter_map(|part| part.implicit.as_mut()).for_each(|implicit| implicit.solver.forget());
    }

    /// Replaces the velocities by those at the end of the step, reads external forces, and writes to `reactions` the impulses of
    /// pins and colliders [N s].
    pub fn solve(&mut self, points: &mut Points, around: &Surroundings, reactions: &mut [DVec3]) -> SolveReport {
        let mut all = SolveReport { converged: true, ..SolveReport::default() };
        for part in &mut self.parts {
            let Some(implicit) = &mut part.implicit else { continue };
            let range = part.range.clone();
            // As stiff as the sheet itself.
            implicit.gather(around, &range, part.shell.sheet().membrane());
            // The solver moves the shell and with it these.
            let areas = if part.gas.stiffness > 0.0 { part.shell.gas.vectors().to_vec() } else { Vec::new() };
            let problem = Problem {
                dt: around.dt,
                gravity: around.gravity,
                masses: &points.masses[range.clone()],
                forces: &points.forces[range.clone()],
                held: &implicit.held,
                touches: &implicit.touches,
                gas: (!areas.is_empty()).then_some((&areas[..], part.gas.stiffness)),
            };
            let (positions, velocities) = (&points.positions[range.clone()], &mut points.velocities[range.clone()]);
            let report = implicit.solver.solve(&mut part.shell, &problem, positions, velocities);
            implicit.solver.reactions(&mut part.shell, &problem, positions, &mut reactions[range]);
            implicit.pace.learn(&report, around.dt);
            all.newton = all.newton.max(report.newton);
            all.cg += report.cg;
            all.factors += report.factors;
            all.energies += report.energies;
            all.converged &= report.converged;
        }
        all
    }

    pub(super) fn save_paces(&self, out: &mut Vec<f64>) {
        out.extend(self.parts.iter().filter_map(|part| part.implicit.as_ref()).map(|implicit| implicit.pace.step));
    }

    pub(super) fn load_paces<'a>(&mut self, mut numbers: &'a [f64]) -> Option<&'a [f64]> {
        for implicit in self.parts.iter_mut().filter_map(|part| part.implicit.as_mut()) {
            let (step, rest) = numbers.split_first()?;
            implicit.pace.step = *step;
            numbers = rest;
        }
        Some(numbers)
    }
}

impl ImplicitPart {
    fn gather(&mut self, around: &Surroundings, range: &Range<usize>, stiffness: f64) {
        self.held.clear();
        let held = around.held.iter().filter(|h| range.contains(&h.point));
        self.held.extend(held.map(|h| Held { point: h.point - range.start, ..*h }));
        self.touches.clear();
        let touches = around.touches.iter().filter(|t| range.contains(&t.point));
        self.touches.extend(touches.map(|t| Touch { point: t.point - range.start, stiffness, ..*t }));
    }
}
