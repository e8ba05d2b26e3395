use super::*;
use crate::groups::Groups;
use crate::random::Random;
use glam::{DVec2, Vec2, Vec3, Vec3Swizzles};
use std::collections::BTreeMap;

/// Points at a distance of 1 on a square of 20, a little shaken.
fn points() -> Vec<DVec3> {
    let shaken = |k: u32| {
        let r = 0.15 * Random::new(5, u64::from(k)).in_cube();
        DVec3::new(f64::from(k % 21) - 10.0 + r.x, 0.0, f64::from(k / 21) - 10.0 + r.z)
    };
    (0..441).map(shaken).collect()
}

/// A square of 20 of some triangles.
fn square(parts: usize) -> Mesh {
    let corner = |x: f64, z: f64| DVec3::new(10.0 * x, 0.0, 10.0 * z);
    let mesh = Mesh {
        positions: vec![corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0), corner(1.0, -1.0)],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        normals: vec![DVec3::Y; 4],
        uvs: Some(vec![DVec2::ZERO, DVec2::Y, DVec2::ONE, DVec2::X]),
        colors: Some(vec![[0; 3], [0; 3], [250; 3], [250; 3]]),
        ..Mesh::default()
    };
    mesh.subdivided(parts)
}

/// A winding crack from beyond the lower edge up to some height.
fn crack(end: f64) -> Vec<Piece> {
    let at = |k: u32| {
        let z = -10.7 + 0.97 * f64::from(k);
        DVec3::new(0.6 * z.sin() + 0.013, 0.0, z)
    };
    let corners: Vec<DVec3> = (0..).map(at).take_while(|p| p.z < end).collect();
    corners.windows(2).map(|w| Piece::new(w[0], w[1], DVec3::Y, 0.0)).collect()
}

/// Whether a place is to the right of the whole crack.
fn is_right(p: DVec3, pieces: &[Piece]) -> bool {
    let along = |p: &&Piece, z: f64| p.from.z <= z && z < p.to.z;
    let piece = pieces.iter().find(|k| along(k, p.z)).unwrap_or(&pieces[0]);
    let part = (p.z - piece.from.z) / (piece.to.z - piece.from.z);
    p.x > piece.from.lerp(piece.to, part).x
}

fn ride(skin: &mut Skin, points: &[DVec3], moves: impl Fn(DVec3) -> DVec3) -> MeshFrame {
    let moved: Vec<DVec3> = points.iter().map(|p| moves(*p)).collect();
    let slope = |p: DVec3, e: DVec3| (moves(p + 1e-5 * e) - moves(p - 1e-5 * e)) / 2e-5;
    let gradient = |p: &DVec3| DMat3::from_cols(slope(*p, DVec3::X), DVec3::Y, slope(*p, DVec3::Z));
    let mut out = MeshFrame::default();
    let carriers = Carriers {
        positions: &moved,
        rest_positions: points,
        velocities: &vec![DVec3::ZERO; points.len()],
        gradients: &points.iter().map(gradient).collect::<Vec<_>>(),
    };
    skin.write(&carriers, &mut out);
    out
}

fn area(mesh: &MeshFrame) -> f64 {
    let one = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
        0.5 * (b - a).cross(c - a).length()
    };
    mesh.triangles.iter().map(one).sum()
}

/// Largest length of an edge over that at rest.
fn stretch(mesh: &MeshFrame, rest: &MeshFrame) -> f32 {
    let mut most: f32 = 0.0;
    for t in &mesh.triangles {
        for k in 0..3 {
            let (a, b) = (t[k] as usize, t[(k + 1) % 3] as usize);
            let length = |m: &MeshFrame| m.positions[a].distance(m.positions[b]);
            most = most.max(length(mesh) / length(rest).max(1e-6));
        }
    }
    most
}

/// Sizes of the pieces that triangles make by common vertices, seams joined by their rest.
fn pieces_of(mesh: &MeshFrame) -> usize {
    let mut groups = Groups::new(mesh.positions.len());
    mesh.triangles.iter().for_each(|t| {
        groups.unite(t[0], t[1]);
        groups.unite(t[0], t[2]);
    });
    let mut roots: Vec<u32> = mesh.triangles.iter().flatten().map(|&v| groups.lowest(v)).collect();
    roots.sort_unstable();
    roots.dedup();
    roots.len()
}

fn bound(mesh: Mesh, points: &[DVec3]) -> Skin {
    Skin::new(mesh, points, &vec![1.8; points.len()], 1000)
}

