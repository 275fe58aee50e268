//! The page of a list, as the query string selects it.

use primitives::PageRequest;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::PageEnvelope;

/// A page of a list.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(crate) struct PageParameters {
    /// Page number, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Items per page, 1 to 100. Larger numbers are clamped; `meta.limit` is the value used.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

impl PageParameters {
    /// Returns the requested page.
    pub(crate) fn request(self) -> PageRequest {
        PageRequest::new(self.page, self.limit)
    }

    /// Returns the requested page of a list that is short enough to be read as a whole.
    pub(crate) fn select<T>(self, items: Vec<T>) -> PageEnvelope<T> {
        let request = self.request();
        let total = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let skipped = usize::try_from(request.offset()).unwrap_or(usize::MAX);
        let limit = usize::try_from(request.limit()).unwrap_or(usize::MAX);
        let page = items.into_iter().skip(skipped).take(limit).collect();
        PageEnvelope::new(page, request.meta(total))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_of_a_whole_list_counts_the_list() {
        let page = |page, limit| {
            let selected = PageParameters { page, limit }.select((1..=5).collect::<Vec<i32>>());
            serde_json::to_value(selected).unwrap()
        };
        let second = page(Some(2), Some(2));
        assert_eq!(second["data"], json!([3, 4]));
        assert_eq!(second["meta"], json!({ "total": 5, "page": 2, "limit": 2 }));
        assert_eq!(page(None, None)["data"], json!([1, 2, 3, 4, 5]));
        assert_eq!(page(Some(9), Some(2))["data"], json!([]));
    }
}
