//! `phyxel check`: read and sample a scene, say what a run of it will be.

use crate::common::{SceneArgs, WorkArgs};
use crate::output;
use anyhow::Result;
use phyxel::run::{frame_count, peak_memory_bytes};
use phyxel::world::World;
use serde_json::json;
use std::process::ExitCode;

/// CPU time of an explicit step per point [s], contact included (`phyxel bench elastic-20k`).
const EXPLICIT_COST: f64 = 120e-9;
/// CPU time of an implicit step per point [s] (`phyxel bench implicit-20k`).
const IMPLICIT_COST: f64 = 80e-6;
/// CPU time of a picture [s]: a part for its pixels, and a part per surfel.
const PICTURE_COST: (f64, f64) = (0.06, 4e-6);

/// Flags of `phyxel check`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    #[command(flatten)]
    work: WorkArgs,
}

pub fn command(args: Args) -> Result<ExitCode> {
    let threads = args.work.start_threads()?;
    let loaded = args.scene.load()?;
    let scene = &loaded.scene;
    let world = World::new(scene, &loaded.files)?;
    let dt = world.stable_time_step();
    let frames = frame_count(scene);
    let substeps = scene.duration / dt;
    let (points, surfels) = (world.points().len(), world.surfel_count());
    let cost = if world.is_implicit() { IMPLICIT_COST } else { EXPLICIT_COST };
    let physics = substeps * points as f64 * cost / threads as f64;
    let pictures = f64::from(frames) * (PICTURE_COST.0 + PICTURE_COST.1 * surfels as f64) / threads as f64;
    let integrator = if world.is_implicit() { "implicit" } else { "explicit" };
    let warnings = world.warnings();
    if args.work.json {
        let body =
            |b: &phyxel::body::Body| json!({ "name": b.name, "points": b.range.len(), "spacing": spacing(&world, b) });
        output::result(&serde_json::to_string_pretty(&json!({
            "scene": scene.name,
            "bodies": world.bodies().iter().map(body).collect::<Vec<_>>(),
            "points": points,
            "surfels": surfels,
            "frames": frames,
            "integrator": integrator,
            "time_step": dt,
            "substeps": substeps.ceil(),
            "memory_bytes": peak_memory_bytes(),
            "seconds_physics": physics,
            "seconds_pictures": pictures,
            "warnings": warnings,
        }))?);
        return Ok(ExitCode::SUCCESS);
    }
    warnings.iter().for_each(|w| output::note(&format!("warning: {w}")));
    if args.work.quiet {
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["body", "points", "spacing", "mass"].map(String::from).to_vec()];
    for body in world.bodies() {
        let mass: f64 = world.points().masses[body.range.clone()].iter().sum();
        let cells =
            [body.range.len().to_string(), output::quantity(spacing(&world, body), "m"), format!("{mass:.4} kg")];
        rows.push([vec![body.name.clone()], cells.to_vec()].concat());
    }
    output::result(&output::table(&rows, &[1, 2, 3]));
    output::result(&format!(
        "\nframes:      {frames} ({} s at {} per second)\nsurfels:     {surfels}\nintegrator:  {integrator}\ntime step:   {} (about {:.0} substeps)",
        scene.duration,
        scene.fps,
        output::quantity(dt, "s"),
        substeps.ceil()
    ));
    output::result(&format!(
        "memory:      {}\ntime:        about {} for the physics and {} for the film ({threads} threads)\n\n{} can be run",
        output::bytes(peak_memory_bytes() as f64),
        output::duration(physics),
        output::duration(pictures),
        args.scene.scene
    ));
    Ok(ExitCode::SUCCESS)
}

/// Mean distance between the points of a body at rest [m].
fn spacing(world: &World, body: &phyxel::body::Body) -> f64 {
    let spacings = &world.points().spacings[body.range.clone()];
    spacings.iter().sum::<f64>() / spacings.len().max(1) as f64
}
