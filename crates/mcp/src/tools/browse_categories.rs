//! `browse_categories`: category browsing (spec §4.3).

use catalog::CategoryNode;
use primitives::{CategoryId, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct BrowseCategories;

/// Levels shown when the caller names no number, and at the most.
const DEPTH_DEFAULT: i64 = 2;
const DEPTH_MAX: i64 = 5;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Show only what is below this category: its path or its id. Left out: the top of the tree.
    parent: Option<String>,
    /// How many levels to show, 1 to 5. Left out: 2.
    #[schemars(range(min = 1, max = 5))]
    depth: Option<i64>,
    /// Whether to count the products in each category and below. Left out: true.
    include_counts: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Number of categories shown.
    total: i64,
    /// The categories, by path.
    categories: Vec<CategoryBranch>,
}

/// A category and what is below it.
#[derive(Serialize, JsonSchema)]
pub(super) struct CategoryBranch {
    /// Category identifier.
    id: CategoryId,
    /// The way from the root; what the category argument of other tools takes.
    path: String,
    /// What it is called.
    name: String,
    /// Products here and below.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_count: Option<i64>,
    /// Categories below; left out where there are none or where the depth ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    children: Vec<CategoryBranch>,
}

impl Tool for BrowseCategories {
    const NAME: &'static str = "browse_categories";
    const TITLE: &'static str = "Browse categories";
    const PURPOSE: &'static str = "List this store's categories as a tree, with the number of products \
        in each. Use it to learn what the store sells before searching.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let reading = call.reading()?;
        let parent = arguments.parent.as_deref();
        let nodes = catalog::categories(&reading, call.store.merchant, parent).await?;
        let depth = arguments.depth.unwrap_or(DEPTH_DEFAULT).clamp(1, DEPTH_MAX);
        let counts = arguments.include_counts.unwrap_or(true);
        let categories: Vec<_> =
            nodes.into_iter().map(|node| branch(node, depth, counts)).collect();
        Ok(Output { total: categories.iter().map(CategoryBranch::size).sum(), categories })
    }
}

fn branch(node: CategoryNode, depth: i64, counts: bool) -> CategoryBranch {
    let deeper = if depth > 1 { node.children } else { Vec::new() };
    CategoryBranch {
        id: node.category.id,
        path: node.category.path,
        name: node.category.name,
        product_count: counts.then_some(node.product_count),
        children: deeper.into_iter().map(|child| branch(child, depth - 1, counts)).collect(),
    }
}

impl CategoryBranch {
    fn size(&self) -> i64 {
        1 + self.children.iter().map(Self::size).sum::<i64>()
    }
}
