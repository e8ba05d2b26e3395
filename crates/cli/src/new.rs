//! `phyxel new`: a commented starter scene for a mesh.

use crate::common;
use crate::output;
use anyhow::Result;
use phyxel::Diagnostic;
use phyxel::geometry::Mesh;
use phyxel::scene::Scene;
use phyxel::scene::starter::starter_scene;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `phyxel new`.
#[derive(clap::Args)]
pub struct Args {
    /// Mesh (OBJ, PLY, STL, glTF, GLB)
    mesh: PathBuf,
    /// Scene file to write [default: the name of the mesh with .toml, here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the scene file if it is there
    #[arg(long)]
    force: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
    /// Print the result as JSON on stdout, and nothing else there
    #[arg(long)]
    json: bool,
}

pub fn command(args: Args) -> Result<ExitCode> {
    let stem = args.mesh.file_stem().unwrap_or_default().to_string_lossy();
    let name = common::file_name(&stem);
    let scene_path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    refuse(&scene_path, args.force)?;
    let (mesh, report) = Mesh::read(&args.mesh)?;
    let warnings = report.warnings();
    let (file, copied) = place_mesh(&args.mesh, &scene_path, args.force)?;
    let text = starter_scene(&file, mesh.bounds(), report.closed);
    // What is written must run: read it once as `run` would.
    Scene::from_toml(&text, Some(&scene_path), &[])?;
    std::fs::write(&scene_path, &text)
        .map_err(|source| common::cannot_write(phyxel::Error::Write { path: scene_path.clone(), source }))?;
    if !args.quiet {
        warnings.iter().for_each(|w| output::note(&format!("warning: {w}")));
        if let Some(copy) = &copied {
            output::note(&format!("copied the mesh to {}", copy.display()));
        }
        output::note(&format!("wrote {0}; try: phyxel run {0}", scene_path.display()));
    }
    if args.json {
        let json = serde_json::json!({ "scene": scene_path.display().to_string(), "mesh": file, "warnings": warnings });
        output::result(&serde_json::to_string_pretty(&json)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn refuse(path: &Path, force: bool) -> Result<()> {
    if path.exists() && !(force && path.is_file()) {
        let fault = Diagnostic::new("this exists already").file(path).hint("another name with --out, or --force");
        return Err(common::input(fault));
    }
    Ok(())
}

/// The mesh as the scene names it. Scenes use files in their own folder: one from elsewhere is copied there.
fn place_mesh(mesh: &Path, scene: &Path, force: bool) -> Result<(String, Option<PathBuf>)> {
    let folder = match scene.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let failed = |path: &Path, source| common::cannot_write(phyxel::Error::Write { path: path.to_path_buf(), source });
    let inside = folder.canonicalize().map_err(|e| failed(&folder, e))?;
    let full = mesh.canonicalize().map_err(|e| failed(mesh, e))?;
    if let Ok(below) = full.strip_prefix(&inside) {
        return Ok((below.to_string_lossy().replace('\\', "/"), None));
    }
    let name = mesh.file_name().unwrap_or_default();
    let copy = folder.join(name);
    let same = || std::fs::read(&copy).ok().is_some_and(|old| std::fs::read(mesh).ok() == Some(old));
    if !copy.exists() || (force && !same()) {
        std::fs::copy(mesh, &copy).map_err(|e| failed(&copy, e))?;
    } else if !same() {
        refuse(&copy, false)?;
    }
    Ok((name.to_string_lossy().into_owned(), Some(copy)))
}
