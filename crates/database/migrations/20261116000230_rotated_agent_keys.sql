-- owner: identity
-- A rotated agent key keeps its id: its former text stays valid beside the new one for a while. `rotated_to` belongs to
-- rotations of earlier versions, which created another key.

ALTER TABLE platform.agent_key
    ADD COLUMN rotated_at timestamptz,
    ADD COLUMN previous_mac bytea CHECK (octet_length(previous_mac) = 32),
    ADD COLUMN previous_until timestamptz,
    ADD CONSTRAINT agent_key_previous CHECK ((previous_mac IS NULL) = (previous_until IS NULL));
