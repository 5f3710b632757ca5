-- Names of projects, names that are suspended, and destinations that confirm themselves by mail.

ALTER TABLE aliases
    ADD COLUMN project_id uuid, -- in the room of projects; null: of none
    -- What one is again that is suspended for an invoice; null for one that the operator suspended.
    ADD COLUMN resumes_as text CHECK (resumes_as IN ('active', 'disabled'));

-- For the pages of a list, and their filters; a released name is looked at by those who ask for it.
CREATE INDEX aliases_listed ON aliases (account_id, id) WHERE status <> 'deleted';
CREATE INDEX aliases_by_status ON aliases (account_id, status, id);
CREATE INDEX aliases_by_domain ON aliases (account_id, domain, id) WHERE status <> 'deleted';
CREATE INDEX aliases_by_project ON aliases (account_id, project_id, id) WHERE status <> 'deleted';
CREATE INDEX aliases_by_spelling ON aliases (account_id, local_part text_pattern_ops) WHERE status <> 'deleted';
-- What is to be paid for next, of all accounts.
CREATE INDEX aliases_by_renewal ON aliases (price_interval, renews_at)
    WHERE renews_at IS NOT NULL AND status IN ('active', 'disabled');
CREATE INDEX aliases_by_renewal_of ON aliases (account_id, renews_at)
    WHERE renews_at IS NOT NULL AND status IN ('active', 'disabled');

-- Why a name is suspended: an invoice that is not paid. It is restored when the last of its rows is gone.
CREATE TABLE aliases_arrears (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (account_id, alias_id, invoice_id),
    FOREIGN KEY (account_id, alias_id) REFERENCES aliases (account_id, id)
);
CREATE INDEX aliases_arrears_by_invoice ON aliases_arrears (account_id, invoice_id);

ALTER TABLE aliases_destinations
    ADD COLUMN ask_at timestamptz, -- when its reader is to be asked; null: not now
    ADD COLUMN asks timestamptz[] NOT NULL DEFAULT '{}', -- of a day, the newest last
    ADD COLUMN message_id uuid; -- the newest, in the mail room
CREATE INDEX aliases_destinations_due ON aliases_destinations (ask_at) WHERE ask_at IS NOT NULL;
CREATE INDEX aliases_destinations_by_reader ON aliases_destinations (account_id, lower(email));
CREATE INDEX aliases_destinations_by_message ON aliases_destinations (account_id, message_id)
    WHERE message_id IS NOT NULL;
CREATE INDEX aliases_forwards_by_email ON aliases_forwards (account_id, email);

-- Those of before were asked nothing. In a sandbox nothing is ever delivered, so that nobody needs to be asked; nor
-- does the account itself.
UPDATE aliases_destinations AS destination
SET verified_at = CASE WHEN reader.is_known THEN destination.created_at END,
    ask_at = CASE WHEN NOT reader.is_known THEN destination.created_at END
FROM (
    SELECT before.account_id, before.email, account.sandbox_of IS NOT NULL
           OR account.email_verified_at IS NOT NULL AND account.email = lower(before.email) AS is_known
    FROM aliases_destinations AS before JOIN identity_accounts AS account ON account.id = before.account_id
) AS reader
WHERE destination.account_id = reader.account_id AND destination.email = reader.email
  AND destination.verified_at IS NULL;

-- From a mailed link to the destination: global, since a link arrives without its account. One for each
-- destination of an account, so that a newer one voids those before it.
CREATE TABLE aliases_links (
    account_id uuid NOT NULL,
    email text NOT NULL,
    digest bytea NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (account_id, email),
    FOREIGN KEY (account_id, email) REFERENCES aliases_destinations (account_id, email)
);
CREATE INDEX aliases_links_by_age ON aliases_links (expires_at);

-- Whoever's names forward to an address, its reader is not to be flooded: what went there, from all accounts.
CREATE TABLE aliases_readers (
    email text PRIMARY KEY,
    asks timestamptz[] NOT NULL DEFAULT '{}', -- of a day, the newest last
    bounced_at timestamptz -- mail came back: it is not tried again
);
CREATE INDEX aliases_readers_by_age ON aliases_readers ((asks[cardinality(asks)])) WHERE bounced_at IS NULL;
