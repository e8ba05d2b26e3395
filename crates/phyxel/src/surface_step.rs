//! The drawn surface of what flows, brought up to each frame.

use crate::groups::Groups;
use crate::neighbors::Neighborhoods;
use crate::points::Points;
use crate::surface::{Carried, FlowPoints, Mold, Paint, Surfels};
use crate::world::World;
use glam::DVec3;

/// Points of an embedded body that are nearer than this are one piece [spacings].
const JOINED: f64 = 1.5;
/// Plastic strain from which a point of an embedded body has flowed.
const FLOWED: f32 = 1e-3;

impl World {
    /// Whether the surface of a body follows its flow, not its rest shape alone.
    pub(crate) fn surface_flows(&self, b: usize) -> bool {
        self.flow.manages(b) || (self.embedded.manages(b) && self.surfaces[b].manner.detail)
    }

    /// Brings the surface of what flows up to this frame; its solid parts stay carried. `measure` must have run.
    pub(crate) fn follow_flow(&mut self) {
        let flowing: Vec<bool> = (0..self.bodies.len()).map(|b| self.surface_flows(b)).collect();
        if !flowing.contains(&true) {
            return;
        }
        let (flow, labels) = (self.flow_of_points(), self.pieces_of_points());
        let Points { rest_positions, positions, velocities, spacings, bodies, .. } = &self.points;
        let frame_time = 1.0 / self.scene.fps;
        let now = FlowPoints { positions, spacings, bodies, flow: &flow, labels: &labels, velocities, frame_time };
        let mut solid: Vec<Surfels> = vec![Surfels::default(); self.bodies.len()];
        for (b, surface) in self.surfaces.iter_mut().enumerate().filter(|(b, _)| flowing[*b]) {
            let Some(carrier) = &mut surface.carrier else { continue };
            let rest = FlowPoints { positions: rest_positions, ..now };
            self.flowing.join(b as u32, carrier.rest(), &rest, surface.manner);
            let range = self.bodies[b].range.clone();
            let gradients = &self.scratch.gradients[range.clone()];
            carrier.update(&positions[range.clone()], &rest_positions[range], gradients, &mut solid[b]);
        }
        let carried = self.surfaces.iter().zip(&solid).map(|(s, surfels)| {
            let paint = s.paint.as_ref().map(|paint| &**paint as Paint);
            s.carrier.as_ref().map(|carrier| Carried { carrier, surfels, paint })
        });
        let carried: Vec<Option<Carried>> = carried.collect();
        let molds = self.colliders.list.iter().zip(&self.scene.colliders).filter(|(c, spec)| c.active && spec.mold);
        let probes: Vec<_> = molds.map(|(c, _)| (c.is_still(), move |p: DVec3| c.distance_normal(p))).collect();
        let molds: Vec<Mold> = probes.iter().map(|(still, probe)| Mold { probe, still: *still }).collect();
        self.flowing.update(&now, &carried, &molds);
    }

    /// 1 for points that flow, 0 for others.
    fn flow_of_points(&self) -> Vec<f32> {
        let plastic = &self.scratch.fields.plastic;
        let flows = |i: usize| match self.embedded.manages(self.points.bodies[i] as usize) {
            true => plastic.get(i).is_some_and(|p| *p > FLOWED),
            false => self.flow.is_melted(i),
        };
        (0..self.points.len()).map(|i| f32::from(u8::from(flows(i)))).collect()
    }

    /// The piece of each point: those of the flow, and of embedded bodies those that lie close together.
    fn pieces_of_points(&self) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..self.points.len() as u32).collect();
        let known = self.flow.labels();
        labels[..known.len()].copy_from_slice(known);
        for (b, body) in self.bodies.iter().enumerate().filter(|(b, _)| self.embedded.manages(*b)) {
            if !self.surfaces[b].manner.detail {
                continue;
            }
            let range = body.range.clone();
            let radii: Vec<f64> = self.points.spacings[range.clone()].iter().map(|a| JOINED * a).collect();
            let near = Neighborhoods::with_radii(&self.points.positions[range.clone()], &radii);
            let mut groups = Groups::new(range.len());
            for i in 0..range.len() {
                near.of(i).for_each(|j| groups.unite(i as u32, j as u32));
            }
            for i in range.clone() {
                labels[i] = range.start as u32 + groups.lowest((i - range.start) as u32);
            }
        }
        labels
    }
}
