//! The lattice: its slots and their weights, and the slot nearest to a place.
//!
//! In space face-centered cubic (cubic close packed, [WHP06] eq. 1), in the plane hexagonal. The cubic axes are those of
//! the lattice's frame: sites are (D/√2) k with whole numbers k of even sum. [WHP06] writes the same lattice in a basis that is
//! turned against it (`Sites::published`), which makes no difference to the matter.

use glam::{DMat3, DVec3};

/// In place of a slot: none.
pub const NO_SLOT: u8 = u8::MAX;
/// Whole-number coordinates of slots lie between minus this and this.
const SPAN: i32 = 4;
const WIDTH: usize = 2 * SPAN as usize + 1;
/// Slots reach this far, in spacings: two shells in space (18), two in the plane (12).
const REACH_3D: f64 = 1.5;
const REACH_2D: f64 = 1.8;
/// Stretch of the longest bond up to which its partner is looked for.
const STRETCH: f64 = 0.45;

/// Slots of a lattice.
#[derive(Debug, Clone)]
pub struct Sites {
    /// 2 or 3.
    pub dimensions: usize,
    /// Distance D of nearest sites [m].
    pub spacing: f64,
    /// Slots l_s in the frame of the lattice [m].
    pub slots: Vec<DVec3>,
    /// Their weights w(l) = (1 - l²/(2D)²)².
    pub weights: Vec<f64>,
    /// Their lengths [m].
    pub lengths: Vec<f64>,
    /// The slot on the other side of each.
    pub opposite: Vec<usize>,
    /// Largest weight; also that of a particle itself.
    pub self_weight: f64,
    /// Sum of the weights of all slots.
    pub weight_sum: f64,
    /// S in Σ w l lᵀ = S I over all slots [m²].
    pub moment: f64,
    /// Volume of a cell [m³]; in the plane one meter deep.
    pub cell_volume: f64,
    /// How far partners are looked for [m].
    pub reach: f64,
    /// From a place to whole-number coordinates.
    integers: DMat3,
    /// Slot by whole-number coordinates.
    table: Vec<u8>,
}

impl Sites {
    /// The lattice of a spacing [m] in 2 or 3 dimensions, along the axes of its frame.
    pub fn new(dimensions: usize, spacing: f64) -> Self {
        Self::turned(dimensions, spacing, DMat3::IDENTITY)
    }

    /// The same lattice in the basis of [WHP06] eq. 1.
    pub fn published(dimensions: usize, spacing: f64) -> Self {
        // Columns: the cubic axes in that basis; the sign makes it a rotation, which a lattice with inversion cannot tell.
        let basis = DMat3::from_cols(
            DVec3::X,
            DVec3::new(0.5, 0.75f64.sqrt(), 0.0),
            DVec3::new(0.5, (1.0f64 / 12.0).sqrt(), (2.0f64 / 3.0).sqrt()),
        );
        let sums = DMat3::from_cols(DVec3::new(1.0, 1.0, 0.0), DVec3::new(1.0, 0.0, 1.0), DVec3::new(0.0, 1.0, 1.0));
        let frame = basis * sums.inverse() * -2f64.sqrt();
        Self::turned(dimensions, spacing, if dimensions == 3 { frame } else { DMat3::IDENTITY })
    }

