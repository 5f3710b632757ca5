-- Outgoing mail: a row for each message, split by month; and who wants no more of what.

CREATE TABLE mail_messages (
    account_id uuid NOT NULL, -- whom it is about; the nil UUID for the vendor's own, as to leads
    id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- the time in the id, so that the id finds its month
    letter text NOT NULL, -- its kind, as sign_in
    category text NOT NULL CHECK (category IN ('transactional', 'notice', 'marketing')),
    recipient text NOT NULL, -- masked: what may be shown
    content bytea, -- sealed address and fields; null once it is final
    status text NOT NULL
        CHECK (status IN ('queued', 'sent', 'deferred', 'bounced', 'expired', 'suppressed')),
    attempts smallint NOT NULL DEFAULT 0,
    last_code smallint, -- the SMTP reply of the last attempt, if there was one
    last_error text,
    header_id text, -- Message-ID, the same on every attempt
    expires_at timestamptz, -- no use to the reader after it
    claimed_until timestamptz, -- an attempt is under way; whoever makes it is dead after this
    next_try_at timestamptz, -- when the sweeper puts it into the queue again; null once it is final
    sent_at timestamptz,
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE mail_messages_default PARTITION OF mail_messages DEFAULT;
CREATE INDEX mail_messages_due ON mail_messages (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX mail_messages_by_age ON mail_messages (created_at);

-- Global: an opt-out is of an address and a topic, whichever account writes to it.
CREATE TABLE mail_optouts (
    hash bytea PRIMARY KEY, -- keyed, of topic and address
    topic text NOT NULL,
    address bytea NOT NULL, -- sealed, to be hashed anew when secrets rotate
    created_at timestamptz NOT NULL
);
