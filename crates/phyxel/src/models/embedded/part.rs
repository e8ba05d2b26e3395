//! One body: its points in embedded space, the fit of the deformation, flow, stress and forces.

use super::deform::deform;
use super::firm::{Group, deform_firm};
use super::four::TOGETHER;
use super::guards::{Guard, on};
use super::matter::Matter;
use super::published::Published;
use super::region::Region;
use super::resample::HOLD;
use super::state::Memory;
use super::stencils::{CHUNK, Look, Place, Stencils, single};
use super::sums::{mean, number, times, vector};
use super::svd::Svd;
use super::together::{Given, deform_four};
use crate::linalg::double_dot;
use crate::models::mls::flow::lanes::{LANES, Row};
use crate::points::Points;
use crate::scene::EmbeddedLaw;
use glam::{DMat3, DVec3, Mat3A, Vec3A};
use rayon::prelude::*;
use std::ops::Range;

/// Elastic stretch from which on neighbors that are farther than a lattice allows hang together, and how much farther than it says.
const STRETCHED: f64 = 1.2;
/// Range of the singular values of P.
pub(super) const PLASTIC: [f64; 2] = [1.0 / 3.0, 3.0];

/// One body of the model; all indices are its own.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Number of the body in the world.
    pub body: usize,
    /// Its points in the world's table.
    pub range: Range<usize>,
    /// Number of its first point among those of the model.
    pub first: usize,
    /// What it is made of.
    pub matter: Option<Matter>,
    /// End of the places in the table that are kept for it.
    pub(crate) slots_end: usize,
    /// Volumes at rest [m³]. Written at set-up and by `split` and `join`, as the next three.
    pub volumes: Vec<f64>,
    /// What they were at the start, of the points they came from [m³].
    pub(crate) wholes: Vec<f64>,
    /// Number of the point at the start from which each came.
    pub(crate) origins: Vec<u32>,
    /// Distances between points [m].
    pub spacings: Vec<f64>,
    /// Embedded positions [m]. Written by `renew`.
    pub embedded: Vec<DVec3>,
    /// What each point remembers. Written by `fit` and `renew`.
    pub memories: Vec<Memory>,
    /// What the weights were made from. Written by `renew`.
    pub looks: Vec<Look>,
    /// Neighborhoods in embedded space. Written by `renew`.
    pub stencils: Stencils,
    /// Density of embedded space at points that have flowed in part, in that of a full lattice; 1 at all others. Written by `rebuild_in`.
    pub(super) crowding: Vec<f32>,
    /// In place of the above, when the body follows the published method.
    pub published: Option<Box<Published>>,
    /// Where matter is, from `fit`.
    pub fits: Vec<Fit>,
    /// Whether anything flowed in the last step, and ever.
    pub(super) flows: bool,
    pub(crate) flowed: bool,
    /// Eight points each: which can be done together because nothing of them has flowed; found anew where `grouped` is not set.
    pub(super) groups: Vec<Group>,
    pub(super) grouped: bool,
    /// Whether the last neighborhoods were made in a part of the body only.
    pub(super) partial: bool,
    /// World and embedded positions relative to their means [m]; scratch.
    pub(super) places: Vec<Place>,
    pub(super) sends: Vec<Send>,
    /// Changes of the embedded positions at the last renewal of this frame [m], with which the next solve begins; scratch.
    pub(super) changes: Vec<Vec3A>,
}

/// The deformation of a point after flow. Written by `fit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// G: world over embedded vectors.
    pub gradient: DMat3,
    /// F = G P⁻¹, the elastic deformation.
    pub elastic: DMat3,
    /// Its rotation.
    pub rotation: DMat3,
    /// Largest stretch.
    pub stretch: f64,
}

impl Fit {
    /// At rest.
    pub const REST: Self =
        Self { gradient: DMat3::IDENTITY, elastic: DMat3::IDENTITY, rotation: DMat3::IDENTITY, stretch: 1.0 };
}

/// What a point gives to the forces on its neighbors: A = v PK P⁻ᵀ M⁻¹ - κ G by its columns [N/m], κ [N/m], A e + κ x [N] and x [m]. The
/// force of point j on point i is w (A_j e_ij + κ_j x_ij), and that of its own neighborhood w (A_i e_ij + κ_i x_ij).
pub(super) type Send = [Row; 2];

