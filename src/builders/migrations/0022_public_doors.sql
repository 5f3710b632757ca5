-- Leads: several spellings of an address lead to one mailbox, and what mail was sent is known when it is to be erased.

-- What most mail servers do with a tag (RFC 5233), and Gmail with dots.
CREATE FUNCTION leads_mailbox(email text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE
    WHEN email ~ '@(gmail|googlemail)\.com$'
    THEN replace(regexp_replace(split_part(email, '@', 1), '(.)\+.*$', '\1'), '.', '') || '@gmail.com'
    ELSE regexp_replace(email, '(.)\+.*@', '\1@')
END;

ALTER TABLE leads_leads
    ADD COLUMN mailbox text GENERATED ALWAYS AS (leads_mailbox(email)) STORED,
    ADD COLUMN message_ids uuid[] NOT NULL DEFAULT '{}'; -- of the days that the mail room keeps them
CREATE INDEX leads_leads_by_mailbox ON leads_leads (account_id, mailbox);
