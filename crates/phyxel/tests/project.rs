//! What the project says about itself holds: named paths exist, citations are listed, scenes describe themselves.

use phyxel::scene::builtin;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files below a folder that end like this.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What stands between `open` and `close`, line by line.
fn enclosed(text: &str, open: char, close: char) -> impl Iterator<Item = &str> {
    text.lines().flat_map(move |line| line.split(open).skip(1).filter_map(move |rest| Some(rest.split_once(close)?.0)))
}

/// A citation key: capital first, letters, then two digits of the year, as in MKN04.
fn is_key(token: &str) -> bool {
    let letters = token.trim_end_matches(|c: char| c.is_ascii_digit());
    token.len() == letters.len() + 2
        && (2..=5).contains(&letters.len())
        && letters.starts_with(|c: char| c.is_ascii_uppercase())
        && letters.chars().all(|c| c.is_ascii_alphabetic())
}

#[test]
fn paths_named_in_the_architecture_exist() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let tops = ["crates", "scenes", "docs", ".ci"];
    // Every other piece between backquotes is quoted.
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let paths: Vec<&str> = quoted.filter(|p| tops.contains(&p.split('/').next().unwrap_or_default())).collect();
    assert!(paths.len() > 15, "the table of paths is gone: {paths:?}");
    let missing: Vec<&&str> = paths.iter().filter(|p| !root().join(p).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what does not exist: {missing:?}");
}

#[test]
fn citations_are_listed() {
    let references = read(&root().join("REFERENCES.md"));
    let known: Vec<&str> = enclosed(&references, '[', ']').collect();
    let mut sources = files(&root().join("crates"), ".rs");
    sources.extend(files(&root().join("docs"), ".md"));
    sources.extend(files(&root().join("scenes"), ".toml"));
    let (mut cited, mut unknown) = (0, Vec::new());
    for path in &sources {
        let text = read(path);
        for key in enclosed(&text, '[', ']').filter(|k| is_key(k)) {
            cited += 1;
            if !known.contains(&key) {
                unknown.push(format!("{key} in {}", path.display()));
            }
        }
    }
    assert!(cited > 20, "only {cited} citations found");
    assert!(unknown.is_empty(), "not in REFERENCES.md: {unknown:?}");
}

#[test]
fn scenes_say_what_they_are_and_what_to_look_at() {
    for scene in builtin::list() {
        assert!(!scene.title.is_empty(), "{}: the first line is not a comment", scene.name);
        assert!(!scene.look.is_empty(), "{}: no comment line '# look: ...'", scene.name);
        assert!(scene.toml.contains("[[expect]]"), "{}: expects nothing", scene.name);
    }
    let listed: Vec<String> = builtin::list().iter().map(|s| format!("{}.toml", s.name)).collect();
    for entry in std::fs::read_dir(root().join("scenes")).expect("the gallery") {
        let name = entry.expect("a readable folder").file_name().to_string_lossy().into_owned();
        assert!(!name.ends_with(".toml") || listed.contains(&name), "scenes/{name} is not among the built-in scenes");
    }
}