/// Where they are in it.
const CONTROL: usize = 9;
const PULL: usize = 10;
const WORLD: usize = 13;

/// Sums over a step of flow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flowed {
    /// Work of the stress on the flow [J].
    pub dissipated: f64,
    /// Whether anything flowed.
    pub any: bool,
    /// Largest norm of the elastic Green strain.
    pub strain: f64,
}

impl Part {
    /// A body whose points are in the table already, unstressed where they are.
    pub fn new(
        body: usize,
        range: Range<usize>,
        first: usize,
        (matter, law): (Matter, EmbeddedLaw),
        points: &Points,
    ) -> Self {
        let embedded = points.positions[range.clone()].to_vec();
        let look = |&position: &DVec3| Look { position, flowed: 0.0, stretch: 1.0, broken: false };
        let count = embedded.len();
        let published = (law == EmbeddedLaw::Published).then(|| Box::new(Published::new(&embedded)));
        let mut part = Self {
            published,
            body,
            first,
            matter: Some(matter),
            slots_end: range.end,
            volumes: points.volumes[range.clone()].to_vec(),
            wholes: points.volumes[range.clone()].to_vec(),
            origins: (0..range.len() as u32).collect(),
            spacings: points.spacings[range.clone()].to_vec(),
            memories: vec![Memory { full: matter.full_flow, ..Memory::NEW }; count],
            looks: embedded.iter().map(look).collect(),
            fits: vec![Fit::REST; count],
            sends: vec![[Row::ZERO; 2]; count],
            range,
            embedded,
            ..Self::default()
        };
        part.rebuild();
        part
    }

    /// Takes over another material.
    pub(super) fn set_matter(&mut self, matter: Matter) {
        self.matter = Some(matter);
        self.grouped = false;
        self.memories.iter_mut().for_each(|m| m.full = matter.full_flow);
    }

