//! What a probe can measure.

use super::units::Dimension;
use std::fmt;

/// Coordinate axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The letters say it.
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// All three, in order.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// Its number in a vector.
    pub fn index(self) -> usize {
        self as usize
    }

    fn letter(self) -> char {
        ['x', 'y', 'z'][self.index()]
    }
}

/// How the values of many points become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// Mean over the region, weighted by mass.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// A number that every point has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PointQuantity {
    /// Coordinate [m].
    Position(Axis),
    /// Coordinate minus the one at the start [m].
    Displacement(Axis),
    /// Length of the velocity [m/s].
    Speed,
    /// Von Mises stress [Pa].
    Stress,
    /// Largest principal Green strain by absolute value.
    Strain,
    /// Norm of the plastic Green strain.
    Plastic,
    /// Temperature [K].
    Temperature,
}

/// What a probe measures, in SI units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// `mean_y`, `max_speed`, ...: over the points of a region.
    Points(Statistic, PointQuantity),
    /// Volume of the region's points as deformed [m³].
    Volume,
    /// Mass of the region's points [kg].
    Mass,
    /// Number of connected pieces.
    Pieces,
    /// Length of all cracks at rest [m].
    CrackLength,
    /// Part of the region's mass that is not melted.
    FractionSolid,
    /// `extent_x`: largest minus smallest coordinate over the region [m].
    Extent(Axis),
    /// `reaction_x`: force with which a pin or a collider acts on the matter [N].
    Reaction(Axis),
    /// Distance between the centers of mass of `region` and `to_region` [m].
    Distance,
    /// Elastic energy [J].
    EnergyElastic,
    /// Kinetic energy [J].
    EnergyKinetic,
    /// `momentum_x`: linear momentum [kg m/s].
    Momentum(Axis),
}

impl Measure {
    /// Every measure, in the order of the documentation.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for statistic in [Statistic::Mean, Statistic::Min, Statistic::Max] {
            let of = |quantity| Self::Points(statistic, quantity);
            all.extend(Axis::ALL.map(|a| of(PointQuantity::Position(a))));
            all.extend(Axis::ALL.map(|a| of(PointQuantity::Displacement(a))));
            all.extend(
                [
                    PointQuantity::Speed,
                    PointQuantity::Stress,
                    PointQuantity::Strain,
                    PointQuantity::Plastic,
                    PointQuantity::Temperature,
                ]
                .map(of),
            );
        }
        all.extend([Self::Volume, Self::Mass, Self::Pieces, Self::CrackLength, Self::FractionSolid]);
        all.extend(Axis::ALL.map(Self::Extent));
        all.extend(Axis::ALL.map(Self::Reaction));
        all.extend([Self::Distance, Self::EnergyElastic, Self::EnergyKinetic]);
        all.extend(Axis::ALL.map(Self::Momentum));
        all
    }

    /// The measure of that name, as in the scene file.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|m| m.to_string() == name)
    }

    /// Whether it needs a body that takes part in heat.
    pub fn is_thermal(self) -> bool {
        matches!(self, Self::Points(_, PointQuantity::Temperature) | Self::FractionSolid)
    }

    /// Its dimension; numbers are in SI.
    pub fn dimension(self) -> Dimension {
        match self {
            Self::CrackLength | Self::Points(_, PointQuantity::Position(_) | PointQuantity::Displacement(_)) => {
                Dimension::LENGTH
            }
            Self::Points(_, PointQuantity::Speed) => Dimension::VELOCITY,
            Self::Points(_, PointQuantity::Stress) => Dimension::PRESSURE,
            Self::Points(_, PointQuantity::Strain | PointQuantity::Plastic) | Self::Pieces | Self::FractionSolid => {
                Dimension::NONE
            }
            Self::Points(_, PointQuantity::Temperature) => Dimension::TEMPERATURE,
            Self::Volume => Dimension::VOLUME,
            Self::Mass => Dimension::MASS,
            Self::Extent(_) | Self::Distance => Dimension::LENGTH,
            Self::Reaction(_) => Dimension::FORCE,
            Self::EnergyElastic | Self::EnergyKinetic => Dimension::ENERGY,
            Self::Momentum(_) => Dimension::MOMENTUM,
        }
    }

    /// One line for the documentation.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Points(_, PointQuantity::Position(_)) => "coordinate of the points",
            Self::Points(_, PointQuantity::Displacement(_)) => "coordinate minus the one at the start",
            Self::Points(_, PointQuantity::Speed) => "length of the velocity",
            Self::Points(_, PointQuantity::Stress) => "von Mises stress",
            Self::Points(_, PointQuantity::Strain) => "largest principal Green strain by absolute value",
            Self::Points(_, PointQuantity::Plastic) => "norm of the plastic Green strain, the lasting change of shape",
            Self::Points(_, PointQuantity::Temperature) => "temperature, of bodies that take part in heat",
            Self::Volume => "volume of the points as deformed",
            Self::Mass => "mass of the points",
            Self::Pieces => "number of connected pieces",
            Self::CrackLength => "length of all cracks of a shell, at rest",
            Self::FractionSolid => "part of the mass that is not melted, of bodies that take part in heat",
            Self::Extent(_) => "largest minus smallest coordinate",
            Self::Reaction(_) => "force of a pin or a collider on the matter; needs `pin` or `collider`",
            Self::Distance => "distance between the centers of mass of `region` and `to_region`",
            Self::EnergyElastic => "elastic energy",
            Self::EnergyKinetic => "kinetic energy",
            Self::Momentum(_) => "linear momentum",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Points(statistic, quantity) => {
                let statistic = match statistic {
                    Statistic::Mean => "mean",
                    Statistic::Min => "min",
                    Statistic::Max => "max",
                };
                match quantity {
                    PointQuantity::Position(a) => write!(f, "{statistic}_{}", a.letter()),
                    PointQuantity::Displacement(a) => write!(f, "{statistic}_displacement_{}", a.letter()),
                    PointQuantity::Speed => write!(f, "{statistic}_speed"),
                    PointQuantity::Stress => write!(f, "{statistic}_stress"),
                    PointQuantity::Strain => write!(f, "{statistic}_strain"),
                    PointQuantity::Plastic => write!(f, "{statistic}_plastic"),
                    PointQuantity::Temperature => write!(f, "{statistic}_temperature"),
                }
            }
            Self::Volume => f.write_str("volume"),
            Self::Mass => f.write_str("mass"),
            Self::Pieces => f.write_str("pieces"),
            Self::CrackLength => f.write_str("crack_length"),
            Self::FractionSolid => f.write_str("fraction_solid"),
            Self::Extent(a) => write!(f, "extent_{}", a.letter()),
            Self::Reaction(a) => write!(f, "reaction_{}", a.letter()),
            Self::Distance => f.write_str("distance"),
            Self::EnergyElastic => f.write_str("energy_elastic"),
            Self::EnergyKinetic => f.write_str("energy_kinetic"),
            Self::Momentum(a) => write!(f, "momentum_{}", a.letter()),
        }
    }
}
