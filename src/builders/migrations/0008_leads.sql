-- works with: 1.0.0
-- run: before

-- Leads: addresses that visitors of the vendor's pages left, their requests and consent. They belong to the vendor,
-- whose account is the nil UUID; it is in every key, so that other accounts can have leads later.

-- Several spellings of an address lead to one mailbox: what most mail servers do with a tag (RFC 5233), and Gmail with
-- dots.
CREATE FUNCTION leads_mailbox(email text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE
    WHEN email ~ '@(gmail|googlemail)\.com$'
    THEN replace(regexp_replace(split_part(email, '@', 1), '(.)\+.*$', '\1'), '.', '') || '@gmail.com'
    ELSE regexp_replace(email, '(.)\+.*@', '\1@')
END;

CREATE TABLE leads_leads (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL, -- in canonical form
    mailbox text GENERATED ALWAYS AS (leads_mailbox(email)) STORED,
    status text NOT NULL
        CHECK (status IN ('pending', 'confirmed', 'unsubscribed', 'expired', 'bounced', 'suppressed')),
    changed_at timestamptz NOT NULL, -- of the status
    created_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    unsubscribed_at timestamptz,
    sends timestamptz[] NOT NULL DEFAULT '{}', -- of a day, the newest last
    last_sent_at timestamptz,
    send_count int NOT NULL DEFAULT 0,
    message_id uuid, -- of the newest message
    message_ids uuid[] NOT NULL DEFAULT '{}', -- of the days that messages are kept, to erase them
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, email)
);
CREATE INDEX leads_leads_by_message ON leads_leads (account_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX leads_leads_by_status ON leads_leads (account_id, status, changed_at);
CREATE INDEX leads_leads_by_mailbox ON leads_leads (account_id, mailbox);

-- One row for each request: it is the proof of consent.
CREATE TABLE leads_requests (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    lead_id uuid, -- null until the job has read it
    source text,
    interest text,
    marketing boolean NOT NULL,
    text_version text, -- of the text that was agreed to
    client text, -- network of the client
    details jsonb NOT NULL, -- the other members, as they were sent
    created_at timestamptz NOT NULL,
    confirmed_at timestamptz, -- when the link of its message was followed
    confirmed_from text,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, lead_id) REFERENCES leads_leads (account_id, id) ON DELETE CASCADE
);
CREATE INDEX leads_requests_by_lead ON leads_requests (account_id, lead_id, id);
CREATE INDEX leads_requests_by_email ON leads_requests (account_id, email);

-- One for each lead, so that a newer link invalidates the earlier one.
CREATE TABLE leads_tokens (
    account_id uuid NOT NULL,
    lead_id uuid NOT NULL,
    request_id uuid NOT NULL, -- that the link confirms
    digest bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (account_id, lead_id),
    UNIQUE (account_id, digest),
    FOREIGN KEY (account_id, lead_id) REFERENCES leads_leads (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, request_id) REFERENCES leads_requests (account_id, id) ON DELETE CASCADE
);
CREATE INDEX leads_tokens_by_request ON leads_tokens (account_id, request_id);

-- What remains of an erased address: enough to recognize it and never to write to it.
CREATE TABLE leads_suppressions (
    account_id uuid NOT NULL,
    hash bytea NOT NULL, -- keyed
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, hash)
);
