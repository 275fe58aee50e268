//! What becomes known of a request while it is answered, for its log line.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{ErrorCode, KeyId, StoreSlug};

/// The record of one request. The server adds one to the extensions of every request, doors fill it in, and the server logs
/// it. It has ids and names, never credentials. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct RequestRecord(Arc<Mutex<RecordedRequest>>);

/// What is known of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The tool, also of the REST endpoint that is equivalent to it.
    pub tool: Option<&'static str>,
    /// The store that a merchant's request is for.
    pub store: Option<StoreSlug>,
    /// The agent key or store key, once it is authenticated.
    pub key: Option<KeyId>,
    /// The error that the caller got, also in a response with status 200.
    pub error: Option<ErrorCode>,
}

impl RequestRecord {
    /// Records the tool.
    pub fn set_tool(&self, tool: &'static str) {
        self.lock().tool = Some(tool);
    }

    /// Records the store that the request is for.
    pub fn set_store(&self, store: &StoreSlug) {
        self.lock().store = Some(store.clone());
    }

    /// Records the key that was authenticated.
    pub fn set_key(&self, key: KeyId) {
        self.lock().key = Some(key);
    }

    /// Records the error that the caller gets.
    pub fn set_error(&self, error: ErrorCode) {
        self.lock().error = Some(error);
    }

    /// Returns what is known so far.
    #[must_use]
    pub fn read(&self) -> RecordedRequest {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, RecordedRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_what_is_known() {
        let record = RequestRecord::default();
        assert_eq!(record.read(), RecordedRequest::default());
        record.clone().set_error(ErrorCode::InvalidRequest);
        record.clone().set_tool("get_cart");
        let read = record.read();
        assert_eq!((read.tool, read.error), (Some("get_cart"), Some(ErrorCode::InvalidRequest)));
    }
}
