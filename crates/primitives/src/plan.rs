//! Subscription plans.

crate::text_enum! {
    /// A subscription plan (docs/contract/limits.md#plan-limits), cheapest first. `limits` and `identity` define what each
    /// plan allows.
    #[derive(Default)]
    #[strum(serialize_all = "UPPERCASE")]
    pub enum Plan {
        #[default]
        Free,
        Starter,
        Growth,
        Pro,
        Enterprise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_ordered_by_price_and_named_in_upper_case() {
        let names: Vec<&str> = Plan::ALL.iter().map(|plan| plan.as_str()).collect();
        assert_eq!(names, ["FREE", "STARTER", "GROWTH", "PRO", "ENTERPRISE"]);
        assert!(Plan::ALL.is_sorted());
        assert_eq!(Plan::parse("free"), None);
    }
}
