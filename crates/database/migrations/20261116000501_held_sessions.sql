-- no-transaction
-- owner: checkout
-- What one key holds at a store is counted when it completes another checkout.

CREATE INDEX CONCURRENTLY checkout_session_holds ON checkout_session (merchant_id, agent_key_id) WHERE is_holding;