    fn turned(dimensions: usize, spacing: f64, frame: DMat3) -> Self {
        let to_place = match dimensions {
            3 => frame * (spacing / 2f64.sqrt()),
            _ => DMat3::from_cols(DVec3::X, DVec3::new(0.5, 0.75f64.sqrt(), 0.0), DVec3::Z) * spacing,
        };
        let (longest, deep) = if dimensions == 3 { (REACH_3D, SPAN) } else { (REACH_2D, 0) };
        let mut found: Vec<(f64, [i32; 3])> = Vec::new();
        for z in -deep..=deep {
            for y in -SPAN..=SPAN {
                for x in -SPAN..=SPAN {
                    let length = (to_place * whole([x, y, z])).length() / spacing;
                    let even = dimensions == 2 || (x + y + z) % 2 == 0;
                    if even && length > 0.5 && length < longest {
                        found.push((length, [x, y, z]));
                    }
                }
            }
        }
        // Shell by shell; lengths of a shell are equal but for rounding.
        found.sort_by(|a, b| (a.0 * 1e6).round().total_cmp(&(b.0 * 1e6).round()).then(a.1.cmp(&b.1)));
        let mut table = vec![NO_SLOT; WIDTH * WIDTH * WIDTH];
        found.iter().enumerate().for_each(|(s, (_, k))| table[place_in_table(*k)] = s as u8);
        let slots: Vec<DVec3> = found.iter().map(|(_, k)| to_place * whole(*k)).collect();
        let facing = |k: &[i32; 3]| usize::from(table[place_in_table(k.map(|x| -x))]);
        let opposite = found.iter().map(|(_, k)| facing(k)).collect();
        let weight = |l: &DVec3| (1.0 - l.length_squared() / (2.0 * spacing).powi(2)).powi(2);
        let weights: Vec<f64> = slots.iter().map(weight).collect();
        let lengths: Vec<f64> = slots.iter().map(|l| l.length()).collect();
        let moment = slots.iter().zip(&weights).map(|(l, w)| w * l.length_squared()).sum::<f64>() / dimensions as f64;
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        Self {
            dimensions,
            spacing,
            self_weight: weights[0],
            weight_sum: weights.iter().sum(),
            moment,
            cell_volume: if dimensions == 3 { spacing.powi(3) / 2f64.sqrt() } else { spacing.powi(2) * 0.75f64.sqrt() },
            reach: (1.0 + STRETCH) * longest,
            integers: to_place.inverse(),
            slots,
            opposite,
            weights,
            lengths,
            table,
        }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none; never.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Slot of the site nearest to a place in the lattice's frame; `NO_SLOT` for the origin and for sites beyond the slots.
    #[inline]
    pub fn nearest(&self, place: DVec3) -> u8 {
        let y = self.integers * place;
        let inside = y.abs().max_element() < f64::from(SPAN) - 0.5;
        if !inside {
            return NO_SLOT;
        }
        let k = if self.dimensions == 3 { even(y) } else { hexagonal(y) };
        let [a, b, c] = k;
        let most = a.abs().max(b.abs()).max(c.abs());
        if most > SPAN { NO_SLOT } else { self.table[place_in_table(k)] }
    }

    /// The site nearest to a place in the lattice's frame [m].
    pub fn nearest_site(&self, place: DVec3) -> DVec3 {
        let y = self.integers * place;
        let k = if self.dimensions == 3 { even(y) } else { hexagonal(y) };
        self.integers.inverse() * whole(k)
    }
}

fn whole([x, y, z]: [i32; 3]) -> DVec3 {
    DVec3::new(f64::from(x), f64::from(y), f64::from(z))
}

fn place_in_table([x, y, z]: [i32; 3]) -> usize {
    let at = |k: i32| (k + SPAN) as usize;
    at(x) + WIDTH * (at(y) + WIDTH * at(z))
}

/// The nearest triple of whole numbers with even sum: all rounded; if the sum is odd, the worst rounded one goes the other way.
#[inline]
fn even(y: DVec3) -> [i32; 3] {
    let rounded = y.round();
    let error = y - rounded;
    let mut k = [rounded.x as i32, rounded.y as i32, rounded.z as i32];
    if (k[0] + k[1] + k[2]) & 1 != 0 {
        let size = error.abs();
        let worst = if size.x >= size.y && size.x >= size.z {
            0
        } else if size.y >= size.z {
            1
        } else {
            2
        };
        k[worst] += if error[worst] >= 0.0 { 1 } else { -1 };
    }
    k
}

/// The nearest site of the hexagonal lattice, by its three coordinates that sum to zero.
#[inline]
fn hexagonal(y: DVec3) -> [i32; 3] {
    let cube = DVec3::new(y.x, y.y, -y.x - y.y);
    let rounded = cube.round();
    let error = (cube - rounded).abs();
    let (mut a, mut b) = (rounded.x, rounded.y);
    if error.x >= error.y && error.x >= error.z {
        a = -b - rounded.z;
    } else if error.y >= error.z {
        b = -a - rounded.z;
    }
    [a as i32, b as i32, 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn shells_have_their_known_numbers_and_moments() {
        for (dimensions, slots) in [(3, [12, 18]), (2, [6, 12])] {
            let sites = Sites::new(dimensions, 0.3);
            assert_eq!(sites.len(), slots[1]);
            assert_eq!(sites.lengths.iter().filter(|l| (**l - 0.3).abs() < 1e-12).count(), slots[0]);
            assert!(sites.opposite.iter().enumerate().all(|(s, &o)| sites.slots[s] == -sites.slots[o]));
            let sum: DVec3 = sites.slots.iter().sum();
            assert!(sum.length() < 1e-12);
        }
        assert!((Sites::new(3, 1.0).moment - 3.25).abs() < 1e-12 && (Sites::new(2, 1.0).moment - 2.25).abs() < 1e-12);
    }

    #[test]
    fn every_slot_is_nearest_to_places_around_it() {
        for sites in [Sites::new(3, 0.1), Sites::new(2, 0.1), Sites::published(3, 0.1)] {
            let mut random = Random::new(1, 2);
            for (s, l) in sites.slots.iter().enumerate() {
                let mut off = random.direction() * 0.049;
                off.z *= if sites.dimensions == 2 { 0.0 } else { 1.0 };
                assert_eq!(usize::from(sites.nearest(*l + off)), s);
            }
            assert_eq!(sites.nearest(DVec3::splat(0.01)), NO_SLOT);
            assert_eq!(sites.nearest(DVec3::splat(9.0)), NO_SLOT);
            assert_eq!(sites.nearest(DVec3::splat(f64::NAN)), NO_SLOT);
        }
    }
}
