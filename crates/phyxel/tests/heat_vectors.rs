//! Golden vectors: conduction, exchange and enthalpy, computed in f64 by an independent prototype.

mod common;

use common::{assert_near, list, load, matrices, number, numbers, vectors};
use glam::{DMat3, DVec3};
use phyxel::heat::conduction::{self, Repair, Samples};
use phyxel::heat::enthalpy::{Melting, ThermalLaw};
use phyxel::heat::exchange::{self, Wall};
use phyxel::heat::network::{HeatState, Network, StepInput};
use phyxel::neighbors::Neighborhoods;
use serde_json::Value;

const TOLERANCE: f64 = 1e-10;

fn law(material: &Value) -> ThermalLaw {
    let key = |k: &str| number(&material[k]);
    let melting = Melting { solidus: key("Ts"), liquidus: key("Tl"), latent_heat: key("L") };
    ThermalLaw { conductivity: 1.0, specific_heat: key("cs"), specific_heat_liquid: key("cl"), melting: Some(melting) }
}

/// The 64 points of the prototype and their operator.
struct Case {
    data: Value,
    positions: Vec<DVec3>,
    volumes: Vec<f64>,
    radii: Vec<f64>,
    conductivities: Vec<f64>,
    near: Neighborhoods,
    walls: Vec<Wall>,
}

impl Case {
    fn new() -> Self {
        let data = load("heat_operator64");
        let positions = vectors(&data["x"]);
        let radius = number(&data["h"]);
        let near = Neighborhoods::within_radius(&positions, radius);
        let walls =
            numbers(&data["wall_distance"]).iter().map(|&distance| Wall { distance, normal: DVec3::Y }).collect();
        Self {
            volumes: vec![number(&data["volume"]); 64],
            radii: vec![radius; 64],
            conductivities: numbers(&data["k"]),
            positions,
            near,
            walls,
            data,
        }
    }

    fn samples(&self) -> Samples<'_> {
        Samples {
            positions: &self.positions,
            volumes: &self.volumes,
            radii: &self.radii,
            conductivities: &self.conductivities,
            flat: false,
        }
    }

    fn wall_moments(&self) -> Vec<DMat3> {
        self.walls.iter().map(|w| w.moment(self.radii[0])).collect()
    }

    fn wall_areas(&self) -> Vec<f64> {
        self.walls.iter().map(|w| w.area(self.volumes[0], self.radii[0])).collect()
    }

    fn network(&self) -> (Network, Vec<f64>) {
        let (samples, data) = (self.samples(), &self.data);
        let weights = conduction::pair_weights(&samples, &self.near);
        let factors =
            conduction::repair(&samples, &self.near, &weights, &self.wall_moments(), Repair { power: 4, sweeps: 2 });
        let areas = self.wall_areas();
        let wall = |i: usize| {
            let at = &self.walls[i];
            at.conductance(areas[i], factors[i], self.conductivities[i], f64::INFINITY)
        };
        let exchange = number(&data["hc_air"]);
        let crowding = conduction::crowding(&samples, &self.near);
        let air = |i: usize| {
            let area = exchange::exposed_area(self.volumes[i], crowding[i].sum, false);
            exchange::air_conductance(area, number(&data["spacing"]), self.conductivities[i], exchange)
        };
        let walls: Vec<f64> = (0..64).map(wall).collect();
        let network = Network {
            conductances: conduction::conductances(&samples, &self.near, weights, &factors),
            wall_heat: walls.iter().map(|g| g * number(&data["T_wall"])).collect(),
            walls,
            air: (0..64).map(air).collect(),
            links: self.near.clone(),
        };
        (network, factors)
    }
}

