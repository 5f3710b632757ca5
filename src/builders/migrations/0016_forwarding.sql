-- works with: 1.0.0
-- run: before

-- Domains whose mail nobody can sign yet. A domain and its keys are on one shard, as in the next view.
CREATE VIEW forwarding_keyless_domains AS
SELECT own.domain FROM aliases_lookups AS own LEFT JOIN domains_dkim_keys AS key ON key.domain = own.domain
WHERE own.name = '' AND key.domain IS NULL;

-- Since when domains have the key that signs, without those whose next key waits for its record.
CREATE VIEW forwarding_signing_since AS
SELECT key.domain, key.created_at
FROM domains_dkim_keys AS key
JOIN aliases_lookups AS own ON own.domain = key.domain AND own.name = ''
LEFT JOIN domains_dkim_keys AS newer ON newer.domain = key.domain AND newer.created_at > key.created_at
WHERE key.published_at IS NOT NULL AND newer.domain IS NULL;

-- The next views, and those of aliases, catch-alls and reverse addresses, derive what `aliases_lookups` must contain.
CREATE VIEW forwarding_shared_domains AS SELECT domain, separator_policy FROM catalog_domains;
CREATE VIEW forwarding_holders AS
SELECT domain, account_id FROM domains_holders WHERE realm = '00000000-0000-0000-0000-000000000000';

-- Which alias has a live name, claimed, in quarantine or held for a promotion.
CREATE VIEW forwarding_names AS
SELECT name.domain, name.key, name.account_id, name.alias_id, name.state
FROM aliases_names AS name
JOIN identity_accounts AS account ON account.id = name.account_id AND account.sandbox_of IS NULL
WHERE name.realm = '00000000-0000-0000-0000-000000000000';

-- Names whose mail is received as events, set by a person.
CREATE TABLE forwarding_receptions (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    webhook_id uuid NOT NULL, -- the only one that gets the events
    key_id uuid NOT NULL, -- the only key or connection that reads the content
    may_reply boolean NOT NULL, -- it answers the messages
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, alias_id)
);

-- Messages that were received, and their contents, which are sealed.
CREATE TABLE forwarding_messages (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    alias_id uuid NOT NULL,
    digest bytea NOT NULL, -- of the message with its Received headers: the mail server may hand it over twice
    size int NOT NULL, -- bytes
    stored_size int NOT NULL, -- bytes with its attachments, which are stored again
    spf text NOT NULL,
    dkim text NOT NULL,
    dmarc text NOT NULL,
    senders bytea[] NOT NULL, -- digests of the domain of From and of those above it, with a secret key
    summary bytea NOT NULL, -- sealed: author, subject, codes and links
    is_kept boolean NOT NULL, -- there was room for its content
    received_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, alias_id, digest)
);
CREATE INDEX forwarding_messages_expired ON forwarding_messages (expires_at);
CREATE INDEX forwarding_messages_listed ON forwarding_messages (account_id, alias_id, id);

-- How many messages arrived for an account, for the requests that wait for one.
CREATE TABLE forwarding_arrivals (
    account_id uuid PRIMARY KEY,
    arrivals bigint NOT NULL
);

CREATE TABLE forwarding_parts (
    account_id uuid NOT NULL,
    message_id uuid NOT NULL,
    number smallint NOT NULL, -- 0: the whole message; from 1: attachments; -1: what people read of it
    name bytea NOT NULL, -- of the file; sealed
    content bytea NOT NULL, -- sealed
    PRIMARY KEY (account_id, message_id, number),
    FOREIGN KEY (account_id, message_id) REFERENCES forwarding_messages (account_id, id) ON DELETE CASCADE
);

-- Answers of programs to messages. The record stays without its text, and counts, until after its message is gone.
CREATE TABLE forwarding_answers (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    alias_id uuid NOT NULL,
    message_id uuid NOT NULL,
    key_id uuid NOT NULL, -- key or connection that answered
    digest bytea NOT NULL, -- of the text: a repeated request sends nothing
    correspondent bytea NOT NULL, -- digest of the address, with a secret key
    day date NOT NULL, -- in UTC
    draft bytea, -- sealed; null after the last attempt
    status text NOT NULL CHECK (status IN ('queued', 'sent', 'failed')),
    attempts int NOT NULL,
    code text, -- of the last attempt
    next_try_at timestamptz, -- null after the last attempt
    created_at timestamptz NOT NULL,
    sent_at timestamptz,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, message_id, digest)
);
CREATE INDEX forwarding_answers_due ON forwarding_answers (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX forwarding_answers_by_age ON forwarding_answers (day);

CREATE VIEW forwarding_aliases AS
SELECT alias.account_id, alias.id, alias.domain, alias.key, alias.local_part, alias.status = 'active' AS is_active,
       recipients.destinations, recipients.unconfirmed_since, recipients.paused_since,
       alias.paused_at, alias.pause_until, alias.reply AS replies,
       EXISTS (
           SELECT FROM forwarding_receptions AS rule
           WHERE rule.account_id = alias.account_id AND rule.alias_id = alias.id
       ) AS receives, alias.block,
       alias.changed_in, alias.serial,
       EXISTS (
           SELECT FROM identity_accounts AS account WHERE account.id = alias.account_id AND account.sandbox_of IS NULL
       ) AS is_live
FROM aliases AS alias CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(forward.email ORDER BY forward.position) FILTER (
               WHERE destination.verified_at IS NOT NULL AND destination.paused_at IS NULL
           ), '{}') AS destinations,
           max(greatest(alias.claimed_at, destination.created_at)) FILTER (
               WHERE destination.verified_at IS NULL
           ) AS unconfirmed_since,
           max(destination.paused_at) AS paused_since
    FROM aliases_forwards AS forward JOIN aliases_destinations AS destination
      ON destination.account_id = forward.account_id AND destination.email = forward.email
    WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
) AS recipients;

