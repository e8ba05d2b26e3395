//! `phyxel scenes`: the gallery.

use crate::common::input;
use crate::output;
use anyhow::Result;
use phyxel::Diagnostic;
use phyxel::scene::builtin;
use std::process::ExitCode;

/// Flags of `phyxel scenes`.
#[derive(clap::Args)]
pub struct Args {
    /// Print this scene's file
    name: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

pub fn command(args: Args) -> Result<ExitCode> {
    match &args.name {
        Some(name) => {
            let found = builtin::find(name).ok_or_else(|| {
                input(
                    Diagnostic::new(format!("there is no built-in scene named `{name}`")).expected(names().join(", ")),
                )
            })?;
            output::result(found.toml.trim_end());
        }
        None if args.json => {
            let row = |b: &builtin::Builtin| serde_json::json!({ "name": b.name, "title": b.title, "figure": b.figure, "look": b.look });
            let rows: Vec<_> = builtin::list().iter().map(row).collect();
            output::result(&serde_json::to_string_pretty(&rows)?);
        }
        None => {
            let row = |b: &builtin::Builtin| [b.name, b.title, b.figure].map(String::from).to_vec();
            let rows: Vec<_> = builtin::list().iter().map(row).collect();
            output::result(&output::table(&rows, &[]));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn names() -> Vec<&'static str> {
    builtin::list().iter().map(|b| b.name).collect()
}
