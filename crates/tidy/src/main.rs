//! Runs every rule over the workspace that contains the current directory.
#![expect(clippy::print_stdout, reason = "findings are this program's output")]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use tidy::{Section, Workspace};

const USAGE: &str = "tidy: expected no arguments, --report, or the name of a generated section \
                     (map, gate), optionally with --check";

/// What to do, from the command line.
enum Task {
    Check { wants_report: bool },
    Generate { section: Section, check: bool },
}

fn main() -> ExitCode {
    let Some(task) = Task::parse(&env::args().skip(1).collect::<Vec<_>>()) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("tidy: {error}");
            ExitCode::from(2)
        }
    }
}

impl Task {
    fn parse(arguments: &[String]) -> Option<Self> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments.as_slice() {
            [] => Some(Self::Check { wants_report: false }),
            ["--report"] => Some(Self::Check { wants_report: true }),
            [name] => Some(Self::Generate { section: Section::find(name)?, check: false }),
            [name, "--check"] => {
                Some(Self::Generate { section: Section::find(name)?, check: true })
            }
            _ => None,
        }
    }
}

/// Returns whether nothing was found, or the section is up to date.
fn run(task: &Task) -> io::Result<bool> {
    let root = workspace_root(&env::current_dir()?).ok_or_else(|| {
        io::Error::other("no Cargo workspace found: run tidy inside the repository")
    })?;
    let workspace = Workspace::read(&root)?;
    match *task {
        Task::Check { wants_report } => Ok(check(&workspace, wants_report)),
        Task::Generate { section, check } => generate(&root, &workspace, section, check),
    }
}

/// Prints the findings and a summary.
fn check(workspace: &Workspace, wants_report: bool) -> bool {
    let findings = tidy::check(workspace);
    for finding in &findings {
        println!("{finding}");
    }
    if wants_report {
        print!("{}", tidy::report(workspace));
    }
    println!("tidy: {}; {} findings", tidy::summary(workspace), findings.len());
    findings.is_empty()
}

/// Writes a generated section, or only reports whether it is up to date.
fn generate(root: &Path, workspace: &Workspace, section: Section, check: bool) -> io::Result<bool> {
    let (name, document) = (section.name(), section.document());
    let Some(text) = section.render(workspace).map_err(io::Error::other)? else {
        return Ok(true);
    };
    if check {
        println!("tidy: {document}: the section {name} is out of date: run `just generate`");
        return Ok(false);
    }
    fs::write(root.join(document), text)?;
    Ok(true)
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
