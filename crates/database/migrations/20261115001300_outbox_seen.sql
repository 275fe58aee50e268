-- owner: jobs
-- What a reader may call seen.

-- After a crash PostgreSQL hands out the ids of transactions again of which nothing had reached the
-- disk: those that were undone or only looked. A snapshot of the time before calls them finished, and
-- a reader that kept it in memory would step over whatever they tell now. So nothing counts as seen
-- beyond the last transaction that is known to be on the disk: one that has told something, or a
-- recorded horizon. Of what was told, this sees exactly what the present snapshot sees.
CREATE FUNCTION outbox_seen(at_least xid8) RETURNS pg_snapshot
LANGUAGE sql STABLE
RETURN (
    WITH known AS (
        SELECT greatest(
                   (SELECT (transaction::text::numeric + 1)::text::xid8
                    FROM outbox ORDER BY transaction DESC LIMIT 1),
                   (SELECT upper FROM outbox_horizon ORDER BY upper DESC LIMIT 1),
                   at_least) AS upper,
               pg_current_snapshot() AS present
    )
    SELECT (least(pg_snapshot_xmin(present), upper)::text || ':' || upper::text || ':' || coalesce(
               (SELECT string_agg(open::text, ',' ORDER BY open)
                FROM pg_snapshot_xip(present) AS open WHERE open < upper), ''))::pg_snapshot
    FROM known
);
