//! Quantities with units: `"0.5 MPa"` to 500000 Pa, checked against the dimension that a key wants.
//!
//! A unit is a product of known units with whole powers: `m/s^2`, `kg/m^3`, `N m`, `1/s`. Degrees Celsius and Fahrenheit
//! are shifted only when they stand alone; within a product they are differences of temperature.

/// Powers of meter, kilogram, second, kelvin and radian. The radian counts here, so that `deg/s` is not taken for `1/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension(pub(super) [i8; 5]);

impl Dimension {
    /// A pure number.
    pub const NONE: Self = Self([0, 0, 0, 0, 0]);
    /// [m].
    pub const LENGTH: Self = Self([1, 0, 0, 0, 0]);
    /// [m³].
    pub const VOLUME: Self = Self([3, 0, 0, 0, 0]);
    /// [kg].
    pub const MASS: Self = Self([0, 1, 0, 0, 0]);
    /// [s].
    pub const TIME: Self = Self([0, 0, 1, 0, 0]);
    /// [K].
    pub const TEMPERATURE: Self = Self([0, 0, 0, 1, 0]);
    /// Plain numbers are degrees, see [`Dimension::base_unit`].
    pub const ANGLE: Self = Self([0, 0, 0, 0, 1]);
    /// [m/s].
    pub const VELOCITY: Self = Self([1, 0, -1, 0, 0]);
    /// [m/s²].
    pub const ACCELERATION: Self = Self([1, 0, -2, 0, 0]);
    /// [rad/s].
    pub const ANGULAR_VELOCITY: Self = Self([0, 0, -1, 0, 1]);
    /// [1/s].
    pub const RATE: Self = Self([0, 0, -1, 0, 0]);
    /// [N].
    pub const FORCE: Self = Self([1, 1, -2, 0, 0]);
    /// [Pa].
    pub const PRESSURE: Self = Self([-1, 1, -2, 0, 0]);
    /// [kg/m³].
    pub const DENSITY: Self = Self([-3, 1, 0, 0, 0]);
    /// [J].
    pub const ENERGY: Self = Self([2, 1, -2, 0, 0]);
    /// [Pa s].
    pub const VISCOSITY: Self = Self([-1, 1, -1, 0, 0]);
    /// [W].
    pub const POWER: Self = Self([2, 1, -3, 0, 0]);
    /// [W/m²].
    pub const HEAT_FLUX: Self = Self([0, 1, -3, 0, 0]);
    /// [W/(m² K)].
    pub const HEAT_EXCHANGE: Self = Self([0, 1, -3, -1, 0]);
    /// [W/(m K)].
    pub const CONDUCTIVITY: Self = Self([1, 1, -3, -1, 0]);
    /// [J/kg].
    pub const LATENT_HEAT: Self = Self([2, 0, -2, 0, 0]);
    /// [J/(kg K)].
    pub const SPECIFIC_HEAT: Self = Self([2, 0, -2, -1, 0]);
    /// [1/(s K)].
    pub const RATE_PER_KELVIN: Self = Self([0, 0, -1, -1, 0]);
    /// [N/m].
    pub const TENSION: Self = Self([0, 1, -2, 0, 0]);
    /// [kg m/s].
    pub const MOMENTUM: Self = Self([1, 1, -1, 0, 0]);

