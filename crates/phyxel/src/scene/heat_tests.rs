//! Keys of heat: what is read, what survives writing, what is refused.

use super::*;

const WARM: &str = r#"
format = 1
[[body]]
name = "candle"
shape = { kind = "box", size = [0.1, 0.2, 0.1] }
temperature = "25 degC"
material = { conductivity = "0.25 W/m/K", specific_heat = "2.1 kJ/kg/K", latent_heat = "200 kJ/kg", solidus = "50 degC", liquidus = "60 degC" }
regions = [ { name = "top", half_space = { normal = [0, 1, 0], offset = 0.05 } } ]

[[collider]]
shape = { kind = "plane" }
temperature = "5 degC"
exchange = "500 W/m^2/K"

[air]
temperature = "20 degC"

[[heat]]
kind = "power"
body = "candle"
region = "top"
power = "20 W"
until = 2

[[heat]]
kind = "held"
body = "candle"
temperature = 350
from = 1

[[heat]]
kind = "lamp"
flux = "5 kW/m^2"
direction = [0, -2, 0]
radius = "3 cm"

[[event]]
at = 1
body = "candle"
set = { conductivity = 0.5, solidus = 330 }

[[probe]]
name = "hottest"
body = "candle"
measure = "max_temperature"

[[probe]]
name = "solid"
measure = "fraction_solid"

[[expect]]
probe = "hottest"
near = "60 degC"
tolerance = "5 K"
"#;

fn read(text: &str) -> crate::Result<Scene> {
    Scene::from_toml(text, None, &[])
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let fault = read(text).expect_err("it must be refused").to_string();
    for part in parts {
        assert!(fault.contains(part), "{fault:?} does not say {part:?}");
    }
}

#[test]
fn heat_reads_in_si_and_survives_writing() {
    let scene = read(WARM).unwrap();
    let body = &scene.bodies[0];
    assert!(body.material.is_thermal());
    assert_eq!((body.temperature, body.material.conductivity), (298.15, Some(0.25)));
    assert_eq!((body.material.specific_heat, body.material.latent_heat), (2100.0, 2e5));
    assert_eq!((body.material.solidus, body.material.liquidus), (Some(323.15), Some(333.15)));
    assert_eq!(scene.air, Some(AirSpec { temperature: 293.15, exchange: 10.0 }));
    assert_eq!(scene.colliders[0].exchange, Some(500.0));
    assert_eq!(scene.heats.len(), 3);
    let HeatKind::Lamp { flux, direction, radius, .. } = scene.heats[2].kind else { panic!("{:?}", scene.heats[2]) };
    assert_eq!((flux, direction, radius), (5000.0, DVec3::NEG_Y, Some(0.03)));
    assert_eq!(scene.expects[0].want, Want::Near { value: 333.15, tolerance: 5.0 });
    assert_eq!(read(&scene.to_toml()).unwrap(), scene);
}

#[test]
fn keys_without_effect_are_refused() {
    let body = |material: &str| {
        format!(
            "format = 1\n[[body]]\nname = \"b\"\nshape = {{ kind = \"sphere\", radius = 1 }}\nmaterial = {{ {material} }}\n"
        )
    };
    refused(&body("specific_heat = 900"), &["`specific_heat` has no effect", "conductivity"]);
    refused(&body("conductivity = 1, latent_heat = 5"), &["`latent_heat` has no effect", "solidus"]);
    refused(&body("conductivity = 1, solidus = 300, liquidus = 290"), &["below the solidus"]);
    refused(&body("conductivity = \"1 W\""), &["is a power", "W/m/K"]);
    refused(&body("melting_point = 300"), &["solidus"]);
    let cold = body("young = 1e5");
    refused(&format!("{cold}[[heat]]\nkind = \"power\"\nbody = \"b\"\npower = 5"), &["no part in heat"]);
    refused(&format!("{cold}[[event]]\nat = 1\nbody = \"b\"\nset = {{ solidus = 300 }}"), &["no part in heat"]);
    refused(&format!("{cold}[[collider]]\nshape = {{ kind = \"plane\" }}\nexchange = 5"), &["without a temperature"]);
    let warm = body("conductivity = 1");
    refused(&format!("{warm}[[heat]]\nkind = \"power\"\nbody = \"b\""), &["`power` is missing"]);
    refused(&format!("{warm}[[heat]]\nkind = \"lamp\"\nflux = 5\npower = 3"), &["no effect on a lamp"]);
    refused(&format!("{warm}[[heat]]\nkind = \"held\"\nbody = \"b\"\nregion = \"x\""), &["there is no region"]);
    let degrees = "[[probe]]\nname = \"p\"\nmeasure = \"mean_temperature\"\n[[expect]]\nprobe = \"p\"\nnear = 300\ntolerance = \"2 degC\"";
    refused(&format!("{warm}{degrees}"), &["difference of temperatures", "2 K"]);
}
