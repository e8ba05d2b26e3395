//! Where the matter is, as far as heat must know: neighbor lists, walls and the network they make, kept until points
//! have moved against each other.

use super::conduction::{self, CHUNK, Crowding, Repair, Samples};
use super::exchange::{air_conductance, exposed_area};
use super::network::Network;
use super::walls::{WallContact, WallDistances, WallSearch};
use crate::contact::Colliders;
use crate::geometry::Bounds;
use crate::neighbors::{Linker, Matter, Neighborhoods};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Neighbors whose distance changes by less than this, in spacings, stay neighbors; so do bodies that move less.
const SAME_PLACE: f64 = 0.1;

/// What does not change as points move; one entry per point.
#[derive(Debug, Clone, Default)]
pub struct Matters {
    /// Volumes [m³].
    pub volumes: Vec<f64>,
    /// Local distance between points [m].
    pub spacings: Vec<f64>,
    /// Support radii [m].
    pub radii: Vec<f64>,
    /// Distance of a touching point from a wall [m].
    pub contact_radii: Vec<f64>,
    /// Conductivities [W/(m K)].
    pub conductivities: Vec<f64>,
    /// Body of each point, counted among those that take part in heat.
    pub kinds: Vec<u32>,
    /// Connected piece that each point belongs to.
    pub labels: Vec<u32>,
    /// Whether all lie in a plane and are one meter deep.
    pub flat: bool,
}

/// What points exchange heat with beside each other.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// Held temperature [K] and exchange [W/(m² K)] of each collider that has one.
    pub walls: Vec<Option<(f64, f64)>>,
    /// Temperature [K] and exchange [W/(m² K)] of the air.
    pub air: Option<(f64, f64)>,
    /// Whether exposed areas matter.
    pub needs_areas: bool,
}

/// Who is where, as of the last time that it mattered.
#[derive(Debug, Clone, Default)]
pub struct Geometry {
    /// Who exchanges heat with whom.
    pub network: Network,
    /// Area of each point that is open to air and light [m²]; none where nobody asks.
    pub exposed: Vec<f64>,
    /// Crowding of each point; 1 where nobody asks.
    pub crowding: Vec<Crowding>,
    valid: bool,
    /// Where the points were when their neighbors were found [m].
    found_at: Vec<DVec3>,
    /// Where they were when conductances were computed [m].
    connected_at: Vec<DVec3>,
    near: Neighborhoods,
    links: Neighborhoods,
    walls: WallDistances,
    contacts: Vec<WallContact>,
    linker: Linker,
}

impl Geometry {
    /// Makes the next `update` start from nothing.
    pub fn forget(&mut self) {
        self.valid = false;
    }

    /// Brings the network up to date with the positions [m] now; says whether it has changed.
    pub fn update(&mut self, positions: &[DVec3], matter: &Matters, outside: &Outside, colliders: &Colliders) -> bool {
        let moved = !self.valid || self.has_moved(positions, matter);
        if moved {
            self.find_neighbors(positions, matter, outside);
        }
        let search = WallSearch {
            positions,
            spacings: &matter.spacings,
            radii: &matter.radii,
            contact_radii: &matter.contact_radii,
        };
        let is_held = |k: usize| outside.walls.get(k).is_some_and(Option::is_some);
        let walls = WallDistances::find(&search, colliders, |k| outside.needs_areas || is_held(k));
        let changed = moved || walls.differ(&self.walls, &matter.spacings);
        if changed {
            self.contacts = walls.contacts(&search, &self.links, colliders);
            self.walls = walls;
            self.connect(positions, matter, outside);
        }
        self.valid = true;
        changed
    }

