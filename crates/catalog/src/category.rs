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

/// The way to a place: each step as a part of the path, and as a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CategoryPath(Vec<(String, String)>);

impl CategoryPath {
    /// Levels a tree may have.
    pub const LEVELS_MAX: usize = 8;
    /// Where products without a category stand.
    const OTHER: &'static str = "Other";

    /// The way by these names, from the top; names without a letter or digit are left out.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let steps = names.into_iter().map(|name| (slug(&name), name));
        let steps = steps.filter(|(part, _)| !part.is_empty()).take(Self::LEVELS_MAX);
        let steps: Vec<_> = steps.collect();
        if steps.is_empty() { Self::new([Self::OTHER.to_owned()]) } else { Self(steps) }
    }

    /// The way by a path whose places have these names.
    #[must_use]
    pub fn named(path: &str, names: impl IntoIterator<Item = String>) -> Self {
        Self(path.split('/').map(str::to_owned).zip(names).collect())
    }

    /// The path: `home-kitchen/coffee`.
    #[must_use]
    pub fn path(&self) -> String {
        self.0.iter().map(|(part, _)| part.as_str()).collect::<Vec<_>>().join("/")
    }

    /// Every place on the way, from the top: its path, the path above it, and its name.
    pub(crate) fn places(&self) -> Vec<(String, Option<String>, &str)> {
        let mut places: Vec<(String, Option<String>, &str)> = Vec::new();
        for (part, name) in &self.0 {
            let above = places.last().map(|(path, ..)| path.clone());
            let path = match &above {
                Some(above) => format!("{above}/{part}"),
                None => part.clone(),
            };
            places.push((path, above, name));
        }
        places
    }
}

/// A name as a part of a path: letters and digits in lower case, with hyphens between words.
fn slug(name: &str) -> String {
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

/// A place in the tree with what is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategoryNode {
    /// The place.
    pub category: Category,
    /// Products here and below that agents can see, as last counted.
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
    fn names_make_a_path() {
        let names = |names: &[&str]| CategoryPath::new(names.iter().map(ToString::to_string));
        let way = names(&["Home & Kitchen", "—", "Kaffee, Öl"]);
        assert_eq!(way.path(), "home-kitchen/kaffee-öl");
        assert_eq!(way.places()[1].1.as_deref(), Some("home-kitchen"));
        assert_eq!(names(&["!!"]).path(), "other");
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
