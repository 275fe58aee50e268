-- owner: merchants
-- How agents pay in tokens at a store: account, network, limit, rate. Null: they cannot. Like the page where buyers pay, it is decided by
-- owners, in a transaction of the platform that leaves an audit entry: the role of stores may not write it.

ALTER TABLE store_setting ADD COLUMN x402 jsonb;