-- The destination of the mail to all other names of a domain, of the account that holds it.
CREATE VIEW forwarding_catch_alls AS
SELECT catch_all.account_id, catch_all.domain, split_part(catch_all.email, '@', 2) AS leads_to,
       CASE WHEN destination.verified_at IS NOT NULL AND destination.paused_at IS NULL
            THEN ARRAY[catch_all.email] ELSE '{}' END AS destinations,
       CASE WHEN destination.verified_at IS NULL THEN destination.created_at END AS unconfirmed_since,
       destination.paused_at AS paused_since
FROM aliases_catch_alls AS catch_all JOIN aliases_destinations AS destination
  ON destination.account_id = catch_all.account_id AND destination.email = catch_all.email;

-- To whom the owner of a name replies. The address is sealed, so that a copy of the table names nobody.
CREATE TABLE forwarding_correspondents (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    alias_id uuid NOT NULL,
    name text NOT NULL, -- local part of the reverse address, which is on the domain of the alias
    digest bytea NOT NULL, -- of the normalized address, with a secret key
    address bytea NOT NULL, -- sealed
    created_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL, -- by the newest message to or from the correspondent
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, alias_id, digest)
);
CREATE INDEX forwarding_correspondents_listed ON forwarding_correspondents (account_id, alias_id, id);
CREATE INDEX forwarding_correspondents_unused ON forwarding_correspondents (used_at);

-- Whose a reverse address is: global, because its mail arrives without an account.
CREATE TABLE forwarding_reverse_names (
    name text PRIMARY KEY, -- local part
    domain text NOT NULL, -- A-label
    account_id uuid NOT NULL,
    correspondent_id uuid NOT NULL
);
CREATE INDEX forwarding_reverse_names_by_domain ON forwarding_reverse_names (domain, name);

-- Replies of an account on a day, in UTC.
CREATE TABLE forwarding_reply_days (
    account_id uuid NOT NULL,
    day date NOT NULL,
    replies int NOT NULL,
    PRIMARY KEY (account_id, day)
);
CREATE INDEX forwarding_reply_days_by_age ON forwarding_reply_days (day);

-- Of live accounts.
CREATE VIEW forwarding_reverse_addresses AS
SELECT alias.domain, correspondent.name, correspondent.account_id, correspondent.id AS correspondent_id,
       correspondent.alias_id, alias.key AS reverse_of
FROM forwarding_correspondents AS correspondent
JOIN aliases AS alias ON alias.account_id = correspondent.account_id AND alias.id = correspondent.alias_id
JOIN identity_accounts AS account ON account.id = correspondent.account_id AND account.sandbox_of IS NULL;

-- How far the log of each mail server is read.
CREATE TABLE forwarding_logs (
    host text NOT NULL,
    path text NOT NULL,
    position bigint NOT NULL, -- bytes
    digest bytea NOT NULL, -- of the bytes before it, which identify the file
    PRIMARY KEY (host, path)
);

-- Messages that the mail filter returned to the mail server, and whose name they were sent to.
CREATE TABLE forwarding_returns (
    host text NOT NULL,
    queue_id text NOT NULL,
    account_id uuid, -- null: of no name, or not known yet
    alias_id uuid,
    is_known boolean NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (host, queue_id)
);
CREATE INDEX forwarding_returns_by_age ON forwarding_returns (at);

-- What happened to recent mail: of each message to a name, the last result at each destination. No senders, no content.
CREATE TABLE forwarding_results (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    id uuid NOT NULL,
    queue_id text NOT NULL, -- of the mail server
    destination text NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('forwarded', 'deferred', 'bounced')),
    code text NOT NULL, -- RFC 3463
    created_at timestamptz NOT NULL, -- of the first result
    at timestamptz NOT NULL,
    PRIMARY KEY (account_id, alias_id, id),
    UNIQUE (account_id, alias_id, queue_id, destination)
);
CREATE INDEX forwarding_results_by_message ON forwarding_results (queue_id);
CREATE INDEX forwarding_results_by_age ON forwarding_results (at);

-- The mail to a name on a day, in UTC.
CREATE TABLE forwarding_days (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    day date NOT NULL,
    forwarded int NOT NULL,
    deferred int NOT NULL,
    bounced int NOT NULL,
    refused int NOT NULL,
    results int NOT NULL, -- rows of forwarding_results that began on this day
    last_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, alias_id, day)
);
CREATE INDEX forwarding_days_by_age ON forwarding_days (day);

-- Destinations that recently did not exist for their servers. Accepted mail deletes the row.
CREATE TABLE forwarding_bounces (
    account_id uuid NOT NULL,
    email text NOT NULL, -- in lower case
    queue_ids text[] NOT NULL, -- the last messages
    first_on date NOT NULL,
    last_on date NOT NULL,
    PRIMARY KEY (account_id, email)
);
CREATE INDEX forwarding_bounces_by_age ON forwarding_bounces (last_on);
