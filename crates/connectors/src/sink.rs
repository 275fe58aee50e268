//! Passes the items of a feed to the caller, which may stop the reader.

use std::ops::ControlFlow;

use catalog::{FeedItem, FieldError, ProductDraft};

/// The receiver of the items of a feed.
pub(crate) struct Sink<'a> {
    emit: &'a mut dyn FnMut(FeedItem) -> ControlFlow<()>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(emit: &'a mut dyn FnMut(FeedItem) -> ControlFlow<()>) -> Self {
        Self { emit }
    }

    pub(crate) fn product(&mut self, line: u64, draft: ProductDraft) -> ControlFlow<()> {
        (self.emit)(FeedItem::Product { line, draft: Box::new(draft) })
    }

    pub(crate) fn invalid_row(
        &mut self,
        line: u64,
        external_id: Option<String>,
        error: FieldError,
    ) -> ControlFlow<()> {
        (self.emit)(FeedItem::InvalidRow { line, external_id, error })
    }

    /// Reports that the file ends early; no item follows.
    pub(crate) fn truncated(&mut self, line: u64, error: FieldError) -> ControlFlow<()> {
        let _ = (self.emit)(FeedItem::Truncated { line, error });
        ControlFlow::Break(())
    }
}
