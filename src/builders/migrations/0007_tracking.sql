-- works with: 1.0.0
-- run: before

-- Opens and clicks of mail, partitioned by month.

CREATE TABLE tracking_hits (
    account_id uuid NOT NULL, -- the message's; the nil UUID for the vendor's own mail
    id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- of the request
    message_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('open', 'click')),
    url text, -- target of a click
    machine text, -- why it is classified as a machine; null for a person
    agent text NOT NULL, -- class of the program
    network cidr, -- the address, cut to /24 or /48
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE tracking_hits_default PARTITION OF tracking_hits DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('tracking_hits', 3); -- the least of BUILDERS_TRACKING_DAYS
CREATE INDEX tracking_hits_of_message ON tracking_hits (account_id, message_id, created_at);
-- Rows are stored by time anyway, so a small index serves the reads of the last minutes.
CREATE INDEX tracking_hits_by_age ON tracking_hits USING brin (created_at) WITH (pages_per_range = 16);

-- Opens and clicks that were answered and could not be stored, counted by the process when it could write again.
CREATE TABLE tracking_losses (
    day date PRIMARY KEY,
    events bigint NOT NULL CHECK (events > 0)
);
