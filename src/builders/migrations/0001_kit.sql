-- Shared tables: idempotency keys, and the outbox with the events that are not dispatched yet.
--
-- Until release 1.0.0, a change of the schema edits the file of its package here: a database that was created before is
-- created again. From then on the files never change, and a change is a new file with the next number.

CREATE TABLE kit_idempotency (
    account_id uuid NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    claimed_at timestamptz NOT NULL,
    status smallint, -- null while the first request runs, as the next two
    headers jsonb, -- media type and describing headers of the response, which a replay has, too
    body text,
    selected_role text, -- role of the caller in the account that a header selected; null without such a header
    PRIMARY KEY (account_id, key)
);
CREATE INDEX kit_idempotency_by_age ON kit_idempotency (claimed_at);

CREATE TABLE kit_outbox (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    version smallint NOT NULL,
    request_id text,
    data text NOT NULL, -- JSON as it was published: jsonb would change the sequence of its keys
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE kit_outbox_default PARTITION OF kit_outbox DEFAULT;
CREATE INDEX kit_outbox_by_id ON kit_outbox (id);

-- The events to dispatch, of all accounts.
CREATE TABLE kit_outbox_pending (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- A time as the API writes it, for lists that PostgreSQL renders as JSON.
CREATE FUNCTION kit_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(
    moment AT TIME ZONE 'UTC',
    CASE WHEN moment = date_trunc('second', moment) THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"'
         ELSE 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' END
);
