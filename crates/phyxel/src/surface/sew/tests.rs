//! Balls of which a part is new.

use super::*;
use crate::geometry::Sphere;
use crate::sampling::mesh_of;

/// Shells, and handles over all; panics unless every edge has one triangle on each side and every vertex one fan of triangles.
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
    assert!(fans(triangles, places).values().all(|n| *n == 1), "every vertex has one fan of triangles");
    let heads: std::collections::BTreeSet<u32> = used.iter().map(|&v| groups.lowest(v)).collect();
    let euler = used.len() as i64 - edges.len() as i64 + triangles.len() as i64;
    (heads.len(), heads.len() as i64 - euler / 2)
}

/// Fans of triangles around each vertex of a closed mesh.
fn fans(triangles: &[[u32; 3]], places: &[u32]) -> BTreeMap<u32, usize> {
    let mut next: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    for t in triangles.iter().map(|t| t.map(|v| places[v as usize])) {
        for k in 0..3 {
            next.entry(t[k]).or_default().insert(t[(k + 1) % 3], t[(k + 2) % 3]);
        }
    }
    let count = |mut around: BTreeMap<u32, u32>| {
        let mut fans = 0;
        while let Some((start, mut at)) = around.pop_first() {
            while at != start {
                at = around.remove(&at).unwrap_or(start);
            }
            fans += 1;
        }
        fans
    };
    next.into_iter().map(|(v, around)| (v, count(around))).collect()
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

/// Every edge has two triangles, one on each side, but for those of the two rings, which have one.
fn is_band(triangles: &[[u32; 3]]) -> bool {
    let mut edges = std::collections::BTreeSet::new();
    let new = triangles.iter().flat_map(|t| (0..3).map(move |k| (t[k], t[(k + 1) % 3]))).all(|e| edges.insert(e));
    let open = edges.iter().filter(|(a, b)| !edges.contains(&(*b, *a))).count();
    new && open == triangles.len()
}

#[test]
fn no_two_vertices_of_a_band_are_joined_twice() {
    let circle = |count: usize, radius: f64, turn: f64, at: DVec3| -> Vec<DVec3> {
        let angle = |k: usize| turn * std::f64::consts::TAU * k as f64 / count as f64;
        (0..count).map(|k| at + radius * DVec3::new(angle(k).cos(), angle(k).sin(), 0.0)).collect()
    };
    // A ring far to the side of a small one is nearest to it in one vertex, all around.
    for (n, m, radius, side) in
        [(3, 3, 1.0, 0.0), (40, 3, 0.01, 1.5), (3, 40, 0.01, 3.0), (24, 12, 0.3, 1.4), (5, 4, 1e-9, 0.0)]
    {
        let (x, y) = (circle(n, 1.0, 1.0, DVec3::ZERO), circle(m, radius, -1.0, DVec3::new(side, 0.0, 0.1)));
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..n as u32).collect(), (n as u32..(n + m) as u32).collect());
        for triangles in [band((&a, &x), (&b, &y)), band((&b, &y), (&a, &x))] {
            assert_eq!(triangles.len(), n + m);
            assert!(is_band(&triangles), "{n} {m} {radius} {side}: {triangles:?}");
        }
    }
}