    /// Name for messages, the unit of a plain number, and an example with a unit.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::NONE => ("number", "", "0.5"),
            Self::LENGTH => ("length", "m", "\"30 cm\""),
            Self::VOLUME => ("volume", "m^3", "\"2 l\""),
            Self::MASS => ("mass", "kg", "\"500 g\""),
            Self::TIME => ("time", "s", "\"20 ms\""),
            Self::TEMPERATURE => ("temperature", "K", "\"45 degC\""),
            Self::ANGLE => ("angle", "degrees", "\"0.5 rad\""),
            Self::VELOCITY => ("velocity", "m/s", "\"3 m/s\""),
            Self::ACCELERATION => ("acceleration", "m/s^2", "\"9.81 m/s^2\""),
            Self::ANGULAR_VELOCITY => ("angular velocity", "rad/s", "\"90 deg/s\""),
            Self::RATE => ("rate", "1/s", "\"0.5 1/s\""),
            Self::FORCE => ("force", "N", "\"5 N\""),
            Self::PRESSURE => ("pressure", "Pa", "\"0.5 MPa\""),
            Self::DENSITY => ("density", "kg/m^3", "\"1.2 g/cm^3\""),
            Self::ENERGY => ("energy", "J", "\"2 kJ\""),
            Self::VISCOSITY => ("viscosity", "Pa s", "\"20 Pa s\""),
            Self::MOMENTUM => ("momentum", "kg m/s", "\"2 N s\""),
            Self::RATE_PER_KELVIN => ("rate per kelvin", "1/s/K", "\"2 1/s/K\""),
            Self::TENSION => ("surface tension", "N/m", "\"72 mN/m\""),
            Self::POWER => ("power", "W", "\"50 W\""),
            Self::HEAT_FLUX => ("heat flux", "W/m^2", "\"2 kW/m^2\""),
            Self::HEAT_EXCHANGE => ("heat exchange coefficient", "W/m^2/K", "\"10 W/m^2/K\""),
            Self::CONDUCTIVITY => ("heat conductivity", "W/m/K", "\"0.2 W/m/K\""),
            Self::LATENT_HEAT => ("heat per mass", "J/kg", "\"334 kJ/kg\""),
            Self::SPECIFIC_HEAT => ("specific heat", "J/kg/K", "\"2 kJ/kg/K\""),
            _ => ("quantity", "SI units", "5"),
        }
    }

    /// Name for messages: `length`.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// Unit of a plain number: `m`. Angles are the one departure from SI: plain numbers are degrees.
    pub fn base_unit(self) -> &'static str {
        self.words().1
    }

    /// An example to imitate: `"30 cm"`.
    pub fn example(self) -> &'static str {
        self.words().2
    }

    /// `a length, as a number in m or a string such as "30 cm"`.
    pub fn expectation(self) -> String {
        let (name, unit, example) = self.words();
        if self == Self::NONE {
            return "a number".into();
        }
        let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {name}, as a number in {unit} or a string such as {example}")
    }

    fn times(self, other: Self, power: i8) -> Option<Self> {
        let mut sum = self.0;
        for (s, o) in sum.iter_mut().zip(other.0) {
            *s = s.checked_add(o.checked_mul(power)?)?;
        }
        Some(Self(sum))
    }
}

struct Unit {
    name: &'static str,
    dimension: Dimension,
    factor: f64,
    /// Takes the prefixes of the SI.
    prefixed: bool,
}

const fn unit(name: &'static str, dimension: Dimension, factor: f64) -> Unit {
    Unit { name, dimension, factor, prefixed: false }
}

const fn si(name: &'static str, dimension: Dimension, factor: f64) -> Unit {
    Unit { name, dimension, factor, prefixed: true }
}

/// 0 degC in kelvin.
const CELSIUS_ZERO: f64 = 273.15;
/// 0 degF in kelvin.
const FAHRENHEIT_ZERO: f64 = 459.67 * 5.0 / 9.0;

// Factors beside the SI are exact by definition (international inch, pound, standard gravity).
const UNITS: &[Unit] = &[
    si("m", Dimension::LENGTH, 1.0),
    unit("in", Dimension::LENGTH, 0.0254),
    unit("ft", Dimension::LENGTH, 0.3048),
    si("g", Dimension::MASS, 1e-3),
    unit("t", Dimension::MASS, 1e3),
    unit("lb", Dimension::MASS, 0.45359237),
    si("s", Dimension::TIME, 1.0),
    unit("min", Dimension::TIME, 60.0),
    unit("h", Dimension::TIME, 3600.0),
    si("K", Dimension::TEMPERATURE, 1.0),
    unit("degC", Dimension::TEMPERATURE, 1.0),
    unit("°C", Dimension::TEMPERATURE, 1.0),
    unit("degF", Dimension::TEMPERATURE, 5.0 / 9.0),
    unit("°F", Dimension::TEMPERATURE, 5.0 / 9.0),
    // In degrees, see `base_unit`; turned to radians where a time divides it.
    unit("deg", Dimension::ANGLE, 1.0),
    unit("°", Dimension::ANGLE, 1.0),
    si("rad", Dimension::ANGLE, 180.0 / std::f64::consts::PI),
    unit("rev", Dimension::ANGLE, 360.0),
    unit("rpm", Dimension::ANGULAR_VELOCITY, 6.0),
    si("Hz", Dimension::RATE, 1.0),
    unit("fps", Dimension::RATE, 1.0),
    si("N", Dimension::FORCE, 1.0),
    unit("lbf", Dimension::FORCE, 0.45359237 * 9.80665),
    si("Pa", Dimension::PRESSURE, 1.0),
    si("bar", Dimension::PRESSURE, 1e5),
    unit("atm", Dimension::PRESSURE, 101325.0),
    unit("psi", Dimension::PRESSURE, 0.45359237 * 9.80665 / (0.0254 * 0.0254)),
    si("J", Dimension::ENERGY, 1.0),
    si("W", Dimension::POWER, 1.0),
    unit("l", Dimension::VOLUME, 1e-3),
    unit("ml", Dimension::VOLUME, 1e-6),
    unit("gee", Dimension::ACCELERATION, 9.80665),
    unit("%", Dimension::NONE, 0.01),
];

