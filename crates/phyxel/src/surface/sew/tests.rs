//! Balls of which a part is new.

use super::*;
use crate::geometry::Sphere;
use crate::sampling::mesh_of;

/// Shells, and handles over all; panics unless every edge has one triangle on each side.
pub(in crate::surface) fn shells_and_handles(triangles: &[[u32; 3]], places: &[u32]) -> (usize, i64) {
    let mut edges: BTreeMap<(u32, u32), [u32; 2]> = BTreeMap::new();
    let mut groups = crate::groups::Groups::new(places.len());
    let mut used = std::collections::BTreeSet::new();
    for t in triangles {
        let t = t.map(|v| places[v as usize]);
        used.extend(t);
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            edges.entry((a.min(b), a.max(b))).or_default()[usize::from(a < b)] += 1;
            groups.unite(a, b);
        }
    }
    assert!(edges.values().all(|n| *n == [1, 1]), "every edge has two triangles, one on each side");
    let heads: std::collections::BTreeSet<u32> = used.iter().map(|&v| groups.lowest(v)).collect();
    let euler = used.len() as i64 - edges.len() as i64 + triangles.len() as i64;
    (heads.len(), heads.len() as i64 - euler / 2)
}

fn ball(count: usize, center: DVec3) -> Mesh {
    let mut mesh = mesh_of(&Sphere { radius: 1.0 }, count);
    mesh.positions.iter_mut().for_each(|p| *p += center);
    mesh
}

fn joined(a: Mesh, b: &Mesh) -> Mesh {
    let first = a.positions.len() as u32;
    let mut mesh = a;
    mesh.positions.extend(&b.positions);
    mesh.triangles.extend(b.triangles.iter().map(|t| t.map(|v| v + first)));
    mesh
}

/// Every vertex is a place of its own.
fn each(mesh: &Mesh) -> Vec<u32> {
    (0..mesh.positions.len() as u32).collect()
}

/// Sews what is left of `old` to `made`; returns the mesh, and how many triangles stay.
fn sewn(old: &Mesh, stays: impl Fn(DVec3) -> bool, made: &Mesh) -> (Mesh, usize) {
    let places = old.places();
    let kept: Vec<bool> = old.triangles.iter().map(|t| t.iter().all(|&v| stays(old.positions[v as usize]))).collect();
    let fresh: Vec<bool> = made.positions.iter().map(|p| !stays(*p)).collect();
    let fabric = Fabric { positions: &old.positions, places: &places, triangles: &old.triangles };
    let s = sew(fabric, kept, made, &fresh, 0.1);
    let mut positions = old.positions.clone();
    positions.extend(s.taken.iter().map(|&v| made.positions[v as usize]));
    positions.extend(&s.middles);
    let triangles = s.stay.iter().map(|&t| old.triangles[t as usize]).chain(s.triangles.iter().copied()).collect();
    (Mesh { positions, triangles, ..Mesh::default() }, s.stay.len())
}

#[test]
fn a_new_cap_closes_a_ball_at_its_place() {
    let (old, made) = (ball(3000, DVec3::ZERO), ball(900, DVec3::ZERO));
    let (mesh, stay) = sewn(&old, |p| p.y < 0.4, &made);
    assert_eq!(shells_and_handles(&mesh.triangles, &each(&mesh)), (1, 0));
    assert!((3000..old.triangles.len()).contains(&stay), "{stay}");
    assert!((mesh.volume() / old.volume() - 1.0).abs() < 0.01, "{} {}", mesh.volume(), old.volume());
}

#[test]
fn what_parted_is_two_meshes_and_what_fused_is_one() {
    // A ball whose middle is gone, where two have grown instead.
    let old = ball(3000, DVec3::ZERO);
    let squeezed = |side: f64| {
        let mut mesh = ball(1500, DVec3::ZERO);
        for p in &mut mesh.positions {
            // The upper or the lower half of the ball, closed by a flat face.
            p.y = side * if side * p.y > 0.2 { side * p.y } else { 0.2 };
        }
        mesh
    };
    let parted = joined(squeezed(1.0), &squeezed(-1.0));
    let (mesh, _) = sewn(&old, |p| p.y.abs() > 0.5, &parted);
    assert_eq!(shells_and_handles(&mesh.triangles, &each(&mesh)), (2, 0));
    // Two balls and the mesh around a longer one.
    let two = joined(ball(1500, DVec3::Y * 0.6), &ball(1500, DVec3::Y * -0.6));
    let mut one = ball(3000, DVec3::ZERO);
    one.positions.iter_mut().for_each(|p| p.y += 0.6 * p.y.signum());
    let (mesh, stay) = sewn(&two, |p| p.y.abs() > 0.8, &one);
    assert_eq!(shells_and_handles(&mesh.triangles, &each(&mesh)), (1, 0));
    assert!(stay > 1000, "{stay}");
}

#[test]
fn odd_leftovers_are_closed_all_the_same() {
    let (old, made) = (ball(3000, DVec3::ZERO), ball(900, DVec3::ZERO));
    // Stripes, crumbs, a single triangle, all and nothing.
    let odd: [&dyn Fn(DVec3) -> bool; 5] = [
        &|p| (p.x * 9.0).sin() > 0.3,
        &|p| (p.x * 31.0).sin() * (p.y * 37.0).sin() * (p.z * 41.0).sin() > 0.1,
        &|p| p.y > 0.999,
        &|_| true,
        &|_| false,
    ];
    for stays in odd {
        let (mesh, _) = sewn(&old, stays, &made);
        assert!(shells_and_handles(&mesh.triangles, &each(&mesh)).0 > 0);
    }
}
