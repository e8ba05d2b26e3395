//! The drawn surface of what flows, brought up to each frame.

use crate::frame::BodyFrame;
use crate::geometry::{Moments, Open};
use crate::groups::Groups;
use crate::neighbors::Neighborhoods;
use crate::points::Points;
use crate::surface::{Carried, Carriers, Coated, FlowPoints, Least, Mold, Paint, Span, Stain, Surfels, Worn};
use crate::world::World;
use glam::DVec3;
use std::collections::BTreeMap;

/// Points of an embedded body that are nearer than this are one piece [spacings].
const JOINED: f64 = 1.5;
/// Within a frame the surface follows matter that has moved by more than this since it last did [spacings] ...
const TRAVEL: f64 = 0.5;
/// ... but at most so many times in a frame.
const PARTS: f64 = 4.0;
/// Around what is no mold.
const WIDE: Open = Open { share: 1.0, slope: DVec3::ZERO, mouth: DVec3::ZERO, depth: 0.0, wide: Moments::ZERO };
/// Plastic strain from which a point of an embedded body has flowed.
const FLOWED: f32 = 1e-3;

impl World {
    /// Whether the surface of a body follows its flow, not its rest shape alone.
    pub(crate) fn surface_flows(&self, b: usize) -> bool {
        let detail = self.surfaces[b].manner.detail;
        self.flow.manages(b) || (detail && (self.embedded.manages(b) || self.lattice_flows(b)))
    }

    /// Whether a lattice melts or has melted, so that its surface follows its flow.
    fn lattice_flows(&self, b: usize) -> bool {
        self.surfaces[b].carrier.is_some() && (self.flowing.has(b as u32) || self.lattice.has_melted(b))
    }

    /// Brings detail surfaces up to now within a frame that ends at `target` [s], where matter is fast: one that is carried over many
    /// spacings at once is torn.
    pub(crate) fn follow_fast_flow(&mut self, target: f64) {
        let part = 1.0 / (PARTS * self.scene.fps);
        let due = self.time >= self.drawn_time + 0.999 * part && self.time < target - 0.5 * part;
        // Whether embedded matter has flowed is known at frames only.
        let embedded = |b: usize| self.embedded.manages(b) && self.surface_flows(b);
        if !due || self.flowing.is_empty() || (0..self.bodies.len()).any(embedded) {
            return;
        }
        if self.flowing.travel(&self.points) > TRAVEL {
            self.update_gradients();
            self.lattice.write_deformations(&self.points, &mut self.scratch.gradients);
            self.follow_flow();
        }
    }