    /// Norm of the deviatoric stress at which each point flows now [Pa].
    pub fn limits(&self) -> impl Iterator<Item = f32> + '_ {
        self.memories.iter().map(|m| self.matter.map_or(0.0, |matter| matter.limit(m.flow)) as f32)
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.memories.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }

    /// How thin matter is at a point, 0 to 1, as far as that is to hold it together: what can be split is held less.
    #[inline]
    pub(super) fn thinness(&self, k: usize) -> f32 {
        if !on(Guard::Hold) {
            return 0.0;
        }
        let thin = self.stencils.thinness(k, self.spacings[k]);
        if self.can_split(k) { HOLD * thin } else { thin }
    }

    /// Makes the neighborhoods from the embedded positions and the looks.
    pub(super) fn rebuild(&mut self) {
        self.rebuild_in(None);
    }

    /// The same where points of a region moved or matter has flowed; others are the same as before but for rounding, so that a part of
    /// a rebuilt body can be told from all of it by its last bits until the next `rebuild`. Returns whose neighborhoods were made.
    pub(super) fn rebuild_in(&mut self, region: Option<&Region>) -> Vec<bool> {
        let mean = mean(&self.embedded);
        self.places.resize(self.embedded.len(), Place::default());
        self.places.iter_mut().zip(&self.embedded).for_each(|(p, e)| p.embedded = (*e - mean).as_vec3a());
        self.grouped = false;
        self.partial = region.is_some();
        let touched = self.stencils.update_in(region, &self.embedded, &self.places, &self.spacings, &self.looks);
        self.find_crowding();
        touched
    }

    /// Takes the world positions over.
    pub(super) fn load(&mut self, points: &Points) {
        let positions = &points.positions[self.range.clone()];
        let mean = mean(positions);
        self.places.iter_mut().zip(positions).for_each(|(p, x)| p.world = (*x - mean).as_vec3a());
    }

    /// Phase: finds the deformation at the present positions, lets matter flow over `dt` [s] (0: not), and finds what each point
    /// sends to its neighbors.
    pub fn fit(&mut self, points: &Points, dt: f64) -> Flowed {
        self.load(points);
        let Some(matter) = self.matter else { return Flowed::default() };
        if self.published.is_some() {
            return self.fit_published(&matter, points, dt);
        }
        if !self.grouped {
            self.group(&matter);
            self.grouped = true;
        }
        let part = -(-matter.creep * dt).exp_m1();
        let limit = if part > 0.0 { matter.limit(0.0) } else { f64::INFINITY };
        self.deform_all(&matter, part, |all, first, group, now| {
            if group.firm
                && let Some(strain) =
                    deform_firm((&all.matter, limit), group, (all.stencils, all.places), first, now.sends)
            {
                now.sum.strain = now.sum.strain.max(strain);
                return;
            }
            all.deform(first, now);
            group.firm &= now.memories.iter().all(|m| m.flow == 0.0);
        })
    }

    /// Finds the deformation of points that were done together, which none of them has written.
    pub(super) fn find_firm_fits(&mut self) {
        let Some(matter) = self.matter else { return };
        self.deform_all(&matter, 0.0, |all, first, group, now| {
            if group.firm {
                all.deform(first, now);
            }
        });
    }

    /// Does something with each group of eight points.
    fn deform_all(
        &mut self,
        matter: &Matter,
        part: f64,
        one: impl Fn(&Body, usize, &mut Group, &mut Now) + Sync,
    ) -> Flowed {
        let Self { memories, fits, sends, stencils, volumes, places, groups, .. } = self;
        let all = Body { matter: *matter, part, stencils, volumes, places };
        let chunks = memories.par_chunks_mut(CHUNK).zip(fits.par_chunks_mut(CHUNK)).zip(sends.par_chunks_mut(CHUNK));
        let sums: Vec<Flowed> = chunks
            .zip(groups.par_chunks_mut(CHUNK / LANES))
            .enumerate()
            .map(|(chunk, (((memories, fits), sends), groups))| {
                let mut sum = Flowed::default();
                let eights = memories.chunks_mut(LANES).zip(fits.chunks_mut(LANES)).zip(sends.chunks_mut(LANES));
                for (k, (((memories, fits), sends), group)) in eights.zip(groups).enumerate() {
                    let first = chunk * CHUNK + k * LANES;
                    one(&all, first, group, &mut Now { memories, fits, sends, sum: &mut sum });
                }
                sum
            })
            .collect();
        sums.into_iter().fold(Flowed::default(), |a, b| Flowed {
            dissipated: a.dissipated + b.dissipated,
            any: a.any || b.any,
            strain: a.strain.max(b.strain),
        })
    }

    /// Finds again what each point sends, after a renewal in which some neighborhoods were touched.
    pub(super) fn send(&mut self, touched: &[bool]) {
        let Some(matter) = self.matter else { return };
        let Self { memories, fits, sends, stencils, volumes, places, .. } = self;
        sends.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(i, send)| {
            *send = match touched[i] {
                true => sending(&matter, &memories[i], &fits[i], volumes[i], stencils, i, places[i]),
                false => moved(send, places[i]),
            };
        });
    }

    fn fit_published(&mut self, matter: &Matter, points: &Points, dt: f64) -> Flowed {
        let Some(published) = &mut self.published else { return Flowed::default() };
        let world = &points.positions[self.range.clone()];
        let flows: Vec<f64> = self.memories.iter().map(|m| m.flow).collect();
        let flowed = published.deform(matter, &self.volumes, [world, &self.embedded], dt, &flows);
        for (memory, fit) in self.memories.iter_mut().zip(&published.fits) {
            let flow = fit.plastic - DMat3::IDENTITY;
            memory.flow += double_dot(flow, flow).sqrt();
        }
        flowed
    }

    /// Ends a step of the published method, after its forces.
    pub(super) fn end_published(&mut self) {
        let flows = self.flows;
        let Some(published) = &mut self.published else { return };
        if flows {
            published.follow(&mut self.embedded);
        }
        published.end_step(&self.embedded, flows);
    }

    /// The elastic deformation of a point at the present positions, after `load`.
    pub(super) fn elastic(&self, i: usize, points: &Points) -> DMat3 {
        match &self.published {
            Some(published) => published.fit(i, &points.positions[self.range.clone()], &self.embedded).1,
            None => {
                let memory = &self.memories[i];
                self.stencils.gradient(i, &self.places, memory.prior) * memory.inverse
            }
        }
    }

    /// Phase: adds the elastic forces [N].
    pub fn add_forces(&self, points: &Points, forces: &mut [DVec3]) {
        if let Some(published) = &self.published {
            return published.add_forces([&points.positions[self.range.clone()], &self.embedded], forces);
        }
        let Self { stencils, sends, places, .. } = self;
        forces.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, forces)| {
            for (k, force) in forces.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                let (own, Place { world, embedded }) = (&sends[i], places[i]);
                let sum = stencils.list(i).records(sends);
                let (apart, weight) = stencils.sums[i];
                let straight = vector(&sum, WORLD) - world * weight;
                let others = vector(&sum, PULL) - times(&sum, 0, embedded) - world * number(&sum, CONTROL);
                *force += (times(own, 0, apart) + straight * number(own, CONTROL) + others).as_dvec3();
            }
        });
    }

    /// Elastic energy with that of the control [J], at the present positions, without flow.
    pub fn energy(&mut self, points: &Points) -> f64 {
        self.load(points);
        let Some(matter) = self.matter else { return 0.0 };
        if let Some(published) = &self.published {
            return published.energy(&matter, &self.volumes, [&points.positions[self.range.clone()], &self.embedded]);
        }
        let Self { memories, stencils, volumes, places, .. } = &*self;
        let energy = |i: usize| {
            let memory = &memories[i];
            if memory.lost {
                return 0.0;
            }
            let gradient = stencils.gradient(i, places, memory.prior);
            let sigma = Svd::new(gradient * memory.inverse).sigma;
            let control = control(&matter, memory, volumes[i], stencils.traces[i]);
            volumes[i] * matter.energy_density(sigma) + 0.5 * control * self.misfit(i, gradient)
        };
        let all: Vec<f64> = (0..memories.len()).into_par_iter().with_min_len(CHUNK).map(energy).collect();
        all.iter().sum()
    }

    /// Neighbors in embedded space that are no farther in the world than elastic stretch explains: matter pulled long hangs together.
    pub(super) fn stretched_neighbors<'a>(&'a self, i: usize, world: &'a [DVec3]) -> impl Iterator<Item = usize> + 'a {
        let apart = move |j: usize| {
            let stretch = self.looks[i].stretch.max(self.looks[j].stretch);
            let long = if stretch > STRETCHED { STRETCHED * stretch } else { 0.0 };
            long * self.embedded[i].distance(self.embedded[j])
        };
        self.stencils.of(i).map(|(j, _)| j).filter(move |&j| world[i].distance(world[j]) < apart(j))
    }

    /// Σ w |x_ij - G e_ij|² of a point [m²]: what its neighbors do that no gradient describes.
    pub(super) fn misfit(&self, i: usize, gradient: DMat3) -> f64 {
        let (g, own) = (single(gradient), self.places[i]);
        let one = |(j, w): (usize, f32)| {
            let (world, embedded) = (self.places[j].world - own.world, self.places[j].embedded - own.embedded);
            w * (world - g * embedded).length_squared()
        };
        f64::from(self.stencils.of(i).map(one).sum::<f32>())
    }
}