#[test]
fn torn_apart_each_side_keeps_its_part_of_every_triangle() {
    let (points, pieces) = (points(), crack(12.0));
    // From much coarser to finer than the points.
    for parts in [1, 3, 10, 23, 70] {
        let mesh = square(parts);
        let vertices = mesh.positions.len();
        let mut skin = bound(mesh, &points);
        skin.open(&pieces, &points);
        let rest = ride(&mut skin, &points, |p| p);
        let shift = 30.0 * DVec3::X;
        let torn = ride(&mut skin, &points, |p| if is_right(p, &pieces) { p + shift } else { p });
        assert_eq!(pieces_of(&torn), 2, "{parts} parts");
        assert!((area(&rest) - 400.0).abs() < 1e-3 && (area(&torn) - 400.0).abs() < 1e-3);
        assert!(stretch(&torn, &rest) < 1.001, "{parts} parts: {}", stretch(&torn, &rest));
        for v in 0..torn.positions.len() {
            let p = rest.positions[v];
            let uv = Vec2::new(p.x / 20.0 + 0.5, p.z / 20.0 + 0.5);
            assert!(torn.uvs[v].distance(uv) < 1e-5, "{} {uv}", torn.uvs[v]);
            assert!((f32::from(torn.colors[v][0]) - 250.0 * uv.x).abs() <= 2.0);
            assert_eq!(torn.ids[v] == v as u32, v < vertices);
        }
    }
}

#[test]
fn at_its_tip_a_crack_opens_without_a_step() {
    let (points, pieces) = (points(), crack(0.0));
    let tip = pieces[pieces.len() - 1].to;
    // Opens as a crack in an elastic sheet: with the root of the distance.
    let opening = |p: DVec3| {
        let d = p - tip;
        let side = if p.z < tip.z && is_right(p, &pieces) { 1.0 } else { -1.0 };
        let angle = d.x.abs().atan2(d.z).max(0.0);
        let side = if p.z < tip.z { side } else { d.x.signum() };
        p + side * 0.25 * (d.length().sqrt() * (0.5 * angle).sin()) * DVec3::X
    };
    for parts in [10, 40, 100] {
        let mut skin = bound(square(parts), &points);
        skin.open(&pieces, &points);
        let rest = ride(&mut skin, &points, |p| p);
        let open = ride(&mut skin, &points, opening);
        let most = stretch(&open, &rest);
        assert_eq!(pieces_of(&open), 1);
        assert!(most < 1.8, "{parts} parts: {most}");
        // It is open: both sides of the cut are there, and apart.
        let mut cut: BTreeMap<[u32; 3], Vec<usize>> = BTreeMap::new();
        for v in 0..rest.positions.len() {
            cut.entry(rest.positions[v].to_array().map(f32::to_bits)).or_default().push(v);
        }
        let widest = cut.values().filter(|l| l.len() > 1).map(|l| open.positions[l[0]].distance(open.positions[l[1]]));
        let widest = widest.fold(0.0, f32::max);
        assert!((1.2..1.7).contains(&widest), "{widest}");
    }
}

#[test]
fn the_mesh_does_not_depend_on_the_frames_in_between() {
    let (points, pieces) = (points(), crack(12.0));
    let mut once = bound(square(30), &points);
    once.open(&pieces, &points);
    let mut often = bound(square(30), &points);
    (1..=pieces.len()).for_each(|n| often.open(&pieces[..n], &points));
    let moves = |p: DVec3| 1.1 * p + DVec3::Y * p.x * p.z;
    let [whole, torn] = [&mut once, &mut often].map(|skin| ride(skin, &points, moves));
    assert_eq!(whole, torn);
    // And back in time.
    once.open(&pieces[..5], &points);
    let mut new = bound(square(30), &points);
    new.open(&pieces[..5], &points);
    assert_eq!(ride(&mut once, &points, moves), ride(&mut new, &points, moves));
    once.open(&[], &points);
    assert_eq!(ride(&mut once, &points, moves), ride(&mut bound(square(30), &points), &points, moves));
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let points = points();
            let mut skin = bound(square(30), &points);
            skin.open(&crack(3.0), &points);
            let mut surfels = Surfels::default();
            let mesh = ride(&mut skin, &points, |p| p * (1.0 + 0.01 * p.z));
            skin.draw(&mesh, [9; 3], &mut surfels);
            (mesh, surfels.positions, surfels.axes_u, surfels.colors)
        })
    };
    let one = run(1);
    assert!((2..=4).all(|threads| run(threads) == one));
}

#[test]
fn seams_of_texture_stay_closed_and_open_with_the_rest() {
    // All triangles have vertices of their own: nothing but seams.
    let whole = square(12);
    let mut loose = Mesh { triangles: Vec::new(), positions: Vec::new(), uvs: None, colors: None, ..whole.clone() };
    for t in 0..whole.triangles.len() {
        let first = loose.positions.len() as u32;
        loose.positions.extend(whole.corners(t));
        loose.triangles.push([first, first + 1, first + 2]);
    }
    loose.normals = vec![DVec3::Y; loose.positions.len()];
    let (points, pieces) = (points(), crack(12.0));
    let mut skin = bound(loose, &points);
    skin.open(&pieces, &points);
    let rest = ride(&mut skin, &points, |p| p);
    let torn = ride(&mut skin, &points, |p| if is_right(p, &pieces) { p + 30.0 * DVec3::X } else { p });
    assert!(stretch(&torn, &rest) < 1.001);
    assert!((area(&torn) - 400.0).abs() < 1e-3);
    // Vertices at one place at rest are now at one place, or at two.
    let mut found: BTreeMap<[u32; 3], Vec<Vec3>> = BTreeMap::new();
    for v in torn.triangles.iter().flatten().map(|v| *v as usize) {
        found.entry(rest.positions[v].to_array().map(f32::to_bits)).or_default().push(torn.positions[v]);
    }
    let mut open = 0;
    for list in found.values() {
        let apart = list.iter().map(|p| p.distance(list[0])).fold(0.0, f32::max);
        assert!(!(1e-4..=29.9).contains(&apart), "{apart}");
        open += usize::from(apart > 1.0);
    }
    assert!(open > 20, "{open}");
}

