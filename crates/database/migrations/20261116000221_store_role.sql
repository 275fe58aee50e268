-- owner: database
-- contract: versions before this one write orders and evidence with the role of stores and must not run any more
-- The role of stores writes what a merchant may decide, and nothing from which its standing follows.

REVOKE INSERT, UPDATE, DELETE
    ON standing, identity_verification, placed_order, agent_event, checkout_comparison FROM souk_store;

-- Its catalog summarizes itself in the store; everything else of the store is an operator's decision.
REVOKE INSERT, UPDATE, DELETE ON store FROM souk_store;
GRANT UPDATE (last_sync_at, departments, product_count) ON store TO souk_store;

-- Where buyers pay is decided by owners, in a transaction of the platform that leaves an audit entry.
REVOKE INSERT, UPDATE, DELETE ON store_setting FROM souk_store;
GRANT INSERT (merchant_id, gtin_source, confirmation_policy, shipping, taxes, promotions, version, updated_at,
              destination_required, hold_limit_holds, hold_limit_units)
    ON store_setting TO souk_store;
GRANT UPDATE (gtin_source, confirmation_policy, shipping, taxes, promotions, version, updated_at,
              destination_required, hold_limit_holds, hold_limit_units)
    ON store_setting TO souk_store;
