//! What a flow remembers from step to step.

use super::bonds::{Bond, Stencil};
use super::pairs::Kind;
use crate::points::Points;
use crate::sinks::bytes::{Reader, Writer};
use glam::{DMat3, DVec3};

/// State of all points of the world; those of bodies that do not flow have kind `Foreign`.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// Solid, melted or foreign.
    pub kinds: Vec<Kind>,
    /// Strain stored by melt stencils, in the measure JᵀJ - I.
    pub strains: Vec<DMat3>,
    /// Stencils of solid points.
    pub stencils: Vec<Stencil>,
    /// Piece of each point.
    pub labels: Vec<u32>,
    /// Length of the step that led here [s].
    pub last_step: f64,
    /// Largest step of the solid parts of each body [s].
    pub solid_steps: Vec<f64>,
}

impl State {
    /// Nothing flows; every one of the bodies is one piece.
    pub fn new(points: &Points, bodies: usize) -> Self {
        let n = points.len();
        let first = |body: u32| points.bodies.partition_point(|&b| b < body) as u32;
        Self {
            kinds: vec![Kind::Foreign; n],
            strains: vec![DMat3::ZERO; n],
            stencils: vec![Stencil::EMPTY; n],
            labels: points.bodies.iter().map(|&b| first(b)).collect(),
            last_step: 0.0,
            solid_steps: vec![f64::INFINITY; bodies],
        }
    }
}

impl State {
    /// Appends the state as bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.u32(self.kinds.len() as u32);
        out.f64(self.last_step);
        out.u32(self.solid_steps.len() as u32);
        self.solid_steps.iter().for_each(|step| out.f64(*step));
        for i in 0..self.kinds.len() {
            out.u8(self.kinds[i] as u8);
            out.u32(self.labels[i]);
            write_matrix(&mut out, self.strains[i]);
            self.stencils[i].write(&mut out);
        }
    }

    /// Reads what `write` wrote for the same points and bodies; None when it is something else.
    pub fn read(bytes: &mut Reader, points: usize, bodies: usize) -> Option<Self> {
        if bytes.u32()? as usize != points {
            return None;
        }
        let mut state = Self { last_step: bytes.f64()?, ..Self::default() };
        if bytes.u32()? as usize != bodies {
            return None;
        }
        for _ in 0..bodies {
            state.solid_steps.push(bytes.f64()?);
        }
        for _ in 0..points {
            state.kinds.push(Kind::from_byte(bytes.u8()?)?);
            state.labels.push(bytes.u32()?);
            state.strains.push(read_matrix(bytes)?);
            state.stencils.push(Stencil::read(bytes, points)?);
        }
        state.is_sound().then_some(state)
    }

    /// Whether bonds come in pairs.
    fn is_sound(&self) -> bool {
        let paired = |i: usize, b: &Bond| {
            let back = self.stencils[b.to as usize].bonds.get(b.twin as usize);
            back.is_some_and(|back| back.to as usize == i)
        };
        (0..self.stencils.len()).all(|i| self.stencils[i].bonds.iter().all(|b| paired(i, b)))
    }
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Foreign, Self::Solid, Self::Skin, Self::Melted].into_iter().find(|k| *k as u8 == byte)
    }
}

impl Stencil {
    fn write(&self, out: &mut Writer) {
        out.u32(self.bonds.len() as u32);
        if self.bonds.is_empty() && self.radius == 0.0 {
            out.u8(0);
            return;
        }
        out.u8(1);
        write_matrix(out, self.inverse);
        write_matrix(out, self.plastic);
        write_vector(out, self.normal);
        out.f64(self.trace);
        out.f64(self.radius);
        out.f64(self.worth);
        out.u8(self.rank);
        for bond in &self.bonds {
            out.u32(bond.to);
            out.u32(bond.twin);
            out.f64(bond.weight);
            write_vector(out, bond.rest);
            write_vector(out, bond.slope);
        }
    }

    fn read(bytes: &mut Reader, points: usize) -> Option<Self> {
        let count = bytes.u32()? as usize;
        if bytes.u8()? == 0 {
            return Some(Self::EMPTY);
        }
        let mut stencil = Self {
            inverse: read_matrix(bytes)?,
            plastic: read_matrix(bytes)?,
            normal: read_vector(bytes)?,
            trace: bytes.f64()?,
            radius: bytes.f64()?,
            worth: bytes.f64()?,
            rank: bytes.u8()?,
            bonds: Vec::with_capacity(count.min(points)),
        };
        for _ in 0..count {
            let bond = Bond {
                to: bytes.u32()?,
                twin: bytes.u32()?,
                weight: bytes.f64()?,
                rest: read_vector(bytes)?,
                slope: read_vector(bytes)?,
            };
            stencil.bonds.push(bond);
        }
        stencil.bonds.iter().all(|b| (b.to as usize) < points).then_some(stencil)
    }
}

fn write_vector(out: &mut Writer, v: DVec3) {
    v.to_array().iter().for_each(|x| out.f64(*x));
}

fn read_vector(bytes: &mut Reader) -> Option<DVec3> {
    Some(DVec3::new(bytes.f64()?, bytes.f64()?, bytes.f64()?))
}

fn write_matrix(out: &mut Writer, m: DMat3) {
    m.to_cols_array().iter().for_each(|x| out.f64(*x));
}

fn read_matrix(bytes: &mut Reader) -> Option<DMat3> {
    Some(DMat3::from_cols(read_vector(bytes)?, read_vector(bytes)?, read_vector(bytes)?))
}
