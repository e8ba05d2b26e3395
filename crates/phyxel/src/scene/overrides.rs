//! `--set key.path=value`: changes the tree of the scene before it is read.

use super::suggest::closest;
use super::tree::{Node, Origin, Value, parse_value};
use crate::error::{Diagnostic, Result};

/// Keys of which a table may have one only: setting one removes the others.
const EXCLUSIVE: &[&[&str]] = &[
    &["spacing", "points"],
    &["between", "below", "above", "near"],
    &["at", "when"],
    &["box", "sphere", "half_space", "nearest", "path"],
];

/// No key lies deeper, and a tree that is too deep would exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Applies one override. `path` is `body.0.material.young`, `body[0].material.young` or `body.block.material.young`.
pub(super) fn apply(root: &mut Node, path: &str, value: &str) -> Result<()> {
    let flag = format!("--set {path}={value}");
    let origin = Origin::Flag(flag.clone());
    let value = parse_value(value, &origin)
        .unwrap_or_else(|| Node { value: Value::Text(value.trim().to_string()), origin: origin.clone() });
    let path = path.replace('[', ".").replace(']', "");
    let segments: Vec<&str> = path.split('.').map(str::trim).collect();
    if segments.iter().any(|s| s.is_empty()) {
        return Err(fault(&flag, "the key path has an empty part".into())
            .expected("parts separated by points, such as body.0.material.young")
            .into());
    }
    if segments.len() > MAX_DEPTH {
        return Err(fault(&flag, format!("the key path has more than {MAX_DEPTH} parts")).into());
    }
    let mut node = root;
    for (depth, segment) in segments.iter().enumerate() {
        let last = depth + 1 == segments.len();
        node = enter(node, &segments[..depth], segment, &flag, last)?;
    }
    *node = value;
    Ok(())
}

/// The child named by one part of the path; keys that are missing in a table are made.
fn enter<'a>(node: &'a mut Node, above: &[&str], segment: &str, flag: &str, last: bool) -> Result<&'a mut Node> {
    let place = above.join(".");
    match &mut node.value {
        Value::Table(entries) => {
            let exclusive = EXCLUSIVE.iter().filter(|group| last && group.contains(&segment));
            for other in exclusive.flat_map(|group| group.iter()).filter(|other| **other != segment) {
                // `at` is a time in an event and an expectation, a place elsewhere; only events have `when`.
                entries.retain(|(k, _)| k != other);
            }
            let index = match entries.iter().position(|(k, _)| k == segment) {
                Some(index) => index,
                None => {
                    let origin = Origin::Flag(flag.to_string());
                    entries.push((segment.to_string(), Node { value: Value::Table(Vec::new()), origin }));
                    entries.len() - 1
                }
            };
            Ok(&mut entries[index].1)
        }
        Value::List(items) => {
            let default_name = |i: usize| format!("{}{i}", above.last().copied().unwrap_or_default());
            let names: Vec<String> = items
                .iter()
                .enumerate()
                .map(|(i, n)| n.name().map_or_else(|| default_name(i), str::to_string))
                .collect();
            let index = segment.parse().ok().filter(|i: &usize| *i < items.len());
            let index = index.or_else(|| names.iter().position(|n| n == segment)).ok_or_else(|| {
                let mut fault = fault(flag, format!("{place} has no \"{segment}\""))
                    .expected(format!("a number from 0 to {}, or a name", items.len().saturating_sub(1)));
                fault.hint = closest(segment, names.iter().map(String::as_str)).map(|n| format!("{place}.{n}"));
                fault
            })?;
            Ok(&mut items[index])
        }
        other => {
            let what = format!("{place} is {} and has no part \"{segment}\"", other.describe());
            Err(fault(flag, what).into())
        }
    }
}

fn fault(flag: &str, what: String) -> Diagnostic {
    Diagnostic::new(what).key(flag)
}
