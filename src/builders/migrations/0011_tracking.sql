-- Opens and clicks of mail, split by month.

CREATE TABLE tracking_hits (
    account_id uuid NOT NULL, -- the message's; the nil UUID for the vendor's own mail
    id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- when it was asked for
    message_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('open', 'click')),
    url text, -- where a click leads
    machine text, -- why it is taken for a machine; null for a person
    agent text NOT NULL, -- the sort of program
    network cidr, -- the address, cut to /24 or /48
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE tracking_hits_default PARTITION OF tracking_hits DEFAULT;
CREATE INDEX tracking_hits_of_message ON tracking_hits (account_id, message_id, created_at);
-- In the order of time anyway, so a few pages of summaries do (for what looks at the last minutes).
CREATE INDEX tracking_hits_by_age ON tracking_hits USING brin (created_at) WITH (pages_per_range = 16);
