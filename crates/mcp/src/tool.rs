//! The declaration of a tool.

use std::borrow::Cow;
use std::pin::Pin;

use jobs::IdempotencyKey;
use limits::QuotaClass;
use primitives::{Failure, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::gateway;
use crate::request_context::RequestContext;
use crate::tool_schema;

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
    const ACCESS: Access;
    /// Whether a person must confirm the call.
    const CONFIRMATION: Confirmation;
    /// Whether the call changes nothing. A tool that needs no confirmation may still write: it may ask for one.
    const READ_ONLY: bool = matches!(Self::CONFIRMATION, Confirmation::Never);
    /// Whether repeating the call with the same arguments changes nothing further. Announced as `idempotentHint`.
    const IDEMPOTENT: bool = Self::READ_ONLY;
    /// Whether the call ends or replaces what exists. Announced as `destructiveHint`.
    const DESTRUCTIVE: bool = false;
    /// At which stores the tool can be called.
    const STORES: Stores = Stores::Open;
    type Arguments: DeserializeOwned + JsonSchema + Send;
    type Output: Serialize + JsonSchema;

    fn call(
        context: &RequestContext,
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
    /// Whether a person must confirm a call (docs/contract/confirmation.md#read-and-write): never for reads, always for
    /// writes.
    #[strum(serialize_all = "snake_case")]
    pub(crate) enum Confirmation {
        Never,
        Required,
    }
}

/// States of a store in which a tool can be called (docs/contract/stores.md#unavailable-exceptions).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Neither closed nor suspended.
    Open,
    /// Any: the tool concerns a session that a caller has there, or the trust record.
    Any,
}

type Run = for<'context> fn(
    &'context RequestContext,
    Value,
) -> Pin<
    Box<dyn Future<Output = Result<Value, Failure>> + Send + 'context>,
>;

/// Name of the idempotency key among the arguments of a writing tool (docs/contract/envelopes.md#idempotency).
pub(crate) const KEY_ARGUMENT: &str = "idempotency_key";

/// The declaration of a tool as a value, for the list of all tools.
pub(crate) struct ToolEntry {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) set: ToolSet,
    pub(crate) access: Access,
    pub(crate) confirmation: Confirmation,
    pub(crate) read_only: bool,
    pub(crate) idempotent: bool,
    pub(crate) destructive: bool,
    pub(crate) stores: Stores,
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
            read_only: T::READ_ONLY,
            idempotent: T::IDEMPOTENT,
            destructive: T::DESTRUCTIVE,
            stores: T::STORES,
            arguments: tool_schema::of_arguments::<T::Arguments>,
            output: tool_schema::of_output::<T::Output>,
            run: |context, arguments| Box::pin(gateway::run_tool::<T>(context, arguments)),
        }
    }
}

impl ToolEntry {
    /// Returns whether the tool writes to the store it is called at. Public tools that write do not write to the store.
    pub(crate) fn writes_to_store(&self) -> bool {
        self.confirmation == Confirmation::Required && self.access != Access::Public
    }

    /// Returns the calls per minute of one caller at one store (docs/contract/limits.md#tool-bucket).
    pub(crate) fn per_minute(&self) -> u32 {
        let class = match (self.set, self.confirmation) {
            (ToolSet::Orders, Confirmation::Never) => QuotaClass::Orders,
            (ToolSet::Orders, Confirmation::Required) => QuotaClass::Returns,
            (_, Confirmation::Never) | (ToolSet::Discovery, _) => QuotaClass::Discovery,
            (ToolSet::Cart, Confirmation::Required) => QuotaClass::CartWrite,
            (ToolSet::Checkout, Confirmation::Required) => QuotaClass::CheckoutWrite,
        };
        limits::tool_quota(self.name, class)
    }

    /// Returns the description for models. A tool that needs a key says so.
    pub(crate) fn description(&self) -> Cow<'static, str> {
        match self.access {
            Access::Public => Cow::Borrowed(self.purpose),
            Access::Scope(_) => Cow::Owned(format!("{} {NEEDS_KEY}", self.purpose)),
        }
    }

    /// Returns the schema of the arguments, which calls are validated against. A writing tool also accepts an idempotency key, which the gateway reads.
    pub(crate) fn input_schema(&self) -> Value {
        let mut schema = (self.arguments)();
        if self.writes_to_store() {
            schema["properties"][KEY_ARGUMENT] = json!({
                "description": "Retries with this key run once.",
                "type": "string",
                "pattern": format!("^[ -~]{{1,{}}}$", IdempotencyKey::LENGTH_MAX),
            });
        }
        schema
    }
}

/// The sentence in the description of every tool that needs a key.
pub(crate) const NEEDS_KEY: &str = "Needs an agent key.";

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
