-- The event feed: the order in which an account's events can be read, assigned where they are relayed.

-- The row lock of a head is held until the relay commits, so an account's entries become visible in the order of
-- their positions.
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
CREATE INDEX webhooks_feed_by_position ON webhooks_feed (account_id, position);
CREATE INDEX webhooks_feed_by_name ON webhooks_feed (account_id, name, position);
