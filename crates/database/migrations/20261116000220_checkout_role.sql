-- owner: database
-- A third role: a store's, with the right to write orders and the evidence of checkouts. What a merchant's own requests
-- write, catalog and settings, they write without that right.

DO $$
BEGIN
    -- Roles belong to the cluster, not to the database: another database may have made this one already.
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'souk_checkout') THEN
        BEGIN
            CREATE ROLE souk_checkout NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END IF;
    -- What the role of stores may do, and the policies for its rows.
    IF NOT pg_has_role('souk_checkout', 'souk_store', 'MEMBER') THEN
        BEGIN
            GRANT souk_store TO souk_checkout;
        EXCEPTION WHEN unique_violation OR internal_error THEN
            NULL;
        END;
    END IF;
    -- From PostgreSQL 16 on, whoever creates a role may not yet SET it; granting it says so.
    BEGIN
        EXECUTE format('GRANT souk_checkout TO %I', current_user);
    EXCEPTION WHEN insufficient_privilege OR unique_violation OR internal_error THEN
        NULL;
    END;
END
$$;
GRANT SELECT, INSERT, UPDATE, DELETE ON placed_order, agent_event, checkout_comparison TO souk_checkout;