/// What points are deformed by.
struct Body<'a> {
    matter: Matter,
    /// 1 - exp(-creep dt).
    part: f64,
    stencils: &'a Stencils,
    volumes: &'a [f64],
    places: &'a [Place],
}

/// Eight points and the sums they add to.
struct Now<'a> {
    memories: &'a mut [Memory],
    fits: &'a mut [Fit],
    sends: &'a mut [Send],
    sum: &'a mut Flowed,
}

impl Body<'_> {
    /// Deforms points of which `first` is the first, four at a time.
    #[inline]
    fn deform(&self, first: usize, now: &mut Now) {
        let fours = now.memories.chunks_mut(TOGETHER).zip(now.fits.chunks_mut(TOGETHER));
        for (k, ((memories, fits), sends)) in fours.zip(now.sends.chunks_mut(TOGETHER)).enumerate() {
            self.deform_some(first + k * TOGETHER, memories, fits, sends, now.sum);
        }
    }

    /// Deforms a few points of which `first` is the first, together where that is possible.
    #[inline]
    fn deform_some(
        &self,
        first: usize,
        memories: &mut [Memory],
        fits: &mut [Fit],
        sends: &mut [Send],
        sum: &mut Flowed,
    ) {
        let Self { matter, part, stencils, volumes, places } = self;
        let gradient = |l: usize, memories: &[Memory]| stencils.gradient(first + l, places, memories[l].prior);
        if let (Ok(group), Ok(four)) = (<&mut [Memory; TOGETHER]>::try_from(&mut *memories), (&mut *fits).try_into()) {
            let firm = |l: usize| matter.control * matter.young * volumes[first + l] / stencils.traces[first + l];
            let given = Given {
                matter,
                part: *part,
                gradients: std::array::from_fn(|l| gradient(l, group)),
                inverses: std::array::from_fn(|l| &stencils.inverses[first + l]),
                volumes: std::array::from_fn(|l| volumes[first + l]),
                controls: std::array::from_fn(firm),
            };
            if let Some(done) = deform_four(&given, stencils.wide, group, four) {
                for (l, send) in sends.iter_mut().enumerate() {
                    self.end(first + l, &mut memories[l], &fits[l], (done.taken[l], done.strains[l]), sum);
                    *send = record(single(done.pulls[l]), done.controls[l] as f32, places[first + l]);
                }
                return;
            }
        }
        for l in 0..memories.len() {
            let i = first + l;
            let gradient = gradient(l, memories);
            let done = deform(matter, &mut memories[l], &mut fits[l], gradient, *part);
            self.end(i, &mut memories[l], &fits[l], done, sum);
            sends[l] = sending(matter, &memories[l], &fits[l], volumes[i], stencils, i, places[i]);
        }
    }

    /// Lets the prior of a point give way, and adds what it did to the sums.
    #[inline]
    fn end(&self, i: usize, memory: &mut Memory, fit: &Fit, (taken, strain): (Option<f64>, f64), sum: &mut Flowed) {
        let prior = self.stencils.priors[i];
        if prior != DMat3::ZERO {
            memory.relax_prior(&self.matter, fit, prior * self.stencils.inverses[i]);
        }
        sum.any |= taken.is_some();
        sum.dissipated += taken.map_or(0.0, |e| e * self.volumes[i]);
        sum.strain = sum.strain.max(strain);
    }
}

