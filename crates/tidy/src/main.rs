//! Runs every rule over the workspace that contains the current directory.
#![expect(clippy::print_stdout, reason = "findings are this program's output")]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use tidy::Workspace;

fn main() -> ExitCode {
    let wants_report = match env::args().nth(1).as_deref() {
        None => false,
        Some("--report") => true,
        Some(other) => {
            println!("tidy: unknown argument {other}; the only one is --report");
            return ExitCode::from(2);
        }
    };
    match run(wants_report) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("tidy: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints the findings and a summary, and returns the number of findings.
fn run(wants_report: bool) -> io::Result<usize> {
    let root = workspace_root(&env::current_dir()?).ok_or_else(|| {
        io::Error::other("no Cargo workspace found: run tidy inside the repository")
    })?;
    let workspace = Workspace::read(&root)?;
    let findings = tidy::check(&workspace);
    for finding in &findings {
        println!("{finding}");
    }
    if wants_report {
        print!("{}", tidy::report(&workspace));
    }
    println!("tidy: {}; {} findings", tidy::summary(&workspace), findings.len());
    Ok(findings.len())
}

/// Returns the nearest directory at or above `start` whose manifest declares a workspace.
fn workspace_root(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .find(|directory| {
            fs::read_to_string(directory.join("Cargo.toml"))
                .is_ok_and(|manifest| manifest.lines().any(|line| line.trim() == "[workspace]"))
        })
        .map(Path::to_path_buf)
}
