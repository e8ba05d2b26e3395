//! Melt at rest: a pool keeps its density, gains no energy and comes to rest.

use crate::lab::{next_frame, world};
use phyxel::frame::Frame;
use phyxel::run::Simulation;

/// A block of 8 l of melt falls by 1 cm into a square well of 26 x 26 cm and spreads to a depth of 11.8 cm.
#[test]
fn a_pool_keeps_its_density_and_comes_to_rest() {
    let mut world = world(
        r#"
format = 1
name = "pool"
duration = 10
fps = 10
body = [{ name = "melt", shape = { kind = "box", size = [0.2, 0.2, 0.2] }, at = [0, 0.11, 0], points = 500, surface = { kind = "none" },
    material = { young = 1e4, poisson = 0.3, density = 1000, creep = 20, viscosity = 10, cohesion = 500 } }]
collider = [{ name = "well", shape = { kind = "difference", of = [
    { kind = "box", size = [0.4, 0.3, 0.4], at = [0, 0.1, 0] }, { kind = "box", size = [0.26, 0.3, 0.26], at = [0, 0.15, 0] }] } }]
probe = [{ name = "middle", body = "melt", measure = "mean_y" }, { name = "top", body = "melt", measure = "max_y" }, { name = "carried", collider = "well", measure = "reaction_y" }]
"#,
    );
    let (volume, spacing) = (0.008, (0.008f64 / 500.0).cbrt());
    let (mut rows, mut shown) = (Vec::new(), Frame::default());
    for frame in 0..100 {
        rows.push(next_frame(&mut world));
        world.frame(&mut shown);
        let body = &shown.bodies[0];
        let (_, ratios) = body.fields.iter().find(|(name, _)| *name == "volume_ratio").expect("a field of every body");
        // In the bulk: a spacing or more from walls, where points lie in a layer.
        let bulk = body.positions.iter().zip(ratios).filter(|(x, _)| {
            let gap = f64::from(x.y.min(0.13 - x.x.abs()).min(0.13 - x.z.abs()));
            gap > spacing
        });
        let densities =
            bulk.map(|(_, ratio)| 1.0 / f64::from(*ratio)).fold([1.0, 1.0], |[low, high], d| [d.min(low), d.max(high)]);
        assert!(
            frame < 5 || densities[0] > 0.9 && densities[1] < 1.05,
            "{frame}: {densities:?} of the density at rest"
        );
    }
    let sum = |row: &phyxel::measure::MetricsRow| {
        row.kinetic + row.elastic + row.gravity + row.dissipated - row.work - row.switched
    };
    let fall = rows[0].mass * 9.81 * 0.1;
    let settled = &rows[20..];
    for (before, row) in rows.iter().zip(&rows[1..]) {
        assert!(sum(row) < sum(before) + 1e-4 * fall, "{} s: {} J became {} J", row.time, sum(before), sum(row));
    }
    for row in settled {
        let mean = volume / row.volume;
        assert!((0.98..1.02).contains(&mean), "{} s: {mean} of the density at rest", row.time);
    }
    let end = &rows[99];
    let rms = (2.0 * end.kinetic / end.mass).sqrt();
    // A point or two at the walls still creep into place at up to a centimeter per second.
    assert!(rms < 1e-3 && end.max_speed < 2e-2, "{rms} m/s, at most {} m/s", end.max_speed);
    // The middle is half the depth up. 4.7 layers fill the well: the topmost is not full, and single points of it stand out.
    let [middle, top, carried] = world.probe_values()[..] else { panic!("three probes") };
    let depth = volume / (0.26 * 0.26);
    assert!((2.0 * middle - depth).abs() < 0.25 * spacing, "{middle} m is the middle of a depth of {depth} m");
    assert!(top + 0.5 * spacing > depth - 0.25 * spacing && top < depth, "{top} m for a depth of {depth} m");
    assert!((carried / (9.81 * end.mass) - 1.0).abs() < 5e-3, "{carried} N");
}
