//! `browse_categories`: the category tree (docs/contract/mcp.md#shown-tools).

use catalog::CategoryNode;
use primitives::{CategoryId, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct BrowseCategories;

/// Levels returned by default, and at most.
const DEPTH_DEFAULT: i64 = 2;
const DEPTH_MAX: i64 = 5;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Path or id of a category: list only its subcategories. Default: the root.
    parent: Option<String>,
    /// Levels to return, 1 to 5; default 2.
    #[schemars(range(min = 1, max = 5))]
    depth: Option<i64>,
    /// Return product counts; default true.
    include_counts: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Number of categories returned, at all levels.
    total: i64,
    /// Categories, ordered by path.
    categories: Vec<CategoryBranch>,
}

/// A category and its subcategories.
#[derive(Serialize, JsonSchema)]
pub(super) struct CategoryBranch {
    /// Category identifier.
    id: CategoryId,
    /// Path from the root; accepted by the `category` argument of other tools.
    path: String,
    /// Display name.
    name: String,
    /// Number of products in this category and its subcategories.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_count: Option<i64>,
    /// Subcategories; omitted if there are none or `depth` is reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    children: Vec<CategoryBranch>,
}

impl Tool for BrowseCategories {
    const NAME: &'static str = "browse_categories";
    const TITLE: &'static str = "Browse categories";
    const PURPOSE: &'static str = "List this store's product categories as a tree with product counts. Use it to learn what the store sells; use search_products to find products.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let reading = context.reading()?;
        let parent = arguments.parent.as_deref();
        let nodes = catalog::categories(&reading, context.store.merchant, parent).await?;
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
