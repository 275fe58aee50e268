//! The stable error codes (docs/contract/errors.md#codes) as one table.

macro_rules! error_codes {
    ($($name:ident = $status:literal $code:literal, $description:literal;)*) => {
        /// A stable error code. Clients key their logic on it, so that a published code never changes;
        /// `error-codes.golden` freezes them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $description] $name,)*
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

            /// Returns a one-sentence description.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$name => $description,)* }
            }
        }
    };
}

error_codes! {
    // docs/contract/errors.md#codes
    Unauthorized = 401 "unauthorized", "The API key is missing or invalid.";
    TokenExpired = 401 "token_expired", "The OAuth token has expired.";
    Forbidden = 403 "forbidden", "The key lacks the scope for this action.";
    TierRequired = 403 "tier_required", "The feature needs a higher subscription plan.";
    StoreSuspended = 403 "store_suspended", "The merchant is currently unavailable.";
    RateLimitExceeded = 429 "rate_limit_exceeded", "The per-key request limit is reached.";
    ToolLimitExceeded = 429 "tool_limit_exceeded", "The per-tool limit is exceeded.";
    InvalidSlug = 400 "invalid_slug", "The store slug format is invalid.";
    StoreNotFound = 404 "store_not_found", "The store does not exist or is inactive.";
    ProductNotFound = 404 "product_not_found", "The product is unavailable or delisted.";
    CartExpired = 409 "cart_expired", "The cart is older than 30 minutes.";
    CheckoutNotReady = 422 "checkout_not_ready", "The cart is empty or required fields are missing.";
    InternalError = 500 "internal_error", "An unexpected server error.";
    ServiceUnavailable = 503 "service_unavailable", "Temporary overload or maintenance.";
    // docs/contract/errors.md#additional-codes
    InvalidRequest = 400 "invalid_request", "The body or an argument is malformed.";
    NotFound = 404 "not_found", "No resource exists at this path.";
    CartNotFound = 404 "cart_not_found", "The cart does not exist.";
    OrderNotFound = 404 "order_not_found", "The order does not exist.";
    IdempotencyConflict = 409 "idempotency_conflict", "The idempotency key was used with a different request.";
    PriceChanged = 409 "price_changed", "The price changed since the quote.";
    OutOfStock = 409 "out_of_stock", "Not enough stock is available.";
    InvalidStatusTransition = 409 "invalid_status_transition", "The status transition is not allowed.";
    ConfirmationRequired = 409 "confirmation_required", "Human confirmation is required.";
    CartClosed = 409 "cart_closed", "The cart can no longer be changed.";
    PayloadTooLarge = 413 "payload_too_large", "The body is too large.";
    PaymentRequired = 402 "payment_required", "Payment is required.";
    PaymentInvalid = 402 "payment_invalid", "The payment is invalid.";
    PaymentAlreadyProcessed = 409 "payment_already_processed", "The payment has already been processed.";
    UnsupportedPaymentMethod = 422 "unsupported_payment_method", "The store does not accept this payment method.";
    UnsupportedCurrency = 422 "unsupported_currency", "The currency is not supported.";
    ReturnNotEligible = 422 "return_not_eligible", "The items are not eligible for return.";
    FacilitatorUnavailable = 503 "facilitator_unavailable", "The payment facilitator is unavailable.";
    // docs/decisions/0008: HTTP statuses that need a code of their own
    MethodNotAllowed = 405 "method_not_allowed", "The path does not support this HTTP method.";
}

impl ErrorCode {
    /// Returns whether the same request may succeed later: 429, 500 and 503 (docs/contract/errors.md#retryable).
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self.status(), 429 | 500 | 503)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn published_codes_are_frozen() {
        let mut table = String::new();
        for code in ErrorCode::ALL {
            let retry = if code.retryable() { "retryable" } else { "final" };
            writeln!(table, "{} {} {retry}", code.status(), code.code()).unwrap();
        }
        let golden = include_str!("../error-codes.golden");
        assert_eq!(table, golden, "a published code never changes; append new ones at the end");
    }
}