const PREFIXES: &[(&str, f64)] = &[
    ("n", 1e-9),
    ("u", 1e-6),
    ("µ", 1e-6),
    ("m", 1e-3),
    ("c", 1e-2),
    ("d", 1e-1),
    ("h", 1e2),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
];

/// Why a string is not a quantity of the wanted dimension.
#[derive(Debug, Clone, PartialEq)]
pub enum UnitError {
    /// Does not begin with a number.
    NoNumber,
    /// A number alone, where a unit is needed.
    NoUnit,
    /// A unit nobody knows, with one that is spelled alike.
    Unknown(String, Option<String>),
    /// A quantity of another dimension; its name if it has one.
    Wrong(&'static str),
}

/// Reads a quantity of the wanted dimension, in the base unit of that dimension.
pub fn parse(text: &str, wanted: Dimension) -> Result<f64, UnitError> {
    let text = text.trim();
    let (number, unit_text) = text.split_at(number_length(text));
    let number: f64 = number.replace('_', "").parse().map_err(|_| UnitError::NoNumber)?;
    let unit_text = unit_text.trim();
    if unit_text.is_empty() {
        return if wanted == Dimension::NONE { Ok(number) } else { Err(UnitError::NoUnit) };
    }
    if wanted == Dimension::TEMPERATURE {
        match unit_text {
            "degC" | "°C" => return Ok(number + CELSIUS_ZERO),
            "degF" | "°F" => return Ok(number * 5.0 / 9.0 + FAHRENHEIT_ZERO),
            _ => {}
        }
    }
    let (mut factor, dimension) = product(unit_text)?;
    if dimension == Dimension::ANGULAR_VELOCITY {
        factor = factor.to_radians();
    }
    if dimension == wanted { Ok(number * factor) } else { Err(UnitError::Wrong(dimension.name())) }
}

/// Length of the number that a text begins with; the `e` of an exponent only if digits follow.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while i < bytes.len() && (bytes[i].is_ascii_digit() || bytes[i] == b'_') {
            i += 1;
        }
        i
    };
    let sign = |i: usize| i + usize::from(matches!(bytes.get(i), Some(b'+' | b'-')));
    let mut end = digits(sign(0));
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let start = sign(end + 1);
        if digits(start) > start {
            end = digits(start);
        }
    }
    end
}

/// Factor and dimension of `kg m/s^2`: what follows a `/` divides, until the next space, `*` or `/` changes it.
fn product(text: &str) -> Result<(f64, Dimension), UnitError> {
    let unknown = || UnitError::Unknown(text.to_string(), None);
    let (mut factor, mut dimension) = (1.0, Dimension::NONE);
    let mut rest = text;
    let mut divide = false;
    while !rest.is_empty() {
        let skip = rest.find(|c: char| !matches!(c, ' ' | '*' | '·' | '/')).ok_or_else(unknown)?;
        if skip > 0 {
            divide = rest[..skip].contains('/');
        }
        rest = &rest[skip..];
        let end = rest.find([' ', '*', '·', '/']).unwrap_or(rest.len());
        let (word, power) = split_power(&rest[..end]).ok_or_else(unknown)?;
        let power = if divide { -power } else { power };
        if word != "1" {
            let (f, d) = lookup(word)?;
            factor *= f.powi(power.into());
            dimension = dimension.times(d, power).ok_or_else(unknown)?;
        }
        rest = &rest[end..];
    }
    Ok((factor, dimension))
}

/// `m^2`, `m2` and `m²` to (`m`, 2).
fn split_power(word: &str) -> Option<(&str, i8)> {
    if word == "1" {
        return Some((word, 1));
    }
    for (mark, power) in [("²", 2), ("³", 3)] {
        if let Some(word) = word.strip_suffix(mark) {
            return Some((word, power));
        }
    }
    let end = word.find(|c: char| c == '^' || c == '-' || c.is_ascii_digit()).unwrap_or(word.len());
    let (name, power) = word.split_at(end);
    let power = power.trim_start_matches('^');
    let power = if power.is_empty() { 1 } else { power.parse().ok().filter(|p: &i8| (-9..=9).contains(p))? };
    Some((name, power))
}

