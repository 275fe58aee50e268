-- owner: merchants
-- Whether a purchase needs a destination before it is completed, and how much one agent key may hold.

ALTER TABLE store_setting
    ADD COLUMN destination_required boolean NOT NULL DEFAULT false,
    -- Null: the limits of the agent's plan.
    ADD COLUMN hold_limit_holds integer CHECK (hold_limit_holds > 0),
    ADD COLUMN hold_limit_units integer CHECK (hold_limit_units > 0),
    ADD CONSTRAINT store_setting_hold_limits CHECK ((hold_limit_holds IS NULL) = (hold_limit_units IS NULL));