    /// Brings the surface of what flows up to this frame; its solid parts stay carried. `measure` must have run. Says of each body
    /// which is the first one that it has fused with.
    pub(crate) fn follow_flow(&mut self) -> Vec<Option<u32>> {
        let flowing: Vec<bool> = (0..self.bodies.len()).map(|b| self.surface_flows(b)).collect();
        if !flowing.contains(&true) {
            return Vec::new();
        }
        let (flow, labels) = (self.flow_of_points(), self.pieces_of_points());
        let Points { rest_positions, positions, velocities, spacings, bodies, .. } = &self.points;
        // A rescue may have taken the time back.
        let drawn = std::mem::replace(&mut self.drawn_time, self.time);
        let span = Span { earlier: (drawn - self.frame_start).max(0.0), now: (self.time - drawn).max(0.0) };
        let now = FlowPoints { positions, spacings, bodies, flow: &flow, labels: &labels, velocities, span };
        let mut solid: Vec<Surfels> = vec![Surfels::default(); self.bodies.len()];
        for (b, surface) in self.surfaces.iter_mut().enumerate().filter(|(b, _)| flowing[*b]) {
            let Some(carrier) = &mut surface.carrier else { continue };
            let rest = FlowPoints { positions: rest_positions, ..now };
            self.flowing.join(b as u32, carrier.rest(), &rest, surface.manner);
            let range = self.bodies[b].range.clone();
            let points = Carriers {
                positions: &positions[range.clone()],
                rest_positions: &rest_positions[range.clone()],
                velocities: &velocities[range.clone()],
                gradients: &self.scratch.gradients[range],
            };
            if self.flowing.follows_solid(b as u32) {
                carrier.update(points.positions, points.rest_positions, points.gradients, &mut solid[b]);
                carrier.write_velocities(points.positions, points.velocities, &mut solid[b]);
            }
            if let Some(skin) = &mut surface.skin {
                self.flowing.join_coat(b as u32, skin.rest(), &rest);
                skin.carry(&points);
            }
        }
        let carried = self.surfaces.iter().zip(&solid).map(|(s, surfels)| {
            let paint = s.paint.as_ref().map(|paint| &**paint as Paint);
            let coat = s.skin.as_ref().map(|skin| {
                let (carrier, vertices) = skin.carried();
                Coated { mesh: skin.rest(), carrier, vertices }
            });
            s.carrier.as_ref().map(|carrier| Carried { carrier, surfels, paint, coat })
        });
        let carried: Vec<Option<Carried>> = carried.collect();
        let molds = self.colliders.list.iter().zip(&self.scene.colliders).filter(|(c, spec)| c.active && spec.mold);
        let asked = molds.map(|(c, spec)| {
            let probe = move |p: DVec3| c.distance_normal(p);
            let least = move |p: DVec3| c.least_distance(p);
            let stain = move |p: DVec3| c.color(p).unwrap_or(spec.color);
            let open = move |p: DVec3, spacing: f64| c.openness(p, spacing).unwrap_or(WIDE);
            (c.is_still(), probe, c.is_baked().then_some(least), open, spec.stain.then_some(stain))
        });
        let asked: Vec<_> = asked.collect();
        let mold = asked.iter().map(|(still, probe, least, open, stain)| Mold {
            probe,
            still: *still,
            least: least.as_ref().map(|l| l as Least),
            open: Some(open),
            stain: stain.as_ref().map(|s| s as Stain),
        });
        let molds: Vec<Mold> = mold.collect();
        self.flowing.update(&now, &carried, &molds);
        fused(&flowing, bodies, &labels)
    }

    /// Writes the triangles of bodies whose surface follows their flow.
    pub(crate) fn write_coats(&self, out: &mut [BodyFrame]) {
        let flowing = (0..self.bodies.len()).filter(|&b| self.surface_flows(b));
        let worn: Vec<Worn> =
            flowing.filter_map(|b| self.surfaces[b].skin.as_ref().map(|skin| (b as u32, skin.rest()))).collect();
        self.flowing.write_coats(&worn, |b, mesh| out[b as usize].mesh = mesh);
    }

    /// 1 for points that flow, 0 for others.
    fn flow_of_points(&self) -> Vec<f32> {
        let plastic = &self.scratch.fields.plastic;
        let flows = |i: usize| match self.embedded.manages(self.points.bodies[i] as usize) {
            true => plastic.get(i).is_some_and(|p| *p > FLOWED),
            false => self.flow.is_melted(i) || self.lattice.is_melted(i),
        };
        (0..self.points.len()).map(|i| f32::from(u8::from(flows(i)))).collect()
    }

    /// The piece of each point: those of the flow, of embedded bodies those that lie close together, of lattices that have melted those that
    /// bonds or, where they are liquid, nearness make.
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
        for (b, body) in self.bodies.iter().enumerate().filter(|(b, _)| self.surface_flows(*b)) {
            let Some(mut groups) = self.lattice.grouped(b) else { continue };
            let first = body.range.start as u32;
            body.range.clone().for_each(|i| labels[i] = first + groups.lowest(i as u32 - first));
        }
        labels
    }
}

