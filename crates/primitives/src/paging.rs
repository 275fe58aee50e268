//! Paging of the list envelope (spec §2.1).

use serde::Serialize;

/// Which page, and how many rows. A limit outside 1–100 is clamped, and `meta.limit` shows what
/// was used (decisions §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    page: u32,
    limit: u32,
}

impl PageRequest {
    /// Rows on a page when the caller names no number.
    pub const LIMIT_DEFAULT: u32 = 20;
    /// Rows on a page at the most.
    pub const LIMIT_MAX: u32 = 100;
    /// Pages that can be reached by number; deeper reading goes by cursor or filter.
    pub const PAGE_MAX: u32 = 10_000;

    /// Clamps what the caller asked for.
    #[must_use]
    pub fn new(page: Option<i64>, limit: Option<i64>) -> Self {
        let clamp =
            |value: i64, max: u32| u32::try_from(value.clamp(1, i64::from(max))).unwrap_or(1);
        Self {
            page: clamp(page.unwrap_or(1), Self::PAGE_MAX),
            limit: clamp(limit.unwrap_or(i64::from(Self::LIMIT_DEFAULT)), Self::LIMIT_MAX),
        }
    }

    /// Rows on the page.
    #[must_use]
    pub const fn limit(self) -> u32 {
        self.limit
    }

    /// Rows before the page.
    #[must_use]
    pub fn offset(self) -> i64 {
        i64::from(self.page - 1) * i64::from(self.limit)
    }

    /// The `meta` of the answer.
    #[must_use]
    pub fn meta(self, total: i64) -> PageMeta {
        let (page, limit) = (i64::from(self.page), i64::from(self.limit));
        PageMeta { total, page, limit, total_is_estimate: None }
    }
}

/// The `meta` object of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PageMeta {
    /// How many rows match in all.
    pub total: i64,
    /// Which page this is, from 1.
    pub page: i64,
    /// How many rows a page holds.
    pub limit: i64,
    /// True where counting all of them would take too long: there are at least `total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_is_estimate: Option<bool>,
}

impl PageMeta {
    /// The same; if so, `total` is where counting stopped.
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
    fn what_is_out_of_range_is_clamped() {
        let page = PageRequest::new(Some(-3), Some(1_000));
        let meta = page.meta(7);
        assert_eq!((meta.total, meta.page, meta.limit), (7, 1, 100));
        assert_eq!(meta.total_is_estimate, None);
        let page = PageRequest::new(Some(3), None);
        assert_eq!((page.limit(), page.offset()), (20, 40));
        assert_eq!(PageRequest::new(Some(i64::MAX), Some(0)).limit(), 1);
    }
}
