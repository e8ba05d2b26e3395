//! Plain shapes for the tests of contact.

use crate::geometry::{Bounds, Shape};
use glam::DVec3;

/// {p: normal·p < offset}.
pub struct HalfSpace(pub DVec3, pub f64);
/// Center, half size.
pub struct Block(pub DVec3, pub DVec3);
/// Center, radius.
pub struct Ball(pub DVec3, pub f64);
/// All but a ball: the inside of a bowl.
pub struct Hollow(pub DVec3, pub f64);

const ALL: Bounds = Bounds { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };

impl Shape for HalfSpace {
    fn distance(&self, p: DVec3) -> f64 {
        self.0.dot(p) - self.1
    }
    fn bounds(&self) -> Bounds {
        ALL
    }
    fn normal(&self, _: DVec3) -> DVec3 {
        self.0
    }
}

impl Shape for Block {
    fn distance(&self, p: DVec3) -> f64 {
        let q = (p - self.0).abs() - self.1;
        q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
    }
    fn bounds(&self) -> Bounds {
        Bounds { min: self.0 - self.1, max: self.0 + self.1 }
    }
}

impl Shape for Ball {
    fn distance(&self, p: DVec3) -> f64 {
        (p - self.0).length() - self.1
    }
    fn bounds(&self) -> Bounds {
        Bounds { min: self.0 - self.1, max: self.0 + self.1 }
    }
}

impl Shape for Hollow {
    fn distance(&self, p: DVec3) -> f64 {
        self.1 - (p - self.0).length()
    }
    fn bounds(&self) -> Bounds {
        ALL
    }
}
