//! Random numbers that depend only on a seed, a key and a counter, never on the order or the thread of the asking.
//!
//! Counter-based in the sense of [SMD11]: number `k` of key `id` is a hash of (seed, id, k), so a point draws the
//! same numbers wherever and whenever it is handled. The hash is two rounds of the SplitMix64 finalizer [SLF14].

use glam::DVec3;

/// A stream of numbers for one key (a point id, a cell number) under one seed.
#[derive(Debug, Clone)]
pub struct Random {
    key: u64,
    counter: u64,
}

impl Random {
    /// The stream of `id` under `seed`. Use a different `seed` (for instance `mix(seed, purpose)`) per purpose.
    pub fn new(seed: u64, id: u64) -> Self {
        Self { key: mix(seed, id), counter: 0 }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.counter += 1;
        mix(self.key, self.counter)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform integer below `count`; 0 when `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.bits() as u128 * count as u128) >> 64) as usize
    }

    /// Uniform in the cube [-1, 1)³.
    pub fn in_cube(&mut self) -> DVec3 {
        DVec3::new(self.between(-1.0, 1.0), self.between(-1.0, 1.0), self.between(-1.0, 1.0))
    }

    /// Uniform on the unit sphere.
    pub fn direction(&mut self) -> DVec3 {
        let z = self.between(-1.0, 1.0);
        let (sin, cos) = self.between(0.0, std::f64::consts::TAU).sin_cos();
        let r = (1.0 - z * z).max(0.0).sqrt();
        DVec3::new(r * cos, r * sin, z)
    }
}

/// Hash of two numbers to 64 well-mixed bits.
pub fn mix(a: u64, b: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    finalize(finalize(a.wrapping_add(GOLDEN)) ^ b.wrapping_mul(GOLDEN).wrapping_add(GOLDEN))
}

fn finalize(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_only_on_seed_key_and_counter() {
        let draw = |seed, id| {
            let mut r = Random::new(seed, id);
            [r.bits(), r.bits()]
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2)[0], draw(1, 2)[1]);
    }

    #[test]
    fn moments_are_those_of_the_uniform_distribution() {
        let n = 200_000;
        // Across keys, first number each: the way the sampler uses it.
        let (mut mean, mut square, mut product) = (0.0, 0.0, 0.0);
        for id in 0..n {
            let mut r = Random::new(7, id);
            let (a, b) = (r.unit(), r.unit());
            mean += a;
            square += a * a;
            product += (a - 0.5) * (b - 0.5);
        }
        let n = n as f64;
        assert!((mean / n - 0.5).abs() < 3e-3);
        assert!((square / n - 1.0 / 3.0).abs() < 3e-3);
        assert!((product / n).abs() < 1e-3);
    }

    #[test]
    fn directions_have_unit_length_and_no_preference() {
        let mut sum = DVec3::ZERO;
        for id in 0..20_000 {
            let d = Random::new(3, id).direction();
            assert!((d.length() - 1.0).abs() < 1e-12);
            sum += d;
        }
        assert!((sum / 20_000.0).length() < 0.02);
        assert_eq!(Random::new(1, 1).below(0), 0);
        assert!((0..1000).all(|i| Random::new(1, i).below(3) < 3));
    }
}
