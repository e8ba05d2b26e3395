//! The commented scene that `phyxel new MESH` writes.

use super::reader::check_name;
use super::write::quote;
use crate::geometry::Bounds;
use glam::DVec3;
use std::path::Path;

/// Largest extent that meshes of odd size are scaled to [m]: that of a toy that one can hold.
const TOY_SIZE: f64 = 0.3;
/// Largest extents [m] that are taken as meant; scans in millimeters and models in any unit lie outside.
const SENSIBLE: std::ops::RangeInclusive<f64> = 0.02..=5.0;

/// A scene in which the mesh drops on a floor. `bounds` is the box around the mesh in the units of its file, `closed`
/// whether it has no holes. A valid scene, whatever the name and the box.
pub fn starter_scene(mesh_file: &str, bounds: Bounds, closed: bool) -> String {
    let fit = Fit::new(bounds);
    let name = body_name(mesh_file);
    let holes = if closed {
        ""
    } else {
        "# It has holes: what lies inside is decided by how often the surface winds around.\n"
    };
    format!(
        r##"# {name} drops on the floor, bounces and settles.
# look: change what you like and run it again; docs/scene_format.md has all keys.
# Quantities are numbers in SI units or strings with a unit. Unknown keys are errors that say what was meant.
format = 1
duration = "3 s"
fps = 30

[[body]]
name = {quoted_name}
# {note}
{holes}# Its foot is moved to the origin, so that the height above the floor is that of the body.
shape = {{ kind = "mesh", file = {file}, {size}, at = {foot} }}
at = [0, {drop}, 0]         # m above the floor
# rotate = [-90, 0, 0]     # degrees about x, then y, then z; this one is for meshes whose z is up
# velocity = [1, 0, 0]     # m/s at the start
points = 3000              # more points: finer motion, longer runs
material = {{ preset = "jelly", young = "{young} kPa" }}   # or rubber, foam, wood, ...; a larger young is stiffer
surface = {{ kind = "surfels", count = 30000 }}
# color = "#d97b4f"

[[collider]]
name = "floor"
shape = {{ kind = "plane" }} # through the origin, facing up
friction = 0.5

# A number per frame, into metrics.csv and plots/.
[[probe]]
name = "lowest"
body = {quoted_name}
measure = "min_y"

# Makes the scene a test: the run fails if it falls through the floor.
[[expect]]
probe = "lowest"
at = "always"
above = {lowest}
"##,
        quoted_name = quote(&name),
        note = fit.note(),
        file = quote(mesh_file),
        size = fit.size_key(),
        foot = {
            let DVec3 { x, y, z } = fit.foot;
            format!("[{}, {}, {}]", short(x), short(y), short(z))
        },
        drop = short(0.6 * fit.size),
        young = short(fit.young() * 1e-3),
        lowest = short(-0.1 * fit.size),
    )
}

/// The mesh's stem with what cannot stand in a name replaced.
fn body_name(mesh_file: &str) -> String {
    let stem = Path::new(mesh_file).file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let legal = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(legal).take(64).collect();
    if check_name(&name).is_ok() { name } else { "thing".into() }
}

/// How a mesh becomes a thing of sensible size that stands at the origin.
struct Fit {
    /// From the units of the file to m.
    factor: f64,
    /// Height along y after that [m]; 0 if the mesh is flat.
    height: f64,
    /// Largest extent after that [m].
    size: f64,
    /// Largest extent in the file.
    in_file: f64,
    /// Moves the middle of the foot to the origin [m].
    foot: DVec3,
}

impl Fit {
    fn new(bounds: Bounds) -> Self {
        let in_file = bounds.size().max_element();
        // A box that is empty or not finite says nothing about the size.
        if !(in_file.is_finite() && in_file > 0.0 && bounds.min.is_finite()) {
            return Self { factor: 1.0, height: 0.0, size: TOY_SIZE, in_file, foot: DVec3::ZERO };
        }
        let factor = if SENSIBLE.contains(&in_file) { 1.0 } else { TOY_SIZE / in_file };
        // As written, since the file is scaled to the height that stands in the scene.
        let height = short(factor * bounds.size().y).parse().unwrap_or(0.0);
        let factor = if height > 0.0 { height / bounds.size().y } else { factor };
        let center = bounds.center();
        let foot = -factor * DVec3::new(center.x, bounds.min.y, center.z);
        Self { factor, height, size: factor * in_file, in_file, foot }
    }

    fn note(&self) -> String {
        if SENSIBLE.contains(&self.in_file) {
            return format!("The mesh is {} m large, which is taken as meant.", short(self.in_file));
        }
        format!("The mesh is {} units large; it is scaled to {} m.", short(self.in_file), short(self.size))
    }

    fn size_key(&self) -> String {
        if self.height > 0.0 {
            format!("height = {}", short(self.height))
        } else {
            format!("scale = {}", short(self.factor))
        }
    }

    /// Stiffness [Pa] at which a column of that height sinks by some 3 % under its own weight: soft, but it stands.
    fn young(&self) -> f64 {
        1000.0 * 9.81 * self.size / 0.03
    }
}

/// Four digits are enough for what people read and change.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    // No "-0", and no exponents for everyday sizes.
    let rounded = rounded + 0.0;
    if rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, ShapeKind};

    fn read(file: &str, min: [f64; 3], max: [f64; 3], closed: bool) -> Scene {
        let bounds = Bounds { min: min.into(), max: max.into() };
        let text = starter_scene(file, bounds, closed);
        Scene::from_toml(&text, None, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    #[test]
    fn stands_above_the_floor_at_a_sensible_size() {
        // A scan in millimeters, far from its origin.
        let scene = read("scans/my head.obj", [100.0, 200.0, -50.0], [300.0, 650.0, 50.0], false);
        let body = &scene.bodies[0];
        assert_eq!(body.name, "my-head");
        let ShapeKind::Mesh { height: Some(height), .. } = body.shape.kind else { panic!("{:?}", body.shape) };
        assert!((height - 0.3).abs() < 1e-9);
        let factor = height / 450.0;
        assert!((factor * 200.0 + body.shape.at.y).abs() < 1e-4, "the foot is not at the origin");
        assert!((factor * 200.0 + body.shape.at.x).abs() < 1e-4);
        assert!((body.at.y - 0.18).abs() < 1e-9);
        // One of sensible size stays as it is.
        let scene = read("a.obj", [-0.1, 0.0, -0.1], [0.1, 0.4, 0.1], true);
        let ShapeKind::Mesh { height, .. } = scene.bodies[0].shape.kind else { panic!() };
        assert_eq!(height, Some(0.4));
    }

    #[test]
    fn reads_for_any_name_and_box() {
        for file in ["", "a\"b\\c\n.obj", "123.ply", "é.stl", "../x", "\u{7f}"] {
            // An empty file name is the one thing that cannot be mended here.
            let file = if file.is_empty() { "." } else { file };
            read(file, [0.0; 3], [0.0; 3], true);
            read(file, [f64::INFINITY; 3], [f64::NEG_INFINITY; 3], true);
            read(file, [f64::NAN; 3], [1.0; 3], false);
            read(file, [-1e300; 3], [1e300; 3], false);
            read(file, [0.0; 3], [1e-300; 3], true);
            read(file, [0.0, 5.0, 0.0], [1.0, 5.0, 1.0], true);
        }
    }
}
