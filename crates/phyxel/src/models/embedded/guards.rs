//! Which guards there are, and a switch for each that only tests have: what is not needed should not be there.

/// What keeps matter sound that is torn, thin, or flows far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Guard {
    /// Weights of pairs that are far apart in the world fade.
    Cut,
    /// Pieces that have flowed as a whole are put where they are in the world.
    Alignment,
    /// A point whose P leaves its range carries no stress until the next embedding.
    Lost,
    /// Elastic stretches of flowing matter stay in a range.
    Stretches,
    /// Pressure where matter has flowed.
    Pressure,
    /// Repulsion of close points, and what holds thin matter together.
    Repulsion,
    /// What holds thin matter together.
    Hold,
    /// Priors give way to stress.
    Priors,
    /// Points that have flowed are anchored in the world.
    Anchoring,
    /// A rotation from embedded space to the world per point, not per piece.
    Frames,
}

#[cfg(test)]
pub(super) static OFF: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Whether a guard is on: always, but for tests that ask what happens without it.
#[inline(always)]
pub(super) fn on(_guard: Guard) -> bool {
    #[cfg(test)]
    if OFF.load(std::sync::atomic::Ordering::Relaxed) & (1 << _guard as u32) != 0 {
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Files;
    use crate::run::Simulation;
    use crate::scene::Scene;
    use crate::world::World;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A cube that yields at 0.3 kPa and flows fast falls on a bar.
    const CUBE: &str = r#"
        format = 1
        name = "cube-on-bar"
        duration = "4 s"
        fps = 30
        [[body]]
        name = "cube"
        model = "embedded"
        shape = { kind = "box", size = [1, 1, 1] }
        at = [0, 1.95, 0]
        points = 1000
        material = { young = 1e5, poisson = 0.3, density = 1000, yield_strain = 0.0039, creep = 500, friction = 0.3 }
        surface = { kind = "none" }
        [[collider]]
        shape = { kind = "cylinder", radius = 0.2, height = 6.5 }
        at = [0, 1.0, 0]
        rotate = [0, 0, 90]
        friction = 0.3
        [[collider]]
        shape = { kind = "plane" }
        friction = 0.3
    "#;

    /// Scenes of other kinds with fewer points: partly firm matter that turns, gum under high tension, putty that is torn.
    const SCENES: [(&str, &str); 3] = [
        (include_str!("../../../../../scenes/tower-stairs.toml"), "700"),
        (include_str!("../../../../../scenes/gum-stretch.toml"), "700"),
        (include_str!("../../../../../scenes/putty-tear.toml"), "700"),
    ];

    /// `cargo test --release -p phyxel --lib each_guard -- --ignored --nocapture`, alone: the switch is one for all tests.
    #[test]
    #[ignore = "slow: eleven runs of four scenes, to be read; the table is in docs/methods/embedded.md"]
    fn each_guard_off_in_turn() {
        use Guard::*;
        let all = [Cut, Alignment, Lost, Stretches, Pressure, Repulsion, Hold, Priors, Anchoring, Frames];
        let scenes = [(CUBE, "1000")].into_iter().chain(SCENES);
        for (text, points) in scenes {
            for guard in [None].into_iter().chain(all.map(Some)) {
                OFF.store(guard.map_or(0, |g| 1 << g as u32), Ordering::Relaxed);
                let fewer = ("body.0.points".to_owned(), points.to_owned());
                let scene = Scene::from_toml(text, None, &[fewer]).unwrap_or_else(|e| panic!("{e}"));
                println!("{} without {guard:?}: {}", scene.name, run_whole(&scene));
            }
        }
        OFF.store(0, Ordering::Relaxed);
    }

    /// Runs a scene to its end and says how sound its first body is then, and what was worst on the way.
    fn run_whole(scene: &Scene) -> String {
        let mut world = World::new(scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
        let (mut rescues, mut frames, mut fastest, mut worst) = (0, 0, 0.0f64, 0);
        let end = (scene.duration * scene.fps).round() as usize;
        let inverted =
            |world: &World| world.embedded().parts()[0].fits.iter().filter(|f| f.elastic.determinant() <= 0.0).count();
        while frames < end && rescues <= 20 {
            let Ok(frame) = world.advance_frame(&AtomicBool::new(false)) else { break };
            rescues += frame.rescues.len();
            frames += 1;
            fastest = world.points().velocities.iter().map(|v| v.length()).fold(fastest, f64::max);
            worst = worst.max(inverted(&world));
        }
        let (part, points) = (&world.embedded().parts()[0], world.points());
        let radii: Vec<f64> = part.spacings.iter().map(|a| 1.5 * a).collect();
        let near = crate::neighbors::Neighborhoods::with_radii(&points.positions, &radii);
        let alone = (0..part.len()).filter(|&i| near.of(i).count() == 0).count();
        let closest = (0..part.len())
            .flat_map(|i| near.of(i).map(move |j| points.positions[i].distance(points.positions[j])))
            .fold(f64::INFINITY, f64::min);
        let speed = points.velocities.iter().map(|v| v.length_squared()).sum::<f64>() / part.len() as f64;
        format!(
            "{frames} of {end} frames, {rescues} rescues, {} inverted ({worst} at most), {alone} alone, {} pieces, closest {:.2} spacings, \
             {:.3} m/s at the end, {fastest:.2} m/s at most",
            inverted(&world),
            world.embedded().count_pieces(0, points).unwrap_or(0),
            closest / part.spacings[0],
            speed.sqrt()
        )
    }
}
