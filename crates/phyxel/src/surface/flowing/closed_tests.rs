//! Surfaces of balls that flow are closed, without flakes, and so are the meshes around them.

use super::paint::Surroundings;
use super::tests::{Lab, RADIUS, SPACING, detailed, tear};
use super::*;
use crate::surface::{mesh_of_surfels, seen_through};
use std::collections::BTreeMap;

#[test]
fn flakes_that_matter_leaves_behind_go_and_all_else_keeps_its_detail() {
    let mut lab = detailed();
    lab.frame(|_, p| p);
    let start = lab.surface.elements.clone();
    let flake = |e: &Element| e.position.normalize().dot(Vec3::X) > 0.97 && e.id.is_multiple_of(3);
    for e in lab.surface.elements.iter_mut().filter(|e| flake(e)) {
        e.position += 1.1 * SPACING as f32 * e.normal;
    }
    assert!(start.iter().filter(|e| flake(e)).count() > 8);
    (0..16).for_each(|_| lab.frame(|_, p| p));
    for e in &lab.surface.elements {
        match start.iter().find(|s| s.id == e.id) {
            Some(s) if !flake(s) => assert!(e.blend == 0.0 && e.position.distance(s.position) < 1e-5, "{}", e.position),
            _ => assert!((f64::from(e.position.length()) - RADIUS).abs() < 0.5 * SPACING, "{}", e.position.length()),
        }
    }
}

#[test]
fn nobody_sees_through_what_has_parted() {
    let mut lab = Lab::make(&[DVec3::ZERO], 1.0, true);
    let holes = |lab: &Lab| seen_through(&lab.surfels(), 20, 0.024).len();
    assert_eq!(holes(&lab), 0);
    // A hole is found.
    let whole = lab.surface.elements.clone();
    lab.surface.elements.retain(|e| e.position.distance(Vec3::Y) > 0.2);
    assert!(holes(&lab) > 50);
    lab.surface.elements = whole;
    tear(&mut lab);
    assert_eq!(holes(&lab), 0);
}

/// Euler number and volume of the mesh around the surface, whose edges are all passed once in each direction.
fn mesh_of(lab: &Lab) -> (i64, f64) {
    let mesh = mesh_of_surfels(&lab.surfels());
    let mut edges: BTreeMap<(u32, u32), [u32; 2]> = BTreeMap::new();
    let mut volume = 0.0;
    for t in &mesh.triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            edges.entry((a.min(b), a.max(b))).or_default()[usize::from(a < b)] += 1;
        }
        let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
        volume += a.dot(b.cross(c)) / 6.0;
    }
    assert!(edges.values().all(|n| *n == [1, 1]), "every edge has two triangles, one on each side");
    (mesh.positions.len() as i64 - edges.len() as i64 + mesh.triangles.len() as i64, volume)
}

#[test]
fn the_mesh_has_the_pieces_and_the_volume_of_the_matter_before_and_after_it_parts() {
    let mut lab = detailed();
    let ball = 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3);
    let (euler, volume) = mesh_of(&lab);
    assert!(euler == 2 && (volume / ball - 1.0).abs() < 0.02, "{euler} {}", volume / ball);
    tear(&mut lab);
    // The points are the same; the layer that the tear goes through is parted among the halves and shows as two rough faces.
    let (euler, volume) = mesh_of(&lab);
    assert!(euler == 4 && (0.93..1.02).contains(&(volume / ball)), "{euler} {}", volume / ball);
}

#[test]
fn the_corner_between_two_molds_is_filled_without_holes() {
    let mut lab = Lab::make(&[DVec3::ZERO], 1.0, true);
    // The ball is pressed into the corner between a floor and a wall.
    let floor = |p: DVec3| (p.y + 0.7, DVec3::Y);
    let wall = |p: DVec3| (p.x + 0.7, DVec3::X);
    let molds = [&floor as Probe, &wall as Probe].map(|probe| Mold {
        probe,
        still: true,
        least: None,
        open: None,
        stain: None,
    });
    let mut surface = std::mem::take(&mut lab.surface);
    let least = -0.7 + 0.4 * SPACING;
    for k in 0..40 {
        let sink = 0.01 * f64::from(k.min(30));
        let press = |p: &DVec3| (*p - sink * DVec3::new(1.0, 1.0, 0.0)).max(DVec3::new(least, least, -2.0));
        let moved: Vec<DVec3> = lab.rest.iter().map(press).collect();
        lab.with(&moved, |points| surface.update(points, &[], &molds));
    }
    // Every place on the floor, up to the wall, has a surfel of that side beside it.
    let on = |e: &&Element| e.normal.y < -0.9 && (e.position.y + 0.7).abs() < 0.02;
    let feet: Vec<&Element> = surface.elements.iter().filter(on).collect();
    let mut bare = 0;
    for k in 0..200 {
        let (a, b) = ((k % 20) as f32, (k / 20) as f32);
        let q = Vec3::new(-0.68 + 0.02 * a, -0.7, -0.25 + 0.05 * b);
        bare += usize::from(!feet.iter().any(|e| e.position.distance(q) < 0.09));
    }
    assert!(feet.len() > 100 && bare == 0, "{bare} of 200 places are bare, {} surfels", feet.len());
}

