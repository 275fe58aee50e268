-- owner: trust
-- Evidence of trust scores: what happened at a store on a day, by account. Every row can be computed again from orders, checkouts
-- and reports of payments.

CREATE TABLE trust_agent_day (
    merchant_id uuid NOT NULL,
    -- A day of UTC.
    day date NOT NULL,
    -- The account that owns the agent key. All keys of an account are one agent.
    account_id uuid NOT NULL,
    -- Checkouts started; those that became an order; those of them of which the merchant canceled nothing as out of stock.
    started integer NOT NULL CHECK (started >= 0),
    completed integer NOT NULL CHECK (completed BETWEEN 0 AND started),
    kept integer NOT NULL CHECK (kept BETWEEN 0 AND completed),
    -- Orders placed, and their total.
    orders integer NOT NULL CHECK (orders >= 0),
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    -- Orders shipped without a cancellation for lack of stock, and orders with one.
    in_stock integer NOT NULL CHECK (in_stock >= 0),
    out_of_stock integer NOT NULL CHECK (out_of_stock >= 0),
    -- Orders delivered by the promised time, and orders that were not.
    on_time integer NOT NULL CHECK (on_time >= 0),
    late integer NOT NULL CHECK (late >= 0),
    delivered integer NOT NULL CHECK (delivered >= 0),
    -- Checkouts whose merchant reported the amount of the quote, and those with another one.
    price_equal integer NOT NULL CHECK (price_equal >= 0),
    price_different integer NOT NULL CHECK (price_different >= 0),
    disputes_lost integer NOT NULL CHECK (disputes_lost >= 0),
    PRIMARY KEY (merchant_id, day, account_id)
);
ALTER TABLE trust_agent_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_agent_day FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_agent_day FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_agent_day TO souk_platform USING (true);
GRANT SELECT ON trust_agent_day TO souk_store;
GRANT SELECT, INSERT, DELETE ON trust_agent_day TO souk_platform;

-- Days whose rows have to be computed again.
CREATE TABLE trust_stale_day (
    merchant_id uuid NOT NULL,
    day date NOT NULL,
    -- When to compute: at once, or when the promised time of an order has passed.
    due_at timestamptz NOT NULL,
    -- Counts the marks, so that a mark during a computation is not lost.
    generation bigint NOT NULL CHECK (generation > 0),
    -- The name of the row in the sweep.
    row_id uuid NOT NULL GENERATED ALWAYS AS (md5(merchant_id::text || (day - DATE '1970-01-01')::text)::uuid) STORED,
    PRIMARY KEY (merchant_id, day)
);
CREATE INDEX trust_stale_day_due ON trust_stale_day (due_at, row_id);
ALTER TABLE trust_stale_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_stale_day FORCE ROW LEVEL SECURITY;
CREATE POLICY all_stores ON trust_stale_day TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON trust_stale_day TO souk_platform;

-- What is counted over all days of a store.
CREATE TABLE trust_tally (
    merchant_id uuid PRIMARY KEY,
    -- Orders that were delivered. A score is provisional below twenty.
    delivered bigint NOT NULL CHECK (delivered >= 0),
    rolled_up_at timestamptz NOT NULL
);
ALTER TABLE trust_tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_tally FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_tally FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_tally TO souk_platform USING (true);
GRANT SELECT ON trust_tally TO souk_store;
GRANT SELECT, INSERT, UPDATE ON trust_tally TO souk_platform;
