//! What a tool declares.

use std::pin::Pin;

use primitives::{Failure, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::Call;
use crate::schema;

/// A tool: its policy as constants, its interface as types. The gateway applies the policy; the tool
/// itself only translates.
pub(crate) trait Tool: 'static {
    /// The name agents call it by.
    const NAME: &'static str;
    /// The name people see.
    const TITLE: &'static str;
    /// What it is for, in words a model understands.
    const PURPOSE: &'static str;
    /// What it belongs to, so that a client can list only what it needs.
    const SET: ToolSet;
    /// Who may call it.
    const ACCESS: Access;
    /// Whether a person has to confirm.
    const CONFIRMATION: Confirmation;
    /// Calls a minute for one caller at one store (spec §8, decisions §6).
    const PER_MINUTE: u32;
    /// What it takes.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// What it gives.
    type Output: Serialize + JsonSchema;

    /// Does it.
    fn call(
        call: &Call<'_>,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// A set of tools that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolSet {
    /// Finding out.
    Discovery,
    /// Putting together what to buy.
    Cart,
    /// Buying it.
    Checkout,
    /// What was bought.
    Orders,
}

impl ToolSet {
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Discovery, "discovery"),
        (Self::Cart, "cart"),
        (Self::Checkout, "checkout"),
        (Self::Orders, "orders"),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(set, _)| *set == self).map_or("", |(_, name)| name)
    }

    pub(crate) fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(set, _)| *set)
    }
}

/// Who may call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anyone.
    Public,
    /// A key with this scope.
    Scope(Scope),
}

impl Access {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Public => "none",
            Self::Scope(scope) => scope.name(),
        }
    }
}

/// Whether a person has to confirm (spec §4.3): reading never, writing always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// It only reads.
    Never,
    /// It writes.
    Required,
}

impl Confirmation {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Required => "required",
        }
    }
}

type Run = for<'call> fn(
    &'call Call<'call>,
    Value,
) -> Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + 'call>>;

/// The argument by which a write is done once, however often it is asked for (decisions §8).
pub(crate) const KEY_ARGUMENT: &str = "idempotency_key";

/// A tool's declaration as a value, so that all of them stand in one list.
pub(crate) struct ToolEntry {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) set: ToolSet,
    pub(crate) access: Access,
    pub(crate) confirmation: Confirmation,
    pub(crate) per_minute: u32,
    arguments: fn() -> Value,
    pub(crate) output: fn() -> Value,
    pub(crate) run: Run,
}

impl ToolEntry {
    pub(crate) const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            title: T::TITLE,
            purpose: T::PURPOSE,
            set: T::SET,
            access: T::ACCESS,
            confirmation: T::CONFIRMATION,
            per_minute: T::PER_MINUTE,
            arguments: schema::of_arguments::<T::Arguments>,
            output: schema::of_output::<T::Output>,
            run: |call, arguments| Box::pin(run::<T>(call, arguments)),
        }
    }
}

impl ToolEntry {
    /// Whether it writes to the store it is called on. What anybody may write is not the store's.
    pub(crate) fn writes_to_store(&self) -> bool {
        self.confirmation == Confirmation::Required && self.access != Access::Public
    }

    /// The schema of its arguments. A write takes a key as well, which the gateway reads.
    pub(crate) fn input_schema(&self) -> Value {
        let mut schema = (self.arguments)();
        if self.writes_to_store() {
            schema["properties"][KEY_ARGUMENT] = json!({
                "description": "A text of your own; the same call sent again with it is not done twice.",
                "type": "string",
                // As many as `jobs::IdempotencyKey` takes.
                "pattern": "^[ -~]{1,255}$",
            });
        }
        schema
    }
}

async fn run<T: Tool>(call: &Call<'_>, arguments: Value) -> Result<Value, Failure> {
    // The arguments passed the schema; what a type refuses beyond it is still the caller's to mend.
    let arguments = serde_json::from_value(arguments)
        .map_err(|error| crate::gateway::InvalidArguments::unreadable(&error))?;
    let output = T::call(call, arguments).await?;
    let mut output = serde_json::to_value(output).map_err(crate::gateway::Unwritable)?;
    leave_out_nulls(&mut output);
    Ok(output)
}

/// Leaves out fields that say nothing: a model pays for each. What is null in a list keeps its place.
pub(crate) fn leave_out_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(leave_out_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_without_a_value_are_left_out_and_places_in_lists_kept() {
        let mut value = json!({ "a": null, "b": [null, { "c": null, "d": 1 }] });
        leave_out_nulls(&mut value);
        assert_eq!(value, json!({ "b": [null, { "d": 1 }] }));
    }
}
