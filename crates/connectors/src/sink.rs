//! Passes the items of a feed to the caller, which may stop the reader.

use std::ops::ControlFlow;

use catalog::{FeedItem, FieldError, ProductDraft};

use crate::field_errors;
use crate::input::SharedFindings;

/// The receiver of the items of a feed.
pub(crate) struct Sink<'a> {
    emit: &'a mut dyn FnMut(FeedItem) -> ControlFlow<()>,
    findings: SharedFindings,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(
        emit: &'a mut dyn FnMut(FeedItem) -> ControlFlow<()>,
        findings: SharedFindings,
    ) -> Self {
        Self { emit, findings }
    }

    fn emit(&mut self, item: FeedItem) -> ControlFlow<()> {
        (self.emit)(item)
    }

    /// Reports that the file was converted from another encoding, if it was. Called at the end, when that is known.
    pub(crate) fn report_encoding(&mut self) -> ControlFlow<()> {
        let findings = self.findings.borrow();
        let Some(encoding) = findings.encoding else { return ControlFlow::Continue(()) };
        let warning = field_errors::converted(encoding.name(), findings.has_lost_characters);
        drop(findings);
        self.warning(1, None, warning)
    }

    pub(crate) fn product(&mut self, line: u64, draft: ProductDraft) -> ControlFlow<()> {
        self.emit(FeedItem::Product { line, draft: Box::new(draft) })
    }

    pub(crate) fn invalid_row(
        &mut self,
        line: u64,
        external_id: Option<String>,
        error: FieldError,
    ) -> ControlFlow<()> {
        self.emit(FeedItem::InvalidRow { line, external_id, error })
    }

    /// Reports a row that is left out. `stays_listed`: a listed product stays as it is.
    pub(crate) fn skipped(
        &mut self,
        line: u64,
        external_id: Option<String>,
        error: FieldError,
        stays_listed: bool,
    ) -> ControlFlow<()> {
        self.emit(FeedItem::Skipped { line, external_id, error, stays_listed })
    }

    /// Reports something about a product that is accepted, or about the file.
    pub(crate) fn warning(
        &mut self,
        line: u64,
        external_id: Option<String>,
        error: FieldError,
    ) -> ControlFlow<()> {
        self.emit(FeedItem::Warning { line, external_id, error })
    }

    /// Reports that the file ends early; no item follows.
    pub(crate) fn truncated(&mut self, line: u64, error: FieldError) -> ControlFlow<()> {
        self.report_encoding()?;
        let _ = self.emit(FeedItem::Truncated { line, error });
        ControlFlow::Break(())
    }
}