fn lookup(name: &str) -> Result<(f64, Dimension), UnitError> {
    if let Some(unit) = UNITS.iter().find(|u| u.name == name) {
        return Ok((unit.factor, unit.dimension));
    }
    for unit in UNITS.iter().filter(|u| u.prefixed) {
        let prefix = name.strip_suffix(unit.name).and_then(|p| PREFIXES.iter().find(|(sign, _)| *sign == p));
        if let Some((_, scale)) = prefix {
            return Ok((scale * unit.factor, unit.dimension));
        }
    }
    // The likeliest slip is the case of a letter: "mpa", "KG".
    let spelled = UNITS.iter().flat_map(|u| {
        let prefixes = if u.prefixed { PREFIXES } else { &[] };
        std::iter::once(u.name.to_string()).chain(prefixes.iter().map(|(p, _)| format!("{p}{}", u.name)))
    });
    let suggestion =
        spelled.filter(|s| s.to_lowercase() == name.to_lowercase()).max_by_key(|s| s.starts_with(['M', 'k']));
    Err(UnitError::Unknown(name.to_string(), suggestion))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, dimension: Dimension, expected: f64) {
        let got = parse(text, dimension).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert!((got - expected).abs() <= 1e-12 * expected.abs(), "{text}: {got} instead of {expected}");
    }

    #[test]
    fn reads_quantities_of_all_dimensions() {
        check("0.5 MPa", Dimension::PRESSURE, 5e5);
        check("10kPa", Dimension::PRESSURE, 1e4);
        check("1e-2 GPa", Dimension::PRESSURE, 1e7);
        check("3 N/mm^2", Dimension::PRESSURE, 3e6);
        check("30 cm", Dimension::LENGTH, 0.3);
        check("-2 in", Dimension::LENGTH, -0.0508);
        check("45 degC", Dimension::TEMPERATURE, 318.15);
        check("32 degF", Dimension::TEMPERATURE, 273.15);
        check("300 K", Dimension::TEMPERATURE, 300.0);
        check("9.81 m/s^2", Dimension::ACCELERATION, 9.81);
        check("9.81 m/s/s", Dimension::ACCELERATION, 9.81);
        check("9.81 m s^-2", Dimension::ACCELERATION, 9.81);
        check("5 N", Dimension::FORCE, 5.0);
        check("1.2 g/cm^3", Dimension::DENSITY, 1200.0);
        check("36 km/h", Dimension::VELOCITY, 10.0);
        check("0.5 1/s", Dimension::RATE, 0.5);
        check("0.5 /s", Dimension::RATE, 0.5);
        check("30 fps", Dimension::RATE, 30.0);
        check("2 min", Dimension::TIME, 120.0);
        check("5 ms", Dimension::TIME, 5e-3);
        check("180 deg", Dimension::ANGLE, 180.0);
        check("0.5 rad", Dimension::ANGLE, 0.5f64.to_degrees());
        check("180 deg/s", Dimension::ANGULAR_VELOCITY, std::f64::consts::PI);
        check("2 rad/s", Dimension::ANGULAR_VELOCITY, 2.0);
        check("60 rpm", Dimension::ANGULAR_VELOCITY, std::f64::consts::TAU);
        check("30 %", Dimension::NONE, 0.3);
        check("20 mPa s", Dimension::VISCOSITY, 0.02);
        check("2 kg m/s", Dimension::MOMENTUM, 2.0);
    }

    #[test]
    fn rejects_what_is_no_such_quantity() {
        assert_eq!(parse("5 kg", Dimension::LENGTH), Err(UnitError::Wrong("mass")));
        assert_eq!(parse("5", Dimension::LENGTH), Err(UnitError::NoUnit));
        assert_eq!(parse("cm", Dimension::LENGTH), Err(UnitError::NoNumber));
        assert_eq!(parse("", Dimension::LENGTH), Err(UnitError::NoNumber));
        assert_eq!(parse("5 mpa", Dimension::PRESSURE), Err(UnitError::Unknown("mpa".into(), Some("MPa".into()))));
        for text in ["5 m^99999", "5 m^", "5 //", "5 m/", "5 é", "5 m^3^3", "5 ²", "1e m", "5 1m"] {
            assert!(parse(text, Dimension::PRESSURE).is_err(), "{text}");
        }
    }
}
