-- How many readers an account has asked: whoever has its key must not mail thousands of strangers in a day.
ALTER TABLE aliases_destinations
    ADD COLUMN wanted_at timestamptz; -- when its account wanted the reader asked, whose turn is still to come
CREATE INDEX aliases_destinations_wanted ON aliases_destinations (wanted_at, email) WHERE wanted_at IS NOT NULL;
CREATE INDEX aliases_destinations_in_line ON aliases_destinations (account_id, wanted_at, email)
    WHERE wanted_at IS NOT NULL;

CREATE TABLE aliases_askers (
    account_id uuid PRIMARY KEY,
    since timestamptz NOT NULL, -- when its day began
    asked integer NOT NULL CHECK (asked >= 0), -- readers whose turn came in that day
    granted integer NOT NULL CHECK (granted >= 0) -- of those that were waiting when it was last looked at
);
