-- owner: payments
-- Only checkouts write payments. What is to be paid never changes, and only attempts without real money are deleted.

REVOKE INSERT, UPDATE, DELETE ON payment FROM souk_store, souk_platform;
GRANT INSERT, DELETE ON payment TO souk_checkout;
GRANT UPDATE (status, attempt_reference, page_url, reference, ended_at, next_check_at, check_count,
              charged_minor, refunded_minor, reversed_minor, refunding_minor)
    ON payment TO souk_checkout;
CREATE POLICY real_payments_remain ON payment AS RESTRICTIVE FOR DELETE USING (NOT is_live);
