//! A triangle mesh as a solid: nearest triangle by a tree, sign by pseudonormals or by the winding number.
//!
//! Where the surface is closed, manifold and not crossed, the sign comes from the angle-weighted pseudonormal of the nearest
//! face, edge or corner ([BA05]), which costs nothing; elsewhere from the winding number ([BDS18]). Parts of the surface that
//! lie inside the solid (overlapping pieces) are left out of the distance.

use super::bvh::Bvh;
use super::discs::Discs;
use super::mesh::{Mesh, area_vector};
use super::topology::{Edges, same_places};
use super::triangle::{Feature, closest, cross};
use super::winding::{Winding, solid_angle};
use super::{ANYTHING, Bounds, Shape, within};
use crate::sampling::barycentric;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Below this cosine between the pseudonormal and the way to the point the winding number has the last word.
const DOUBT: f64 = 0.05;
/// Nearer to the surface than this it makes no difference on which side one is [of the size of the mesh].
const ON: f64 = 1e-7;

/// Signed distance of a mesh.
pub struct MeshShape {
    /// Whether the mesh is closed. If not, the distance is faded to zero where the winding number passes one half.
    closed: bool,
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
    discs: Discs,
    corners: Vec<[DVec3; 3]>,
    /// Pseudonormals of corners 0, 1, 2 and edges 0, 1, 2.
    pseudonormals: Vec<[Vec3; 6]>,
    /// sRGB colors of the corners; empty if the mesh has none.
    colors: Vec<[[u8; 3]; 3]>,
    /// Whether the pseudonormals tell the side: all triangles that meet there bound the solid and nothing crosses them.
    trusted: Vec<bool>,
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
        let count = crossing.iter().filter(|&&c| c).count();
        let closed = edges.is_closed();
        let mut shape = Self { closed, bounds: mesh.bounds(), whole, winding, outer: None, crossing: count };
        if closed {
            let sides = shape.sides(mesh, &edges, &crossing);
            let outer: Vec<u32> = (0..sides.len() as u32).filter(|&t| sides[t as usize] != Side::Inner).collect();
            if outer.len() < sides.len() && !outer.is_empty() {
                shape.outer = Some(Tree::new(mesh, &pseudonormals, &outer));
            }
            let trusted = trusted(mesh, &edges, &places, |t| sides[t] == Side::Border && !crossing[t]);
            let tree = shape.outer.as_mut().unwrap_or(&mut shape.whole);
            tree.trusted = tree.bvh.order.iter().map(|&t| trusted[t as usize]).collect();
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
        if !self.closed && d > 0.0 { d.max(self.bounds.distance(p)) } else { d }
    }

    /// Sign and fading factor of the distance: -1 inside, 1 outside.
    fn sign(&self, p: DVec3, nearest: &Nearest) -> f64 {
        if !self.closed {
            return (4.0 * (0.5 - self.winding(p))).clamp(-1.0, 1.0);
        }
        if !self.bounds.contains(p) {
            return 1.0;
        }
        let tree = self.surface();
        if tree.trusted[nearest.triangle] {
            let cosine = (p - nearest.point).dot(tree.pseudonormal(nearest));
            // Over the inside of a triangle there is no doubt, however near.
            let sure = nearest.feature == Feature::Face && cosine != 0.0;
            let (distance, on) = (nearest.squared.sqrt(), ON * self.bounds.size().max_element());
            if sure || distance < on || cosine.abs() > DOUBT * distance {
                return cosine.signum();
            }
        }
        self.winding_sign(p)
    }

    fn winding_sign(&self, p: DVec3) -> f64 {
        if self.winding(p) > 0.5 { -1.0 } else { 1.0 }
    }

    /// Which triangles bound the solid and which lie inside it.
    fn sides(&self, mesh: &Mesh, edges: &Edges, crossing: &[bool]) -> Vec<Side> {
        let count = mesh.triangles.len();
        let (pieces, piece_count) = edges.pieces(count);
        let plain = !crossing.contains(&true) && edges.groups().all(|g| g.len() == 2);
        if piece_count <= 1 && plain {
            return vec![Side::Border; count];
        }
        let step = 1e-6 * self.bounds.size().max_element();
        let side = |t: usize| {
            let x = mesh.corners(t);
            let Some(normal) = area_vector(x).try_normalize() else { return Side::Unknown };
            let middle = (x[0] + x[1] + x[2]) / 3.0;
            let inside = |p: DVec3, side: f64| self.winding(p + side * step * normal) > 0.5;
            match (inside(middle, 1.0), inside(middle, -1.0)) {
                (false, true) => Side::Border,
                (true, true) => {
                    let both = |c: &DVec3| {
                        let p = middle + 0.98 * (*c - middle);
                        inside(p, 1.0) && inside(p, -1.0)
                    };
                    if !crossing[t] || x.iter().all(both) { Side::Inner } else { Side::Unknown }
                }
                _ => Side::Unknown,
            }
        };
        if !plain {
            return (0..count).into_par_iter().map(side).collect();
        }
        // Pieces that neither cross nor branch: one triangle tells for its piece.
        let mut known = vec![None; piece_count];
        (0..count).map(|t| *known[pieces[t] as usize].get_or_insert_with(|| side(t))).collect()
    }
}

