//! The world and its resampling: where points of embedded bodies are split and joined, all that knows points one by one follows.
//!
//! The table of points keeps places for those that may come (`Body::slots`), behind those that are there (`Body::range`). Points of the
//! start never go, and keep their numbers; those behind them change theirs. Lists of points (regions, probes, forces) hold
//! those of the start and whoever came from one of them.

use crate::external::Load;
use crate::measure::Target;
use crate::models::embedded::Resampling;
use crate::sinks::bytes::{Reader, Writer};
use crate::world::World;
use glam::DVec3;

/// Steps between two looks at who is to be split or joined.
const INTERVAL: u64 = 5;

impl World {
    /// Phase: splits and joins points where matter has got thinner or thicker, on some steps.
    pub(crate) fn resample_if_due(&mut self) {
        if !self.substeps.is_multiple_of(INTERVAL) || self.bodies.iter().all(|b| b.slots.len() == b.sampled) {
            return;
        }
        for b in 0..self.bodies.len() {
            let plan = self.plan_resampling(b);
            if plan != Resampling::default() {
                self.switch(|world| world.carry_out(b, &plan));
                // Going back must not go behind it.
                self.save_only_snapshot();
            }
        }
    }

    fn plan_resampling(&self, b: usize) -> Resampling {
        let body = &self.bodies[b];
        let part = self.embedded.part(b).filter(|_| body.slots.len() > body.sampled);
        let Some(part) = part else { return Resampling::default() };
        let mut held = vec![false; body.range.len()];
        let pins = self.pins.iter().filter(|p| p.body == b && p.gripped && !p.released && self.time < p.until);
        // A pin that began late knows points by numbers that would change.
        let may_join = pins.clone().all(|p| p.points.iter().all(|&i| (i as usize) < body.range.start + body.sampled));
        pins.flat_map(|p| &p.points).for_each(|&i| held[i as usize - body.range.start] = true);
        part.plan(&self.points, &held, body.sampled, may_join)
    }

    fn carry_out(&mut self, b: usize, plan: &Resampling) {
        let first = self.bodies[b].range.start;
        let points = &mut self.points;
        let Some(part) = self.embedded.part_mut(b) else { return };
        part.find_elastic(points);
        for &(k, half) in &plan.splits {
            let (old, new) = (first + k, part.range.end);
            let id = points.ids[new];
            part.split(k, half);
            points.masses[old] *= 0.5;
            points.volumes[old] = part.volumes[k];
            points.spacings[old] = part.spacings[k];
            points.copy(old, new);
            points.ids[new] = id;
            points.positions[old] -= half;
            points.positions[new] += half;
        }
        for &(keep, gone) in &plan.joins {
            part.join(keep, gone);
            let (i, j) = (first + keep, first + gone);
            let (a, b) = (points.masses[i], points.masses[j]);
            let mean = |x: DVec3, y: DVec3| (x * a + y * b) / (a + b);
            points.positions[i] = mean(points.positions[i], points.positions[j]);
            points.velocities[i] = mean(points.velocities[i], points.velocities[j]);
            points.masses[i] = a + b;
            points.volumes[i] = part.volumes[keep];
            points.spacings[i] = part.spacings[keep];
        }
        let mut gone: Vec<usize> = plan.joins.iter().map(|j| j.1).collect();
        gone.sort_unstable_by(|a, b| b.cmp(a));
        for k in gone {
            let (to, last) = (first + k, part.range.end - 1);
            let id = points.ids[to];
            points.copy(last, to);
            points.ids[last] = id;
            points.clear(last);
            part.remove(k);
        }
        part.settle(points);
        self.follow_resampling(b);
    }

    /// Brings all that knows the points of a body up to those that its part has now.
    fn follow_resampling(&mut self, b: usize) {
        self.embedded.renumber(&self.points);
        let Some(part) = self.embedded.part(b) else { return };
        let body = &mut self.bodies[b];
        body.range = part.range.clone();
        let (first, sampled) = (body.range.start as u32, body.sampled);
        let added = first + sampled as u32..body.slots.end as u32;
        let came = |list: &mut Vec<u32>| {
            list.retain(|i| !added.contains(i));
            let from = |k: &usize| list.binary_search(&(first + part.origins[*k])).is_ok();
            let new: Vec<u32> = (sampled..part.len()).filter(from).map(|k| first + k as u32).collect();
            list.extend(new);
            list.sort_unstable();
        };
        body.regions.iter_mut().for_each(|r| came(&mut r.points));
        for probe in &mut self.probes {
            match &mut probe.target {
                Target::Points(list, _) => came(list),
                Target::Pair(one, other) => [one, other].into_iter().for_each(&came),
                Target::Pin(_) | Target::Collider(_) => {}
            }
        }
        for force in &mut self.external {
            match &mut force.load {
                Load::Total(list, _) => came(list),
                Load::Acceleration(range, _) if range.start == body.range.start => {
                    range.end = range.end.max(body.slots.end);
                }
                _ => {}
            }
        }
        let mut radii = self.colliders.radii().to_vec();
        for (k, i) in body.range.clone().enumerate() {
            let whole = k < body.sampled && part.volumes[k] == part.wholes[k];
            radii[i] = if whole { self.body_contacts.radii()[i] } else { 0.5 * self.points.spacings[i] };
        }
        self.colliders.set_radii(radii);
    }

