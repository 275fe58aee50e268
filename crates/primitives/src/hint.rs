//! Hints of errors: what a client can do next. Operations and arguments in a hint are typed, because each door names them
//! differently: MCP by the tool, REST by the call.

crate::text_enum! {
    /// An operation that a hint names. The name is that of the MCP tool.
    #[strum(serialize_all = "snake_case")]
    pub enum Action {
        BrowseCategories,
        CompleteCheckout,
        CreateCheckout,
        FindOffersNetwork,
        FindSimilarProducts,
        GetCart,
        GetCheckout,
        GetConfirmationStatus,
        GetProductVariants,
        PreviewCheckout,
        RequestHumanConfirmation,
        SearchProducts,
        SelectShippingOption,
        SetCartDestination,
        UpdateCheckout,
    }
}

crate::text_enum! {
    /// An argument that a hint names. The name is that of the MCP tools.
    pub enum Argument {
        /// The destination of a cart.
        #[strum(serialize = "destination")]
        Destination,
        /// The hash of the quote that a person approved, as an argument of a completion.
        #[strum(serialize = "quote_hash")]
        QuoteHash,
        #[strum(serialize = "shipping_option_id")]
        ShippingOption,
    }
}

/// The names by which the clients of a door know operations and arguments.
#[derive(Debug, Clone, Copy)]
pub struct HintNames {
    pub action: fn(Action) -> &'static str,
    pub argument: fn(Argument) -> &'static str,
}

impl HintNames {
    /// The names of the MCP tools and of their arguments.
    pub const MCP: Self = Self { action: Action::as_str, argument: Argument::as_str };
}

/// What a client can do next: text, operations and arguments. [`hint!`](crate::hint) builds one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint(Vec<HintPart>);

/// A part of a [`Hint`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintPart {
    Text(&'static str),
    Action(Action),
    Argument(Argument),
    /// Any of these operations. Those with the same name at a door are named once.
    AnyOf(Vec<Action>),
    /// One operation after the other.
    Steps(Vec<Step>),
}

/// An operation in a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub action: Action,
    /// Tells the step from one with the same name at a door.
    pub argument: Argument,
}

impl Hint {
    /// Returns a hint of these parts.
    #[must_use]
    pub fn new(parts: Vec<HintPart>) -> Self {
        Self(parts)
    }

    /// Returns the text of the hint, with the names of a door.
    #[must_use]
    pub fn render(&self, names: HintNames) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                HintPart::Text(part) => text.push_str(part),
                HintPart::Action(action) => text.push_str((names.action)(*action)),
                HintPart::Argument(argument) => text.push_str((names.argument)(*argument)),
                HintPart::AnyOf(actions) => {
                    let mut alternatives: Vec<&str> =
                        actions.iter().map(|action| (names.action)(*action)).collect();
                    alternatives.dedup();
                    text.push_str(&alternatives.join(" or "));
                }
                HintPart::Steps(steps) => text.push_str(&render_steps(steps, names)),
            }
        }
        text
    }
}

/// Names each call once: steps that follow with the same call are told apart by their arguments.
fn render_steps(steps: &[Step], names: HintNames) -> String {
    let call = |step: &Step| (names.action)(step.action);
    let calls: Vec<String> = steps
        .chunk_by(|one, next| call(one) == call(next))
        .map(|same| {
            let arguments: Vec<&str> =
                same.iter().map(|step| (names.argument)(step.argument)).collect();
            match same {
                [one] => call(one).to_owned(),
                _ => format!("{} with {}", call(&same[0]), arguments.join(", then with ")),
            }
        })
        .collect();
    calls.join(", then ")
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self(vec![text.into()])
    }
}

impl From<&'static str> for HintPart {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<Action> for HintPart {
    fn from(action: Action) -> Self {
        Self::Action(action)
    }
}

impl From<Argument> for HintPart {
    fn from(argument: Argument) -> Self {
        Self::Argument(argument)
    }
}

impl<const N: usize> From<[Step; N]> for HintPart {
    fn from(steps: [Step; N]) -> Self {
        Self::Steps(steps.to_vec())
    }
}

impl<const N: usize> From<[Action; N]> for HintPart {
    fn from(actions: [Action; N]) -> Self {
        Self::AnyOf(actions.to_vec())
    }
}

/// Builds a [`Hint`] of text, operations, arguments, lists of alternative operations, and sequences of them:
///
/// ```
/// use primitives::{Action, HintNames, hint};
/// let hint = hint!(Action::GetCart, " lists the lines");
/// assert_eq!(hint.render(HintNames::MCP), "get_cart lists the lines");
/// ```
#[macro_export]
macro_rules! hint {
    ($($part:expr),+ $(,)?) => {
        $crate::Hint::new(vec![$($crate::HintPart::from($part)),+])
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: HintNames = HintNames {
        action: |action| match action {
            Action::UpdateCheckout => "PATCH /checkout/{id}",
            Action::SelectShippingOption | Action::SetCartDestination => "PATCH /cart/{id}",
            _ => "POST /checkout",
        },
        argument: |argument| match argument {
            Argument::QuoteHash => "confirmation.quote_hash",
            Argument::Destination => "destination",
            Argument::ShippingOption => "shipping_option_id",
        },
    };

    #[test]
    fn each_door_names_operations_in_its_own_way() {
        let hint = hint!(
            "change it with ",
            Action::UpdateCheckout,
            "; use an id returned by ",
            [Action::CompleteCheckout, Action::CreateCheckout],
        );
        assert_eq!(
            hint.render(HintNames::MCP),
            "change it with update_checkout; use an id returned by complete_checkout or create_checkout"
        );
        assert_eq!(
            hint.render(CALLS),
            "change it with PATCH /checkout/{id}; use an id returned by POST /checkout"
        );
    }

    #[test]
    fn each_door_names_arguments_in_its_own_way() {
        let hint = hint!("call ", Action::CompleteCheckout, " with ", Argument::QuoteHash);
        assert_eq!(hint.render(HintNames::MCP), "call complete_checkout with quote_hash");
        assert_eq!(hint.render(CALLS), "call POST /checkout with confirmation.quote_hash");
    }

    #[test]
    fn steps_with_the_same_call_name_it_once() {
        let step = |action, argument| Step { action, argument };
        let hint = hint!(
            "call ",
            [
                step(Action::SetCartDestination, Argument::Destination),
                step(Action::SelectShippingOption, Argument::ShippingOption),
                step(Action::CompleteCheckout, Argument::QuoteHash),
            ],
        );
        assert_eq!(
            hint.render(HintNames::MCP),
            "call set_cart_destination, then select_shipping_option, then complete_checkout"
        );
        assert_eq!(
            hint.render(CALLS),
            "call PATCH /cart/{id} with destination, then with shipping_option_id, then POST /checkout"
        );
    }
}
