//! Heat of whole worlds, as scenes make them.

use crate::geometry::Files;
use crate::run::Simulation;
use crate::scene::Scene;
use crate::world::World;
use std::sync::atomic::AtomicBool;

fn world(text: &str) -> World {
    let scene = Scene::from_toml(text, None, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap()
}

fn advance(world: &mut World, frames: usize) {
    for _ in 0..frames {
        let advance = world.advance_frame(&AtomicBool::new(false)).unwrap();
        assert!(advance.complete && advance.rescues.is_empty());
    }
}

fn temperatures(world: &World) -> Vec<f64> {
    (0..world.points().len()).filter_map(|i| world.heat()?.temperature(i)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Smallest and largest temperature [K].
fn range(world: &World) -> (f64, f64) {
    let all = temperatures(world);
    (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Content above the start minus what came from outside, as a part of the content.
fn imbalance(world: &World) -> f64 {
    let heat = world.heat().unwrap();
    (heat.content_above_start() - heat.supplied().total()).abs() / heat.content()
}

/// A soft copper-like cube of 0.1 m without gravity; the rest of the scene follows.
fn cube(body: &str, rest: &str) -> String {
    format!(
        "format = 1\ngravity = [0, 0, 0]\nduration = 10\nfps = 10\n[[body]]\nname = \"cube\"\n\
         shape = {{ kind = \"box\", size = [0.1, 0.1, 0.1] }}\nsurface = {{ kind = \"none\" }}\n\
         material = {{ young = 10, density = 1000, conductivity = 100, specific_heat = 1000 }}\n{body}\n{rest}"
    )
}

const REGULAR: &str = "spacing = 0.0125\nsampling = \"regular\"";

#[test]
fn insulated_bodies_keep_their_heat_and_even_out() {
    let halves = "regions = [ { name = \"left\", half_space = { normal = [-1, 0, 0] } } ]";
    let flash = "[[heat]]\nkind = \"power\"\nbody = \"cube\"\nregion = \"left\"\npower = 1e4\nuntil = 1";
    for sampling in [REGULAR, "points = 700"] {
        let mut world = world(&cube(&format!("{sampling}\n{halves}"), flash));
        advance(&mut world, 10);
        // Half of a kilogram got 10 kJ: 20 K there on average, spread since.
        let (cold, hot) = range(&world);
        assert!(cold < 293.15 + 8.0 && hot > 293.15 + 12.0, "{cold} {hot}");
        let supplied = world.heat().unwrap().supplied();
        assert!((supplied.sources - 1e4).abs() < 1e-6 && supplied.total() == supplied.sources);
        advance(&mut world, 60);
        assert!(imbalance(&world) < 1e-14, "{}", imbalance(&world));
        let (later_cold, later_hot) = range(&world);
        assert!(later_cold > cold && later_hot < hot, "{later_cold} {later_hot}");
        let mass: f64 = world.points().masses.iter().sum();
        assert!((mean(&temperatures(&world)) - 293.15 - 1e4 / (1000.0 * mass)).abs() < 0.3);
        assert_eq!(world.metrics().heat, world.heat().unwrap().content_above_start());
    }
}

#[test]
fn temperatures_stay_between_those_they_mix() {
    let walls = "[[collider]]\nshape = { kind = \"plane\", offset = -0.05 }\ntemperature = 400\n\
                 [[collider]]\nshape = { kind = \"box\", size = [1, 1, 1] }\nat = [0.55, 0, 0]\ntemperature = 250\n\
                 [air]\ntemperature = 350\nexchange = 500";
    for sampling in [REGULAR, "points = 700"] {
        let mut world = world(&cube(sampling, walls));
        let mut all = (293.15f64, 293.15f64);
        for _ in 0..30 {
            advance(&mut world, 1);
            let (cold, hot) = range(&world);
            all = (all.0.min(cold), all.1.max(hot));
        }
        assert!(all.0 >= 250.0 && all.1 <= 400.0, "{all:?}");
        assert!(all.0 < 285.0 && all.1 > 360.0, "{all:?}");
        assert!(imbalance(&world) < 1e-14, "{}", imbalance(&world));
        let supplied = world.heat().unwrap().supplied();
        assert!(supplied.air > 0.0 && supplied.walls != 0.0, "{supplied:?}");
    }
}

/// Temperature of the colder of two cubes [K] after a second, `gap` spacings apart.
fn beside(gap: f64) -> f64 {
    let other = format!(
        "[[body]]\nname = \"hot\"\nshape = {{ kind = \"box\", size = [0.1, 0.1, 0.1] }}\nat = [{}, 0, 0]\n{REGULAR}\n\
         temperature = 400\nsurface = {{ kind = \"none\" }}\n\
         material = {{ young = 10, density = 1000, conductivity = 100, specific_heat = 1000 }}",
        0.1 + gap * 0.0125
    );
    let mut world = world(&cube(REGULAR, &other));
    advance(&mut world, 10);
    assert!(imbalance(&world) < 1e-14);
    mean(&temperatures(&world)[..512])
}

#[test]
fn touching_bodies_exchange_heat_and_parted_ones_do_not() {
    assert!(beside(0.0) > 295.0, "{}", beside(0.0));
    // Closer than the reach of conduction, but apart.
    assert!((beside(0.5) - 293.15).abs() < 1e-9, "{}", beside(0.5));
}

#[test]
fn walls_heat_what_touches_them_only() {
    let wall = |gap: f64| {
        let floor =
            format!("[[collider]]\nshape = {{ kind = \"plane\", offset = {} }}\ntemperature = 400", -0.05 - gap);
        let mut world = world(&cube(REGULAR, &floor));
        advance(&mut world, 5);
        range(&world)
    };
    assert!(wall(0.0).1 > 340.0, "{:?}", wall(0.0));
    assert_eq!(wall(0.006), (293.15, 293.15));
}

#[test]
fn held_regions_and_lamps_heat_where_they_are() {
    let top =
        format!("{REGULAR}\nregions = [ {{ name = \"top\", half_space = {{ normal = [0, 1, 0], offset = 0.04 }} }} ]");
    let held = "[[heat]]\nkind = \"held\"\nbody = \"cube\"\nregion = \"top\"\ntemperature = 350";
    let mut one = world(&cube(&top, held));
    advance(&mut one, 5);
    let points = one.points();
    for (i, t) in temperatures(&one).iter().enumerate() {
        assert_eq!(*t == 350.0, points.positions[i].y > 0.04, "{t}");
    }
    assert!(imbalance(&one) < 1e-14);

    // Light from above on a face of 0.01 m²: power within 10 %, and only the top gets it at first.
    let lamp = "[[heat]]\nkind = \"lamp\"\nflux = 1e4";
    let mut lit = world(&cube(REGULAR, lamp));
    advance(&mut lit, 1);
    let power = lit.heat().unwrap().supplied().sources / 0.1;
    assert!((power / 100.0 - 1.0).abs() < 0.1, "{power}");
    let rise = |side: f64| {
        let all = temperatures(&lit);
        let of: Vec<f64> =
            (0..all.len()).filter(|&i| lit.points().positions[i].y * side > 0.04).map(|i| all[i] - 293.15).collect();
        mean(&of)
    };
    assert!(rise(1.0) > 5.0 * rise(-1.0), "{} {}", rise(1.0), rise(-1.0));
}

#[test]
fn air_cools_at_the_rate_of_the_surface() {
    // Lumped: m c dT/dt = -h A (T - T_air) with A = 0.06 m², 1 kg, 1000 J/(kg K).
    let mut world = world(&cube(&format!("{REGULAR}\ntemperature = 393.15"), "[air]\nexchange = 100"));
    advance(&mut world, 50);
    let fallen = ((mean(&temperatures(&world)) - 293.15) / 100.0).ln() / 5.0;
    let expected = -100.0 * 0.06 / 1000.0;
    assert!((fallen / expected - 1.0).abs() < 0.1, "{fallen} for {expected}");
}

/// A block that melts on a hot floor, falling on it first.
const FALLING: &str = "format = 1\nduration = 1\nfps = 20\n[[body]]\nname = \"wax\"\n\
    shape = { kind = \"box\", size = [0.2, 0.1, 0.2] }\nat = [0, 0.06, 0]\npoints = 600\nsurface = { kind = \"none\" }\n\
    material = { young = 5e4, density = 900, conductivity = 300, specific_heat = 2000, latent_heat = 2e4, solidus = \"45 degC\", liquidus = \"55 degC\" }\n\
    [[collider]]\nname = \"stove\"\nshape = { kind = \"plane\" }\ntemperature = \"200 degC\"\nexchange = 1e5\n\
    [[event]]\nat = 0.5\nbody = \"wax\"\nset = { conductivity = 200, latent_heat = 3e4 }\n\
    [air]\n\
    [[probe]]\nname = \"t\"\nbody = \"wax\"\nmeasure = \"max_temperature\"\n\
    [[probe]]\nname = \"solid\"\nmeasure = \"fraction_solid\"\n";

#[test]
fn elastic_body_melts_on_a_hot_floor_and_resumes_with_the_same_bits() {
    let mut whole = world(FALLING);
    advance(&mut whole, 8);
    let state = whole.checkpoint();
    advance(&mut whole, 12);
    let row = whole.metrics();
    let probes = whole.probe_values().to_vec();
    assert!(probes[0] > 330.0 && probes[0] < 473.15, "{probes:?}");
    assert!(probes[1] > 0.05 && probes[1] < 0.95, "{probes:?}");
    assert!(row.heat > 0.0 && imbalance(&whole) < 1e-13, "{} {}", row.heat, imbalance(&whole));

    let mut resumed = world(FALLING);
    resumed.restore(&state).unwrap();
    advance(&mut resumed, 12);
    assert_eq!(resumed.metrics().heat.to_bits(), row.heat.to_bits());
    assert_eq!(temperatures(&resumed), temperatures(&whole));
    assert_eq!(resumed.points().positions, whole.points().positions);
    assert_eq!(resumed.heat().unwrap().runs(), whole.heat().unwrap().runs());
}

#[test]
fn shorter_steps_give_the_same_heat() {
    let melted = |time_step: f64| {
        let mut world = world(&format!("time_step = {time_step}\n{FALLING}"));
        advance(&mut world, 20);
        world.metrics();
        (world.heat().unwrap().content_above_start(), world.probe_values()[1])
    };
    // As chosen (about 0.5 ms) and a quarter of it.
    let ((heat, solid), (heat4, solid4)) = (melted(5e-4), melted(1.25e-4));
    assert!((heat4 / heat - 1.0).abs() < 0.02, "{heat} {heat4}");
    assert!((solid4 / solid - 1.0).abs() < 0.02, "{solid} {solid4}");
}

#[test]
fn bodies_without_conductivity_have_no_heat() {
    let mut world = world("format = 1\n[[body]]\nshape = { kind = \"sphere\", radius = 0.1 }\npoints = 200\n");
    assert!(world.heat().is_none());
    assert_eq!(world.metrics().heat, 0.0);
}

/// The error function, by its series.
fn erf(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..60 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn bodies_of_the_plane_conduct_as_the_half_space_says() {
    let text = "format = 1\ngravity = [0, 0, 0]\nduration = 10\nfps = 10\n[[body]]\nname = \"slab\"\nmodel = \"lattice\"\n\
        dimensions = 2\nshape = { kind = \"box\", size = [0.2025, 0.05, 0.2] }\nspacing = 0.005\nsurface = { kind = \"points\" }\n\
        material = { young = 100, density = 1000, conductivity = 100, specific_heat = 1000 }\n\
        [[pin]]\nname = \"held\"\nbody = \"slab\"\n\
        [[collider]]\nname = \"wall\"\nshape = { kind = \"box\", size = [1, 1, 1] }\nat = [-0.6, 0, 0]\ntemperature = 393.15";
    // Rows begin at -98.75 mm and at -96.25 mm in turn: matter ends, half a spacing before them, at -100 mm on the mean. There is the wall.
    let mut world = world(text);
    let mut worst: f64 = 0.0;
    for seconds in [2.0f64, 4.0] {
        advance(&mut world, 20);
        let length = 2.0 * (1e-4 * seconds).sqrt();
        for i in 0..world.points().len() {
            let depth = world.points().positions[i].x + 0.1;
            if depth < 0.1 {
                let wanted = 393.15 - 100.0 * erf(depth / length);
                worst = worst.max((world.heat().unwrap().temperature(i).unwrap() - wanted).abs());
            }
        }
    }
    // The 2 % that `heat-slab` asks for of research, here of every point, those of the row that stands back from the wall too.
    assert!(worst < 2.0, "{worst}");
    assert!(imbalance(&world) < 1e-13);
}

#[test]
fn bodies_of_the_plane_melt_on_a_hot_floor_and_freeze_on_a_cold_one() {
    let scene = |floor: f64, start: f64, phase: &str| {
        format!(
            "format = 1\nduration = 10\nfps = 10\n[[body]]\nname = \"block\"\nmodel = \"lattice\"\ndimensions = 2\n\
             shape = {{ kind = \"box\", size = [0.2, 0.1, 0.1] }}\nat = [0, 0.075, 0]\nspacing = 0.01\nphase = \"{phase}\"\n\
             temperature = {start}\nsurface = {{ kind = \"points\" }}\nmaterial = {{ young = 20000, density = 1000, damping = 50, \
             conductivity = 2000, specific_heat = 1000, latent_heat = 10000, solidus = 300, liquidus = 302, viscosity = 1 }}\n\
             [[body]]\nname = \"seed\"\nmodel = \"lattice\"\ndimensions = 2\nshape = {{ kind = \"box\", size = [0.2, 0.02, 0.1] }}\n\
             at = [0, 0.012, 0]\ntemperature = {start}\nsurface = {{ kind = \"points\" }}\nmaterial = {{ young = 20000, density = 1000, \
             damping = 50, conductivity = 2000, specific_heat = 1000, latent_heat = 10000, solidus = 300, liquidus = 302, viscosity = 1 }}\n\
             [[collider]]\nname = \"floor\"\nshape = {{ kind = \"plane\" }}\ntemperature = {floor}\n\
             [[collider]]\nname = \"left\"\nshape = {{ kind = \"box\", size = [1, 1, 1] }}\nat = [-0.61, 0, 0]\n\
             [[collider]]\nname = \"right\"\nshape = {{ kind = \"box\", size = [1, 1, 1] }}\nat = [0.61, 0, 0]"
        )
    };
    let solid = |world: &World| {
        let all: Vec<f64> = (0..world.points().len()).filter_map(|i| world.lattice.solidity(i)).collect();
        mean(&all)
    };
    let mut melts = world(&scene(400.0, 290.0, "solid"));
    assert_eq!(solid(&melts), 1.0);
    advance(&mut melts, 15);
    println!("melted in the plane: {}", 1.0 - solid(&melts));
    assert!(solid(&melts) < 0.3, "{}", solid(&melts));
    let mut freezes = world(&scene(250.0, 301.5, "liquid"));
    let before = solid(&freezes);
    advance(&mut freezes, 15);
    println!("frozen in the plane: {} of it, {before} at the start", solid(&freezes));
    assert!(before < 0.4 && solid(&freezes) > 0.6, "{before} {}", solid(&freezes));
}
