//! The scenes and shapes that come with the program.

use super::ShapeSpec;
use super::read_shape::read_shape_file;
use crate::error::Result;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// A scene that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Builtin {
    /// Name, as in `phyxel run NAME`.
    pub name: &'static str,
    /// Its text.
    pub toml: &'static str,
    /// What it is: the first comment line.
    pub title: &'static str,
    /// The figure that it reproduces: the comment line `# figure: ...`; empty if none.
    pub figure: &'static str,
    /// What to look at: the comment line `# look: ...`; empty if none.
    pub look: &'static str,
}

/// One entry per file in `scenes/`.
macro_rules! scenes {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../../scenes/", $name, ".toml")))),*] };
}

/// One entry per file in `scenes/shapes/`.
macro_rules! shape_files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../../scenes/shapes/", $name, ".toml")))),*] };
}

/// In the order of `phyxel scenes`.
const SCENES: &[(&str, &str)] = scenes![
    "bounce",
    "cloth-drape",
    "mask",
    "soup",
    "fiber-network",
    "ribbon",
    "trampoline",
    "custard-on-trampoline",
    "dough-on-ball",
    "foil-crease",
    "can-crush",
    "bronze-bust",
    "poster",
    "tear-path",
    "stretch-strips",
    "poster-large",
    "balloon",
    "crack-modes",
    "dent",
    "necking",
    "snap",
    "split-and-merge",
    "coin",
    "casting",
    "press",
    "square-bounce-2d",
    "square-plastic-2d",
    "square-fracture-2d",
    "bar-necking-2d",
    "dice",
    "dice-wall",
    "shatter",
    "goo-on-rod",
    "chocolate-bunny",
    "ice-cube-in-tea",
    "cubes-on-bar",
    "cubes-on-ground",
    "tower-stairs",
    "uneven-sphere",
    "dough-press",
    "bunny-on-rod",
    "gum-stretch",
    "putty-tear",
    "pancake",
    "clay-lift",
    "candle",
    "lead-pour",
    "two-drops",
    "dam-break",
    "honey",
    "melt-held-bust",
    "donut",
    "poisson-stretch",
    "four-busts",
    "stiffness-range",
    "cantilever",
    "tension",
    "wood-grain",
    "pile",
    "table1-200",
    "table1-400",
];

/// Each file holds `[shape.NAME]` tables; names are unique over all files, and a file uses only its own.
const SHAPE_FILES: &[(&str, &str)] = shape_files!["bust", "bunny", "bowl",];

static LIST: LazyLock<Vec<Builtin>> =
    LazyLock::new(|| SCENES.iter().map(|(name, toml)| describe(name, toml)).collect());

/// All scenes that come with the program.
pub fn list() -> &'static [Builtin] {
    &LIST
}

/// The scene of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    LIST.iter().find(|b| b.name == name)
}

fn describe(name: &'static str, toml: &'static str) -> Builtin {
    let comments = || toml.lines().take_while(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#').trim());
    let tagged = |tag: &str| comments().find_map(|l| l.strip_prefix(tag)).unwrap_or_default().trim();
    Builtin {
        name,
        toml,
        title: comments().next().unwrap_or_default(),
        figure: tagged("figure:"),
        look: tagged("look:"),
    }
}

/// Files that built-in scenes read, by the ends of their paths.
const FILES: &[(&str, &[u8])] = &[("builtin/soup.obj", include_bytes!("../../../../scenes/shapes/soup.obj"))];

/// The file that comes with the program and that a path names.
pub fn file(path: &Path) -> Option<&'static [u8]> {
    FILES.iter().find(|(name, _)| path.ends_with(name)).map(|(_, bytes)| *bytes)
}

/// Names of the built-in shapes.
pub fn shape_names() -> impl Iterator<Item = &'static str> {
    let headers = SHAPE_FILES.iter().flat_map(|(_, text)| text.lines());
    headers.filter_map(|line| line.trim().strip_prefix("[shape.")?.strip_suffix(']'))
}

/// The shapes of the file that defines the named one; None if there is none.
pub(super) fn shape(name: &str) -> Result<Option<BTreeMap<String, ShapeSpec>>> {
    let header = format!("[shape.{name}]");
    let file = SHAPE_FILES.iter().find(|(_, text)| text.lines().any(|line| line.trim() == header));
    file.map(|(_, text)| read_shape_file(text)).transpose()
}
