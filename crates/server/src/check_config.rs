//! `souk check-config`: every setting with its value, where it came from, and whether it can be used.

use std::ffi::OsString;
use std::fmt;

use clap::{CommandFactory, FromArgMatches};
use database::Database;

use crate::commands::CommandError;
use crate::doctor::{Finding, Level, engines, settings, storage};
use crate::settings::{Setting, Settings, unknown_variables};
use crate::{Cli, Config};

/// Longest shown value; a longer one is cut.
const VALUE_WIDTH_MAX: usize = 44;
/// Subjects of findings about PostgreSQL that decide whether `DATABASE_URL` can be used.
const DATABASE_SUBJECTS: [&str; 2] = ["PostgreSQL", "schema"];

/// A row of the table: a variable and what was found about it.
struct Row {
    name: String,
    value: String,
    source: &'static str,
    findings: Vec<Finding>,
}

impl Row {
    fn level(&self) -> Level {
        self.findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
    }
}

/// The checked configuration.
pub(crate) struct CheckedConfig {
    rows: Vec<Row>,
}

impl CheckedConfig {
    /// Returns whether there is no problem; warnings are allowed.
    pub(crate) fn is_usable(&self) -> bool {
        self.rows.iter().all(|row| row.level() < Level::Problem)
    }

    fn count(&self, level: Level) -> usize {
        self.rows.iter().filter(|row| row.level() == level).count()
    }
}

/// Parses `check-config` with the defaults in the place of the environment; `None` for any other command.
pub(crate) fn parse_without_environment(
    arguments: impl IntoIterator<Item = OsString>,
) -> Option<Cli> {
    let command =
        Cli::command().mut_args(|argument| argument.env(clap::builder::Resettable::Reset));
    let matches = command.try_get_matches_from(arguments).ok()?;
    let is_it = matches.subcommand_name() == Some("check-config");
    is_it.then(|| Cli::from_arg_matches(&matches).ok()).flatten()
}

/// Checks the settings of this process, all of them at once.
pub(crate) async fn run(
    arguments: impl IntoIterator<Item = OsString>,
    connect: impl Fn(&Config) -> Result<Database, CommandError>,
) -> Result<CheckedConfig, clap::Error> {
    let Settings { all, config } = Settings::read(arguments)?;
    let mut findings = settings::check(&config);
    let (redis, postgres) = tokio::join!(
        engines::check_redis(config.redis_url.reveal()),
        check_postgres(&config, connect(&config))
    );
    findings.push(("REDIS_URL", redis));
    findings.extend(postgres);
    findings.extend(storage::check(&config));
    let mut rows: Vec<Row> = all.into_iter().map(|setting| row(setting, &findings)).collect();
    let unknown = unknown_variables();
    rows.extend(unknown.iter().zip(settings::check_unknown(&unknown)).map(
        |(variable, problem)| {
            let value = String::from("set");
            Row {
                name: variable.name.clone(),
                value,
                source: "environment",
                findings: vec![problem],
            }
        },
    ));
    Ok(CheckedConfig { rows })
}

/// Checks the database, and whether it has enough connections.
async fn check_postgres(
    config: &Config,
    connected: Result<Database, CommandError>,
) -> Vec<(&'static str, Finding)> {
    let database = match connected {
        Ok(database) => database,
        Err(error) => {
            let address = config.database_url.public_part();
            return vec![("DATABASE_URL", engines::unreachable(address, &error.to_string()))];
        }
    };
    let (findings, _) = engines::check_postgres(config, &database).await;
    database.close().await;
    let of_setting = |finding: Finding| match finding.subject {
        "connections" => Some(("SOUK_DATABASE_CONNECTIONS", finding)),
        subject if DATABASE_SUBJECTS.contains(&subject) => Some(("DATABASE_URL", finding)),
        _ => None,
    };
    findings.into_iter().filter_map(of_setting).collect()
}

/// Returns the row of a setting. An invalid value is the only finding about it: the others are about its default.
fn row(setting: Setting, findings: &[(&'static str, Finding)]) -> Row {
    let Setting { name, value, source, invalid } = setting;
    let findings = if let Some(error) = invalid {
        vec![Finding::problem("settings", error, format!("correct or remove {name}"))]
    } else {
        let own = findings.iter().filter(|(other, _)| *other == name);
        own.map(|(_, finding)| finding.clone()).collect()
    };
    Row { name, value, source, findings }
}

impl fmt::Display for CheckedConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: fn(&Row) -> &str| {
            self.rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0)
        };
        let names = width(|row| &row.name);
        let values = width(|row| &row.value).min(VALUE_WIDTH_MAX);
        let sources = "command line".len();
        let (name, value, source) = ("SETTING", "VALUE", "FROM");
        writeln!(formatter, "{name:<names$}  {value:<values$}  {source:<sources$}  VERDICT")?;
        for row in &self.rows {
            let (name, value, source) = (&row.name, cut(&row.value), row.source);
            write!(formatter, "{name:<names$}  {value:<values$}  {source:<sources$}  ")?;
            write_verdict(formatter, row, names + values + sources + 6)?;
        }
        let (problems, warnings) = (self.count(Level::Problem), self.count(Level::Warning));
        write!(formatter, "{} settings: {problems} problems, {warnings} warnings", self.rows.len())
    }
}

/// Writes what was found about a setting; without a problem just `ok`.
fn write_verdict(formatter: &mut fmt::Formatter<'_>, row: &Row, indent: usize) -> fmt::Result {
    let mut is_first = true;
    for Finding { level, text, remedy, .. } in &row.findings {
        if *level == Level::Ok && row.level() > Level::Ok {
            continue;
        }
        if !is_first {
            write!(formatter, "{:indent$}", "")?;
        }
        is_first = false;
        writeln!(formatter, "{}: {text}", level.as_str())?;
        if !remedy.is_empty() {
            writeln!(formatter, "{:indent$}→ {remedy}", "")?;
        }
    }
    if is_first { writeln!(formatter, "ok") } else { Ok(()) }
}

fn cut(value: &str) -> String {
    if value.chars().count() <= VALUE_WIDTH_MAX {
        return value.to_owned();
    }
    let start: String = value.chars().take(VALUE_WIDTH_MAX - 1).collect();
    start + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_setting() {
        let rows = vec![
            Row {
                name: String::from("SOUK_CELL"),
                value: String::from("cell-1"),
                source: "default",
                findings: Vec::new(),
            },
            Row {
                name: String::from("SOUK_SITEURL"),
                value: String::from("set"),
                source: "environment",
                findings: vec![Finding::problem("settings", "not a setting", "remove it")],
            },
        ];
        let checked = CheckedConfig { rows };
        assert!(!checked.is_usable());
        let expected = "\
SETTING       VALUE   FROM          VERDICT
SOUK_CELL     cell-1  default       ok
SOUK_SITEURL  set     environment   PROBLEM: not a setting
                                    → remove it
2 settings: 1 problems, 0 warnings";
        assert_eq!(checked.to_string(), expected);
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(100)).chars().count(), VALUE_WIDTH_MAX);
    }
}
