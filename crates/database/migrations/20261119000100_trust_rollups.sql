-- owner: trust
-- Evidence of trust scores: what happened at a store on a day, by account. Every row can be computed again from orders, checkouts
-- and reports of payments.

CREATE TABLE trust_agent_day (
    merchant_id uuid NOT NULL,
    -- A day of UTC.
    day date NOT NULL,
    -- The account that owns the agent key. All keys of an account are one agent.
    account_id uuid NOT NULL,
    -- Checkouts started, the first 500 at most; those that became an order; those of them whose whole order the agent or the
    -- buyer did not cancel within ten days; those of which the merchant canceled nothing.
    started integer NOT NULL CHECK (started >= 0),
    completed integer NOT NULL CHECK (completed BETWEEN 0 AND started),
    lasting integer NOT NULL CHECK (lasting BETWEEN 0 AND completed),
    kept integer NOT NULL CHECK (kept BETWEEN 0 AND completed),
    -- Orders placed, and their total.
    orders integer NOT NULL CHECK (orders >= 0),
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    -- Orders shipped of which the merchant canceled nothing, and orders of which it canceled units for lack of stock.
    in_stock integer NOT NULL CHECK (in_stock >= 0),
    out_of_stock integer NOT NULL CHECK (out_of_stock >= 0),
    -- Orders delivered in time, and orders that were not or of which the merchant canceled units.
    on_time integer NOT NULL CHECK (on_time >= 0),
    late integer NOT NULL CHECK (late >= 0),
    delivered integer NOT NULL CHECK (delivered >= 0),
    -- Checkouts whose merchant charged the price of the quote, and those with another one.
    price_equal integer NOT NULL CHECK (price_equal >= 0),
    price_different integer NOT NULL CHECK (price_different >= 0),
    disputes_lost integer NOT NULL CHECK (disputes_lost >= 0),
    PRIMARY KEY (merchant_id, day, account_id)
);
-- Old days of all stores are deleted in batches.
CREATE INDEX trust_agent_day_age ON trust_agent_day (day);
ALTER TABLE trust_agent_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_agent_day FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_agent_day FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_agent_day TO souk_platform USING (true);
GRANT SELECT ON trust_agent_day TO souk_store;
GRANT SELECT, INSERT, DELETE ON trust_agent_day TO souk_platform;

-- Days whose rows have to be computed again.
CREATE SEQUENCE trust_mark;
GRANT USAGE ON SEQUENCE trust_mark TO souk_platform;
CREATE TABLE trust_stale_day (
    merchant_id uuid NOT NULL,
    day date NOT NULL,
    -- When to compute: at once, or when the promised time of an order has passed.
    due_at timestamptz NOT NULL,
    -- Another one with each mark, and greater, so that a mark during a computation is not lost.
    generation bigint NOT NULL DEFAULT nextval('trust_mark') CHECK (generation > 0),
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
    -- Orders that were delivered, at most five of each account. A score is provisional below twenty.
    delivered bigint NOT NULL CHECK (delivered >= 0),
    rolled_up_at timestamptz NOT NULL
);
ALTER TABLE trust_tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_tally FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_tally FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_tally TO souk_platform USING (true);
GRANT SELECT ON trust_tally TO souk_store;
GRANT SELECT, INSERT, UPDATE ON trust_tally TO souk_platform;

-- The same of each account: rows of days are deleted earlier.
CREATE TABLE trust_account_tally (
    merchant_id uuid NOT NULL,
    account_id uuid NOT NULL,
    -- All its orders that were delivered.
    delivered bigint NOT NULL CHECK (delivered > 0),
    PRIMARY KEY (merchant_id, account_id)
);
ALTER TABLE trust_account_tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_account_tally FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_account_tally FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_account_tally TO souk_platform USING (true);
GRANT SELECT ON trust_account_tally TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON trust_account_tally TO souk_platform;
