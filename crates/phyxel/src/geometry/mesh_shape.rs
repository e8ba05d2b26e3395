//! A triangle mesh as a solid: nearest triangle by a tree, sign by pseudonormals or by the winding number.
//!
//! A closed mesh that does not cross itself takes the sign from the angle-weighted pseudonormal of the nearest face, edge or
//! corner ([BA05]), which costs nothing. All others ask the winding number ([BDS18]); parts of the surface that lie inside
//! the solid (overlapping pieces) are left out of the distance.

use super::bvh::Bvh;
use super::mesh::{Mesh, area_vector};
use super::topology::{Edges, same_places};
use super::triangle::{Feature, closest, cross};
use super::winding::{Winding, solid_angle};
use super::{Bounds, Shape};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Below this cosine between the pseudonormal and the way to the point the winding number has the last word.
const DOUBT: f64 = 0.05;

/// How the sign is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// By pseudonormals.
    Normal,
    /// By the winding number of a closed surface.
    Winding,
    /// By the winding number of an open one: the distance is faded to zero where it passes one half.
    Open,
}

/// Signed distance of a mesh.
pub struct MeshShape {
    sign: Sign,
    bounds: Bounds,
    /// All triangles, for the winding number.
    whole: Tree,
    winding: Winding,
    /// The outer triangles if some are inside the solid, for the distance.
    outer: Option<Tree>,
    crossing: usize,
}

/// Triangles in leaf order.
struct Tree {
    bvh: Bvh,
    corners: Vec<[DVec3; 3]>,
    /// Pseudonormals of corners 0, 1, 2 and edges 0, 1, 2.
    pseudonormals: Vec<[Vec3; 6]>,
}

/// Nearest point of the surface.
#[derive(Debug, Clone, Copy)]
struct Nearest {
    point: DVec3,
    squared: f64,
    triangle: usize,
    feature: Feature,
}

impl MeshShape {
    /// The solid inside of `mesh`, which should have been repaired; without triangles it is empty.
    pub fn new(mesh: &Mesh) -> Self {
        let places = same_places(mesh);
        let edges = Edges::new(mesh, &places);
        let pseudonormals = pseudonormals(mesh, &edges, &places);
        let all: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
        let whole = Tree::new(mesh, &pseudonormals, &all);
        let winding = Winding::new(&whole.bvh, |i| {
            let x = whole.corners[i];
            let vector = 0.5 * area_vector(x);
            (vector.length(), (x[0] + x[1] + x[2]) / 3.0, vector)
        });
        let crossing = whole.crossing(mesh, &places);
        let manifold = edges.groups().all(|g| g.len() == 2);
        let sign = match (edges.is_closed(), manifold && crossing == 0) {
            (true, true) => Sign::Normal,
            (true, false) => Sign::Winding,
            (false, _) => Sign::Open,
        };
        let mut shape = Self { sign, bounds: mesh.bounds(), whole, winding, outer: None, crossing };
        if sign != Sign::Open {
            shape.leave_out_inner(mesh, &edges, &pseudonormals);
        }
        shape
    }

    /// Number of triangles that cross another one.
    pub fn crossing_triangles(&self) -> usize {
        self.crossing
    }

    /// Winding number: 1 inside a closed mesh, 0 outside, in between near the holes of an open one.
    pub fn winding(&self, p: DVec3) -> f64 {
        self.winding.at(&self.whole.bvh, p, |i| solid_angle(self.whole.corners[i], p))
    }

    fn surface(&self) -> &Tree {
        self.outer.as_ref().unwrap_or(&self.whole)
    }

    fn signed(&self, p: DVec3, nearest: &Nearest) -> f64 {
        let d = nearest.squared.sqrt() * self.sign(p, nearest);
        // Nothing is inside beyond the box, and no distance there is below that to the box.
        if self.sign == Sign::Open && d > 0.0 { d.max(self.bounds.distance(p)) } else { d }
    }

    /// Sign and fading factor of the distance: -1 inside, 1 outside.
    fn sign(&self, p: DVec3, nearest: &Nearest) -> f64 {
        match self.sign {
            Sign::Open => (4.0 * (0.5 - self.winding(p))).clamp(-1.0, 1.0),
            _ if !self.bounds.contains(p) => 1.0,
            Sign::Normal => {
                let to = p - nearest.point;
                let normal = self.surface().pseudonormal(nearest);
                let cosine = to.dot(normal);
                if cosine.abs() > DOUBT * nearest.squared.sqrt() { cosine.signum() } else { self.winding_sign(p) }
            }
            Sign::Winding => self.winding_sign(p),
        }
    }

    fn winding_sign(&self, p: DVec3) -> f64 {
        if self.winding(p) > 0.5 { -1.0 } else { 1.0 }
    }

    /// Builds `outer` without the triangles that have the solid on both sides.
    fn leave_out_inner(&mut self, mesh: &Mesh, edges: &Edges, pseudonormals: &[[Vec3; 6]]) {
        let count = mesh.triangles.len();
        let (pieces, piece_count) = edges.pieces(count);
        if self.sign == Sign::Normal && piece_count <= 1 {
            return;
        }
        let step = 1e-6 * self.bounds.size().max_element();
        let is_inner = |t: usize| {
            let x = mesh.corners(t);
            let Some(normal) = area_vector(x).try_normalize() else { return false };
            let middle = (x[0] + x[1] + x[2]) / 3.0;
            let inside = |p: DVec3| self.winding(p + step * normal) > 0.5 && self.winding(p - step * normal) > 0.5;
            inside(middle) && x.iter().all(|&c| inside(middle + 0.98 * (c - middle)))
        };
        let outer: Vec<u32> = if self.sign == Sign::Normal {
            // Pieces do not cross: one triangle tells for its piece.
            let mut inner = vec![None; piece_count];
            let keep = |&t: &u32| {
                let piece = &mut inner[pieces[t as usize] as usize];
                !*piece.get_or_insert_with(|| is_inner(t as usize))
            };
            (0..count as u32).filter(keep).collect()
        } else {
            let inner: Vec<bool> = (0..count).into_par_iter().map(is_inner).collect();
            (0..count as u32).filter(|&t| !inner[t as usize]).collect()
        };
        if outer.len() < count && !outer.is_empty() {
            self.outer = Some(Tree::new(mesh, pseudonormals, &outer));
        }
    }
}

