-- owner: carts
-- Who asks and who buys; and carts whose checkout ran out.

ALTER TABLE cart
    -- What the key was called when the cart was made: the person who is asked to approve reads it.
    ADD COLUMN agent_name text NOT NULL DEFAULT '',
    ADD COLUMN is_sandbox boolean NOT NULL DEFAULT false,
    ADD COLUMN buyer jsonb,
    DROP CONSTRAINT cart_status_check,
    ADD CONSTRAINT cart_status_check
        CHECK (status IN ('active', 'checkout_started', 'converted', 'expired', 'canceled'));
