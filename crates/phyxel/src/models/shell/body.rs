//! One shell: nodes, network, energy and its packed form.

use super::engine::{Engine, ShellExtremes};
use super::fabric::Fabric;
use super::fit::Rest;
use super::frames::Frames;
use super::law::{Energy, Fitted, Sheet, ShellLaw};
use super::network::{Network, NetworkOptions, Nodes};
use super::plastic::ShellFlow;
use super::pressure::Gas;
use super::stiffening::Stiffening;
use super::time_step::{STEP_FRACTION, highest_frequency};
use glam::{DMat3, DVec3};

/// A shell without its motion.
#[derive(Debug, Clone)]
pub struct Shell {
    pub(super) nodes: Nodes,
    pub(super) network: Network,
    pub(super) options: NetworkOptions,
    pub(super) rest: Rest,
    pub(super) fitted: Fitted,
    pub(super) sheet: Sheet,
    pub(super) engine: Engine,
    pub(super) frames: Frames,
    pub(super) gas: Gas,
    spacing: f64,
    /// Counts the networks it has had.
    pub(super) version: u64,
}

impl Shell {
    /// The shell of nodes at rest.
    pub fn new(nodes: Nodes, law: ShellLaw, sheet: Sheet) -> Self {
        let uniform_knots = matches!(law, ShellLaw::Published(_));
        let bending_turn = match law {
            ShellLaw::Weights => 50.0,
            ShellLaw::Published(_) => 45.0,
            _ => 60.0,
        };
        let mut options = NetworkOptions { uniform_knots, bending_turn, ..NetworkOptions::default() };
        if uniform_knots {
            // As published every fiber counts for bending; those that turn sharply inside the surface are left out then, and
            // those whose chords are so uneven that uniform knots turn their end tangents.
            options.turn = bending_turn;
            options.bending_ratio = 2.0;
        }
        let network = Network::build(&nodes, &options);
        let rest = Rest::of(&network, &nodes.positions);
        let fitted = Fitted::new(law, &nodes, &network, &rest);
        let mean = nodes.areas.iter().sum::<f64>() / nodes.areas.len().max(1) as f64;
        let mut shell = Self {
            engine: Engine::default(),
            frames: Frames::new(&network, &nodes.positions),
            gas: Gas::new(&network, &nodes.areas, &nodes.positions),
            spacing: (2.0 * mean / 3f64.sqrt()).sqrt(),
            version: 0,
            nodes,
            network,
            options,
            rest,
            fitted,
            sheet,
        };
        shell.pack();
        shell
    }

    /// Which of its networks it has; whoever keeps what depends on neighbors makes it anew when this has changed. Rises with every
    /// change of the network.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Makes its matter depend on direction and place.
    pub fn with_fabric(mut self, fabric: Fabric) -> Self {
        self.fitted.set_fabric(fabric);
        self.pack();
        self
    }

    /// Makes its stiffness depend on strain; for the tensor laws.
    pub fn with_stiffening(mut self, stiffening: Stiffening) -> Self {
        self.fitted.set_stiffening(stiffening);
        self.pack();
        self
    }

    /// Thickness at node `i` [m].
    pub fn thickness(&self, i: usize) -> f64 {
        self.sheet.thickness * self.fitted.fabric().thickness(i)
    }

