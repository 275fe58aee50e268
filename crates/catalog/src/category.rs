//! A store's tree of categories.

use std::collections::HashMap;

use primitives::CategoryId;

/// A place in a store's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Its id.
    pub id: CategoryId,
    /// The place above it.
    pub parent: Option<CategoryId>,
    /// The way from the root: `home-kitchen/coffee`.
    pub path: String,
    /// What it is called. Merchant text.
    pub name: String,
}

/// A place in the tree with what is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategoryNode {
    /// The place.
    pub category: Category,
    /// Products here and below.
    pub product_count: i64,
    /// The places below, by path.
    pub children: Vec<CategoryNode>,
}

/// Builds the tree from its places, each with the number of products right at it.
#[must_use]
pub fn tree(places: Vec<(Category, i64)>) -> Vec<CategoryNode> {
    let mut below: HashMap<Option<CategoryId>, Vec<(Category, i64)>> = HashMap::new();
    for (category, count) in places {
        below.entry(category.parent).or_default().push((category, count));
    }
    grow(None, &mut below)
}

/// Each place is taken out when it is placed, so even a ring of parents comes to an end.
fn grow(
    parent: Option<CategoryId>,
    below: &mut HashMap<Option<CategoryId>, Vec<(Category, i64)>>,
) -> Vec<CategoryNode> {
    let mut places = below.remove(&parent).unwrap_or_default();
    places.sort_by(|(left, _), (right, _)| left.path.cmp(&right.path));
    let node = |(category, here): (Category, i64)| {
        let children = grow(Some(category.id), below);
        let product_count = here + children.iter().map(|child| child.product_count).sum::<i64>();
        CategoryNode { category, product_count, children }
    };
    places.into_iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    fn place(id: u128, parent: Option<u128>, path: &str) -> Category {
        let id_of = CategoryId::from_random;
        Category { id: id_of(id), parent: parent.map(id_of), path: path.into(), name: path.into() }
    }

    #[test]
    fn counts_add_up_from_below() {
        let tree = tree(vec![
            (place(3, Some(1), "home/coffee"), 4),
            (place(2, None, "books"), 1),
            (place(1, None, "home"), 2),
        ]);
        let shown: Vec<_> =
            tree.iter().map(|n| (n.category.path.as_str(), n.product_count)).collect();
        assert_eq!(shown, [("books", 1), ("home", 6)]);
        assert_eq!(tree[1].children[0].product_count, 4);
    }

    #[test]
    fn a_ring_of_parents_is_not_followed_for_ever() {
        let ring = tree(vec![(place(1, Some(2), "a"), 1), (place(2, Some(1), "b"), 1)]);
        assert!(ring.is_empty());
    }
}
