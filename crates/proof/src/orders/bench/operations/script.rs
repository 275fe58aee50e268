//! The recorded statements of calls as a script of pgbench.

use uuid::Uuid;

use super::STRIDE;
use crate::recording::Statement;
use crate::report::{Failure, ensure};

/// A script and its variables.
pub(super) struct Script {
    pub(super) text: String,
    pub(super) variables: Vec<(String, String)>,
    /// How many calls one run of the script stands for.
    pub(super) calls: usize,
}

impl Script {
    /// The statements of several calls that read, one call after another.
    pub(super) fn of_reads(recorded: &[Vec<Statement>], calls: usize) -> Result<Self, Failure> {
        let found: Vec<&[Statement]> =
            recorded.iter().flat_map(|connection| transactions(connection)).collect();
        ensure(found.len() >= calls && found.len().is_multiple_of(calls), || {
            format!("{} transactions for {calls} calls", found.len())
        })?;
        let (mut text, mut variables) = (String::new(), Vec::new());
        for (at, statements) in found.into_iter().enumerate() {
            for (number, statement) in statements.iter().enumerate() {
                text.push_str(&statement.script(
                    &format!("c{at}_{number}"),
                    |_| None,
                    &mut variables,
                )?);
            }
        }
        Ok(Self { text, variables, calls })
    }

    /// The statements of one change, for another order at each turn and another store for each client.
    pub(super) fn of_change(
        recorded: &[Vec<Statement>],
        order: Uuid,
        event: Uuid,
        merchants: &[Uuid],
    ) -> Result<Self, Failure> {
        let found: Vec<&[Statement]> =
            recorded.iter().flat_map(|connection| transactions(connection)).collect();
        let [statements] = found[..] else {
            return Err(format!("{} transactions for one change", found.len()).into());
        };
        let own = |value: &str| {
            let id = "(:series || lpad(to_hex(:row::bigint), 24, '0'))::uuid";
            let known = [
                (order.to_string(), id.to_owned()),
                (format!("{{{order}}}"), format!("ARRAY[{id}]")),
                (event.to_string(), id.to_owned()),
            ];
            let found = known.into_iter().find(|(known, _)| known == value);
            found.map(|(_, expression)| expression)
        };
        let mut text =
            format!("\\set turn :turn + 1\n\\set row :client_id * {STRIDE} + :turn - 1\n");
        let mut variables = Vec::new();
        for (client, merchant) in merchants.iter().enumerate() {
            text.extend(["\\if :client_id = ", &client.to_string(), "\n"]);
            for (number, statement) in statements.iter().enumerate() {
                let statement = at_store(statement, merchants[0], *merchant);
                text.push_str(&statement.script(
                    &format!("c{client}_{number}"),
                    own,
                    &mut variables,
                )?);
            }
            text.push_str("\\endif\n");
        }
        Ok(Self { text, variables, calls: 1 })
    }
}

/// The statement for another store.
fn at_store(statement: &Statement, recorded: Uuid, other: Uuid) -> Statement {
    let replaced = |text: &String| text.replace(&recorded.to_string(), &other.to_string());
    Statement {
        sql: replaced(&statement.sql),
        parameters: statement.parameters.iter().map(|value| value.as_ref().map(replaced)).collect(),
    }
}

/// Returns the transactions about orders, each from its BEGIN to its COMMIT.
fn transactions(statements: &[Statement]) -> Vec<&[Statement]> {
    let mut found = Vec::new();
    let mut begin = None;
    for (at, statement) in statements.iter().enumerate() {
        if statement.sql.starts_with("BEGIN") {
            begin = Some(at);
        }
        if !matches!(statement.sql.as_str(), "COMMIT" | "ROLLBACK") {
            continue;
        }
        let transaction = begin.take().and_then(|begin| statements.get(begin..=at));
        let is_about_orders =
            |it: &&[Statement]| it.iter().any(|statement| statement.sql.contains("placed_order"));
        found.extend(transaction.filter(is_about_orders));
    }
    found
}