#[test]
fn crossing_cracks_and_odd_pieces_are_borne() {
    let points = points();
    let piece =
        |a: [f64; 2], b: [f64; 2]| Piece::new(DVec3::new(a[0], 0.0, a[1]), DVec3::new(b[0], 0.0, b[1]), DVec3::Y, 0.0);
    let row = |z: f64| (-11..11).map(move |x| piece([f64::from(x), z], [f64::from(x + 1), z]));
    let column = |x: f64| (-11..11).map(move |z| piece([x, f64::from(z)], [x, f64::from(z + 1)]));
    // Through vertices and along edges of the mesh, across each other, the same again, and without length.
    let mut pieces: Vec<Piece> = row(0.0).chain(column(0.5)).chain(row(0.0)).chain(column(3.2)).collect();
    pieces.push(piece([2.0, 2.0], [2.0, 2.0]));
    let mut skin = bound(square(20), &points);
    skin.open(&pieces, &points);
    let apart = |p: DVec3| {
        let side = |x: f64, at: f64| if x > at { 20.0 } else { 0.0 };
        p + DVec3::new(side(p.x, 0.5) + side(p.x, 3.2), 0.0, side(p.z, 0.0))
    };
    let rest = ride(&mut skin, &points, |p| p);
    let torn = ride(&mut skin, &points, apart);
    assert_eq!(pieces_of(&torn), 6);
    assert!((area(&torn) - 400.0).abs() < 1e-3, "{}", area(&torn));
    assert!(stretch(&torn, &rest) < 1.001, "{}", stretch(&torn, &rest));
    // Nothing to ride on, and nothing that rides.
    let mut empty = bound(Mesh::default(), &points);
    empty.open(&pieces, &points);
    assert!(ride(&mut empty, &points, |p| p).is_empty());
    let mut alone = Skin::new(square(2), &[], &[], 10);
    alone.open(&pieces, &[]);
    assert_eq!(ride(&mut alone, &[], |p| p).positions[2], Vec3::new(10.0, 0.0, 10.0));
}

#[test]
fn on_a_curved_surface_no_side_holds_on_to_the_other() {
    // The square rolled up to a little more than half a tube.
    let radius = 6.0;
    let rolled = |p: DVec3| {
        let angle = p.x / radius;
        radius * DVec3::new(angle.sin(), angle.cos() - 1.0, 0.0) + DVec3::Z * p.z
    };
    let up = |p: DVec3| DVec3::new((p.x / radius).sin(), (p.x / radius).cos(), 0.0);
    let flat = points();
    let points: Vec<DVec3> = flat.iter().map(|p| rolled(*p)).collect();
    let pieces = crack(12.0);
    let across: Vec<Piece> = pieces.iter().map(|k| Piece { from: k.from.zyx(), to: k.to.zyx(), ..*k }).collect();
    for (pieces, turned) in [(&pieces, false), (&across, true)] {
        let cracks: Vec<Piece> =
            pieces.iter().map(|k| Piece::new(rolled(k.from), rolled(k.to), up(k.from), 0.0)).collect();
        for parts in [20, 40] {
            let mut mesh = square(parts);
            mesh.normals = mesh.positions.iter().map(|p| up(*p)).collect();
            mesh.positions = mesh.positions.iter().map(|p| rolled(*p)).collect();
            let mut skin = bound(mesh, &points);
            skin.open(&cracks, &points);
            let rest = ride(&mut skin, &points, |p| p);
            let right: Vec<bool> = flat
                .iter()
                .map(|p| if turned { is_right(p.zyx(), &crack(12.0)) } else { is_right(*p, pieces) })
                .collect();
            let find = |p: DVec3| points.iter().position(|q| q.distance(p) < 1e-3).is_some_and(|i| right[i]);
            let torn = ride(&mut skin, &points, |p| if find(p) { p + 50.0 * DVec3::Z } else { p });
            assert_eq!(pieces_of(&torn), 2, "{parts} parts");
            assert!(
                (area(&torn) / area(&rest) - 1.0).abs() < 1e-4,
                "{turned} {parts}: {} {} {}",
                area(&torn),
                area(&rest),
                stretch(&torn, &rest)
            );
            assert!(stretch(&torn, &rest) < 1.002, "{parts} parts: {}", stretch(&torn, &rest));
        }
    }
}
