-- owner: orders
-- Disputes about orders, what both sides wrote, and feedback of agents.

CREATE TABLE order_dispute (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    dispute_id uuid NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'under_review', 'resolved', 'withdrawn')),
    reason text NOT NULL,
    opened_by text NOT NULL CHECK (opened_by IN ('agent', 'buyer')),
    -- Until when the merchant may answer, and until when the platform decides.
    respond_by timestamptz NOT NULL,
    decide_by timestamptz,
    -- When the merchant was reminded of the deadline.
    reminded_at timestamptz,
    answered_at timestamptz,
    -- The refund that the merchant proposed and the buyer may accept; null without a proposal.
    proposed_minor bigint CHECK (proposed_minor >= 0),
    resolution text CHECK (resolution IN ('buyer', 'merchant', 'agreement')),
    -- The refund decided; null without one.
    refund_minor bigint CHECK (refund_minor >= 0),
    opened_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    resolved_at timestamptz,
    PRIMARY KEY (merchant_id, order_id, dispute_id),
    FOREIGN KEY (merchant_id, order_id) REFERENCES placed_order ON DELETE CASCADE,
    CHECK ((status = 'resolved') = (resolution IS NOT NULL))
);
CREATE UNIQUE INDEX order_dispute_id ON order_dispute (dispute_id);
-- One open dispute for an order.
CREATE UNIQUE INDEX order_dispute_open ON order_dispute (merchant_id, order_id) WHERE status IN ('open', 'under_review');
CREATE INDEX order_dispute_due ON order_dispute (respond_by, dispute_id) WHERE status = 'open';
CREATE INDEX order_dispute_listed ON order_dispute (merchant_id, opened_at DESC, dispute_id);
CREATE INDEX order_dispute_undecided ON order_dispute (decide_by, dispute_id) WHERE status = 'under_review';
ALTER TABLE order_dispute ENABLE ROW LEVEL SECURITY;
ALTER TABLE order_dispute FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON order_dispute TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON order_dispute TO souk_platform USING (true);
GRANT SELECT ON order_dispute TO souk_store, souk_platform;
GRANT SELECT, INSERT ON order_dispute TO souk_checkout;
GRANT UPDATE (status, decide_by, reminded_at, answered_at, proposed_minor, resolution, refund_minor, updated_at, resolved_at)
    ON order_dispute TO souk_checkout;

CREATE TABLE dispute_statement (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    dispute_id uuid NOT NULL,
    -- 33 of each actor, and the decision.
    position integer NOT NULL CHECK (position BETWEEN 1 AND 133),
    actor text NOT NULL CHECK (actor IN ('agent', 'buyer', 'merchant', 'platform')),
    -- Texts of the parties.
    statement text NOT NULL CHECK (length(statement) BETWEEN 1 AND 4000),
    -- Links to evidence, never fetched.
    evidence jsonb NOT NULL CHECK (jsonb_array_length(evidence) <= 10),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, order_id, dispute_id, position),
    FOREIGN KEY (merchant_id, order_id, dispute_id) REFERENCES order_dispute ON DELETE CASCADE
);
ALTER TABLE dispute_statement ENABLE ROW LEVEL SECURITY;
ALTER TABLE dispute_statement FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON dispute_statement TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON dispute_statement TO souk_platform USING (true);
GRANT SELECT ON dispute_statement TO souk_store, souk_platform;
GRANT SELECT, INSERT ON dispute_statement TO souk_checkout;
-- A buyer's data is erased on request.
GRANT UPDATE (statement, evidence) ON dispute_statement TO souk_platform;

CREATE TABLE order_feedback (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    agent_key_id uuid NOT NULL,
    outcome text NOT NULL,
    -- Text of the agent.
    note text CHECK (length(note) BETWEEN 1 AND 2000),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, order_id, agent_key_id),
    FOREIGN KEY (merchant_id, order_id) REFERENCES placed_order ON DELETE CASCADE
);
ALTER TABLE order_feedback ENABLE ROW LEVEL SECURITY;
ALTER TABLE order_feedback FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON order_feedback TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON order_feedback TO souk_platform USING (true);
GRANT SELECT ON order_feedback TO souk_store, souk_platform;
GRANT SELECT, INSERT ON order_feedback TO souk_checkout;
GRANT UPDATE (outcome, note, created_at) ON order_feedback TO souk_checkout;
-- A buyer's data is erased on request.
GRANT UPDATE (note) ON order_feedback TO souk_platform;
