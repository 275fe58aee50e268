//! The way out of a reader: what was found goes to the sink, which may say that it is enough.

use std::ops::ControlFlow;

use catalog::{Fault, FeedItem, ProductDraft};

pub(crate) struct Out<'a> {
    sink: &'a mut dyn FnMut(FeedItem) -> ControlFlow<()>,
}

impl<'a> Out<'a> {
    pub(crate) fn new(sink: &'a mut dyn FnMut(FeedItem) -> ControlFlow<()>) -> Self {
        Self { sink }
    }

    pub(crate) fn product(&mut self, line: u64, draft: ProductDraft) -> ControlFlow<()> {
        (self.sink)(FeedItem::Product { line, draft: Box::new(draft) })
    }

    pub(crate) fn broken(
        &mut self,
        line: u64,
        external_id: Option<String>,
        fault: Fault,
    ) -> ControlFlow<()> {
        (self.sink)(FeedItem::Broken { line, external_id, fault })
    }

    /// Nothing comes behind a cut.
    pub(crate) fn cut(&mut self, line: u64, fault: Fault) -> ControlFlow<()> {
        let _ = (self.sink)(FeedItem::Cut { line, fault });
        ControlFlow::Break(())
    }
}
