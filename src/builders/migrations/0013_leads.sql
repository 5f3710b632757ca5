-- Leads: who left an address on the vendor's pages, what they asked for, and whether they have confirmed it.
-- They belong to the vendor, whose account is the nil UUID; it stands in every key, so that another account could
-- have leads of its own one day.

CREATE TABLE leads_leads (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL, -- in canonical form
    status text NOT NULL
        CHECK (status IN ('pending', 'confirmed', 'unsubscribed', 'expired', 'bounced', 'suppressed')),
    changed_at timestamptz NOT NULL, -- when the status was
    created_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    unsubscribed_at timestamptz,
    sends timestamptz[] NOT NULL DEFAULT '{}', -- of a day, the newest last
    last_sent_at timestamptz,
    send_count int NOT NULL DEFAULT 0,
    message_id uuid, -- the newest, in the mail room
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, email)
);
CREATE INDEX leads_leads_by_message ON leads_leads (account_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX leads_leads_by_status ON leads_leads (account_id, status, changed_at);

-- What came in, one row for each time somebody asked: it is the proof of their consent.
CREATE TABLE leads_requests (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    lead_id uuid, -- null until the job has looked at it
    source text,
    interest text,
    marketing boolean NOT NULL,
    text_version text, -- of the wording that was agreed to
    client text, -- the network it came from
    details jsonb NOT NULL, -- the other members, as they were sent
    created_at timestamptz NOT NULL,
    confirmed_at timestamptz, -- when the link of its message was followed
    confirmed_from text,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, lead_id) REFERENCES leads_leads (account_id, id) ON DELETE CASCADE
);
CREATE INDEX leads_requests_by_lead ON leads_requests (account_id, lead_id, id);
CREATE INDEX leads_requests_by_email ON leads_requests (account_id, email);

-- One for each lead, so that a newer link voids the one before.
CREATE TABLE leads_tokens (
    account_id uuid NOT NULL,
    lead_id uuid NOT NULL,
    request_id uuid NOT NULL, -- what following the link confirms
    digest bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (account_id, lead_id),
    UNIQUE (account_id, digest),
    FOREIGN KEY (account_id, lead_id) REFERENCES leads_leads (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, request_id) REFERENCES leads_requests (account_id, id) ON DELETE CASCADE
);
CREATE INDEX leads_tokens_by_request ON leads_tokens (account_id, request_id);

-- What is left of an address that was erased: enough to know it again, and never to write to it.
CREATE TABLE leads_suppressions (
    account_id uuid NOT NULL,
    hash bytea NOT NULL, -- keyed
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, hash)
);
