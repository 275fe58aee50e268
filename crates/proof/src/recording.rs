//! Records the statements that a server sends, from the log of PostgreSQL, to replay them with pgbench.

use sqlx::{Connection, PgConnection};

use crate::engines::Engines;
use crate::report::{Failure, ensure};

/// The prefix of each log line, before the process id.
const PREFIX: &str = "~souk~";

/// A statement with its bound parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Option<String>>,
}

/// Runs `call` and returns its result with all statements of that time, by connection.
pub(crate) async fn record<T>(
    engines: &Engines,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<(T, Vec<Vec<Statement>>), Failure> {
    let mut sql = PgConnection::connect(&engines.database_url).await?;
    let before = std::fs::read_to_string(engines.log())?.len();
    let prefix = format!("SET log_line_prefix = '{PREFIX}%p '");
    configure(&mut sql, &["SET log_statement = 'all'", &prefix]).await?;
    let outcome = call.await;
    configure(&mut sql, &["RESET ALL"]).await?;
    let log = std::fs::read_to_string(engines.log())?;
    Ok((outcome?, connections(log.get(before..).unwrap_or_default())))
}

async fn configure(sql: &mut PgConnection, settings: &[&str]) -> Result<(), Failure> {
    for setting in settings {
        let set = sqlx::AssertSqlSafe(format!("ALTER SYSTEM {setting}"));
        sqlx::raw_sql(set).execute(&mut *sql).await?;
    }
    sqlx::raw_sql("SELECT pg_reload_conf()").execute(&mut *sql).await?;
    // Connections reload the configuration between two statements, with a delay.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    Ok(())
}

/// The statements of each connection, in order.
fn connections(log: &str) -> Vec<Vec<Statement>> {
    let mut found: Vec<(&str, Vec<Statement>)> = Vec::new();
    for entry in log.split(PREFIX).skip(1) {
        let Some((pid, message)) = entry.split_once(' ') else { continue };
        let message = message.replace("\n\t", "\n");
        let message = message.trim_end();
        let index = found.iter().position(|(other, _)| *other == pid).unwrap_or_else(|| {
            found.push((pid, Vec::new()));
            found.len() - 1
        });
        let statements = &mut found[index].1;
        if let Some(bound) = message.strip_prefix("DETAIL:  parameters: ") {
            if let Some(last) = statements.last_mut() {
                last.parameters = parameters(bound);
            }
        } else if let Some(text) = message.strip_prefix("LOG:  ") {
            let sql = text
                .strip_prefix("statement: ")
                .or_else(|| text.strip_prefix("execute ")?.split_once(": ").map(|(_, sql)| sql));
            statements
                .extend(sql.map(|sql| Statement { sql: sql.to_owned(), parameters: Vec::new() }));
        }
    }
    found.into_iter().map(|(_, statements)| statements).collect()
}

/// Parses a list of parameters: `$1 = 'it''s', $2 = NULL`.
fn parameters(bound: &str) -> Vec<Option<String>> {
    let mut found = Vec::new();
    let mut rest = bound;
    while let Some((_, value)) = rest.split_once(" = ") {
        let Some(quoted) = value.strip_prefix('\'') else {
            found.push(None);
            rest = value.strip_prefix("NULL").unwrap_or_default();
            continue;
        };
        let (mut text, mut left) = (String::new(), quoted);
        while let Some((until, after)) = left.split_once('\'') {
            text.push_str(until);
            left = after;
            let Some(doubled) = after.strip_prefix('\'') else { break };
            text.push('\'');
            left = doubled;
        }
        found.push(Some(text));
        rest = left;
    }
    found
}

impl Statement {
    /// Returns the statement as a pgbench script. A bound value becomes a variable, unless
    /// `replacement` returns an expression for it.
    pub(crate) fn script(
        &self,
        name: &str,
        replacement: impl Fn(&str) -> Option<String>,
        variables: &mut Vec<(String, String)>,
    ) -> Result<String, Failure> {
        let mut sql = self.sql.clone();
        // From the last to the first, so that $1 does not match in $12.
        for (index, value) in self.parameters.iter().enumerate().rev() {
            let expression = match value {
                None => String::from("NULL"),
                Some(value) => replacement(value).unwrap_or_else(|| {
                    let variable = format!("{name}_{index}");
                    variables.push((variable.clone(), value.clone()));
                    format!(":{variable}")
                }),
            };
            sql = sql.replace(&format!("${}", index + 1), &expression);
        }
        ensure(!sql.contains('$'), || format!("a parameter is not bound: {sql}"))?;
        if !sql.contains(';') {
            return Ok(format!("{sql};\n"));
        }
        // Several statements in one message take one round trip.
        Ok(format!("\\startpipeline\n{};\n\\endpipeline\n", sql.replace(';', ";\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_connection_by_connection() {
        let log = "~souk~7 LOG:  statement: BEGIN; SET LOCAL ROLE x\n\
                   ~souk~8 LOG:  statement: SELECT 1\n\
                   ~souk~7 LOG:  execute sqlx_s_1: SELECT *\n\t FROM a WHERE b = $1 AND c = $2\n\
                   ~souk~7 DETAIL:  parameters: $1 = 'it''s, $2', $2 = NULL\n";
        let found = connections(log);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0][1].parameters, [Some(String::from("it's, $2")), None]);
        let mut variables = Vec::new();
        let script = found[0][1].script("s1", |_| None, &mut variables).unwrap();
        assert_eq!(script, "SELECT *\n FROM a WHERE b = :s1_0 AND c = NULL;\n");
        let begin = found[0][0].script("s0", |_| None, &mut variables).unwrap();
        assert_eq!(begin, "\\startpipeline\nBEGIN;\n SET LOCAL ROLE x;\n\\endpipeline\n");
    }
}
