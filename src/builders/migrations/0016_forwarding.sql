-- What a mail server may know. The database role of the look-up server reads these views, and nothing else.

-- The domains whose mail the service receives: all of the catalog, and those that live accounts hold.
CREATE VIEW forwarding_domains AS
SELECT domain, separator_policy, true AS is_shared FROM catalog_domains
UNION ALL
SELECT holder.domain, 'ignore_dots', false FROM domains_holders AS holder
WHERE holder.realm = '00000000-0000-0000-0000-000000000000'
  AND NOT EXISTS (SELECT FROM catalog_domains AS shared WHERE shared.domain = holder.domain);

-- Domains whose mail nobody can sign yet.
CREATE VIEW forwarding_keyless_domains AS
SELECT domain FROM forwarding_domains AS own
WHERE NOT EXISTS (SELECT FROM domains_dkim_keys AS key WHERE key.domain = own.domain);

-- Since when domains have the key that signs, without those whose next key waits for its record.
CREATE VIEW forwarding_signing_since AS
SELECT key.domain, key.created_at FROM domains_dkim_keys AS key
WHERE key.published_at IS NOT NULL
  AND EXISTS (SELECT FROM forwarding_domains AS own WHERE own.domain = key.domain)
  AND NOT EXISTS (
      SELECT FROM domains_dkim_keys AS newer WHERE newer.domain = key.domain AND newer.created_at > key.created_at
  );

-- Which alias has a live name. A name in quarantine has none that forwards.
CREATE VIEW forwarding_names AS
SELECT domain, key, account_id, alias_id, state = 'claimed' AS is_claimed FROM aliases_names
WHERE realm = '00000000-0000-0000-0000-000000000000';

-- Names whose mail is received as events, set by a person.
CREATE TABLE forwarding_receptions (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    webhook_id uuid NOT NULL, -- the only one that gets the events
    key_id uuid NOT NULL, -- the only one that reads the content
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
    is_kept boolean NOT NULL, -- there was room for its content
    received_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, alias_id, digest)
);
CREATE INDEX forwarding_messages_expired ON forwarding_messages (expires_at);

CREATE TABLE forwarding_parts (
    account_id uuid NOT NULL,
    message_id uuid NOT NULL,
    number smallint NOT NULL, -- 0: the whole message; from 1: attachments
    name bytea NOT NULL, -- of the file; sealed
    content bytea NOT NULL, -- sealed
    PRIMARY KEY (account_id, message_id, number),
    FOREIGN KEY (account_id, message_id) REFERENCES forwarding_messages (account_id, id) ON DELETE CASCADE
);

CREATE VIEW forwarding_aliases AS
SELECT alias.account_id, alias.id, alias.domain, alias.key, alias.local_part, alias.status = 'active' AS is_active,
       recipients.destinations, recipients.unconfirmed_since, recipients.paused_since,
       alias.paused_at, alias.pause_until, alias.reply AS replies,
       EXISTS (
           SELECT FROM forwarding_receptions AS rule
           WHERE rule.account_id = alias.account_id AND rule.alias_id = alias.id
       ) AS receives,
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

-- The senders whose mail an alias refuses: addresses and domains.
CREATE VIEW forwarding_blocks AS
SELECT account_id, id AS alias_id, block FROM aliases WHERE block <> '{}';

-- The destination of the mail to all other names of a domain, of the account that holds it. A catch-all leads to no
-- domain of the service: so it closes no loop, as aliases close none (decision 0013).
CREATE VIEW forwarding_catch_alls AS
SELECT catch_all.account_id, catch_all.domain,
       CASE WHEN destination.verified_at IS NOT NULL AND destination.paused_at IS NULL
            THEN ARRAY[catch_all.email] ELSE '{}' END AS destinations,
       CASE WHEN destination.verified_at IS NULL THEN destination.created_at END AS unconfirmed_since,
       destination.paused_at AS paused_since
FROM aliases_catch_alls AS catch_all
JOIN domains_holders AS holder ON holder.realm = '00000000-0000-0000-0000-000000000000'
 AND holder.domain = catch_all.domain AND holder.account_id = catch_all.account_id
JOIN aliases_destinations AS destination
  ON destination.account_id = catch_all.account_id AND destination.email = catch_all.email
-- LIMIT makes PostgreSQL find the domain by its key; NOT EXISTS would read all domains.
LEFT JOIN LATERAL (
    SELECT domain FROM forwarding_domains WHERE domain = split_part(catch_all.email, '@', 2) LIMIT 1
) AS own ON true
WHERE own.domain IS NULL;

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
    account_id uuid NOT NULL,
    correspondent_id uuid NOT NULL
);

-- Replies of an account on a day, in UTC.
CREATE TABLE forwarding_reply_days (
    account_id uuid NOT NULL,
    day date NOT NULL,
    replies int NOT NULL,
    PRIMARY KEY (account_id, day)
);

-- Reverse addresses that receive mail.
CREATE VIEW forwarding_reverse_addresses AS
SELECT alias.domain, reverse.name
FROM forwarding_reverse_names AS reverse
JOIN forwarding_correspondents AS correspondent
  ON correspondent.account_id = reverse.account_id AND correspondent.id = reverse.correspondent_id
JOIN aliases AS alias ON alias.account_id = correspondent.account_id AND alias.id = correspondent.alias_id
WHERE alias.status = 'active' AND alias.reply;

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
