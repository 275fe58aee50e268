-- no-transaction
-- owner: orders
-- A merchant asks which of its orders changed since a time. Without further columns: an index that answered other lists by
-- itself would be chosen for them, and sort all orders of the store.

CREATE INDEX CONCURRENTLY placed_order_changed ON placed_order (merchant_id, updated_at DESC, order_id) WHERE NOT is_sandbox;
