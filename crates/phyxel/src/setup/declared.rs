//! Pins, forces and probes: what a scene declares about bodies that are already there.

use crate::body::Body;
use crate::external::{ExternalForce, Load};
use crate::measure::{Probe, Target};
use crate::models::shell::loads::Wind;
use crate::models::shell::{Shell, ShellModel};
use crate::motion::Motion;
use crate::pins::Pin;
use crate::points::Points;
use crate::scene::{EventTime, ForceKind, ForceSpec, Measure, PinSpec, ProbeSpec, Scene};
use crate::{Diagnostic, Result};
use glam::DVec3;

pub(super) fn members<'a>(bodies: &'a [Body], body: &str, region: &str, key: String) -> Result<(usize, &'a [u32])> {
    let b = bodies.iter().position(|x| x.name == body);
    let found = b.and_then(|b| Some((b, bodies[b].region(region)?.points.as_slice())));
    found.ok_or_else(|| Diagnostic::new(format!("there is no region '{region}' of a body '{body}'")).key(key).into())
}

pub(super) fn add_pin(k: usize, spec: &PinSpec, bodies: &[Body], points: &Points) -> Result<Pin> {
    let (body, held) = members(bodies, &spec.body, &spec.region, format!("pin[{k}]"))?;
    let mut pin = Pin {
        name: spec.name.clone(),
        body,
        points: Vec::new(),
        start: Vec::new(),
        center: DVec3::ZERO,
        axes: spec.axes,
        from: spec.from,
        gripped: false,
        until: spec.until.unwrap_or(f64::INFINITY),
        motion: Motion::new(&spec.motion),
        released: false,
        impulse: DVec3::ZERO,
    };
    if spec.from <= 0.0 {
        pin.grip(held.to_vec(), points);
    }
    Ok(pin)
}

pub(super) fn add_force(
    k: usize,
    spec: &ForceSpec,
    bodies: &[Body],
    points: &Points,
    shells: &ShellModel,
) -> Result<ExternalForce> {
    let load = match &spec.kind {
        ForceKind::Region { body, region, total } => {
            let (_, held) = members(bodies, body, region, format!("force[{k}]"))?;
            Load::Total(held.to_vec(), *total)
        }
        ForceKind::Wind { body, velocity, density, drag } => {
            let wind = Wind { velocity: *velocity, density: *density, drag: *drag };
            let named = |b: &usize| body.as_ref().is_none_or(|name| bodies[*b].name == *name);
            Load::Wind { bodies: shells.ranges().map(|(b, _)| b).filter(named).collect(), wind }
        }
        ForceKind::Pressure { body, pressure, ramp, outside } => {
            let (b, _) = members(bodies, body, "all", format!("force[{k}]"))?;
            let closed = shells.shell(b).is_some_and(Shell::is_closed);
            if !closed {
                return Err(Diagnostic::new(format!("the shell '{body}' is open: there is no inside to blow up"))
                    .key(format!("force[{k}].body"))
                    .expected("a closed surface without borders")
                    .into());
            }
            let area = shells.shell(b).map_or(0.0, |s| s.nodes().areas.iter().sum());
            Load::Pressure {
                body: b,
                range: bodies[b].range.clone(),
                pressure: *pressure,
                ramp: *ramp,
                outside: *outside,
                area,
            }
        }
        ForceKind::Field { body: None, acceleration } => Load::Acceleration(0..points.len(), *acceleration),
        ForceKind::Field { body: Some(body), acceleration } => {
            let (b, _) = members(bodies, body, "all", format!("force[{k}]"))?;
            Load::Acceleration(bodies[b].range.clone(), *acceleration)
        }
    };
    Ok(ExternalForce { load, from: spec.from, until: spec.until.unwrap_or(f64::INFINITY) })
}

pub(super) fn add_probe(k: usize, spec: &ProbeSpec, scene: &Scene, bodies: &[Body]) -> Result<Probe> {
    let key = format!("probe[{k}]");
    let unknown = |what: String| Diagnostic::new(what).key(key.clone());
    let measure = Measure::parse(&spec.measure).ok_or_else(|| unknown(format!("no measure '{}'", spec.measure)))?;
    let target = if let Some(pin) = &spec.pin {
        let found = scene.pins.iter().position(|p| p.name == *pin);
        Target::Pin(found.ok_or_else(|| unknown(format!("there is no pin '{pin}'")))?)
    } else if let Some(collider) = &spec.collider {
        let found = scene.colliders.iter().position(|c| c.name == *collider);
        Target::Collider(found.ok_or_else(|| unknown(format!("there is no collider '{collider}'")))?)
    } else if let Some(body) = &spec.body {
        let (b, points) = members(bodies, body, &spec.region, key.clone())?;
        match &spec.to_region {
            Some(other) => Target::Pair(points.to_vec(), members(bodies, body, other, key)?.1.to_vec()),
            None => Target::Points(points.to_vec(), Some(b)),
        }
    } else {
        let everything = bodies.iter().flat_map(|b| b.range.clone()).map(|i| i as u32);
        Target::Points(everything.collect(), None)
    };
    Ok(Probe { name: spec.name.clone(), measure, target })
}

pub(super) fn awaited(when: &EventTime, probes: &[Probe]) -> Option<usize> {
    match when {
        EventTime::At(_) => None,
        EventTime::Below { probe, .. } | EventTime::Above { probe, .. } => probes.iter().position(|p| p.name == *probe),
    }
}
