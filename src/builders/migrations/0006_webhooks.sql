-- works with: 1.0.0
-- run: before

-- Webhooks: destinations, the bodies that are sent, deliveries with their attempts, and the event feed.

CREATE TABLE webhooks_destinations (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    label text NOT NULL,
    url text NOT NULL,
    enabled boolean NOT NULL,
    events text[] NOT NULL, -- names, area.*, *
    secret bytea NOT NULL, -- sealed
    secret_hint text NOT NULL,
    secret_unseen boolean NOT NULL DEFAULT false, -- made by a promotion, and not shown yet; who clears it may show it
    old_secret bytea, -- sealed; signs, too, until its end
    old_secret_until timestamptz,
    manifest text, -- name of the manifest that manages it
    manifest_key text,
    version integer NOT NULL DEFAULT 1, -- of what its owner may change
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    disabled_at timestamptz,
    disabled_reason text CHECK (disabled_reason IN ('gone', 'failing', 'manual')),
    -- The health of the receiver, written by the sender and in no index.
    failures integer NOT NULL DEFAULT 0, -- in a row
    failing_since timestamptz,
    open_until timestamptz, -- the circuit is open until then; then one attempt at a time tries it
    openings integer NOT NULL DEFAULT 0, -- of the circuit since it was closed; each lasts twice as long
    last_duration_ms integer,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    last_failure_status smallint,
    last_failure_error text,
    PRIMARY KEY (account_id, id),
    -- Checked at the end of a statement, so that one update can swap two keys.
    CONSTRAINT webhooks_destinations_by_manifest UNIQUE (account_id, manifest, manifest_key)
        DEFERRABLE INITIALLY IMMEDIATE,
    CHECK ((manifest IS NULL) = (manifest_key IS NULL))
) WITH (fillfactor = 50);

-- Once for each event, for all its destinations: text, because jsonb would change the sequence of what was signed.
CREATE TABLE webhooks_payloads (
    account_id uuid NOT NULL,
    event_id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- of the event
    body text NOT NULL,
    request_id text, -- that published the event, for the log lines of its deliveries
    PRIMARY KEY (account_id, event_id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE webhooks_payloads_default PARTITION OF webhooks_payloads DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('webhooks_payloads', 90);

CREATE TABLE webhooks_deliveries (
    account_id uuid NOT NULL,
    id uuid NOT NULL, -- webhooks_delivery_id: the same event for the same destination is the same delivery
    created_at timestamptz NOT NULL, -- of the event
    destination_id uuid NOT NULL, -- no foreign key: the deliveries of a deleted destination stay
    event_id uuid NOT NULL,
    event text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed', 'cancelled')),
    trigger text NOT NULL CHECK (trigger IN ('event', 'manual', 'test', 'replay')),
    simulated boolean NOT NULL DEFAULT false, -- an event that was simulated in a sandbox
    attempts integer NOT NULL DEFAULT 0,
    last_attempt_at timestamptz,
    last_status smallint,
    last_error text,
    succeeded_at timestamptz,
    given_up_at timestamptz, -- while it is failed or cancelled; a success changes no index
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE webhooks_deliveries_default PARTITION OF webhooks_deliveries DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('webhooks_deliveries', 90);
CREATE INDEX webhooks_deliveries_by_destination ON webhooks_deliveries (account_id, destination_id, id);
CREATE INDEX webhooks_deliveries_given_up ON webhooks_deliveries (account_id, id) WHERE given_up_at IS NOT NULL;

-- The pending deliveries alone: a claim never reads finished ones. A leased row is being sent; its next_attempt_at is
-- then the end of the lease, so that the rows of a killed worker become due again.
CREATE TABLE webhooks_due (
    account_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- of the delivery and its payload
    destination_id uuid NOT NULL,
    event_id uuid NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    leased boolean NOT NULL DEFAULT false,
    attempts integer NOT NULL DEFAULT 0, -- so far, of every kind
    step integer NOT NULL DEFAULT 0, -- failures of the schedule so far
    once boolean NOT NULL DEFAULT false, -- the next attempt is outside of the schedule: manual, or a test
    resume_at timestamptz, -- when the schedule continues after such an attempt that failed; null: never
    test boolean NOT NULL DEFAULT false, -- does not change the receiver's health
    replayed boolean NOT NULL DEFAULT false, -- so its event may be old
    PRIMARY KEY (account_id, delivery_id)
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX webhooks_due_by_time ON webhooks_due (next_attempt_at);
CREATE INDEX webhooks_due_by_destination ON webhooks_due (account_id, destination_id, next_attempt_at);

CREATE TABLE webhooks_attempts (
    account_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- when it began
    destination_id uuid NOT NULL,
    n integer NOT NULL,
    duration_ms integer NOT NULL,
    status smallint, -- of the response; null: there was none
    error text, -- class of the failure; null for 2xx
    excerpt text, -- the beginning of the response's body
    PRIMARY KEY (account_id, delivery_id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE webhooks_attempts_default PARTITION OF webhooks_attempts DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('webhooks_attempts', 7); -- the least of BUILDERS_ATTEMPTS_DAYS
CREATE INDEX webhooks_attempts_by_destination ON webhooks_attempts (account_id, destination_id, created_at);

-- A UUIDv7 with the event's time and 62 bits of a digest of event and destination: a fan-out that is repeated finds its
-- own rows, without another unique key.
CREATE FUNCTION webhooks_delivery_id(event_id uuid, destination_id uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(
    substring(uuid_send(event_id) FOR 8) || set_byte(
        substring(decode(md5(event_id::text || destination_id::text), 'hex') FOR 8), 0,
        (get_byte(decode(md5(event_id::text || destination_id::text), 'hex'), 0) & 63) | 128
    ), 'hex'
)::uuid;

-- The sequence of the event feed, assigned where events are dispatched. The row lock of a head is held until the
-- dispatcher commits, so an account's entries become visible in the sequence of their positions.
CREATE TABLE webhooks_feed_heads (
    account_id uuid PRIMARY KEY,
    position bigint NOT NULL -- of the account's newest entry
) WITH (fillfactor = 50);

CREATE TABLE webhooks_feed (
    account_id uuid NOT NULL,
    event_id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- of the event
    position bigint NOT NULL, -- microseconds since 1970 when it was appended, or more: never less than created_at
    previous bigint NOT NULL, -- position of the account's entry before: a reader sees that entries were dropped
    name text NOT NULL, -- of the event
    PRIMARY KEY (account_id, event_id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE webhooks_feed_default PARTITION OF webhooks_feed DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('webhooks_feed', 90);
CREATE INDEX webhooks_feed_by_position ON webhooks_feed (account_id, position);
CREATE INDEX webhooks_feed_by_name ON webhooks_feed (account_id, name, position);
