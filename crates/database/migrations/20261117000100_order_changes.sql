-- owner: orders
-- What changes about an order after its purchase: the version, quantities of its lines, refunds, delivery and destination.

-- Whether the quantities of every line add up: canceled and shipped units are ordered ones, returned units are shipped ones.
CREATE FUNCTION order_quantities_fit(lines jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN NOT EXISTS (
        SELECT FROM jsonb_array_elements(lines) AS line,
            LATERAL (SELECT (line ->> 'quantity')::bigint AS ordered,
                            coalesce((line ->> 'canceled')::bigint, 0) AS canceled,
                            coalesce((line ->> 'shipped')::bigint, 0) AS shipped,
                            coalesce((line ->> 'returned')::bigint, 0) AS returned) AS units
        WHERE canceled < 0 OR shipped < 0 OR returned < 0 OR canceled + shipped > ordered OR returned > shipped
    );

ALTER TABLE placed_order
    -- The sequence of the newest entry of the history; the placement is 1.
    ADD COLUMN version integer NOT NULL DEFAULT 1,
    -- As reported by the crate that knows of money. Refunds are counted in refunded_minor.
    ADD COLUMN payment_status text NOT NULL DEFAULT 'paid',
    ADD COLUMN refunded_minor bigint NOT NULL DEFAULT 0,
    -- The latest delivery that the terms promised; null if they promised none.
    ADD COLUMN promised_by timestamptz,
    ADD COLUMN delivered_at timestamptz,
    -- The end of the return window; null until delivery.
    ADD COLUMN returnable_until timestamptz,
    -- The destination, if it was changed after the purchase. The terms keep the approved one.
    ADD COLUMN destination jsonb,
    ADD COLUMN note text,
    -- `NOT VALID`: the table is not read while it is locked. The next migration validates them.
    ADD CONSTRAINT placed_order_payment_status_check
        CHECK (payment_status IN ('unpaid', 'authorized', 'paid', 'failed', 'disputed')) NOT VALID,
    ADD CONSTRAINT placed_order_note_check CHECK (length(note) BETWEEN 1 AND 2000) NOT VALID,
    ADD CONSTRAINT placed_order_refunded CHECK (refunded_minor BETWEEN 0 AND total_minor) NOT VALID,
    ADD CONSTRAINT placed_order_quantities CHECK (order_quantities_fit(lines)) NOT VALID;
