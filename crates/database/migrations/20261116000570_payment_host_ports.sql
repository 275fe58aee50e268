-- owner: merchants
-- An allowed host names its port, unless that is the one of https. Hosts in use stay allowed, now with their port.

INSERT INTO store_host (merchant_id, host, allowed_at)
SELECT merchant_id, host, updated_at
FROM (
    SELECT merchant_id, updated_at,
           lower(substring(checkout_url_template from '^https://((\[[^]]+\]|[^/?#:]+):[0-9]+)')) AS host
    FROM store_setting
) AS named
WHERE host IS NOT NULL AND host !~ ':443$' AND length(host) <= 253
ON CONFLICT DO NOTHING;
