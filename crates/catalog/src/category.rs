//! The category tree of a store.

use std::collections::HashMap;

use primitives::CategoryId;

/// A category of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    pub id: CategoryId,
    /// `None` at the top level.
    pub parent: Option<CategoryId>,
    /// Path from the root: `home-kitchen/coffee`.
    pub path: String,
    /// Merchant text.
    pub name: String,
}

/// Path of a category: the slug and the name of each level.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CategoryPath(Vec<(String, String)>);

impl CategoryPath {
    /// Most levels of a tree.
    pub const LEVELS_MAX: usize = 8;
    /// Category of products without one.
    const OTHER: &'static str = "Other";

    /// Returns the path with these names from the top level down. Names without a letter or digit are left out.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let levels = names.into_iter().map(|name| (slug(&name), name));
        let levels = levels.filter(|(slug, _)| !slug.is_empty()).take(Self::LEVELS_MAX);
        let levels: Vec<_> = levels.collect();
        if levels.is_empty() { Self::new([Self::OTHER.to_owned()]) } else { Self(levels) }
    }

    /// Returns a path whose levels have these names.
    #[must_use]
    pub fn named(path: &str, names: impl IntoIterator<Item = String>) -> Self {
        Self(path.split('/').map(str::to_owned).zip(names).collect())
    }

    /// Returns the slugs, joined by slashes: `home-kitchen/coffee`.
    #[must_use]
    pub fn path(&self) -> String {
        self.0.iter().map(|(slug, _)| slug.as_str()).collect::<Vec<_>>().join("/")
    }

    /// Returns each category on the path, from the top: its path, the path of its parent, and its name.
    pub(crate) fn levels(&self) -> Vec<(String, Option<String>, &str)> {
        let mut levels: Vec<(String, Option<String>, &str)> = Vec::new();
        for (slug, name) in &self.0 {
            let parent = levels.last().map(|(path, ..)| path.clone());
            let path = match &parent {
                Some(parent) => format!("{parent}/{slug}"),
                None => slug.clone(),
            };
            levels.push((path, parent, name));
        }
        levels
    }
}

/// Returns the slug of a name: its words in lower case, joined by hyphens.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for word in name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
    {
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().flat_map(char::to_lowercase));
    }
    slug
}

/// A category with its subcategories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategoryNode {
    pub category: Category,
    /// Products in the category and below that agents can see, as last counted.
    pub product_count: i64,
    /// Ordered by path.
    pub children: Vec<CategoryNode>,
}

/// Builds the tree of these categories, each with the number of products directly in it.
#[must_use]
pub fn tree(categories: Vec<(Category, i64)>) -> Vec<CategoryNode> {
    let mut by_parent: HashMap<Option<CategoryId>, Vec<(Category, i64)>> = HashMap::new();
    for (category, count) in categories {
        by_parent.entry(category.parent).or_default().push((category, count));
    }
    children(None, &mut by_parent)
}

/// Removes each category as it is added to the tree, so that a cycle of parents cannot loop.
fn children(
    parent: Option<CategoryId>,
    by_parent: &mut HashMap<Option<CategoryId>, Vec<(Category, i64)>>,
) -> Vec<CategoryNode> {
    let mut categories = by_parent.remove(&parent).unwrap_or_default();
    categories.sort_by(|(left, _), (right, _)| left.path.cmp(&right.path));
    let node = |(category, own_count): (Category, i64)| {
        let children = children(Some(category.id), by_parent);
        let product_count =
            own_count + children.iter().map(|child| child.product_count).sum::<i64>();
        CategoryNode { category, product_count, children }
    };
    categories.into_iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    fn category(id: u128, parent: Option<u128>, path: &str) -> Category {
        let id_of = CategoryId::from_random;
        Category { id: id_of(id), parent: parent.map(id_of), path: path.into(), name: path.into() }
    }

    #[test]
    fn names_make_a_path() {
        let names = |names: &[&str]| CategoryPath::new(names.iter().map(ToString::to_string));
        let path = names(&["Home & Kitchen", "—", "Kaffee, Öl"]);
        assert_eq!(path.path(), "home-kitchen/kaffee-öl");
        assert_eq!(path.levels()[1].1.as_deref(), Some("home-kitchen"));
        assert_eq!(names(&["!!"]).path(), "other");
    }

    #[test]
    fn counts_include_subcategories() {
        let tree = tree(vec![
            (category(3, Some(1), "home/coffee"), 4),
            (category(2, None, "books"), 1),
            (category(1, None, "home"), 2),
        ]);
        let shown: Vec<_> =
            tree.iter().map(|n| (n.category.path.as_str(), n.product_count)).collect();
        assert_eq!(shown, [("books", 1), ("home", 6)]);
        assert_eq!(tree[1].children[0].product_count, 4);
    }

    #[test]
    fn a_cycle_of_parents_does_not_loop() {
        let cycle = tree(vec![(category(1, Some(2), "a"), 1), (category(2, Some(1), "b"), 1)]);
        assert!(cycle.is_empty());
    }
}
