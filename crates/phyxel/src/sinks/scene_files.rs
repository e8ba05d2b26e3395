//! Makes a run folder self-contained: the files its scene uses are copied into `files/`.

use super::files::{create_folder, failed};
use crate::error::Result;
use crate::geometry::Files;
use crate::scene::{Scene, ShapeKind, ShapeSpec, builtin};
use std::collections::BTreeMap;
use std::path::Path;

/// Copies the files of `scene` into `dir/files` and returns the scene that names the copies.
pub(super) fn gather(scene: &Scene, files: &Files, dir: &Path) -> Result<Scene> {
    let mut scene = scene.clone();
    let mut copies = Copies { files, dir, names: BTreeMap::new() };
    for body in &mut scene.bodies {
        copies.shape(&mut body.shape)?;
    }
    for collider in &mut scene.colliders {
        copies.shape(&mut collider.shape)?;
    }
    for shape in scene.shapes.values_mut() {
        copies.shape(shape)?;
    }
    Ok(scene)
}

struct Copies<'a> {
    files: &'a Files,
    dir: &'a Path,
    /// New name of each file, by the name in the scene.
    names: BTreeMap<String, String>,
}

impl Copies<'_> {
    fn shape(&mut self, spec: &mut ShapeSpec) -> Result<()> {
        match &mut spec.kind {
            ShapeKind::Mesh { file, .. } | ShapeKind::Points { file, .. } => *file = self.copy(file)?,
            ShapeKind::Union { of, .. } | ShapeKind::Difference { of, .. } | ShapeKind::Intersection { of, .. } => {
                of.iter_mut().try_for_each(|part| self.shape(part))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn copy(&mut self, file: &str) -> Result<String> {
        if let Some(name) = self.names.get(file) {
            return Ok(name.clone());
        }
        let from = self.files.resolve(file)?;
        if builtin::file(&from).is_some() && !from.exists() {
            return Ok(file.to_string());
        }
        let base = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A glTF text may refer to buffers beside it: it stays where it is.
        let name = if base.to_lowercase().ends_with(".gltf") {
            from.canonicalize().map_err(|e| failed(&from, e))?.to_string_lossy().into_owned()
        } else {
            let taken = self.names.values().any(|n| *n == format!("files/{base}"));
            let name = if taken { format!("files/{}-{base}", self.names.len()) } else { format!("files/{base}") };
            create_folder(&self.dir.join("files"))?;
            let to = self.dir.join(&name);
            std::fs::copy(&from, &to).map_err(|e| failed(&to, e))?;
            name
        };
        self.names.insert(file.to_string(), name.clone());
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copies_are_named_and_do_not_collide() {
        let dir = std::env::temp_dir().join(format!("phyxel-scene-files-{}", std::process::id()));
        for folder in ["a", "b", "run"] {
            create_folder(&dir.join(folder)).unwrap();
        }
        std::fs::write(dir.join("a/x.obj"), "1").unwrap();
        std::fs::write(dir.join("b/x.obj"), "2").unwrap();
        let mesh = |file: &str| ShapeSpec::new(ShapeKind::Mesh { file: file.into(), height: None });
        let mut scene = crate::run::tests::scene();
        scene.shapes.insert("one".into(), mesh("a/x.obj"));
        let both = ShapeKind::Union { of: vec![mesh("a/x.obj"), mesh("b/x.obj")], smooth: 0.0 };
        scene.shapes.insert("two".into(), ShapeSpec::new(both));
        let files = Files { base: dir.clone(), allow_outside: false };
        let made = gather(&scene, &files, &dir.join("run")).unwrap();
        assert_eq!(made.shapes["one"], mesh("files/x.obj"));
        assert!(matches!(&made.shapes["two"].kind, ShapeKind::Union { of, .. } if of[1] == mesh("files/1-x.obj")));
        assert_eq!(std::fs::read_to_string(dir.join("run/files/1-x.obj")).unwrap(), "2");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