#[test]
fn no_film_stays_where_matter_has_left_a_wall() {
    let mut lab = detailed();
    let floor = |p: DVec3| (p.y + 5.0, DVec3::Y);
    let molds = [Mold { probe: &floor, still: true, least: None, open: None, stain: None }];
    let mut surface = std::mem::take(&mut lab.surface);
    lab.with(&lab.rest, |points| surface.update(points, &[], &molds));
    // Surfels that touched a wall half a spacing off the matter: not so far that they would count as left behind.
    let mut left = Vec::new();
    for e in surface.elements.iter_mut().filter(|e| e.position.normalize().x > 0.95 && e.id.is_multiple_of(3)) {
        (e.position, e.contact) = (e.position + 0.5 * SPACING as f32 * e.normal, 1.0);
        left.push(e.id);
    }
    assert!(left.len() > 10, "{}", left.len());
    // Winding numbers, which might tell as well, are asked in the fourth frame.
    (0..3).for_each(|_| lab.with(&lab.rest, |points| surface.update(points, &[], &molds)));
    let still = surface.elements.iter().filter(|e| left.contains(&e.id));
    let off = still.map(|e| f64::from(e.position.length()) - RADIUS).fold(0.0, f64::max);
    assert!(off < 0.3 * SPACING, "{}", off / SPACING);
}

#[test]
fn a_gap_in_what_fades_is_closed_and_a_border_does_not_grow() {
    // A hole two surfels wide around x, and all that is beyond y = -0.5 gone.
    let mut lab = Lab::make(&[DVec3::ZERO], 1.0, true);
    lab.frame(|_, p| p);
    let spacing = lab.surface.spacing(0);
    lab.surface.elements.retain(|e| e.position.distance(Vec3::X) > 1.2 * spacing && e.position.y > -0.5);
    lab.surface.elements.iter_mut().for_each(|e| e.blend = 0.2);
    let known: Vec<u32> = lab.surface.elements.iter().map(|e| e.id).collect();
    lab.frame(|_, p| p);
    let new: Vec<&Element> = lab.surface.elements.iter().filter(|e| !known.contains(&e.id)).collect();
    let inside = new.iter().filter(|e| e.position.distance(Vec3::X) < 1.2 * spacing).count();
    assert!(inside > 0, "{inside} of {}", new.len());
    for e in &new {
        assert!(e.blend > 0.0 && e.blend < 0.5, "{}", e.blend);
        assert!((e.position.length() - 1.0).abs() < 0.1 * spacing, "{}", e.position.length());
        assert!(e.position.y > -0.5 - spacing, "{}", e.position);
    }
}

#[test]
fn what_goes_in_a_frame_leaves_no_gap_in_that_frame() {
    let mut lab = Lab::make(&[DVec3::ZERO], 1.0, true);
    lab.frame(|_, p| p);
    lab.surface.elements.iter_mut().for_each(|e| e.blend = 1.0);
    lab.frame(|_, p| p);
    let surface = &mut lab.surface;
    let mut cover = surface.cover();
    let around = surface.look_around(&cover);
    // All have looked around; then some go.
    for (e, alive) in surface.elements.iter().zip(&mut cover.alive) {
        *alive = e.position.distance(Vec3::X) > 0.15;
    }
    let gone = cover.alive.iter().filter(|a| !**a).count();
    let disturbed = surface.disturbed(&mut cover);
    let count = surface.elements.len();
    surface.fill(&around, &disturbed, &mut cover, Surroundings { molds: &[], paints: &[None] });
    let new = surface.elements[count..].iter().filter(|e| e.position.distance(Vec3::X) < 0.2).count();
    assert!(gone > 4 && 2 * new > gone, "{new} for {gone}");
}

#[test]
fn one_slow_point_is_not_calm_among_others_that_move() {
    let mut lab = detailed();
    let floor = |p: DVec3| (p.y + 1.2, DVec3::Y);
    let molds = [Mold { probe: &floor, still: true, least: None, open: None, stain: None }];
    lab.frame(|_, p| p);
    let surface = &mut lab.surface;
    surface.approach(&molds);
    let low = (0..lab.rest.len()).min_by(|a, b| lab.rest[*a].y.total_cmp(&lab.rest[*b].y)).unwrap();
    for (one, others, calm) in [(0.0, 0.0, true), (0.0, 1.0, false), (1.0, 0.0, false)] {
        surface.scratch.velocities.fill(others * Vec3::X);
        surface.scratch.velocities[low] = one * Vec3::X;
        surface.find_calm(&molds);
        assert_eq!(surface.scratch.calm[low], calm, "{one} {others}");
    }
    surface.find_calm(&[]);
    assert!(surface.scratch.calm.iter().all(|c| !c));
}