    /// Second Piola stress of strains (xx, yy, xy) in the frame of node `i` [Pa], as (xx, yy, xy).
    pub fn stress(&self, i: usize, [xx, yy, xy]: [f64; 3]) -> [f64; 3] {
        let (young, poisson) = (self.sheet.young, self.sheet.poisson);
        let plain = young / (1.0 - poisson * poisson);
        let moduli = DVec3::new(1.0 + poisson, 1.0 - poisson, 1.0 - poisson) * (2.0 * plain);
        let transform = self.fitted.fabric().transform(i, false);
        let answer = transform.transpose() * (moduli * (transform * DVec3::new(0.5 * (xx + yy), 0.5 * (xx - yy), xy)));
        // The energy per volume is half of strain times stress: mean, deviator and shear go with these sums of stresses.
        let [sum, difference, shear] = (answer / self.fitted.fabric().thickness(i)).to_array();
        let stress = [0.5 * (sum + difference), 0.5 * (sum - difference), 0.5 * shear];
        let twice_energy = xx * stress[0] + yy * stress[1] + 2.0 * xy * stress[2];
        let stiffer = self.fitted.stiffening().factor(twice_energy / (young * self.fitted.fabric().stiffness(i)));
        stress.map(|s| s * stiffer)
    }

    /// Packs the energy; rest lengths and angles that have flowed stay.
    pub(super) fn pack(&mut self) {
        let (mut rest, mut strengths) = (Vec::new(), Vec::new());
        self.engine.save_rest(&mut rest);
        self.engine.save_strengths(&mut strengths);
        self.engine = Engine::new(&self.network, &self.rest, &self.energy_terms());
        if !rest.is_empty() {
            self.engine.load_rest(&rest);
        }
        if !strengths.is_empty() {
            self.engine.load_strengths(&strengths);
        }
    }

    /// Whether it has no border.
    pub fn is_closed(&self) -> bool {
        self.gas.is_closed()
    }

    /// Adds the forces of a pressure inside [Pa] at positions; it follows the surface.
    pub fn add_pressure(&mut self, positions: &[DVec3], pressure: f64, out: &mut [DVec3]) {
        let vectors = self.gas.measure(&self.network, positions);
        out.iter_mut().zip(vectors).for_each(|(f, a)| *f += pressure * *a);
    }

    /// Lets the fibers flow for `dt` [s] at what the last `measure` saw; returns the energy that this takes [J], and None where
    /// nothing flows.
    pub fn flow(&mut self, law: &ShellFlow, dt: f64) -> Option<f64> {
        self.engine.flow(law, dt)
    }

    /// Largest plastic strain at each node.
    pub fn plastic_strains(&self, out: &mut [f32]) {
        out.fill(0.0);
        self.engine.plastic_strains(self.sheet.thickness, out);
    }

    /// Rest lengths and angles of all fibers, for restarts; and what fatigue left of their strength.
    pub fn save_rest(&self, out: &mut Vec<f64>) {
        self.engine.save_rest(out);
        out.push(f64::from(u8::from(self.engine.tires())));
        self.engine.save_strengths(out);
    }