impl Shape for MeshShape {
    fn distance(&self, p: DVec3) -> f64 {
        match self.surface().nearest(p) {
            Some(nearest) => self.signed(p, &nearest),
            None => f64::INFINITY,
        }
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn normal(&self, p: DVec3) -> DVec3 {
        self.distance_normal(p).1
    }

    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        let Some(nearest) = self.surface().nearest(p) else { return (f64::INFINITY, DVec3::Y) };
        let signed = self.signed(p, &nearest);
        let d = nearest.squared.sqrt();
        let size = self.bounds.size().max_element();
        // On the surface the way to the nearest point has no direction of its own.
        let away = if d > 1e-9 * size {
            (p - nearest.point) * (signed.signum() / d)
        } else {
            self.surface().pseudonormal(&nearest)
        };
        (signed, away.try_normalize().unwrap_or(DVec3::Y))
    }
}

impl Tree {
    fn new(mesh: &Mesh, pseudonormals: &[[Vec3; 6]], triangles: &[u32]) -> Self {
        let boxes: Vec<Bounds> = triangles.iter().map(|&t| Bounds::of(mesh.corners(t as usize))).collect();
        let mut bvh = Bvh::new(&boxes);
        bvh.order.iter_mut().for_each(|i| *i = triangles[*i as usize]);
        let corners = bvh.order.iter().map(|&t| mesh.corners(t as usize)).collect();
        let pseudonormals = bvh.order.iter().map(|&t| pseudonormals[t as usize]).collect();
        Self { bvh, corners, pseudonormals }
    }

    fn nearest(&self, p: DVec3) -> Option<Nearest> {
        let mut found: Option<Nearest> = None;
        self.bvh.nearest(p, f64::INFINITY, |range, mut best| {
            for triangle in range {
                let (point, feature) = closest(&self.corners[triangle], p);
                let squared = point.distance_squared(p);
                if squared < best {
                    best = squared;
                    found = Some(Nearest { point, squared, triangle, feature });
                }
            }
            best
        });
        found
    }

    /// Pseudonormal where the nearest point is; zero where the triangles there have no extent.
    fn pseudonormal(&self, nearest: &Nearest) -> DVec3 {
        match nearest.feature {
            Feature::Face => area_vector(self.corners[nearest.triangle]).normalize_or_zero(),
            Feature::Corner(k) => self.pseudonormals[nearest.triangle][k].as_dvec3(),
            Feature::Edge(k) => self.pseudonormals[nearest.triangle][3 + k].as_dvec3(),
        }
    }

    /// Counts triangles that cross another one; neighbors that share a corner do not count.
    fn crossing(&self, mesh: &Mesh, places: &[u32]) -> usize {
        let corners_of = |i: usize| mesh.triangles[self.bvh.order[i] as usize].map(|v| places[v as usize]);
        let crosses = |i: &usize| {
            let (mine, own) = (&self.corners[*i], corners_of(*i));
            let mut found = false;
            self.bvh.overlapping(Bounds::of(*mine), |range| {
                found = found
                    || range.into_iter().any(|j| {
                        j != *i && !corners_of(j).iter().any(|v| own.contains(v)) && cross(mine, &self.corners[j])
                    });
            });
            found
        };
        (0..self.corners.len()).into_par_iter().filter(crosses).count()
    }
}

/// Pseudonormals of each triangle's corners (angle-weighted) and edges (mean of both sides), [BA05] §3.
fn pseudonormals(mesh: &Mesh, edges: &Edges, places: &[u32]) -> Vec<[Vec3; 6]> {
    let count = mesh.triangles.len();
    let normals: Vec<DVec3> = (0..count).map(|t| area_vector(mesh.corners(t)).normalize_or_zero()).collect();
    let mut at_places = vec![DVec3::ZERO; mesh.positions.len()];
    for t in 0..count {
        let x = mesh.corners(t);
        for k in 0..3 {
            let (e, f) = (x[(k + 1) % 3] - x[k], x[(k + 2) % 3] - x[k]);
            let angle = e.cross(f).length().atan2(e.dot(f));
            at_places[places[mesh.triangles[t][k] as usize] as usize] += angle * normals[t];
        }
    }
    let unit = |n: DVec3| n.normalize_or_zero().as_vec3();
    let mut result: Vec<[Vec3; 6]> = vec![[Vec3::ZERO; 6]; count];
    for t in 0..count {
        for k in 0..3 {
            result[t][k] = unit(at_places[places[mesh.triangles[t][k] as usize] as usize]);
        }
    }
    for group in edges.groups() {
        let mean = unit(group.iter().map(|e| normals[e.triangle()]).sum());
        group.iter().for_each(|e| result[e.triangle()][3 + e.side as usize % 3] = mean);
    }
    result
}