    /// Appends how the points of bodies that are resampled differ from those of the start; nothing when none is.
    pub(crate) fn save_resampling(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        for (b, body) in self.bodies.iter().enumerate().filter(|(_, b)| b.slots.len() > b.sampled) {
            let Some(part) = self.embedded.part(b) else { continue };
            out.u32(part.len() as u32);
            for (k, i) in body.range.clone().enumerate() {
                let rest = self.points.rest_positions[i];
                let numbers = [self.points.masses[i], self.points.volumes[i], self.points.spacings[i], part.wholes[k]];
                numbers.into_iter().chain(rest.to_array()).for_each(|x| out.f64(x));
                out.u32(part.origins[k]);
            }
            body.slots.clone().for_each(|i| out.u32(self.points.ids[i]));
        }
    }

    /// Takes back what `save_resampling` appended; None when it does not fit the scene.
    pub(crate) fn load_resampling(&mut self, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        for b in 0..self.bodies.len() {
            let (slots, sampled) = (self.bodies[b].slots.clone(), self.bodies[b].sampled);
            let Some(part) = self.embedded.part_mut(b).filter(|_| slots.len() > sampled) else { continue };
            let count = bytes.u32()? as usize;
            if count < sampled || count > slots.len() {
                return None;
            }
            let (mut wholes, mut origins) = (Vec::new(), Vec::new());
            for i in slots.start..slots.start + count {
                self.points.masses[i] = bytes.f64()?;
                self.points.volumes[i] = bytes.f64()?;
                self.points.spacings[i] = bytes.f64()?;
                wholes.push(bytes.f64()?);
                self.points.rest_positions[i] = DVec3::new(bytes.f64()?, bytes.f64()?, bytes.f64()?);
                origins.push(bytes.u32()?);
            }
            for i in slots.clone() {
                self.points.ids[i] = bytes.u32()?;
            }
            part.resize(&self.points, wholes, origins);
            self.follow_resampling(b);
        }
        bytes.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::measure::{Totals, totals};
    use crate::models::meeting::{run, world};
    use crate::run::Simulation;
    use crate::world::World;
    use glam::{DMat3, DVec3};

    const SHEET: &str = r#"
        format = 1
        name = "sheet"
        gravity = [0, 0, 0]
        duration = "1 s"
        fps = 30
        [[body]]
        name = "sheet"
        model = "embedded"
        shape = { kind = "box", size = [1, 0.1, 1] }
        points = 100
        sampling = "regular"
        resample = 3
        material = { young = 1e4, poisson = 0.3, density = 1000, yield_strain = 0.01, creep = 20 }
        surface = { kind = "none" }
        regions = [{ name = "east", half_space = { normal = [1, 0, 0], offset = 0.2 } }]
        [[probe]]
        name = "amount"
        body = "sheet"
        region = "east"
        measure = "mass"
    "#;

    /// A sheet one point thick that has flowed, is stretched and turns.
    fn sheet() -> World {
        let mut world = world(SHEET);
        for i in world.bodies[0].range.clone() {
            let x = world.points.positions[i];
            world.points.positions[i] = x * DVec3::new(1.05, 1.0, 1.02);
            world.points.velocities[i] = DVec3::new(0.3, -0.2, 0.1) + DVec3::new(0.1, 2.0, -0.4).cross(x) + x * x.x;
        }
        let part = world.embedded.part_mut(0).unwrap();
        part.flowed = true;
        for (k, memory) in part.memories.iter_mut().enumerate() {
            memory.flow = 1.0 + 0.01 * k as f64;
        }
        world
    }

    fn sums(world: &World) -> Totals {
        totals(&world.points, 0..world.points.len())
    }

    fn assert_same(a: &Totals, b: &Totals, spun: f64) {
        let near = |a: f64, b: f64, size: f64| assert!((a - b).abs() < 1e-12 * size, "{a} {b}");
        near(a.mass, b.mass, a.mass);
        near(0.0, a.momentum.distance(b.momentum), a.momentum.length());
        near(0.0, a.center.distance(b.center), 1.0);
        assert!(a.angular.distance(b.angular) < spun * a.angular.length(), "{} {}", a.angular, b.angular);
    }

    /// Elastic deformation of each point.
    fn elastic(world: &mut World) -> Vec<DMat3> {
        let part = world.embedded.part_mut(0).unwrap();
        part.find_elastic(&world.points);
        part.fits.iter().map(|f| f.elastic).collect()
    }

    #[test]
    fn halves_have_all_that_the_whole_had() {
        let mut world = sheet();
        let (before, were) = (sums(&world), elastic(&mut world));
        let volume = |world: &World| world.embedded.part(0).unwrap().volumes.iter().sum::<f64>();
        let held = volume(&world);
        let east = |world: &World| {
            let list = &world.bodies[0].region("east").unwrap().points;
            list.iter().map(|&i| world.points.masses[i as usize]).sum::<f64>()
        };
        let east_before = east(&world);
        let plan = world.plan_resampling(0);
        assert!(plan.joins.is_empty() && plan.splits.len() > 5, "{}", plan.splits.len());
        world.carry_out(0, &plan);
        let after = sums(&world);
        assert_same(&before, &after, 1e-12);
        assert!((after.kinetic / before.kinetic - 1.0).abs() < 1e-12);
        let now = elastic(&mut world);
        assert_eq!(now.len(), 100 + plan.splits.len());
        assert!((volume(&world) / held - 1.0).abs() < 1e-12);
        let part = world.embedded.part(0).unwrap();
        for (k, f) in now.iter().enumerate() {
            let origin = part.origins[k] as usize;
            assert!((*f - were[origin]).abs_diff_eq(DMat3::ZERO, 1e-5), "{k}: {f} {}", were[origin]);
            assert_eq!(part.memories[k].flow, 1.0 + 0.01 * origin as f64);
        }
        // Lists of points hold who came from theirs, and what is measured is the same.
        let now_east = east(&world);
        let metrics = world.metrics();
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
        assert!(near(now_east, east_before) && near(world.probe_values[0], east_before), "{now_east} {east_before}");
        assert!(metrics.points == now.len() && near(metrics.mass, before.mass));
        let mut ids: Vec<u32> = world.points.ids.clone();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), world.points.len());
    }

    #[test]
    fn what_is_pushed_together_is_joined_again() {
        let mut world = sheet();
        for _ in 0..20 {
            let plan = world.plan_resampling(0);
            world.carry_out(0, &plan);
        }
        let most = world.bodies[0].range.len();
        assert!(most > 250, "{most}");
        // Folded together until it is three times as thick.
        world.points.positions.iter_mut().for_each(|p| *p *= DVec3::new(0.55, 1.0, 0.55));
        let flow = |world: &World| {
            let part = world.embedded.part(0).unwrap();
            part.memories.iter().zip(&part.volumes).map(|(m, v)| m.flow * v).sum::<f64>()
        };
        let (before, flowed) = (sums(&world), flow(&world));
        for _ in 0..20 {
            let plan = world.plan_resampling(0);
            world.carry_out(0, &plan);
        }
        let count = world.bodies[0].range.len();
        assert!(count < most / 2 && count >= 100, "{count} of {most}");
        // Joining loses the motion of two against each other, and its spin: little of all.
        assert_same(&before, &sums(&world), 0.02);
        assert!((flow(&world) / flowed - 1.0).abs() < 1e-12);
    }

    const PUDDLE: &str = r#"
        format = 1
        name = "puddle"
        duration = "1 s"
        fps = 30
        [[body]]
        name = "batter"
        model = "embedded"
        shape = { kind = "sphere", radius = 0.08 }
        at = [0, 0.1, 0]
        points = 150
        resample = 3
        material = { young = "20 kPa", poisson = 0.4, density = 1000, yield_strain = 0.001, creep = 500, viscosity = 1, friction = 0.05 }
        surface = { kind = "none" }
        [[collider]]
        shape = { kind = "plane" }
        friction = 0.05
    "#;

    #[test]
    fn a_resumed_run_has_the_same_points() {
        let mut whole = world(PUDDLE);
        run(&mut whole, 14);
        let state = whole.checkpoint();
        assert!(whole.bodies[0].range.len() > 160, "{}", whole.bodies[0].range.len());
        run(&mut whole, 4);
        let mut resumed = world(PUDDLE);
        resumed.restore(&state).unwrap_or_else(|e| panic!("{e}"));
        run(&mut resumed, 4);
        assert_eq!(whole.bodies[0].range, resumed.bodies[0].range);
        assert_eq!(whole.points.positions, resumed.points.positions);
        assert_eq!(whole.points.ids, resumed.points.ids);
        assert_eq!(whole.checkpoint(), resumed.checkpoint());
        assert!(resumed.restore(&state[..state.len() - 8]).is_err());
    }
}
