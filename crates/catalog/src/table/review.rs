//! Reviews.

use database::Work;
use primitives::{MerchantId, ProductId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Review;

/// Replaces the merchant's reviews of a product if they differ. Returns whether they did.
pub(crate) async fn put_reviews(
    work: &mut Work,
    merchant: MerchantId,
    product: ProductId,
    reviews: &[Review],
) -> sqlx::Result<bool> {
    let ids: Vec<&str> = reviews.iter().map(|review| review.external_id.as_str()).collect();
    let deleted = sqlx::query!(
        "DELETE FROM review
         WHERE merchant_id = $1 AND product_id = $2 AND source = 'merchant' AND external_id <> ALL ($3)",
        merchant as MerchantId,
        product as ProductId,
        &ids as _,
    )
    .execute(work.sql())
    .await?;
    let written = sqlx::query!(
        "INSERT INTO review (merchant_id, product_id, external_id, stars, title, text, author, written_at, source)
         SELECT $1, $2, new.*, 'merchant'
         FROM unnest($3::text[], $4::smallint[], $5::text[], $6::text[], $7::text[], $8::timestamptz[]) AS new
         ON CONFLICT (merchant_id, product_id, external_id) DO UPDATE SET
             stars = excluded.stars, title = excluded.title, text = excluded.text,
             author = excluded.author, written_at = excluded.written_at
         WHERE (review.stars, review.title, review.text, review.author, review.written_at)
             IS DISTINCT FROM
             (excluded.stars, excluded.title, excluded.text, excluded.author, excluded.written_at)",
        merchant as MerchantId,
        product as ProductId,
        &ids as _,
        &reviews.iter().map(|review| review.stars).collect::<Vec<_>>(),
        &reviews.iter().map(|review| review.title.as_str()).collect::<Vec<_>>() as _,
        &reviews.iter().map(|review| review.text.as_str()).collect::<Vec<_>>() as _,
        &reviews.iter().map(|review| review.author.as_str()).collect::<Vec<_>>() as _,
        &reviews.iter().map(|review| review.written_at).collect::<Vec<_>>() as _,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected() + written.rows_affected() > 0)
}

/// Returns which of these products have reviews.
pub(crate) async fn reviewed(
    work: &mut Work,
    merchant: MerchantId,
    products: &[Uuid],
) -> sqlx::Result<Vec<ProductId>> {
    sqlx::query_scalar!(
        r#"SELECT DISTINCT product_id AS "id: ProductId" FROM review
           WHERE merchant_id = $1 AND product_id = ANY ($2)"#,
        merchant as MerchantId,
        products,
    )
    .fetch_all(work.sql())
    .await
}

/// Returns the newest reviews of a product.
pub(crate) async fn reviews(
    sql: &mut PgConnection,
    merchant: MerchantId,
    product: ProductId,
    limit: i64,
) -> sqlx::Result<Vec<Review>> {
    sqlx::query_as!(
        Review,
        r#"SELECT external_id, stars, title, text, author, written_at AS "written_at: Timestamp"
           FROM review WHERE merchant_id = $1 AND product_id = $2
           ORDER BY written_at DESC, external_id LIMIT $3"#,
        merchant as MerchantId,
        product as ProductId,
        limit,
    )
    .fetch_all(sql)
    .await
}