/// Of each body that flows the first one that it shares a piece with.
fn fused(flowing: &[bool], bodies: &[u32], labels: &[u32]) -> Vec<Option<u32>> {
    // The first body in each piece; points lie body after body.
    let mut first: BTreeMap<u32, u32> = BTreeMap::new();
    let mut groups = Groups::new(flowing.len());
    for (&body, &label) in bodies.iter().zip(labels).filter(|(b, _)| flowing[**b as usize]) {
        groups.unite(*first.entry(label).or_insert(body), body);
    }
    (0..flowing.len() as u32).map(|b| Some(groups.lowest(b)).filter(|first| *first != b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::geometry::{Bounds, Files};
    use crate::neighbors::Grid;
    use crate::run::Simulation;
    use crate::scene::Scene;
    use std::sync::atomic::AtomicBool;

    /// A ball of dough, 4 cm across, which a plate presses to about half its height.
    const DOUGH: &str = r##"
format = 1
name = "dough"
duration = "0.6 s"
fps = 30
[[body]]
name = "dough"
model = "embedded"
shape = { kind = "sphere", radius = "2 cm" }
at = [0, 0.021, 0]
points = 200
material = { young = "60 kPa", poisson = 0.4, density = 600, yield_strain = 0.1, creep = 5, damping = 2, viscosity = 5 }
surface = { kind = "detail", count = 3000, pattern = { size = "1 cm", color = "#ffffff" } }
[[collider]]
name = "table"
shape = { kind = "plane" }
[[collider]]
name = "plate"
shape = { kind = "box", size = [0.1, 0.01, 0.1] }
at = [0, 0.047, 0]
motion = [ { t = 0 }, { t = 0.5, at = [0, -0.02, 0] } ]
"##;

    /// The dough after `frames` frames, with its surfels.
    fn pressed(surface: bool, frames: usize) -> (World, Surfels) {
        let mut scene = Scene::from_toml(DOUGH, None, &[]).unwrap_or_else(|e| panic!("{e}"));
        if !surface {
            scene.bodies[0].surface.kind = crate::scene::SurfaceKind::None;
        }
        let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
        let mut frame = Frame::default();
        for _ in 0..frames {
            world.advance_frame(&AtomicBool::new(false)).unwrap();
            world.metrics();
            world.frame(&mut frame);
        }
        let mut surfels = Surfels::default();
        world.flowing.write(0, &mut surfels);
        (world, surfels)
    }

    #[test]
    fn a_detail_surface_follows_embedded_matter_that_flows() {
        let (world, surfels) = pressed(true, 17);
        let Points { positions, spacings, .. } = &world.points;
        let flowed = world.flow_of_points().iter().filter(|f| **f > 0.0).count();
        assert!(2 * flowed > positions.len(), "{flowed} of {}", positions.len());
        assert!(world.pieces_of_points().iter().all(|piece| *piece == 0));
        let matter = Bounds::of(positions.iter().copied()).size();
        assert!(matter.y < 0.026 && matter.x > 0.04, "{matter}");
        // It lies around the matter, half a spacing outside of the points, and no surfel is left behind.
        let spacing = spacings[0];
        let drawn = Bounds::of(surfels.positions.iter().map(|p| p.as_dvec3())).size();
        assert!((drawn - matter - spacing).abs().max_element() < 0.5 * spacing, "{drawn} around {matter}, {spacing}");
        let grid = Grid::new(positions, spacing);
        let nearest = |p: &glam::Vec3| grid.nearest(p.as_dvec3()).map_or(f64::INFINITY, |n| n.1.sqrt());
        let farthest = surfels.positions.iter().map(nearest).fold(0.0, f64::max);
        assert!(farthest < 1.3 * spacing, "{}", farthest / spacing);
        // Both colors are still there, and nothing but them.
        let white = surfels.colors.iter().filter(|c| **c == [255; 3]).count();
        assert!((0.3..0.7).contains(&(white as f64 / surfels.len() as f64)), "{white} of {}", surfels.len());
        assert!((2000..5000).contains(&surfels.len()), "{}", surfels.len());
    }

    #[test]
    fn bodies_that_share_a_piece_are_one_surface() {
        // The second and the fourth body have fused, by way of one piece of the third; the first is solid, the last alone.
        let (bodies, labels) = ([0, 1, 1, 2, 2, 3, 4], [7, 1, 2, 2, 3, 3, 9]);
        assert_eq!(fused(&[false, true, true, true, true], &bodies, &labels), [None, None, Some(1), Some(1), None]);
    }

    #[test]
    fn embedded_matter_moves_the_same_whatever_is_drawn() {
        let (drawn, bare) = (pressed(true, 4).0, pressed(false, 4).0);
        assert_eq!(drawn.points.positions, bare.points.positions);
    }

    /// A ball that flies and spins, solid at first, then melted; with its triangles.
    const SPINNING: &str = r##"
format = 1
name = "spinning"
gravity = [0, 0, 0]
duration = "1 s"
fps = 60
[[body]]
name = "ball"
shape = { kind = "sphere", radius = "5 cm" }
velocity = [1, 0, 0]
spin = [0, 4, 0]
points = 200
material = { young = "50 kPa", poisson = 0.3, density = 1000, melt_young = "1 kPa", melt_creep = 5, viscosity = 5 }
surface = { kind = "skin", count = 3000 }
[[event]]
at = "0.08 s"
melt = "ball"
"##;

    #[test]
    fn fast_matter_is_followed_within_a_frame_and_slow_matter_is_not() {
        let followed = |velocity: &str| {
            let text = SPINNING.replace("velocity = [1, 0, 0]", velocity).replace("spin = [0, 4, 0]", "");
            let scene = Scene::from_toml(&text, None, &[]).unwrap_or_else(|e| panic!("{e}"));
            let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
            let mut frame = Frame::default();
            let mut within = 0;
            for k in 0..10 {
                world.advance_frame(&AtomicBool::new(false)).unwrap();
                within += usize::from(world.drawn_time > world.frame_start);
                // Nobody has asked for metrics, or for a frame before it melted, and nothing is missing.
                if k > 5 {
                    world.frame(&mut frame);
                    assert_eq!(world.drawn_time, world.time);
                }
            }
            assert!(frame.bodies[0].surfels.len() > 2000);
            within
        };
        // It melts at 0.08 s, in the fifth frame, and flies 17 mm a frame; points are 14 mm apart.
        assert_eq!((followed("velocity = [1, 0, 0]"), followed("velocity = [0.1, 0, 0]")), (3, 0));
    }

    #[test]
    fn a_restart_between_two_updates_of_a_surface_changes_nothing() {
        let scene = Scene::from_toml(SPINNING, None, &[]).unwrap_or_else(|e| panic!("{e}"));
        let fresh = || World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
        let advance = |world: &mut World| assert!(world.advance_frame(&AtomicBool::new(false)).unwrap().complete);
        let drawn = |world: &mut World| {
            let mut frame = Frame::default();
            world.metrics();
            world.frame(&mut frame);
            let surfels = &frame.bodies[0].surfels;
            (surfels.positions.clone(), surfels.velocities.clone(), surfels.normals.clone())
        };
        // Nobody has asked for the last frame: the surface is that of an update within it.
        let mut whole = fresh();
        (0..6).for_each(|_| advance(&mut whole));
        drawn(&mut whole);
        advance(&mut whole);
        assert!(whole.drawn_time > whole.frame_start && whole.drawn_time < whole.time);
        whole.metrics();
        let mut resumed = fresh();
        resumed.restore(&whole.checkpoint()).unwrap();
        for _ in 0..2 {
            advance(&mut whole);
            advance(&mut resumed);
        }
        assert_eq!(drawn(&mut resumed), drawn(&mut whole));
    }

    #[test]
    fn velocities_are_those_with_which_the_surface_moves() {
        let scene = Scene::from_toml(SPINNING, None, &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
        let (mut before, mut now) = (Frame::default(), Frame::default());
        for k in 0..12 {
            world.advance_frame(&AtomicBool::new(false)).unwrap();
            world.metrics();
            std::mem::swap(&mut before, &mut now);
            world.frame(&mut now);
            let (old, new) = (&before.bodies, &now.bodies[0]);
            assert_eq!(new.surfels.velocities.len(), new.surfels.len());
            assert_eq!(new.mesh.velocities.len(), new.mesh.positions.len());
            // In the frame in which it melts (4) the surface has the velocity of the nearest point at that moment.
            if k == 0 || k == 4 {
                continue;
            }
            // The way since the frame before; a surface that turns has gone along an arc.
            let (mesh, surfels) = (&old[0].mesh.positions, &old[0].surfels.positions);
            let meshes = mesh.iter().zip(&new.mesh.positions).zip(&new.mesh.velocities);
            // Surfels keep their order while none goes and none comes: until it melts.
            let solid = surfels.iter().zip(&new.surfels.positions).zip(&new.surfels.velocities).filter(|_| k < 4);
            for ((p, q), v) in meshes.chain(solid) {
                let way = (*q - *p) * 60.0;
                assert!((*v - way).length() < 0.03, "frame {k}: {v} and {way}");
            }
        }
    }
}
