//! Pagination of the list envelope (docs/contract/envelopes.md#list-envelope).

use serde::Serialize;

/// The requested page and its size. A limit outside 1–100 is clamped; `meta.limit` returns the value used
/// (docs/contract/envelopes.md#page-limit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    page: u32,
    limit: u32,
}

impl PageRequest {
    /// Default page size.
    pub const LIMIT_DEFAULT: u32 = 20;
    /// Largest page size.
    pub const LIMIT_MAX: u32 = 100;
    /// Largest page number; clients use a cursor or a filter to read further.
    pub const PAGE_MAX: u32 = 10_000;

    /// Creates a page request, clamping both values to their ranges.
    #[must_use]
    pub fn new(page: Option<i64>, limit: Option<i64>) -> Self {
        let clamp =
            |value: i64, max: u32| u32::try_from(value.clamp(1, i64::from(max))).unwrap_or(1);
        Self {
            page: clamp(page.unwrap_or(1), Self::PAGE_MAX),
            limit: clamp(limit.unwrap_or(i64::from(Self::LIMIT_DEFAULT)), Self::LIMIT_MAX),
        }
    }

    /// Returns the page size.
    #[must_use]
    pub const fn limit(self) -> u32 {
        self.limit
    }

    /// Returns the number of rows before the page.
    #[must_use]
    pub fn offset(self) -> i64 {
        i64::from(self.page - 1) * i64::from(self.limit)
    }

    /// Returns the `meta` object of the response.
    #[must_use]
    pub fn meta(self, total: i64) -> PageMeta {
        let (page, limit) = (i64::from(self.page), i64::from(self.limit));
        PageMeta { total, page, limit, total_is_estimate: None }
    }
}

/// The `meta` object of a list response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PageMeta {
    /// Total number of matching rows.
    pub total: i64,
    /// Page number, starting at 1.
    pub page: i64,
    /// Page size.
    pub limit: i64,
    /// `true` if counting stopped early: at least `total` rows match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_is_estimate: Option<bool>,
}

impl PageMeta {
    /// Marks `total` as the number at which counting stopped.
    #[must_use]
    pub fn estimated(mut self, is_estimate: bool) -> Self {
        self.total_is_estimate = is_estimate.then_some(true);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_clamped() {
        let page = PageRequest::new(Some(-3), Some(1_000));
        let meta = page.meta(7);
        assert_eq!((meta.total, meta.page, meta.limit), (7, 1, 100));
        assert_eq!(meta.total_is_estimate, None);
        let page = PageRequest::new(Some(3), None);
        assert_eq!((page.limit(), page.offset()), (20, 40));
        assert_eq!(PageRequest::new(Some(i64::MAX), Some(0)).limit(), 1);
    }
}
