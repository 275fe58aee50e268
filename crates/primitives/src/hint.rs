//! Hints of errors: what a client can do next. Operations in a hint are typed, because each door names them differently:
//! MCP by the tool, REST by the call.

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

/// What a client can do next: text and operations. [`hint!`](crate::hint) builds one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint(Vec<HintPart>);

/// A part of a [`Hint`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintPart {
    Text(&'static str),
    Action(Action),
    /// Any of these operations. Those with the same name at a door are named once.
    AnyOf(Vec<Action>),
}

impl Hint {
    /// Returns a hint of these parts.
    #[must_use]
    pub fn new(parts: Vec<HintPart>) -> Self {
        Self(parts)
    }

    /// Returns the text of the hint, with each operation as `name` writes it.
    #[must_use]
    pub fn render(&self, name: fn(Action) -> &'static str) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                HintPart::Text(part) => text.push_str(part),
                HintPart::Action(action) => text.push_str(name(*action)),
                HintPart::AnyOf(actions) => {
                    let mut names: Vec<&str> = actions.iter().map(|action| name(*action)).collect();
                    names.dedup();
                    text.push_str(&names.join(" or "));
                }
            }
        }
        text
    }
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

impl<const N: usize> From<[Action; N]> for HintPart {
    fn from(actions: [Action; N]) -> Self {
        Self::AnyOf(actions.to_vec())
    }
}

/// Builds a [`Hint`] of text, operations, and lists of alternative operations:
///
/// ```
/// use primitives::{Action, hint};
/// let hint = hint!(Action::GetCart, " lists the lines");
/// assert_eq!(hint.render(Action::as_str), "get_cart lists the lines");
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

    #[test]
    fn each_door_names_operations_in_its_own_way() {
        let hint = hint!(
            "change it with ",
            Action::UpdateCheckout,
            "; use an id returned by ",
            [Action::CompleteCheckout, Action::CreateCheckout],
        );
        assert_eq!(
            hint.render(Action::as_str),
            "change it with update_checkout; use an id returned by complete_checkout or create_checkout"
        );
        let call = |action| match action {
            Action::UpdateCheckout => "PATCH /checkout/{id}",
            _ => "POST /checkout",
        };
        assert_eq!(
            hint.render(call),
            "change it with PATCH /checkout/{id}; use an id returned by POST /checkout"
        );
    }
}