#[test]
fn operator_equals_the_prototype() {
    let case = Case::new();
    let (data, samples) = (&case.data, case.samples());
    let lists: Vec<Vec<usize>> = (0..64).map(|i| case.near.of(i).collect()).collect();
    let expected: Vec<Vec<usize>> =
        list(&data["neighbours"]).iter().map(|l| numbers(l).iter().map(|&j| j as usize).collect()).collect();
    assert_eq!(lists, expected);

    let moments: Vec<[f64; 2]> = case.walls.iter().map(|w| exchange::moments((w.distance / 0.233).min(1.0))).collect();
    let column = |k: usize| moments.iter().map(|m| m[k]).collect::<Vec<_>>();
    assert_near("normal wall moment", &column(0)[..], &numbers(&data["wall_moment_normal"]), TOLERANCE);
    assert_near("tangential wall moment", &column(1)[..], &numbers(&data["wall_moment_tangential"]), TOLERANCE);

    let walls = case.wall_moments();
    let (ones, weights) = (vec![1.0; 64], conduction::pair_weights(&samples, &case.near));
    let moments: Vec<DMat3> =
        (0..64).map(|i| conduction::moment(&samples, &case.near, &weights, &ones, &walls, i)).collect();
    assert_near("moment", &moments[..], &matrices(&data["moment_sweep1"]), TOLERANCE);
    let first = conduction::repair(&samples, &case.near, &weights, &walls, Repair { power: 4, sweeps: 1 });
    assert_near("repair, one sweep", &first[..], &numbers(&data["s_sweep1"]), TOLERANCE);

    let (network, factors) = case.network();
    assert_near("repair, two sweeps", &factors[..], &numbers(&data["s"]), TOLERANCE);
    let pairs: Vec<f64> = list(&data["G"]).iter().flat_map(numbers).collect();
    assert_near("pair conductances", &network.conductances[..], &pairs, TOLERANCE);
    let temperatures = numbers(&data["T"]);
    let flow: Vec<f64> = (0..64).map(|i| network.inflow(i, &temperatures)).collect();
    assert_near("heat flow", &flow[..], &numbers(&data["q_pairs"]), TOLERANCE);
    assert_near("wall area", &case.wall_areas()[..], &numbers(&data["wall_area"]), TOLERANCE);
    assert_near("wall conductance", &network.walls[..], &numbers(&data["wall_conductance"]), TOLERANCE);
    let crowding: Vec<f64> = conduction::crowding(&samples, &case.near).iter().map(|c| c.sum).collect();
    assert_near("crowding", &crowding[..], &numbers(&data["shepard"]), TOLERANCE);
    let areas: Vec<f64> = crowding.iter().map(|c| exchange::exposed_area(case.volumes[0], *c, false)).collect();
    assert_near("exposed area", &areas[..], &numbers(&data["air_area"]), TOLERANCE);
    assert_near("air conductance", &network.air[..], &numbers(&data["air_conductance"]), TOLERANCE);
}

#[test]
fn steps_equal_the_prototype() {
    let case = Case::new();
    let data = &case.data;
    let (network, _) = case.network();
    let laws = [law(&data["material"])];
    let mass = number(&data["density"]) * case.volumes[0];
    let input = StepInput {
        masses: &[mass; 64],
        kinds: &[0; 64],
        laws: &laws,
        powers: &[0.0; 64],
        air: number(&data["T_air"]),
    };
    let dt = number(&data["dt"]);
    assert!(dt <= network.stable_time_step(&input), "{dt} {}", network.stable_time_step(&input));
    let mut state = HeatState { enthalpies: numbers(&data["H0"]), ..Default::default() };
    state.update(input.kinds, &laws);
    let before: f64 = state.enthalpies.iter().sum::<f64>() * mass;
    let mut supplied = 0.0;
    for _ in 0..3 {
        supplied += network.step(&input, &mut state, dt).total();
    }
    assert_near("enthalpy", &state.enthalpies[..], &numbers(&data["H"]), TOLERANCE);
    assert_near("temperature", &state.temperatures[..], &numbers(&data["T_end"]), TOLERANCE);
    assert_near("fraction", &state.fractions[..], &numbers(&data["liquid_fraction_end"]), TOLERANCE);
    let after: f64 = state.enthalpies.iter().sum::<f64>() * mass;
    assert!((after - before - supplied).abs() < 1e-13 * before);
}

#[test]
fn enthalpy_equals_the_prototype() {
    for case in list(&load("enthalpy_join")["enthalpy"]) {
        let law = law(&case["material"]);
        let (begin, end) = law.melting_range().unwrap();
        assert_near("range", &[begin, end][..], &[number(&case["H_solidus"]), number(&case["H_liquidus"])], 1e-12);
        let states: Vec<(f64, f64)> = numbers(&case["H"]).iter().map(|&h| law.state(h)).collect();
        let (temperatures, fractions): (Vec<f64>, Vec<f64>) = states.into_iter().unzip();
        assert_near("temperature", &temperatures[..], &numbers(&case["T"]), 1e-12);
        assert_near("fraction", &fractions[..], &numbers(&case["liquid_fraction"]), 1e-12);
    }
}
