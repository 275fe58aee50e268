//! The declaration of a tool.

use std::pin::Pin;

use primitives::{Failure, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::Call;
use crate::schema;

/// A tool: its policy as constants, its interface as types. The gateway applies the policy; the tool itself translates
/// between the interface and the domain.
pub(crate) trait Tool: 'static {
    /// Name of the tool in MCP.
    const NAME: &'static str;
    /// Title for people.
    const TITLE: &'static str;
    /// Description for models.
    const PURPOSE: &'static str;
    /// The set by which clients can limit the listing.
    const SET: ToolSet;
    /// Required credential.
    const ACCESS: Access;
    /// Whether a person must confirm the call.
    const CONFIRMATION: Confirmation;
    /// Calls per minute of one caller at one store (spec §8, decisions §6).
    const PER_MINUTE: u32;
    /// Arguments of a call.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// Output of a call.
    type Output: Serialize + JsonSchema;

    /// Executes a call.
    fn call(
        call: &Call<'_>,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

primitives::text_enum! {
    /// A set of related tools.
    #[strum(serialize_all = "snake_case")]
    pub(crate) enum ToolSet {
        Discovery,
        Cart,
        Checkout,
        Orders,
    }
}

/// Credential required to call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// None.
    Public,
    /// An agent key with this scope.
    Scope(Scope),
}

impl Access {
    /// Returns the required scope, or `none`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "none",
            Self::Scope(scope) => scope.as_str(),
        }
    }
}

primitives::text_enum! {
    /// Whether a person must confirm a call (spec §4.3): never for reads, always for writes.
    #[strum(serialize_all = "snake_case")]
    pub(crate) enum Confirmation {
        Never,
        Required,
    }
}

type Run = for<'call> fn(
    &'call Call<'call>,
    Value,
) -> Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + 'call>>;

/// Name of the idempotency key among the arguments of a writing tool (decisions §8).
pub(crate) const KEY_ARGUMENT: &str = "idempotency_key";

/// The declaration of a tool as a value, for the list of all tools.
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
    /// Returns whether the tool writes to the store it is called at. Public tools that write do not write to the store.
    pub(crate) fn writes_to_store(&self) -> bool {
        self.confirmation == Confirmation::Required && self.access != Access::Public
    }

    /// Returns the schema of the arguments. A writing tool also accepts an idempotency key, which the gateway reads.
    pub(crate) fn input_schema(&self) -> Value {
        let mut schema = (self.arguments)();
        if self.writes_to_store() {
            schema["properties"][KEY_ARGUMENT] = json!({
                "description": "Unique key you choose; a retry with the same key is not executed twice.",
                "type": "string",
                // The length that `jobs::IdempotencyKey` accepts.
                "pattern": "^[ -~]{1,255}$",
            });
        }
        schema
    }
}

async fn run<T: Tool>(call: &Call<'_>, arguments: Value) -> Result<Value, Failure> {
    // The arguments match the schema; if the type rejects them nevertheless, it is still an error of the caller.
    let arguments = serde_json::from_value(arguments)
        .map_err(|error| crate::gateway::InvalidArguments::from_deserialization(&error))?;
    let output = T::call(call, arguments).await?;
    let mut output = serde_json::to_value(output).map_err(crate::gateway::UnserializableOutput)?;
    remove_nulls(&mut output);
    Ok(output)
}

/// Removes null fields, which would cost a model tokens. Nulls in arrays stay, so that positions are kept.
pub(crate) fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_fields_are_removed_and_array_positions_kept() {
        let mut value = json!({ "a": null, "b": [null, { "c": null, "d": 1 }] });
        remove_nulls(&mut value);
        assert_eq!(value, json!({ "b": [null, { "d": 1 }] }));
    }
}
