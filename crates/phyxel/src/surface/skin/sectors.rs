//! Opens the slits of a sheet: around a vertex on a crack, each part of the surface gets a vertex of its own.

use super::sheet::Sheet;
use crate::groups::Groups;
use glam::DVec3;
use std::collections::{BTreeMap, BTreeSet};

/// How far from its vertex an eye is, in the distance of the vertex from the crack: clear of where the crack really is.
const EYE: f64 = 4.0;

/// A sheet with its slits open.
#[derive(Debug, Clone, Default)]
pub(super) struct Opened {
    /// Triangles over the vertices of the sheet and the copies after them.
    pub triangles: Vec<[u32; 3]>,
    /// Vertex of the sheet that each copy is made from.
    pub copies: Vec<u32>,
    /// Where a vertex on a crack looks from: a place on its own side [m].
    pub eyes: BTreeMap<u32, DVec3>,
    /// Places at which a crack ends inside of the surface.
    pub tips: BTreeSet<u32>,
}

impl Opened {
    /// Opens all slits.
    pub fn new(sheet: &Sheet) -> Self {
        let mut opened = Self { triangles: sheet.mesh.triangles.clone(), ..Self::default() };
        for (place, around) in fans(sheet) {
            let sectors = sectors(sheet, place, &around);
            if sectors.len() < 2 {
                opened.tips.insert(place);
                continue;
            }
            let mut taken = BTreeSet::new();
            for sector in sectors {
                opened.give(sheet, place, &sector, &mut taken);
            }
        }
        opened
    }

    /// Gives a sector vertices of its own; those that no sector has `taken` are its without a copy.
    fn give(&mut self, sheet: &Sheet, place: u32, sector: &[u32], taken: &mut BTreeSet<u32>) {
        let eye = eye(sheet, place, sector, EYE * sheet.aside(place));
        let mut own = BTreeMap::new();
        for &t in sector {
            for k in 0..3 {
                let v = sheet.mesh.triangles[t as usize][k];
                if sheet.places[v as usize] != place {
                    continue;
                }
                let count = sheet.mesh.positions.len() + self.copies.len();
                let new = *own.entry(v).or_insert_with(|| {
                    if taken.insert(v) {
                        return v;
                    }
                    self.copies.push(v);
                    count as u32
                });
                self.triangles[t as usize][k] = new;
                self.eyes.insert(new, eye);
            }
        }
    }
}

/// The triangles around each place on a crack.
fn fans(sheet: &Sheet) -> BTreeMap<u32, Vec<u32>> {
    let mut fans: BTreeMap<u32, Vec<u32>> =
        sheet.slits.iter().flat_map(|&(a, b)| [a, b]).map(|p| (p, Vec::new())).collect();
    if fans.is_empty() {
        return fans;
    }
    for (t, corners) in sheet.mesh.triangles.iter().enumerate() {
        for &v in corners {
            if let Some(list) = fans.get_mut(&sheet.places[v as usize]) {
                list.push(t as u32);
            }
        }
    }
    fans
}

/// Triangles around a place that hang together by edges without a slit, in the order of their first.
fn sectors(sheet: &Sheet, place: u32, around: &[u32]) -> Vec<Vec<u32>> {
    let mut groups = Groups::new(around.len());
    let mut sides: BTreeMap<u32, u32> = BTreeMap::new();
    for (k, &t) in around.iter().enumerate() {
        let others = sheet.mesh.triangles[t as usize].map(|v| sheet.places[v as usize]);
        for other in others.into_iter().filter(|&o| o != place) {
            if sheet.slits.contains(&(place.min(other), place.max(other))) {
                continue;
            }
            match sides.get(&other) {
                Some(&first) => groups.unite(first, k as u32),
                None => drop(sides.insert(other, k as u32)),
            }
        }
    }
    let mut sectors: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (k, &t) in around.iter().enumerate() {
        sectors.entry(groups.lowest(k as u32)).or_default().push(t);
    }
    sectors.into_values().collect()
}

/// Where a vertex on a crack looks from: a place at most `reach` [m] away in one of its triangles, far from their edges.
fn eye(sheet: &Sheet, place: u32, triangles: &[u32], reach: f64) -> DVec3 {
    let p = sheet.mesh.positions[place as usize];
    let mut best = (-1.0, p);
    for &t in triangles {
        let corners = sheet.mesh.corners(t as usize);
        let way = (corners[0] + corners[1] + corners[2]) / 3.0 - p;
        let eye = p + way * (reach / way.length().max(f64::MIN_POSITIVE)).min(1.0);
        let aside = |c: DVec3| (eye - p).cross((c - p).normalize_or_zero()).length();
        let at_place = |k: &usize| sheet.places[sheet.mesh.triangles[t as usize][*k] as usize] == place;
        let clear = (0..3).filter(|k| !at_place(k)).map(|k| aside(corners[k])).fold(f64::INFINITY, f64::min);
        if clear > best.0 {
            best = (clear, eye);
        }
    }
    best.1
}