/// What a triangle has on its two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The solid behind, nothing before.
    Border,
    /// The solid on both sides.
    Inner,
    /// Something else, or not the same all over.
    Unknown,
}

/// Triangles whose corners are touched only by good triangles and by edges of two triangles.
fn trusted(mesh: &Mesh, edges: &Edges, places: &[u32], good: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut clean = vec![true; mesh.positions.len()];
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        if !good(t) {
            triangle.iter().for_each(|&v| clean[places[v as usize] as usize] = false);
        }
    }
    for group in edges.groups().filter(|g| g.len() != 2) {
        clean[group[0].low as usize] = false;
        clean[group[0].high as usize] = false;
    }
    mesh.triangles.iter().map(|t| t.iter().all(|&v| clean[places[v as usize] as usize])).collect()
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

    fn color(&self, p: DVec3) -> Option<[u8; 3]> {
        let tree = self.surface();
        let nearest = tree.nearest(p)?;
        let colors = tree.colors.get(nearest.triangle)?;
        let weights = barycentric(tree.corners[nearest.triangle], nearest.point);
        let channel = |k: usize| (0..3).map(|c| weights[c] * f64::from(colors[c][k])).sum::<f64>().round() as u8;
        Some([channel(0), channel(1), channel(2)])
    }

    fn cost(&self) -> usize {
        100
    }

    fn range(&self, center: DVec3, radius: f64) -> (f64, f64) {
        // Where an open mesh fades its distance, it may change faster than the way.
        if self.closed { within(self.distance(center), radius) } else { ANYTHING }
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
        let corners: Vec<[DVec3; 3]> = bvh.order.iter().map(|&t| mesh.corners(t as usize)).collect();
        let pseudonormals = bvh.order.iter().map(|&t| pseudonormals[t as usize]).collect();
        let discs = Discs::new(&bvh, |i| corners[i], |i| area_vector(corners[i]));
        let painted = mesh.colors.as_ref().filter(|list| list.len() == mesh.positions.len());
        let colors = painted.map_or_else(Vec::new, |list| {
            bvh.order.iter().map(|&t| mesh.triangles[t as usize].map(|v| list[v as usize])).collect()
        });
        Self { bvh, discs, corners, pseudonormals, colors, trusted: Vec::new() }
    }

    fn nearest(&self, p: DVec3) -> Option<Nearest> {
        let mut found: Option<Nearest> = None;
        self.discs.nearest(p, f64::INFINITY, |triangle, best| {
            let (point, feature) = closest(&self.corners[triangle], p);
            let squared = point.distance_squared(p);
            if squared < best {
                found = Some(Nearest { point, squared, triangle, feature });
            }
            best.min(squared)
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

    /// For each triangle of the mesh whether it crosses another one; neighbors that share a corner do not count.
    fn crossing(&self, mesh: &Mesh, places: &[u32]) -> Vec<bool> {
        let corners_of = |i: usize| mesh.triangles[self.bvh.order[i] as usize].map(|v| places[v as usize]);
        let crosses = |i: usize| {
            let (mine, own) = (&self.corners[i], corners_of(i));
            let mut found = false;
            self.bvh.overlapping(Bounds::of(*mine), |range| {
                found = found
                    || range.into_iter().any(|j| {
                        j != i && !corners_of(j).iter().any(|v| own.contains(v)) && cross(mine, &self.corners[j])
                    });
            });
            found
        };
        let in_order: Vec<bool> = (0..self.corners.len()).into_par_iter().map(crosses).collect();
        let mut flags = vec![false; mesh.triangles.len()];
        self.bvh.order.iter().zip(in_order).for_each(|(&t, crosses)| flags[t as usize] = crosses);
        flags
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
