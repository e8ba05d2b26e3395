//! The drawn surface: surfels carried by the points. Physics never reads it.

mod boundary;
mod breaks;
mod closed;
mod cut;
mod displacement;
#[cfg(test)]
mod elastic_tests;
pub mod flowing;
mod folds;
mod gaussian;
mod handles;
mod inside;
pub mod iso;
mod remesh;
mod sew;
mod skin;
mod velocities;
mod views;

pub use boundary::{anisotropy, exposure};
pub use breaks::Breaks;
pub use closed::{seen, seen_through};
pub use displacement::{Carrier, Falloff};
pub use flowing::{Carried, Coated, FlowPoints, FlowingSurface, Least, Manner, Mold, Paint, Span, Stain, Worn};
pub use gaussian::{GaussianField, OnSurface};
pub use iso::IsoSurface;
pub use remesh::{mesh_around, mesh_of_surfels};
pub use skin::{Carriers, NEW_VERTEX, Skin};
pub use velocities::{velocities_among, velocities_near};

use glam::{DVec3, Vec3};

/// Surface elements: small ellipses, one flat array per quantity. f32 is enough for pictures; centers that are known better are in
/// `exact`.
#[derive(Debug, Clone, Default)]
pub struct Surfels {
    /// Centers [m].
    pub positions: Vec<Vec3>,
    /// First half-axis of the ellipse [m]; its length is the radius.
    pub axes_u: Vec<Vec3>,
    /// Second half-axis [m].
    pub axes_v: Vec<Vec3>,
    /// Unit outward normals.
    pub normals: Vec<Vec3>,
    /// sRGB colors.
    pub colors: Vec<[u8; 3]>,
    /// Velocities [m/s]; empty where nothing moves.
    pub velocities: Vec<Vec3>,
    /// Centers of surfels that solid matter carries, to f64 [m]; empty elsewhere, and in frames read from files. Written by
    /// `Carrier::update`.
    pub exact: Vec<DVec3>,
}

impl Surfels {
    /// Number of surfels.
    pub fn len(&self) -> usize {
        self.positions.len()
    }
    /// Adds other surfels; velocities and exact centers are kept where both have them.
    pub fn append(&mut self, other: &Self) {
        let had = self.len();
        let both = |own: usize, others: usize| own == had && others == other.len();
        match both(self.velocities.len(), other.velocities.len()) {
            true => self.velocities.extend(&other.velocities),
            false => self.velocities.clear(),
        }
        match both(self.exact.len(), other.exact.len()) {
            true => self.exact.extend(&other.exact),
            false => self.exact.clear(),
        }
        self.positions.extend(&other.positions);
        self.axes_u.extend(&other.axes_u);
        self.axes_v.extend(&other.axes_v);
        self.normals.extend(&other.normals);
        self.colors.extend(&other.colors);
    }
    /// Center of a surfel as exactly as it is known [m].
    pub fn center(&self, surfel: usize) -> DVec3 {
        match self.exact.len() == self.positions.len() {
            true => self.exact[surfel],
            false => self.positions[surfel].as_dvec3(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}