/// κ of a point [N/m]: the control yields with the matter.
#[inline]
fn control(matter: &Matter, memory: &Memory, volume: f64, trace: f64) -> f64 {
    matter.control * matter.young * volume / trace * (1.0 - memory.flowed())
}

#[inline]
fn sending(
    matter: &Matter,
    memory: &Memory,
    fit: &Fit,
    volume: f64,
    stencils: &Stencils,
    i: usize,
    place: Place,
) -> Send {
    if memory.lost {
        return record(Mat3A::ZERO, 0.0, place);
    }
    let stretch = fit.rotation.transpose() * fit.elastic;
    let stress = matter.stress(fit.rotation, stretch);
    let control = control(matter, memory, volume, stencils.traces[i]);
    let mut matrix = stress * memory.inverse.transpose() * stencils.inverses[i] * volume;
    if control > 0.0 {
        matrix -= fit.gradient * control;
    }
    record(single(matrix), control as f32, place)
}

/// The same as before from another place.
#[inline]
fn moved(send: &Send, place: Place) -> Send {
    let matrix = Mat3A::from_cols(vector(send, 0), vector(send, 3), vector(send, 6));
    record(matrix, number(send, CONTROL), place)
}

/// What a point at a place sends with A and κ.
#[inline]
fn record(matrix: Mat3A, control: f32, Place { world, embedded }: Place) -> Send {
    let pull = matrix * embedded + world * control;
    let [a, b, c] = [matrix.x_axis, matrix.y_axis, matrix.z_axis];
    [
        Row([a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y]),
        Row([c.z, control, pull.x, pull.y, pull.z, world.x, world.y, world.z]),
    ]
}
