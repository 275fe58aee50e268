//! What a tool declares.

use std::pin::Pin;

use primitives::{Failure, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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

/// Who may call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anyone.
    Public,
    /// A key with this scope.
    #[expect(dead_code, reason = "the first tool that needs a scope comes with agent keys")]
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
    #[expect(dead_code, reason = "the first tool that writes comes with carts")]
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

/// A tool's declaration as a value, so that all of them stand in one list.
pub(crate) struct ToolEntry {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) access: Access,
    pub(crate) confirmation: Confirmation,
    pub(crate) per_minute: u32,
    pub(crate) arguments: fn() -> Value,
    pub(crate) output: fn() -> Value,
    pub(crate) run: Run,
}

impl ToolEntry {
    pub(crate) const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            title: T::TITLE,
            purpose: T::PURPOSE,
            access: T::ACCESS,
            confirmation: T::CONFIRMATION,
            per_minute: T::PER_MINUTE,
            arguments: schema::of_arguments::<T::Arguments>,
            output: schema::of_output::<T::Output>,
            run: |call, arguments| Box::pin(run::<T>(call, arguments)),
        }
    }
}

async fn run<T: Tool>(call: &Call<'_>, arguments: Value) -> Result<Value, Failure> {
    // The arguments passed the schema; what a type refuses beyond it is still the caller's to mend.
    let arguments = serde_json::from_value(arguments)
        .map_err(|error| crate::gateway::InvalidArguments::unreadable(&error))?;
    let output = T::call(call, arguments).await?;
    serde_json::to_value(output).map_err(|error| crate::gateway::Unwritable(error).into())
}