    /// Brings the crowding of exposed points up to date: bodies may have turned since their neighbors were found.
    pub fn turn(&mut self, positions: &[DVec3], matter: &Matters) {
        let (samples, near, exposed) = (samples(positions, matter), &self.near, &self.exposed);
        self.crowding.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(i, crowding)| {
            if exposed[i] > 0.0 {
                *crowding = conduction::crowding_of(&samples, near, i);
            }
        });
    }

    /// Whether points have come nearer to each other or parted, or bodies that are near each other have moved.
    fn has_moved(&self, positions: &[DVec3], matter: &Matters) -> bool {
        // Every eighth neighbor tells.
        let stretched = |i: usize| {
            let limit = SAME_PLACE * matter.spacings[i];
            self.links.of(i).skip(i % 8).step_by(8).any(|j| {
                let (now, then) = (positions[j] - positions[i], self.found_at[j] - self.found_at[i]);
                // Also where it is not a number.
                (now.length() - then.length()).abs().partial_cmp(&limit).is_none_or(std::cmp::Ordering::is_gt)
            })
        };
        let any = (0..positions.len()).into_par_iter().with_min_len(CHUNK).any(stretched);
        any || self.have_neighbors_moved(positions, matter)
    }

    fn have_neighbors_moved(&self, positions: &[DVec3], matter: &Matters) -> bool {
        let count = matter.kinds.iter().max().map_or(0, |&k| k as usize + 1);
        if count < 2 {
            return false;
        }
        let mut bodies = vec![(Bounds::EMPTY, false); count];
        for (i, &kind) in matter.kinds.iter().enumerate() {
            let (bounds, moved) = &mut bodies[kind as usize];
            *bounds = Bounds { min: bounds.min.min(positions[i]), max: bounds.max.max(positions[i]) };
            *moved |= (positions[i] - self.found_at[i]).length() > SAME_PLACE * matter.spacings[i];
        }
        let reach = matter.radii.iter().copied().fold(0.0, f64::max);
        let meet = |a: usize, b: usize| (bodies[a].1 || bodies[b].1) && bodies[a].0.grown(reach).overlaps(bodies[b].0);
        (0..count).any(|a| (0..a).any(|b| meet(a, b)))
    }

    fn find_neighbors(&mut self, positions: &[DVec3], matter: &Matters, outside: &Outside) {
        self.found_at.clear();
        self.found_at.extend_from_slice(positions);
        self.near = Neighborhoods::with_radii(positions, &matter.radii);
        let pieces = Matter { positions, spacings: &matter.spacings, labels: &matter.labels };
        self.linker.link(&pieces, &self.near, &mut self.links);
        self.crowding = match outside.needs_areas {
            true => conduction::crowding(&samples(positions, matter), &self.near),
            false => vec![Crowding { sum: 1.0, gradient: DVec3::ZERO }; positions.len()],
        };
    }

    /// Conductances of pairs, walls and air.
    fn connect(&mut self, positions: &[DVec3], matter: &Matters, outside: &Outside) {
        let count = matter.volumes.len();
        self.connected_at.clear();
        self.connected_at.extend_from_slice(positions);
        let held = |k: u32| outside.walls.get(k as usize).copied().flatten();
        let mut moments = vec![DMat3::ZERO; count];
        for contact in self.contacts.iter().filter(|c| held(c.collider).is_some()) {
            let i = contact.point as usize;
            moments[i] += contact.wall.moment(matter.radii[i]);
        }
        let samples = samples(positions, matter);
        let weights = conduction::pair_weights(&samples, &self.links);
        let factors = conduction::repair(&samples, &self.links, &weights, &moments, Repair::default());

        let mut covered = vec![0.0; count];
        let network = &mut self.network;
        for list in [&mut network.walls, &mut network.wall_heat, &mut network.air] {
            list.clear();
            list.resize(count, 0.0);
        }
        for contact in &self.contacts {
            let i = contact.point as usize;
            let area = contact.wall.area(matter.volumes[i], matter.radii[i]);
            covered[i] += area;
            if let Some((temperature, exchange)) = held(contact.collider) {
                let conductance = contact.wall.conductance(area, factors[i], matter.conductivities[i], exchange);
                network.walls[i] += conductance;
                network.wall_heat[i] += conductance * temperature;
            }
        }
        self.exposed.clear();
        let bare =
            |i: usize| (exposed_area(matter.volumes[i], self.crowding[i].sum, matter.flat) - covered[i]).max(0.0);
        self.exposed.extend((0..count).map(bare));
        if let Some((_, exchange)) = outside.air {
            for i in 0..count {
                let (area, spacing) = (self.exposed[i], matter.spacings[i]);
                network.air[i] = air_conductance(area, spacing, matter.conductivities[i], exchange);
            }
        }
        network.conductances = conduction::conductances(&samples, &self.links, weights, &factors);
        network.links.clone_from(&self.links);
    }

    /// Appends all that the next `update` depends on to `numbers`.
    pub fn save(&self, numbers: &mut Vec<f64>) {
        numbers.push(f64::from(u8::from(self.valid)));
        if self.valid {
            numbers.extend(self.found_at.iter().chain(&self.connected_at).flat_map(|p| p.to_array()));
            self.walls.save(numbers);
            numbers.push(self.contacts.len() as f64);
            self.contacts.iter().for_each(|c| numbers.extend(c.to_numbers()));
        }
    }

    /// Takes back what `save` appended, with the same matter; None when it does not fit.
    pub fn load(&mut self, numbers: &[f64], matter: &Matters, outside: &Outside) -> Option<()> {
        self.valid = false;
        let (&valid, numbers) = numbers.split_first()?;
        if valid == 0.0 {
            return numbers.is_empty().then_some(());
        }
        let count = matter.volumes.len();
        let (positions, numbers) = numbers.split_at_checked(6 * count)?;
        let (found, connected) = positions.split_at(3 * count);
        let vectors = |list: &[f64]| list.as_chunks::<3>().0.iter().map(|p| DVec3::from(*p)).collect::<Vec<_>>();
        let (walls, numbers) = WallDistances::load(numbers, count)?;
        let (&contacts, numbers) = numbers.split_first()?;
        let (words, rest) = numbers.as_chunks();
        if words.len() as f64 != contacts || !rest.is_empty() {
            return None;
        }
        self.contacts = words.iter().map(|w| WallContact::from_numbers(w, count)).collect::<Option<_>>()?;
        self.walls = walls;
        self.find_neighbors(&vectors(found), matter, outside);
        self.connect(&vectors(connected), matter, outside);
        self.valid = true;
        Some(())
    }
}

fn samples<'a>(positions: &'a [DVec3], matter: &'a Matters) -> Samples<'a> {
    let Matters { volumes, radii, conductivities, flat, .. } = matter;
    Samples { positions, volumes, radii, conductivities, flat: *flat }
}
