-- owner: identity
-- People with a login, the keys of their agents, and a record of what was done with either. All of it is the
-- platform's: a credential is read before anyone knows which store its owner will name.

CREATE TABLE platform.person (
    user_id uuid PRIMARY KEY,
    -- In the one spelling that is compared: lower case, without spaces around it.
    email text NOT NULL UNIQUE CHECK (length(email) BETWEEN 3 AND 254 AND email = lower(email)),
    -- argon2id with its salt and parameters, as a PHC string.
    password_hash text NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
    plan text NOT NULL CHECK (plan IN ('FREE', 'STARTER', 'GROWTH', 'PRO', 'ENTERPRISE')),
    is_admin boolean NOT NULL,
    created_at timestamptz NOT NULL,
    -- Tokens from before this moment are refused: a new password ends every session.
    sessions_from timestamptz NOT NULL,
    disabled_at timestamptz
);

CREATE TABLE platform.membership (
    user_id uuid NOT NULL REFERENCES platform.person,
    merchant_id uuid NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'staff')),
    since timestamptz NOT NULL,
    PRIMARY KEY (user_id, merchant_id)
);
CREATE INDEX membership_merchant ON platform.membership (merchant_id);

CREATE TABLE platform.agent_key (
    key_id uuid PRIMARY KEY,
    -- HMAC-SHA256 of the key under the server's secret. The key itself is kept nowhere.
    mac bytea NOT NULL UNIQUE CHECK (octet_length(mac) = 32),
    user_id uuid NOT NULL REFERENCES platform.person,
    prefix text NOT NULL CHECK (length(prefix) BETWEEN 1 AND 20),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    scopes text[] NOT NULL CHECK (
        cardinality(scopes) BETWEEN 1 AND 4
        AND scopes <@ ARRAY['agent:read', 'agent:cart', 'agent:checkout', 'agent:orders']
    ),
    -- The only stores it may call; null for all.
    stores uuid[] CHECK (cardinality(stores) BETWEEN 1 AND 100),
    created_at timestamptz NOT NULL,
    expires_at timestamptz CHECK (expires_at > created_at),
    revoked_at timestamptz,
    -- The key that took its place.
    rotated_to uuid REFERENCES platform.agent_key DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX agent_key_person ON platform.agent_key (user_id, created_at);

-- The public halves of the keys that sign tokens. The private ones are derived from the server's secret and
-- kept nowhere.
CREATE TABLE platform.signing_key (
    key_name text PRIMARY KEY CHECK (key_name ~ '^[0-9a-f]{32}$'),
    public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
    created_at timestamptz NOT NULL,
    -- A little later than it is published, so that every process knows it when the first token comes.
    signs_from timestamptz NOT NULL,
    -- When the last token it may have signed has run out; null for the one that signs.
    ends_at timestamptz
);

-- Logins that were tried and did not succeed, in windows, by a MAC of the address or of the email. One is counted
-- before its password is looked at, and taken back when it was right.
CREATE TABLE platform.login_attempt (
    subject bytea NOT NULL CHECK (octet_length(subject) = 32),
    window_start timestamptz NOT NULL,
    attempts integer NOT NULL CHECK (attempts >= 0),
    PRIMARY KEY (subject, window_start)
);
CREATE INDEX login_attempt_window ON platform.login_attempt (window_start);

-- Every security-relevant act. Append-only: nobody may change or remove a line.
CREATE TABLE platform.audit_entry (
    entry_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    -- Who did it: usr_…, key_…, or `operator` for the command line.
    actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 100),
    act text NOT NULL CHECK (act ~ '^[a-z_]+\.[a-z_]+$'),
    -- What it was done to.
    subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 300),
    details jsonb NOT NULL
);
CREATE INDEX audit_entry_subject ON platform.audit_entry (subject, at);
CREATE INDEX audit_entry_actor ON platform.audit_entry (actor, at);

GRANT SELECT, INSERT, UPDATE, DELETE
    ON platform.person, platform.membership, platform.agent_key, platform.signing_key, platform.login_attempt
    TO souk_platform;
GRANT SELECT, INSERT ON platform.audit_entry TO souk_platform;
