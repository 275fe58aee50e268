//! Categories.

use std::collections::{BTreeMap, HashMap};

use database::Work;
use primitives::{CategoryId, MerchantId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::read::visible_currencies;
use crate::{Category, CategoryPath};

pub(crate) async fn put_category(
    work: &mut Work,
    merchant: MerchantId,
    category: &Category,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO category (merchant_id, category_id, parent_id, path, name)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (merchant_id, category_id) DO UPDATE SET parent_id = $3, path = $4, name = $5",
        merchant as MerchantId,
        category.id as CategoryId,
        category.parent as Option<CategoryId>,
        category.path,
        category.name,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the ids of all categories on these paths. Missing categories are created, level by level, so that each finds
/// its parent.
pub(crate) async fn ensure_categories<'path>(
    work: &mut Work,
    merchant: MerchantId,
    paths: impl Iterator<Item = &'path CategoryPath>,
) -> sqlx::Result<HashMap<String, CategoryId>> {
    let mut categories = BTreeMap::new();
    for path in paths {
        for (level, (path, parent, name)) in path.levels().into_iter().enumerate() {
            categories.insert((level, path), (parent, name));
        }
    }
    let paths: Vec<String> = categories.keys().map(|(_, path)| path.clone()).collect();
    let mut ids = by_path(work, merchant, &paths).await?;
    let mut missing: BTreeMap<usize, Vec<(String, Option<Uuid>, String)>> = BTreeMap::new();
    for ((level, path), (parent, name)) in categories {
        if !ids.contains_key(&path) {
            let parent = parent.and_then(|parent| ids.get(&parent)).map(|id| id.uuid());
            missing.entry(level).or_default().push((path.clone(), parent, name.to_owned()));
            // The id is assigned before the insert, so that its children find it.
            ids.insert(path, work.new_id());
        }
    }
    for categories in missing.into_values() {
        insert(work, merchant, &categories, &mut ids).await?;
    }
    Ok(ids)
}

async fn by_path(
    work: &mut Work,
    merchant: MerchantId,
    paths: &[String],
) -> sqlx::Result<HashMap<String, CategoryId>> {
    let rows = sqlx::query!(
        r#"SELECT path, category_id AS "id: CategoryId" FROM category
           WHERE merchant_id = $1 AND path = ANY ($2)"#,
        merchant as MerchantId,
        paths,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().map(|row| (row.path, row.id)).collect())
}

/// Inserts the categories of one level. If another transaction has inserted one meanwhile, that one is used.
async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    categories: &[(String, Option<Uuid>, String)],
    ids: &mut HashMap<String, CategoryId>,
) -> sqlx::Result<()> {
    let paths: Vec<String> = categories.iter().map(|(path, ..)| path.clone()).collect();
    let new: Vec<Uuid> =
        paths.iter().map(|path| ids.get(path).map(|id| id.uuid()).unwrap_or_default()).collect();
    let names: Vec<String> = categories.iter().map(|(.., name)| name.clone()).collect();
    // Looked up again, because another transaction may have inserted the parent.
    let parents: Vec<Option<Uuid>> = categories
        .iter()
        .map(|(path, ..)| path.rsplit_once('/').and_then(|(parent, _)| ids.get(parent)))
        .map(|id| id.map(|id| id.uuid()))
        .collect();
    sqlx::query!(
        "INSERT INTO category (merchant_id, category_id, parent_id, path, name)
         SELECT $1, place.id, place.parent, place.path, place.name
         FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) AS place (id, parent, path, name)
         ORDER BY place.path
         ON CONFLICT (merchant_id, path) DO NOTHING",
        merchant as MerchantId,
        &new,
        &parents as _,
        &paths,
        &names,
    )
    .execute(work.sql())
    .await?;
    ids.extend(by_path(work, merchant, &paths).await?);
    Ok(())
}

/// Counts the products directly in each category and updates the counts that differ.
pub(crate) async fn count_products(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE category SET product_count = counted.products
         FROM (SELECT category.category_id, count(product.product_id) AS products
               FROM category LEFT JOIN product
                 ON product.merchant_id = $1 AND product.category_id = category.category_id
                AND product.retired_at IS NULL AND product.currency = ANY ($2)
               WHERE category.merchant_id = $1 GROUP BY category.category_id) AS counted
         WHERE category.merchant_id = $1 AND category.category_id = counted.category_id
           AND category.product_count <> counted.products",
        merchant as MerchantId,
        &visible_currencies(),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the names of the top-level categories with products, as last counted.
pub(crate) async fn top_level_names(
    work: &mut Work,
    merchant: MerchantId,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "SELECT name FROM category AS top
         WHERE merchant_id = $1 AND parent_id IS NULL
           AND EXISTS (SELECT FROM category AS below
                       WHERE below.merchant_id = $1 AND below.product_count > 0
                         AND (below.path = top.path OR starts_with(below.path, top.path || '/')))
         ORDER BY path",
        merchant as MerchantId,
    )
    .fetch_all(work.sql())
    .await
}

pub(crate) async fn categories(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<(Category, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT category_id AS "id: CategoryId", parent_id AS "parent: CategoryId", path, name,
                  product_count
           FROM category WHERE merchant_id = $1"#,
        merchant as MerchantId,
    )
    .fetch_all(sql)
    .await?;
    let category = |id, parent, path, name| Category { id, parent, path, name };
    Ok(rows
        .into_iter()
        .map(|row| (category(row.id, row.parent, row.path, row.name), row.product_count))
        .collect())
}
