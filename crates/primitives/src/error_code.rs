//! The stable error codes (docs/contract/errors.md#codes) as one table.

mod publish;

pub use publish::PublishedCodeChanged;

macro_rules! error_codes {
    ($($name:ident = $status:literal $code:literal [$mark:ident], $description:literal;)*) => {
        /// A stable error code. Clients key their logic on it, so that a published code never changes;
        /// `error-codes.golden` freezes them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = concat!("`", $code, "`: ", $description, ".")] $name,)*
        }

        impl ErrorCode {
            /// All codes, in the order of their publication.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the code as it appears on the wire.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// Returns the HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// Returns the mark of the code in the contract.
            #[must_use]
            pub const fn mark(self) -> CodeMark {
                match self { $(Self::$name => CodeMark::$mark,)* }
            }

            /// Returns the meaning of the code: a phrase in Markdown, without a period.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$name => $description,)* }
            }
        }
    };
}

/// The mark of a code in the contract (docs/contract/README.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeMark {
    /// The specification names the code.
    Shown,
    /// Souk added the code.
    Ours,
    /// Souk added the code, and nothing returns it yet.
    Planned,
}

// New rows go to the end. The documents and `error-codes.golden` follow with `just generate`.
error_codes! {
    Unauthorized = 401 "unauthorized" [Shown], "API key or token missing or invalid (of an agent: `X-Agent-Api-Key: agnt_…`)";
    TokenExpired = 401 "token_expired" [Shown], "token expired";
    Forbidden = 403 "forbidden" [Shown], "scope missing, or the operation is not permitted";
    TierRequired = 403 "tier_required" [Shown], "a higher plan is needed";
    StoreSuspended = 403 "store_suspended" [Shown], "the merchant is currently unavailable";
    RateLimitExceeded = 429 "rate_limit_exceeded" [Shown], "limit of the caller; wait until `X-RateLimit-Reset`";
    ToolLimitExceeded = 429 "tool_limit_exceeded" [Shown], "limit of the tool";
    InvalidSlug = 400 "invalid_slug" [Shown], "not a valid store slug";
    StoreNotFound = 404 "store_not_found" [Shown], "no such store, or inactive";
    ProductNotFound = 404 "product_not_found" [Shown], "no such product, or no longer listed";
    CartExpired = 409 "cart_expired" [Shown], "cart older than its lifetime";
    CheckoutNotReady = 422 "checkout_not_ready" [Shown], "cart empty, or required data missing";
    InternalError = 500 "internal_error" [Shown], "unexpected error of the server";
    ServiceUnavailable = 503 "service_unavailable" [Shown], "overload or maintenance; retry after 30 seconds";
    InvalidRequest = 400 "invalid_request" [Ours], "malformed body or argument";
    NotFound = 404 "not_found" [Ours], "no such path or resource";
    CartNotFound = 404 "cart_not_found" [Ours], "no such cart, or another key's";
    OrderNotFound = 404 "order_not_found" [Ours], "no such order, or another caller's";
    IdempotencyConflict = 409 "idempotency_conflict" [Ours], "the idempotency key was used with another request";
    PriceChanged = 409 "price_changed" [Ours], "a price is not the quoted one";
    OutOfStock = 409 "out_of_stock" [Ours], "not enough stock";
    InvalidStatusTransition = 409 "invalid_status_transition" [Ours], "the state does not permit this";
    ConfirmationRequired = 409 "confirmation_required" [Ours], "human confirmation missing or stale";
    CartClosed = 409 "cart_closed" [Ours], "the cart can no longer be changed";
    HoldLimitReached = 409 "hold_limit_reached" [Ours], "the key already reserves too many items at this store";
    PayloadTooLarge = 413 "payload_too_large" [Ours], "body too large";
    PaymentRequired = 402 "payment_required" [Planned], "a payment is needed first";
    PaymentInvalid = 402 "payment_invalid" [Planned], "the payment does not verify or settle";
    PaymentAlreadyProcessed = 409 "payment_already_processed" [Ours], "the session was paid by another payment";
    UnsupportedPaymentMethod = 422 "unsupported_payment_method" [Ours], "the store does not accept this method";
    UnsupportedCurrency = 422 "unsupported_currency" [Ours], "the currency cannot be used here";
    ReturnNotEligible = 422 "return_not_eligible" [Ours], "the goods cannot be returned";
    FacilitatorUnavailable = 503 "facilitator_unavailable" [Planned], "the x402 facilitator is unavailable";
    MethodNotAllowed = 405 "method_not_allowed" [Ours], "the path does not accept this method; see `Allow`";
    PreconditionRequired = 428 "precondition_required" [Ours], "the request does not name the version that it replaces";
}

impl ErrorCode {
    /// Seconds after which a call is retried that failed because of overload or maintenance
    /// (docs/contract/limits.md#unavailable).
    pub const UNAVAILABLE_RETRY_SECONDS: u32 = 30;

    /// Returns the seconds after which to retry, unless an error of this code names others.
    #[must_use]
    pub const fn retry_after_seconds(self) -> Option<u32> {
        match self.status() {
            503 => Some(Self::UNAVAILABLE_RETRY_SECONDS),
            _ => None,
        }
    }

    /// Returns whether the same request may succeed later: 429, 500 and 503 (docs/contract/errors.md#retryable).
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self.status(), 429 | 500 | 503)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_an_overload_says_when_to_retry() {
        let seconds = ErrorCode::UNAVAILABLE_RETRY_SECONDS;
        let text = ErrorCode::ServiceUnavailable.description();
        assert!(text.ends_with(&format!("retry after {seconds} seconds")), "{text}");
    }

    #[test]
    fn descriptions_fit_into_a_table_and_into_a_sentence() {
        for code in ErrorCode::ALL {
            let text = code.description();
            assert!(!text.is_empty() && !text.ends_with('.') && !text.contains('|'), "{code:?}");
        }
    }
}