    /// Puts back what `save_rest` gave and returns the rest of the numbers; None when there are too few.
    pub fn load_rest<'a>(&mut self, numbers: &'a [f64]) -> Option<&'a [f64]> {
        let (tired, numbers) = self.engine.load_rest(numbers)?.split_first()?;
        if *tired == 0.0 { Some(numbers) } else { self.engine.load_strengths(numbers) }
    }

    /// The numbers of the energy.
    pub fn energy_terms(&self) -> Energy {
        self.fitted.energy(&self.sheet, &self.nodes, &self.network, &self.rest)
    }

    /// Changes the elastic constants.
    pub fn set_sheet(&mut self, sheet: Sheet) {
        self.sheet = sheet;
        self.pack();
    }

    /// Sets a factor of the bending stiffness of each node; empty: all 1.
    pub fn set_clamps(&mut self, clamps: Vec<f64>) {
        self.fitted.set_clamps(clamps);
        self.pack();
    }

    /// Nodes at a clamped line see half of the curvature beside them; this makes up for it.
    pub fn scale_bending(&mut self, nodes: impl Iterator<Item = usize>, factor: f64) {
        self.fitted.scale_bending(nodes, factor);
        self.pack();
    }

    /// The nodes at rest.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Neighborhoods and fibers.
    pub fn network(&self) -> &Network {
        &self.network
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Elastic constants.
    pub fn sheet(&self) -> Sheet {
        self.sheet
    }

    /// Distance of the nodes in a hexagonal pattern of the same density [m].
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Evaluates energy and forces at positions [m].
    pub fn measure(&mut self, positions: &[DVec3]) {
        self.engine.measure(positions);
    }

    /// Adds the forces at the last `measure` [N].
    pub fn add_forces(&self, out: &mut [DVec3]) {
        self.engine.add_forces(out);
    }

    /// Energies of stretching and bending at the last `measure` [J].
    pub fn energy(&self) -> [f64; 2] {
        self.engine.energy()
    }

    /// Extremes at the last `measure`.
    pub fn extremes(&self) -> ShellExtremes {
        self.engine.extremes()
    }

    /// Largest strain of the fibers of each node by absolute value, and their mean strain, at the last `measure`.
    pub fn strains(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        self.engine.strains()
    }

    /// Deformation gradient at each node; across the shell it keeps its length.
    pub fn gradients(&self, positions: &[DVec3], out: &mut [DMat3]) {
        self.frames.gradients(&self.network, positions, out);
    }

    /// Longest explicit step at rest with the given masses [kg], in seconds.
    pub fn time_step(&mut self, masses: &[f64]) -> f64 {
        let frequency = highest_frequency(&mut self.engine, &self.nodes.positions, masses, self.spacing);
        STEP_FRACTION * 2.0 / frequency.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::shell::nodes::{NodeOptions, spread_nodes};
    use crate::models::shell::surface::TriangleSurface;
    use crate::random::Random;
    use glam::DQuat;

    const SHEET: Sheet = Sheet { young: 1e5, poisson: 0.3, thickness: 0.01 };

    fn sheet(law: ShellLaw) -> Shell {
        let surface = TriangleSurface::rectangle(1.0, 0.7);
        let options = NodeOptions { spacing: 0.12, rows: false, seed: 1 };
        let mut nodes = spread_nodes(&surface, &options, &|p, n| (p, n));
        // Curved, so that normals and angles count.
        for (p, n) in nodes.positions.iter_mut().zip(&mut nodes.normals) {
            p.y = 0.3 * p.x * p.x - 0.1 * p.x * p.z;
            *n = DVec3::new(-0.6 * p.x + 0.1 * p.z, 1.0, 0.1 * p.x).normalize();
        }
        Shell::new(nodes, law, SHEET)
    }

    fn laws() -> [ShellLaw; 4] {
        [ShellLaw::Tensor, ShellLaw::Unbalanced, ShellLaw::Weights, ShellLaw::Published(None)]
    }

    fn shaken(shell: &Shell, by: f64) -> Vec<DVec3> {
        let wobble = |i: usize| by * Random::new(5, i as u64).in_cube();
        shell.nodes().positions.iter().enumerate().map(|(i, p)| *p + wobble(i)).collect()
    }

    fn forces(shell: &mut Shell, positions: &[DVec3]) -> (Vec<DVec3>, f64) {
        let mut out = vec![DVec3::ZERO; positions.len()];
        shell.measure(positions);
        shell.add_forces(&mut out);
        (out, shell.energy().iter().sum())
    }

    #[test]
    fn the_force_is_the_negative_slope_of_the_energy() {
        for law in laws() {
            let mut shell = sheet(law);
            let positions = shaken(&shell, 0.01);
            let (found, _) = forces(&mut shell, &positions);
            let largest = found.iter().fold(0.0, |m: f64, f| m.max(f.length()));
            for i in (0..positions.len()).step_by(7) {
                for axis in DVec3::AXES {
                    let step = 1e-6;
                    let mut at = |s: f64| {
                        let mut moved = positions.clone();
                        moved[i] += s * axis;
                        forces(&mut shell, &moved).1
                    };
                    let slope = (at(step) - at(-step)) / (2.0 * step);
                    assert!((slope + found[i].dot(axis)).abs() < 1e-7 * largest, "{law:?}: {slope} {}", found[i]);
                }
            }
        }
    }

    #[test]
    fn no_net_force_no_torque_and_rigid_motion_is_free() {
        for law in laws() {
            let mut shell = sheet(law);
            let positions = shaken(&shell, 0.01);
            let (found, energy) = forces(&mut shell, &positions);
            let size: f64 = found.iter().map(|f| f.length()).sum();
            let torque: DVec3 = positions.iter().zip(&found).map(|(x, f)| x.cross(*f)).sum();
            assert!(found.iter().sum::<DVec3>().length() < 1e-13 * size && torque.length() < 1e-13 * size);
            let turn = DQuat::from_scaled_axis(DVec3::new(0.7, -1.9, 0.4));
            let moved: Vec<DVec3> = positions.iter().map(|x| turn * *x + DVec3::new(3.0, -1.0, 2.0)).collect();
            let (turned, same) = forces(&mut shell, &moved);
            assert!((same - energy).abs() < 1e-12 * energy);
            assert!(turned.iter().zip(&found).all(|(a, b)| (*a - turn * *b).length() < 1e-12 * size));
            let rest: Vec<DVec3> = shell.nodes().positions.iter().map(|x| turn * *x).collect();
            assert!(forces(&mut shell, &rest).1 < 1e-20 * energy);
        }
    }

    #[test]
    fn constant_strain_and_curvature_have_the_energy_of_the_sheet() {
        let surface = TriangleSurface::rectangle(1.0, 0.7);
        let options = NodeOptions { spacing: 0.08, rows: false, seed: 3 };
        let nodes = spread_nodes(&surface, &options, &|p, n| (p, n));
        let mut shell = Shell::new(nodes, ShellLaw::Tensor, SHEET);
        let rest = shell.nodes().positions.clone();
        let (c, d, nu) = (SHEET.membrane(), SHEET.bending(), SHEET.poisson);
        let tiny = 1e-4;
        // (displacement, energy per area): stretch along x; cylinder and saddle.
        type Case<'a> = (&'a dyn Fn(DVec3) -> DVec3, f64);
        let cases: [Case; 4] = [
            (&|p| DVec3::X * p.x, 0.5 * c),
            (&|p| DVec3::X * p.z, 0.125 * c * 2.0 * (1.0 - nu)),
            (&|p| DVec3::Y * (0.5 * p.x * p.x), 0.5 * d),
            (&|p| DVec3::Y * (p.x * p.z), d * (1.0 - nu)),
        ];
        for (k, (field, density)) in cases.iter().enumerate() {
            let positions: Vec<DVec3> = rest.iter().map(|p| *p + tiny * field(*p)).collect();
            let energy = forces(&mut shell, &positions).1;
            let ratio = energy / (tiny * tiny * density * 0.7);
            assert!((ratio - 1.0).abs() < 2e-3, "case {k}: {ratio}");
        }
    }

    #[test]
    fn the_same_bits_on_any_number_of_threads() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut shell = sheet(ShellLaw::Tensor);
                let positions = shaken(&shell, 0.02);
                forces(&mut shell, &positions)
            })
        };
        let one = run(1);
        assert!((2..=4).all(|threads| run(threads) == one));
    }

    #[test]
    fn gradients_follow_rigid_motion_and_affine_maps_of_the_plane() {
        let shell = sheet(ShellLaw::Unbalanced);
        let turn = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(0.7, -1.9, 0.4)));
        let moved: Vec<DVec3> = shell.nodes().positions.iter().map(|x| turn * *x + DVec3::ONE).collect();
        let mut gradients = vec![DMat3::ZERO; moved.len()];
        shell.gradients(&moved, &mut gradients);
        assert!(gradients.iter().all(|f| f.abs_diff_eq(turn, 1e-12)));
    }

    #[test]
    fn a_strip_held_in_a_bend_keeps_it() {
        // Bent to a cylinder and held: what is left of the elastic strain is the yield strain, and the new shape is at rest.
        let surface = TriangleSurface::rectangle(1.0, 0.3);
        let options = NodeOptions { spacing: 0.06, rows: true, seed: 1 };
        let nodes = spread_nodes(&surface, &options, &|p, n| (p, n));
        let mut shell = Shell::new(nodes, ShellLaw::Tensor, SHEET);
        let (thickness, poisson) = (SHEET.thickness, SHEET.poisson);
        let law = ShellFlow { yield_strain: 1e-3, creep: 20.0, most: 1.0, thickness, poisson, ..ShellFlow::default() };
        let bent: Vec<DVec3> =
            shell.nodes().positions.iter().map(|p| DVec3::new(p.x.sin(), 1.0 - p.x.cos(), p.z)).collect();
        let before = forces(&mut shell, &bent).1;
        let mut dissipated = 0.0;
        for _ in 0..4000 {
            shell.measure(&bent);
            let before: f64 = shell.energy().iter().sum();
            let Some(taken) = shell.flow(&law, 1e-3) else { break };
            dissipated += taken;
            assert!((before - taken - forces(&mut shell, &bent).1).abs() < 1e-9 * before);
        }
        let after = forces(&mut shell, &bent).1;
        // Curvature 1/m is a strain of 5e-3 on the outer side; a fifth of it stays elastic, and more in fibers across the bend.
        assert!(after < 0.15 * before && after > 0.03 * before, "{after} of {before}");
        assert!((before - after - dissipated).abs() < 1e-6 * before);
        let mut plastic = vec![0.0; bent.len()];
        shell.plastic_strains(&mut plastic);
        let largest = plastic.iter().fold(0.0, |m: f32, &x| m.max(x));
        assert!((largest - 4e-3).abs() < 6e-4, "{largest}");
        let mut saved = Vec::new();
        shell.save_rest(&mut saved);
        let mut other = shell.clone();
        other.set_sheet(SHEET);
        assert_eq!(forces(&mut other, &bent).1, after);
        other.load_rest(&saved).unwrap();
        assert_eq!(forces(&mut other, &bent).1, after);
    }

    #[test]
    fn flow_takes_energy_in_any_state_and_stays_within_its_bounds() {
        let mut shell = sheet(ShellLaw::Tensor);
        let law = ShellFlow {
            yield_strain: 1e-3,
            creep: 100.0,
            most: 0.05,
            thickness: SHEET.thickness,
            poisson: SHEET.poisson,
            fatigue: 0.0,
            // The yield strain rises by the half while it flows.
            hardening: 0.01,
        };
        let positions = shaken(&shell, 0.02);
        let mut plastic = vec![0.0; positions.len()];
        let start = forces(&mut shell, &positions).1;
        for step in 0..100 {
            shell.measure(&positions);
            let Some(taken) = shell.flow(&law, 1e-3) else { break };
            assert!(taken >= -1e-12 * start, "step {step}: {taken}");
        }
        assert!(forces(&mut shell, &positions).1 < 0.9 * start);
        shell.plastic_strains(&mut plastic);
        let largest = plastic.iter().fold(0.0, |m: f32, &x| m.max(x));
        assert!(largest > 0.04 && largest < 0.0501, "{largest}");
    }

    #[test]
    fn few_nodes_are_no_reason_to_fail() {
        for count in 0..5 {
            let positions: Vec<DVec3> = [DVec3::ZERO, DVec3::X, DVec3::Z, DVec3::X + DVec3::Z][..count.min(4)].to_vec();
            let n = positions.len();
            let nodes = Nodes { normals: vec![DVec3::Y; n], areas: vec![0.5; n], positions };
            let mut shell = Shell::new(nodes, ShellLaw::Tensor, SHEET);
            let positions = shaken(&shell, 0.1);
            let (found, energy) = forces(&mut shell, &positions);
            assert!(energy.is_finite() && found.iter().all(|f| f.is_finite()));
        }
    }
}
