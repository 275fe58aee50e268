-- owner: catalog
-- Figures of a catalog that the trust score reads: ratings, and how recent the pushes are.

ALTER TABLE catalog_quality
    ADD COLUMN rated_products bigint NOT NULL DEFAULT 0,
    ADD COLUMN rating_sum_hundredths bigint NOT NULL DEFAULT 0,
    -- Time since which at least 95 % of the products were pushed.
    ADD COLUMN pushed_since timestamptz,
    -- Whether the figures are older than these columns. A job computes them; until then the store keeps its standing.
    ADD COLUMN is_outdated boolean NOT NULL DEFAULT true;
-- The rows that exist are outdated, without being written; new ones are not.
ALTER TABLE catalog_quality ALTER COLUMN is_outdated SET DEFAULT false;
