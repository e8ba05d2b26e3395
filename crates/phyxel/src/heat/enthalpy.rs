//! Enthalpy per mass, the one state of heat, and what follows from it: temperature and melted fraction.
//!
//! With latent heat the temperature alone does not say how much of the matter is melted; the enthalpy does, and it is
//! what conduction conserves. Between solidus and liquidus temperature and melted fraction rise in step; a pure
//! substance melts at one temperature, both are equal then.

/// How matter takes up heat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThermalLaw {
    /// Conductivity [W/(m K)].
    pub conductivity: f64,
    /// Specific heat of the solid [J/(kg K)].
    pub specific_heat: f64,
    /// Specific heat of the melt [J/(kg K)].
    pub specific_heat_liquid: f64,
    /// None: it never melts.
    pub melting: Option<Melting>,
}

/// Where matter melts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Melting {
    /// Temperature at which it begins to melt [K].
    pub solidus: f64,
    /// Temperature at which all of it is melted [K]; not below `solidus`.
    pub liquidus: f64,
    /// Heat that melts a mass, beside what warms it [J/kg].
    pub latent_heat: f64,
}

impl ThermalLaw {
    /// Enthalpies per mass where melting begins and ends [J/kg].
    pub fn melting_range(&self) -> Option<(f64, f64)> {
        let melting = self.melting?;
        let begin = self.specific_heat * melting.solidus;
        let mean = 0.5 * (self.specific_heat + self.specific_heat_liquid);
        Some((begin, begin + melting.latent_heat + mean * (melting.liquidus - melting.solidus)))
    }

    /// Temperature [K] and melted fraction at an enthalpy per mass [J/kg], which is 0 at 0 K.
    pub fn state(&self, enthalpy: f64) -> (f64, f64) {
        let (Some((begin, end)), Some(melting)) = (self.melting_range(), self.melting) else {
            return (enthalpy / self.specific_heat, 0.0);
        };
        if enthalpy < begin {
            (enthalpy / self.specific_heat, 0.0)
        } else if enthalpy < end {
            let fraction = (enthalpy - begin) / (end - begin);
            (melting.solidus + fraction * (melting.liquidus - melting.solidus), fraction)
        } else {
            (melting.liquidus + (enthalpy - end) / self.specific_heat_liquid, 1.0)
        }
    }

    /// Enthalpy per mass at a temperature [K]; solid where the temperature is the melting point of a pure substance.
    pub fn enthalpy(&self, temperature: f64) -> f64 {
        let (Some((begin, end)), Some(melting)) = (self.melting_range(), self.melting) else {
            return self.specific_heat * temperature;
        };
        if temperature <= melting.solidus {
            self.specific_heat * temperature
        } else if temperature < melting.liquidus {
            let fraction = (temperature - melting.solidus) / (melting.liquidus - melting.solidus);
            begin + fraction * (end - begin)
        } else {
            end + self.specific_heat_liquid * (temperature - melting.liquidus)
        }
    }

    /// Enthalpy per mass at a temperature [K], with this part of it melted where the temperature leaves that open.
    pub fn enthalpy_of(&self, temperature: f64, melted_fraction: f64) -> f64 {
        match (self.melting_range(), self.melting) {
            (Some((begin, end)), Some(m))
                if (m.solidus..=m.liquidus).contains(&temperature) && m.solidus == m.liquidus =>
            {
                begin + melted_fraction * (end - begin)
            }
            _ => self.enthalpy(temperature),
        }
    }

    /// Least heat that warms a mass by a kelvin, in any state [J/(kg K)].
    pub fn least_specific_heat(&self) -> f64 {
        match self.melting {
            Some(_) => self.specific_heat.min(self.specific_heat_liquid),
            None => self.specific_heat,
        }
    }
}

/// Stiffness at a melted fraction, as a part of the solid's, when `melted` is that part for the melt. Orders of
/// magnitude lie between both, so the logarithm is interpolated.
pub fn stiffness_factor(melted_fraction: f64, melted: f64) -> f64 {
    melted.powf(melted_fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws() -> [ThermalLaw; 4] {
        let law =
            |melting| ThermalLaw { conductivity: 1.0, specific_heat: 900.0, specific_heat_liquid: 1200.0, melting };
        let melting = |solidus, liquidus, latent_heat| Some(Melting { solidus, liquidus, latent_heat });
        [law(None), law(melting(320.0, 330.0, 2e4)), law(melting(320.0, 320.0, 2e4)), law(melting(320.0, 320.0, 0.0))]
    }

    #[test]
    fn enthalpy_and_temperature_are_inverse_and_monotonic() {
        for law in laws() {
            let mut last = f64::NEG_INFINITY;
            for k in 0..4000 {
                let temperature = 300.0 + 0.01 * f64::from(k);
                let enthalpy = law.enthalpy(temperature);
                assert!(enthalpy > last);
                last = enthalpy;
                let (back, fraction) = law.state(enthalpy);
                assert!((back - temperature).abs() < 1e-9, "{back} for {temperature}");
                assert!((0.0..=1.0).contains(&fraction));
            }
        }
    }

    #[test]
    fn pure_substances_melt_at_one_temperature() {
        let law = laws()[2];
        let (begin, end) = law.melting_range().unwrap();
        assert_eq!(law.state(begin), (320.0, 0.0));
        assert_eq!(law.state(begin + 5e3), (320.0, 0.25));
        assert_eq!(law.state(end), (320.0, 1.0));
        assert_eq!(law.enthalpy(320.0), begin);
        assert_eq!(laws()[3].state(900.0 * 320.0), (320.0, 1.0));
    }

    #[test]
    fn stiffness_goes_from_solid_to_melt() {
        assert_eq!(stiffness_factor(0.0, 0.01), 1.0);
        assert!((stiffness_factor(0.5, 0.01) - 0.1).abs() < 1e-15);
        assert!((stiffness_factor(1.0, 0.01) - 0.01).abs() < 1e-15);
    }
}
