//! Country codes.

pub(crate) use primitives::country::{ALLOWED, is_country, nearest};
