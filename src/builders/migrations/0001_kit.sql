-- The kit's own tables: idempotency keys, the outbox and what of it is still to be told.

CREATE TABLE kit_idempotency (
    account_id uuid NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    claimed_at timestamptz NOT NULL,
    status smallint, -- null while the first request is being answered
    body text,
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
    data text NOT NULL, -- JSON as it was published: jsonb would reorder its keys
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE kit_outbox_default PARTITION OF kit_outbox DEFAULT;
CREATE INDEX kit_outbox_by_id ON kit_outbox (id);

CREATE TABLE kit_outbox_pending (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- A time as the interface writes it, for lists that PostgreSQL renders as JSON.
CREATE FUNCTION kit_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(
    moment AT TIME ZONE 'UTC',
    CASE WHEN moment = date_trunc('second', moment) THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"'
         ELSE 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' END
);
