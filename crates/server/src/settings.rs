//! Settings as they were given: their values, where each came from, and variables that are no settings.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches};

use crate::{Cli, Config};

/// Prefix of the variables that belong to Souk.
const PREFIX: &str = "SOUK_";
/// Similarity from which a known name is suggested for an unknown one.
const SIMILARITY_MIN: f64 = 0.8;
/// Variables of the scripts in `dev/` and of the checks, which no process of Souk reads as a setting.
pub(crate) const DEVELOPMENT_VARIABLES: [&str; 15] = [
    "SOUK_BIN",
    "SOUK_CACHE",
    "SOUK_CLIENTS",
    "SOUK_CRASH_AT",
    "SOUK_ENGINES",
    "SOUK_PANIC_AT",
    "SOUK_PG_FSYNC",
    "SOUK_PG_PORT",
    "SOUK_PORT",
    "SOUK_PREBUILT",
    "SOUK_REDIS_PORT",
    "SOUK_ROOT",
    "SOUK_TOOLS",
    "SOUK_URL",
    "SOUK_VENV",
];

/// Variables that a command reads as an option of its own.
pub(crate) const COMMAND_VARIABLES: [&str; 1] = ["SOUK_STORE_KEY"];

/// A setting with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The environment variable.
    pub(crate) name: String,
    /// The value as it was given; of a secret whether it is set.
    pub(crate) value: String,
    /// Where the value came from.
    pub(crate) source: &'static str,
    /// Why the value cannot be used; the default is used instead.
    pub(crate) invalid: Option<String>,
}

/// All settings of a process.
pub(crate) struct Settings {
    pub(crate) all: Vec<Setting>,
    /// The configuration, with the default in the place of each invalid value.
    pub(crate) config: Config,
}

impl Settings {
    /// Reads the command line and the environment. Values in the environment may be invalid; the command line may not.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let names = names();
        let invalid: Vec<(String, String)> =
            names.iter().filter_map(|name| Some((name.clone(), error_of(name)?))).collect();
        let is_valid = |name: &str| !invalid.iter().any(|(other, _)| other == name);
        let matches = command_with(is_valid).try_get_matches_from(arguments)?;
        let cli = Cli::from_arg_matches(&matches)?;
        let described = Cli::command();
        let with_name = described.get_arguments().filter_map(|argument| {
            Some((name_of(argument)?, argument)).filter(|(name, _)| names.contains(name))
        });
        let all = with_name.map(|(name, argument)| {
            let error = invalid.iter().find(|(other, _)| *other == name);
            let error = error.map(|(_, error)| error.clone());
            let source = match matches.value_source(argument.get_id().as_str()) {
                Some(ValueSource::CommandLine) => "command line",
                Some(ValueSource::EnvVariable) => "environment",
                _ if error.is_some() => "environment",
                _ => "default",
            };
            let value = match &error {
                Some(_) => String::from("invalid"),
                None => shown(argument, &matches, &cli.config),
            };
            Setting { name, value, source, invalid: error }
        });
        let all = all.collect();
        Ok(Self { all, config: cli.config })
    }
}

/// Returns the names of all settings, in the order of `souk --help`.
fn names() -> Vec<String> {
    Cli::command().get_arguments().filter_map(name_of).collect()
}

fn name_of(argument: &Arg) -> Option<String> {
    argument.get_env()?.to_str().map(str::to_owned)
}

/// Returns the command line, with the environment only of the settings that are accepted.
fn command_with(is_accepted: impl Fn(&str) -> bool) -> clap::Command {
    Cli::command().mut_args(|argument| match name_of(&argument) {
        Some(name) if !is_accepted(&name) => argument.env(Resettable::Reset),
        _ => argument,
    })
}

/// Returns why the value of a setting in the environment is invalid.
fn error_of(name: &str) -> Option<String> {
    let command = command_with(|other| other == name);
    let error = command.try_get_matches_from(["souk", "check-config"]).err()?;
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    Some(text.trim_start_matches("error: ").to_owned())
}

