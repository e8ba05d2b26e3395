//! Scenes that ask for an absurd number of time steps are named at the start, with what to change.

use crate::models::mls::flow::Demand;
use crate::world::World;

/// Steps per frame beyond which the user is told.
const MANY_STEPS: f64 = 20_000.0;

impl World {
    /// One sentence for each body that needs more than `MANY_STEPS` steps per frame.
    pub(crate) fn describe_demands(&self) -> Vec<String> {
        if self.is_implicit() {
            return Vec::new();
        }
        (0..self.bodies.len()).filter_map(|b| self.describe_demand(b)).collect()
    }

    fn describe_demand(&self, b: usize) -> Option<String> {
        if self.lattice.manages(b) || self.embedded.manages(b) {
            return None;
        }
        let material = &self.bodies[b].material;
        let melts = material.flows() || material.can_melt();
        let solid = (self.mls.body_time_step(b), false, Demand::Stiffness);
        let melted = self.flow.melt_time_steps(b).map(|(step, why)| (step, true, why));
        let all =
            melted.into_iter().filter(|_| melts).fold(solid, |least, one| if one.0 < least.0 { one } else { least });
        let (step, melted, why) = all;
        let steps = 1.0 / (self.scene.fps * step);
        if steps <= MANY_STEPS {
            return None;
        }
        let (key, cure) = match (why, melted && !material.flows()) {
            (Demand::Viscosity, _) => {
                ("viscosity", "lower it and thicken the melt by melt_young, or sample more coarsely")
            }
            (Demand::Stiffness, true) => ("melt_young", "lower it, or sample more coarsely"),
            (Demand::Stiffness, false) if melted => ("young", "lower it, or sample more coarsely"),
            (Demand::Stiffness, false) => {
                ("young", "set integrator = \"implicit\" if nothing melts, soften it, or sample more coarsely")
            }
            (Demand::Fall, _) => ("spacing", "sample more coarsely, or lower the fall"),
        };
        let name = &self.bodies[b].name;
        Some(format!("body '{name}': its {key} asks for {steps:.0} time steps per frame ({step:.1e} s each): {cure}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Files;
    use crate::scene::Scene;

    fn warnings(material: &str) -> Vec<String> {
        let text = format!(
            r#"
            format = 1
            name = "demand"
            duration = "1 s"
            integrator = "explicit"
            [[body]]
            name = "block"
            shape = {{ kind = "box", size = [0.04, 0.04, 0.04] }}
            spacing = 0.01
            material = {{ {material} }}
            "#
        );
        let scene = Scene::from_toml(&text, None, &[]).unwrap();
        let world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
        world.warnings().iter().filter(|w| w.contains("time steps per frame")).cloned().collect()
    }

    #[test]
    fn stiff_and_thick_matter_is_named_with_its_cure() {
        let stiff = warnings("young = 9e12, density = 1000");
        assert!(stiff.len() == 1 && stiff[0].starts_with("body 'block': its young asks for"), "{stiff:?}");
        assert!(stiff[0].contains("implicit"));
        let thick = warnings("young = 1e4, density = 10, creep = 20, viscosity = 9000");
        assert!(thick.len() == 1 && thick[0].contains("its viscosity"), "{thick:?}");
        assert!(warnings("young = 1e6, density = 1000").is_empty());
    }
}
