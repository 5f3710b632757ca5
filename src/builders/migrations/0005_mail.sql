-- works with: 1.0.0
-- run: before

-- Outgoing mail, partitioned by month, and opt-outs.

CREATE TABLE mail_messages (
    account_id uuid NOT NULL, -- that the message is about; the nil UUID for the vendor's own, such as those to leads
    id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- the time in the id, so that the id finds its partition
    template text NOT NULL, -- its name, such as sign_in
    category text NOT NULL CHECK (category IN ('transactional', 'notice', 'marketing')),
    recipient text NOT NULL, -- masked: what may be shown
    content bytea, -- sealed address and fields; null once the status is final
    status text NOT NULL
        CHECK (status IN ('queued', 'sent', 'deferred', 'bounced', 'expired', 'suppressed')),
    attempts smallint NOT NULL DEFAULT 0,
    last_code smallint, -- the SMTP reply of the last attempt, if there was one
    last_error text,
    header_id text, -- Message-ID, the same for every attempt
    expires_at timestamptz, -- the message is of no use to its reader afterwards
    claimed_until timestamptz, -- an attempt is under way; afterwards another worker may claim the message
    next_try_at timestamptz, -- when the message is enqueued again; null once the status is final
    sent_at timestamptz,
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE mail_messages_default PARTITION OF mail_messages DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('mail_messages', 90); -- the least of BUILDERS_MAIL_DAYS
CREATE INDEX mail_messages_due ON mail_messages (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX mail_messages_by_age ON mail_messages (created_at);

-- Global: an opt-out is of an address and a topic, whichever account writes to it.
CREATE TABLE mail_optouts (
    hash bytea PRIMARY KEY, -- keyed, of topic and address
    topic text NOT NULL,
    address bytea NOT NULL, -- sealed, to be hashed anew when secrets rotate
    created_at timestamptz NOT NULL
);