/// Returns the value of a setting. Of a secret only whether it is set, and of a URL only what follows the credentials.
fn shown(argument: &Arg, matches: &ArgMatches, config: &Config) -> String {
    let id = argument.get_id().as_str();
    match id {
        "database_url" => return config.database_url.public_part().to_owned(),
        "redis_url" => return config.redis_url.public_part().to_owned(),
        _ => {}
    }
    let given = matches.get_raw(id).into_iter().flatten();
    let value = given.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",");
    match (value.is_empty(), argument.is_hide_env_values_set()) {
        (true, _) => String::from("unset"),
        (false, true) => String::from("set"),
        (false, false) => value,
    }
}

/// A variable with the prefix of Souk that is no setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownVariable {
    pub(crate) name: String,
    /// The setting with the most similar name.
    pub(crate) nearest: Option<String>,
}

/// Returns the variables of this process with the prefix of Souk that are neither settings nor used in development.
pub(crate) fn unknown_variables() -> Vec<UnknownVariable> {
    let given = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    unknown(given)
}

fn unknown(given: impl Iterator<Item = String>) -> Vec<UnknownVariable> {
    let names = names();
    let is_unknown = |name: &String| {
        let is_of_souk = name.to_ascii_uppercase().starts_with(PREFIX);
        let is_known = |list: &[&str]| list.contains(&name.as_str());
        let is_other = is_known(&DEVELOPMENT_VARIABLES) || is_known(&COMMAND_VARIABLES);
        is_of_souk && !names.contains(name) && !is_other
    };
    let mut unknown: Vec<UnknownVariable> = given
        .filter(is_unknown)
        .map(|name| UnknownVariable { nearest: nearest(&name, &names), name })
        .collect();
    unknown.sort_by(|a, b| a.name.cmp(&b.name));
    unknown
}

/// Returns the known name that is most similar, compared without the prefix that all have in common.
fn nearest(name: &str, names: &[String]) -> Option<String> {
    let upper = name.to_ascii_uppercase();
    let own = |name: &'_ str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let rated = names
        .iter()
        .map(|known| (strsim::jaro_winkler(&own(&upper), &own(known)), known))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN);
    rated.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, known)| known.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown_of(names: &[&str]) -> Vec<(String, Option<String>)> {
        let found = unknown(names.iter().map(|name| (*name).to_owned()));
        found.into_iter().map(|variable| (variable.name, variable.nearest)).collect()
    }

    #[test]
    fn an_unknown_variable_has_the_nearest_setting() {
        let expected = [
            ("SOUK_DATABASE_URL", Some("DATABASE_URL")),
            ("SOUK_SITEURL", Some("SOUK_SITE_URL")),
            ("SOUK_XYZ", None),
            ("Souk_Secret", Some("SOUK_SECRET")),
        ];
        let expected = expected.map(|(name, near)| (name.to_owned(), near.map(str::to_owned)));
        let given = ["SOUK_SITEURL", "SOUK_XYZ", "Souk_Secret", "SOUK_DATABASE_URL"];
        assert_eq!(unknown_of(&given), expected);
    }

    #[test]
    fn settings_and_variables_of_development_are_known() {
        let known = ["SOUK_LISTEN", "SOUK_BIN", "SOUK_PG_FSYNC", "SOUK_STORE_KEY", "HOME"];
        assert_eq!(unknown_of(&known), []);
    }

    /// Every variable of the scripts is a setting or listed above.
    #[test]
    fn the_variables_of_the_scripts_are_known() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut texts = String::new();
        for file in ["dev/env.sh", "dev/engines", "dev/prove", "dev/bench", ".ci/run", "justfile"] {
            texts.push_str(&std::fs::read_to_string(root.join(file)).unwrap());
        }
        let words = texts.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
        let found = unknown(words.filter(|word| word.len() > PREFIX.len()).map(str::to_owned));
        assert_eq!(found, []);
    }

    #[test]
    fn a_value_on_the_command_line_is_shown_with_its_source() {
        let arguments = ["souk", "check-config", "--listen", "127.0.0.1:7777", "--secret", "hush"];
        let read = Settings::read(arguments.map(OsString::from)).unwrap();
        let setting = |name| read.all.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!(setting("SOUK_LISTEN").value, "127.0.0.1:7777");
        assert_eq!(setting("SOUK_LISTEN").source, "command line");
        assert_eq!(setting("SOUK_SECRET").value, "set");
        assert!(!format!("{:?}", read.all).contains("hush"));
    }
}
