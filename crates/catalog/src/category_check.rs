//! The categories that settings of a store name.

use std::collections::BTreeSet;

use database::Work;
use merchants::{InvalidSetting, Settings, SettingsError};
use primitives::MerchantId;

use crate::category::slug;
use crate::{CatalogError, Category, table};

/// Describes valid categories; completes "must be …".
const ALLOWED: &str = "the path of a category of the store, such as home-kitchen/coffee; the tool browse_categories lists them";
/// Least similarity of a suggestion, 0 to 1.
const SIMILARITY_MIN: f64 = 0.6;

/// Checks the categories that settings name and the former ones did not: a tax or a promotion of a category that the store
/// does not have would never apply. While the store has no categories, any path is accepted.
pub async fn check_categories(
    work: &mut Work,
    merchant: MerchantId,
    settings: &Settings,
    former: &Settings,
) -> Result<(), CatalogError> {
    let known: BTreeSet<&str> = former.categories().map(|(_, category)| category).collect();
    let mut new: Vec<(String, &str)> = settings.categories().collect();
    new.retain(|(_, category)| !known.contains(category));
    if new.is_empty() {
        return Ok(());
    }
    let found = table::categories(work.sql(), merchant).await?;
    let categories: Vec<Category> = found.into_iter().map(|(category, _)| category).collect();
    for (field, sent) in new {
        let is_known = if categories.is_empty() {
            path_of(sent) == sent
        } else {
            categories.iter().any(|category| category.path == sent)
        };
        if !is_known {
            let invalid = InvalidSetting::new(field, ALLOWED).suggest(nearest(&categories, sent));
            return Err(SettingsError::from(invalid).into());
        }
    }
    Ok(())
}

/// Returns the path that a path of names has: `Home & Kitchen > Coffee` is `home-kitchen/coffee`.
fn path_of(text: &str) -> String {
    let levels = text.split(['/', '>']).map(slug).filter(|level| !level.is_empty());
    levels.collect::<Vec<_>>().join("/")
}

/// Returns the path of the category that is probably meant: the one with this name or last level, else the most similar.
fn nearest(categories: &[Category], sent: &str) -> Option<String> {
    let wanted = path_of(sent);
    let is_same = |category: &&Category| {
        let last = category.path.rsplit('/').next().unwrap_or_default();
        [category.path.as_str(), last, slug(&category.name).as_str()].contains(&wanted.as_str())
    };
    let by_depth = |category: &&Category| category.path.matches('/').count();
    if let Some(same) = categories.iter().filter(is_same).min_by_key(by_depth) {
        return Some(same.path.clone());
    }
    let similarity = |category: &Category| {
        let path = strsim::normalized_levenshtein(&category.path, &wanted);
        path.max(strsim::normalized_levenshtein(&slug(&category.name), &wanted))
    };
    let scored = categories.iter().map(|category| (similarity(category), category));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(score, _)| *score >= SIMILARITY_MIN).map(|(_, category)| category.path.clone())
}

#[cfg(test)]
mod tests {
    use primitives::{CategoryId, Id};

    use super::*;

    fn categories() -> Vec<Category> {
        let category = |number: u128, path: &str, name: &str| Category {
            id: CategoryId::from_random(number),
            parent: None,
            path: path.to_owned(),
            name: name.to_owned(),
        };
        vec![
            category(1, "home-kitchen", "Home & Kitchen"),
            category(2, "home-kitchen/coffee", "Coffee"),
            category(3, "garden", "Garden"),
        ]
    }

    #[test]
    fn a_name_suggests_the_path() {
        for (sent, path) in [
            ("Home & Kitchen", Some("home-kitchen")),
            ("Home & Kitchen > Coffee", Some("home-kitchen/coffee")),
            ("coffee", Some("home-kitchen/coffee")),
            ("gardn", Some("garden")),
            ("Quantum physics", None),
        ] {
            assert_eq!(nearest(&categories(), sent).as_deref(), path, "{sent}");
        }
    }
}
