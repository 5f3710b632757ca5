-- works with: 1.0.0
-- run: before

-- The portfolio: its domains, team, ledger, imports, registrars and notifications. `account_id` is the account of the
-- portfolio, unless a comment says otherwise. A section for each package below builders/portfolio.

-- team: the account itself is an owner without a row.

CREATE TABLE portfolio_team_members (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL, -- a real account, in the team of a sandbox account too
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'manager', 'accountant', 'viewer')),
    note text,
    joined_at timestamptz NOT NULL,
    approves_since timestamptz, -- when the account gave the permission approve_plans; null: it is not given
    PRIMARY KEY (account_id, member_id)
);

-- Another decider has confirmed a new decider, or the new address of one.
CREATE TABLE portfolio_team_confirmations (
    account_id uuid NOT NULL,
    decider_id uuid NOT NULL, -- a real account, as the next one
    confirmed_by uuid NOT NULL,
    confirmed_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, decider_id)
);

-- The memberships of an account.
CREATE TABLE portfolio_team_memberships (
    account_id uuid NOT NULL, -- of the member
    portfolio_id uuid NOT NULL, -- `account_id` of portfolio_team_members
    PRIMARY KEY (account_id, portfolio_id)
);

CREATE TABLE portfolio_team_invites (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'manager', 'accountant', 'viewer')),
    message text,
    approve_plans boolean NOT NULL DEFAULT false, -- whether it gives this permission
    invited_by uuid NOT NULL, -- a real account
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz, -- when it was accepted or revoked
    accepted_by uuid,
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX portfolio_team_invites_pending ON portfolio_team_invites (account_id, email)
    WHERE ended_at IS NULL;
CREATE INDEX portfolio_team_invites_expiry ON portfolio_team_invites (expires_at);

-- A global look-up: a token names no account.
CREATE TABLE portfolio_team_tokens (
    token_hash bytea PRIMARY KEY,
    account_id uuid NOT NULL,
    invite_id uuid NOT NULL,
    expires_at timestamptz NOT NULL -- of the invitation
);
CREATE INDEX portfolio_team_tokens_invite ON portfolio_team_tokens (account_id, invite_id);
CREATE INDEX portfolio_team_tokens_expiry ON portfolio_team_tokens (expires_at);

-- domains: an amount keeps the decimals of its currency, so numeric has no scale.

CREATE TABLE portfolio_domains (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text COLLATE "C" NOT NULL, -- lower-case A-label
    unicode text NOT NULL, -- as people read it
    tld text NOT NULL, -- public suffix
    status text NOT NULL CHECK (status IN ('owned', 'leased', 'consigned', 'listed', 'sold', 'dropped', 'expired',
                                           'transferred_out')),
    ownership text NOT NULL CHECK (ownership IN ('owned', 'leased', 'consigned')),
    counterparty text,
    revenue_share numeric CHECK (revenue_share BETWEEN 0 AND 100), -- percent of the counterparty
    registrar text,
    connection_id uuid, -- the registrar connection that keeps the row up to date
    registered_on date,
    acquired_on date,
    expires_at timestamptz,
    expiry_source text CHECK (expiry_source IN ('registrar', 'rdap', 'manual')),
    auto_renew boolean, -- null: unknown, as in the next ones
    locked boolean,
    privacy boolean,
    nameservers text[] NOT NULL,
    epp_statuses text[] NOT NULL,
    renewal_price numeric,
    renewal_currency text,
    asking_price numeric,
    asking_currency text,
    min_offer numeric,
    min_offer_currency text,
    estimated_value numeric,
    estimated_currency text,
    tags text[] NOT NULL,
    folder text,
    notes text,
    search text, -- tags and notes in lower case, as Python writes it: lower() depends on the locale of the database
    pinned boolean NOT NULL,
    lifecycle text, -- as last published
    lifecycle_due_at timestamptz, -- when it changes next
    rdap_due_at timestamptz, -- when the registry is asked next; null: never
    rdap_checked_at timestamptz,
    rdap_failures smallint NOT NULL DEFAULT 0, -- since the last answer
    rdap_facts jsonb, -- what the registry said last: a field that still has its value may be overwritten
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, domain),
    CHECK ((expires_at IS NULL) = (expiry_source IS NULL)),
    CHECK ((renewal_price IS NULL) = (renewal_currency IS NULL)),
    CHECK ((asking_price IS NULL) = (asking_currency IS NULL)),
    CHECK ((min_offer IS NULL) = (min_offer_currency IS NULL)),
    CHECK ((estimated_value IS NULL) = (estimated_currency IS NULL))
);
-- One for each order of the list; an unknown expiry counts as never.
CREATE INDEX portfolio_domains_expiry ON portfolio_domains (account_id, coalesce(expires_at, 'infinity'), id);
CREATE INDEX portfolio_domains_updated ON portfolio_domains (account_id, updated_at, id);
-- One for each filter of the list.
CREATE INDEX portfolio_domains_status ON portfolio_domains (account_id, status, id);
CREATE INDEX portfolio_domains_registrar ON portfolio_domains (account_id, lower(registrar), id);
-- The domains of one connection.
CREATE INDEX portfolio_domains_connection ON portfolio_domains (account_id, connection_id)
    WHERE connection_id IS NOT NULL;
-- What falls due, of all accounts alike.
CREATE INDEX portfolio_domains_lifecycle ON portfolio_domains (lifecycle_due_at) WHERE lifecycle_due_at IS NOT NULL;
CREATE INDEX portfolio_domains_rdap ON portfolio_domains (rdap_due_at)
    WHERE connection_id IS NULL AND status IN ('owned', 'leased', 'consigned', 'listed', 'expired');

-- The day of an expiry in a time zone. Midnight in UTC stands for a day without a time (portfolio/domains/today.py).
CREATE FUNCTION portfolio_domains_day(expires_at timestamptz, zone text) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (CASE WHEN (expires_at AT TIME ZONE 'UTC')::time = '00:00' THEN expires_at AT TIME ZONE 'UTC'
             ELSE expires_at AT TIME ZONE zone END)::date;

-- What changed of each domain: not sums of its ledger, nor its lifecycle, which advances with time.
CREATE TABLE portfolio_domains_changes (
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    source text NOT NULL CHECK (source IN ('member', 'import', 'registrar', 'registry', 'sale')),
    member_id uuid, -- the account that requested the change; null for a change of the service
    changes jsonb NOT NULL, -- member, before and after of each
    PRIMARY KEY (account_id, domain_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE portfolio_domains_changes_default PARTITION OF portfolio_domains_changes DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('portfolio_domains_changes', 400);

-- The tags of `tags`, one in each row: for the filter and for the list of tags.
CREATE TABLE portfolio_domains_tags (
    account_id uuid NOT NULL,
    tag text NOT NULL,
    domain_id uuid NOT NULL,
    PRIMARY KEY (account_id, tag, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_domains_tags_domain ON portfolio_domains_tags (account_id, domain_id);

-- What each month added to the estimated value of a domain while it was held, as it was written: for the value at the
-- end of a month in the past. A month begins on its day of the portfolio.
CREATE TABLE portfolio_domains_value_changes (
    account_id uuid NOT NULL,
    month date NOT NULL, -- its first day
    domain_id uuid NOT NULL,
    currency text NOT NULL,
    change numeric NOT NULL,
    PRIMARY KEY (account_id, month, domain_id, currency),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_domains_value_changes_domain ON portfolio_domains_value_changes (account_id, domain_id);

-- Reference tables: the registries' RDAP servers by top-level domain (IANA), and which of them are left alone for now.
CREATE TABLE portfolio_domains_rdap_services (
    tld text PRIMARY KEY,
    url text NOT NULL,
    fetched_at timestamptz NOT NULL
);
CREATE TABLE portfolio_domains_rdap_servers (
    url text PRIMARY KEY,
    blocked_until timestamptz NOT NULL,
    refusals smallint NOT NULL -- one after the other
);

-- ledger: what each domain cost and earned.

-- No partitions: entries are never deleted, and they are read by domain, not by time.
CREATE TABLE portfolio_ledger_entries (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    domain_id uuid NOT NULL,
    kind text NOT NULL, -- decides the sign of the amount
    amount numeric(19, 4) NOT NULL CHECK (amount >= 0),
    currency text NOT NULL,
    occurred_on date NOT NULL,
    years smallint CHECK (years > 0), -- that the amount pays for
    registrar text,
    memo text,
    source text NOT NULL, -- what recorded it
    reference text, -- opaque text of the user; unique among the entries of a source that are not void
    order_ref text, -- number of an order or invoice, which several entries can have
    charge_id uuid, -- the charge of a registrar that it books
    charge_key bytea, -- of the billed line; the same in another portfolio, which an export was imported into
    -- The sale that it is a line of. Not a foreign key: a void entry remains when its domain and sale are deleted.
    sale_id uuid,
    sale_line smallint CHECK (sale_line >= 0), -- position in the sale
    sale_role text CHECK (sale_role IN ('price', 'installment', 'commission', 'fee', 'share')),
    created_by uuid, -- the member; null: a job
    created_at timestamptz NOT NULL,
    base_currency text NOT NULL, -- of the portfolio; another one until a new one is converted to
    fx_rate numeric, -- units of the base currency per unit of the currency; null: not converted
    fx_date date, -- the day of the rate
    is_own_rate boolean NOT NULL DEFAULT false, -- a rate of the portfolio's own decided it
    base_amount numeric, -- amount * fx_rate, rounded to the decimals of the base currency
    -- What sums read: the amount in the base currency, negative for a cost, and the total that it counts in
    -- (records.EntryKind.is_income, records.group_of). Computed for each row of a large sum, both take most of its time.
    signed_base numeric GENERATED ALWAYS AS (
        CASE WHEN kind IN ('sale', 'sale_installment', 'lease_income', 'parking_revenue', 'refund', 'other_income')
             THEN base_amount ELSE -base_amount END
    ) STORED,
    entry_group text GENERATED ALWAYS AS (
        CASE WHEN source = 'sale' OR kind IN ('sale', 'sale_installment', 'commission', 'marketplace_fee',
                                              'buyer_refund', 'chargeback') THEN 'sale'
             WHEN kind IN ('lease_income', 'parking_revenue', 'other_income') THEN 'income'
             ELSE 'cost' END
    ) STORED,
    awaits_rates boolean NOT NULL, -- the rates of its day were not loaded when it was converted
    voided_at timestamptz,
    voided_by uuid,
    void_reason text,
    PRIMARY KEY (account_id, id),
    CHECK ((source = 'sale') = (sale_id IS NOT NULL)),
    CHECK ((sale_id IS NULL) = (sale_line IS NULL) AND (sale_id IS NULL) = (sale_role IS NULL)),
    CHECK ((source = 'sync') = (charge_id IS NOT NULL)),
    CHECK (reference IS NULL OR source IN ('manual', 'import') AND order_ref IS NULL),
    CHECK ((base_amount IS NULL) = (fx_rate IS NULL) AND (fx_rate IS NULL) = (fx_date IS NULL)),
    CHECK ((voided_at IS NULL) = (void_reason IS NULL))
);
-- The entries of a domain by day, and the sums of each of many domains without reading the rows.
CREATE INDEX portfolio_ledger_entries_of_domain ON portfolio_ledger_entries (account_id, domain_id, occurred_on, id)
    INCLUDE (voided_at, sale_id, base_currency, signed_base, entry_group, kind);
CREATE UNIQUE INDEX portfolio_ledger_entries_reference ON portfolio_ledger_entries (account_id, source, reference)
    WHERE reference IS NOT NULL AND voided_at IS NULL;
CREATE UNIQUE INDEX portfolio_ledger_entries_charge ON portfolio_ledger_entries (account_id, charge_id)
    WHERE charge_id IS NOT NULL AND voided_at IS NULL;
CREATE UNIQUE INDEX portfolio_ledger_entries_sale ON portfolio_ledger_entries (account_id, sale_id, sale_line)
    WHERE sale_id IS NOT NULL AND voided_at IS NULL;
CREATE INDEX portfolio_ledger_entries_awaiting ON portfolio_ledger_entries (account_id) WHERE awaits_rates;
-- The last renewal of each of many domains, for its price.
CREATE INDEX portfolio_ledger_entries_renewal ON portfolio_ledger_entries (account_id, domain_id, occurred_on)
    INCLUDE (amount, currency, years) WHERE kind = 'renewal' AND voided_at IS NULL;
-- The entries by day, and those in a period for its summary, without reading the rows.
CREATE INDEX portfolio_ledger_entries_period ON portfolio_ledger_entries (account_id, occurred_on, id)
    INCLUDE (voided_at, domain_id, kind, source, currency, amount, base_currency, base_amount);

CREATE TABLE portfolio_ledger_settings (
    account_id uuid PRIMARY KEY,
    base_currency text NOT NULL
);

-- Rates of currencies that the bank does not quote, each from its day until the next one.
CREATE TABLE portfolio_ledger_own_rates (
    account_id uuid NOT NULL,
    currency text NOT NULL,
    since date NOT NULL,
    rate numeric NOT NULL CHECK (rate > 0), -- units of the quote currency per unit of the currency
    quote_currency text NOT NULL, -- one that the bank quotes
    PRIMARY KEY (account_id, currency, since)
);

-- A reference table: the euro reference rates of the European Central Bank, and 1 for the euro itself.
CREATE TABLE portfolio_ledger_rates (
    currency text NOT NULL,
    quoted_on date NOT NULL,
    rate numeric NOT NULL CHECK (rate > 0), -- units of the currency per euro
    PRIMARY KEY (currency, quoted_on)
);

-- Half-even, as all amounts of money are rounded; round() rounds a half away from zero.
CREATE FUNCTION portfolio_ledger_round(amount numeric, decimals int) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN abs(amount) * power(10::numeric, decimals) % 1 = 0.5 THEN 2 * round(amount * 0.5, decimals)
            ELSE round(amount, decimals) END;

-- finance: sales, and what reports are computed from.

-- Sales. Their amounts are entries of the ledger, each a line of the sale.
CREATE TABLE portfolio_finance_sales (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    domain_id uuid NOT NULL,
    sold_on date NOT NULL,
    commission_rate numeric(7, 6) CHECK (commission_rate BETWEEN 0 AND 1), -- null: none, or a fixed commission
    venue text,
    buyer_ref text, -- the account's own reference to the buyer
    own_share numeric(7, 6) NOT NULL CHECK (own_share BETWEEN 0 AND 1), -- of the net proceeds
    status_before text NOT NULL, -- of the domain, which has it again when the sale is voided
    created_at timestamptz NOT NULL,
    created_by uuid, -- the member; null: a job
    voided_at timestamptz,
    import_id uuid, -- that recorded it, for its undo; null: a member recorded or changed it
    awaits_day boolean NOT NULL DEFAULT false, -- its day has not come, so the domain is not sold yet
    installments jsonb NOT NULL DEFAULT '[]', -- as agreed: amount, currency, on, received_on (null: planned)
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
-- A domain can be sold, bought back and sold again, once on a day.
CREATE UNIQUE INDEX portfolio_finance_sales_of_domain ON portfolio_finance_sales (account_id, domain_id, sold_on)
    WHERE voided_at IS NULL;

CREATE INDEX portfolio_finance_sales_awaiting ON portfolio_finance_sales (account_id, sold_on)
    WHERE awaits_day AND voided_at IS NULL;

-- The figures of each domain with entries, for orders and filters of lists. They hold from one day to before another.
-- A copy: of a domain in portfolio_domains_outdated, a read computes the figures itself (portfolio/domains/figures.py).
CREATE TABLE portfolio_domains_figures (
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    base_currency text NOT NULL,
    cost numeric NOT NULL,
    income numeric NOT NULL,
    net numeric NOT NULL,
    roi numeric, -- null: without costs
    valid_from date NOT NULL,
    valid_until date NOT NULL,
    PRIMARY KEY (account_id, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_domains_figures_until ON portfolio_domains_figures (valid_until) WHERE valid_until < 'infinity';
-- Domains whose entries or sales have changed since their figures were written. Each transaction adds rows of its own,
-- so that none waits for another; a row is visible with the change that it is about.
CREATE TABLE portfolio_domains_outdated (
    account_id uuid NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    domain_id uuid NOT NULL,
    PRIMARY KEY (account_id, position)
);
-- The sums of the entries of each month, for summaries: by currency, by public suffix and by tag. A copy: of a month in
-- portfolio_domains_outdated_months, a read sums up the entries itself.
CREATE TABLE portfolio_domains_months (
    account_id uuid NOT NULL,
    label_kind text NOT NULL CHECK (label_kind IN ('currency', 'tld', 'tag')),
    month date NOT NULL, -- its first day
    label text NOT NULL,
    base_currency text NOT NULL,
    kind text NOT NULL,
    source text NOT NULL,
    amount numeric NOT NULL, -- of a currency in it, else of several
    base_amount numeric, -- of the entries that are converted; null: none is
    entries bigint NOT NULL,
    converted bigint NOT NULL,
    PRIMARY KEY (account_id, label_kind, month, label, base_currency, kind, source)
);
-- Months whose entries, or the tags of whose domains, have changed since their sums were written, as above.
CREATE TABLE portfolio_domains_outdated_months (
    account_id uuid NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    month date NOT NULL,
    PRIMARY KEY (account_id, position)
);
CREATE FUNCTION portfolio_domains_month(day date) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN day - (extract(day FROM day)::int - 1);

-- The visits that parking providers counted, on which advice about renewals depends.
CREATE TABLE portfolio_finance_traffic (
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    reported_on date, -- the last day with a count; null: no recent one
    visited_on date, -- the last day with a visit; null: no recent one
    PRIMARY KEY (account_id, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);

-- parking

-- Parking revenue by day. No partitions: a row changes when its provider corrects it, and is deleted with its domain.
CREATE TABLE portfolio_parking_revenue (
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    day date NOT NULL,
    provider text COLLATE "C" NOT NULL,
    reference text COLLATE "C" NOT NULL, -- of the provider; empty: none
    visits bigint CHECK (visits >= 0), -- null: unknown
    clicks bigint CHECK (clicks >= 0), -- null: unknown
    amount numeric NOT NULL CHECK (amount >= 0 AND scale(amount) <= 8), -- exact, also a fraction of a cent
    currency text NOT NULL,
    updated_at timestamptz NOT NULL,
    import_id uuid, -- that recorded it, for its undo; null: a report recorded or replaced it
    PRIMARY KEY (account_id, domain_id, day, provider, reference),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_parking_revenue_day ON portfolio_parking_revenue (account_id, day);

-- The entry of the ledger that books the days of a month: their sum, rounded once. A sum that rounds to zero has none.
CREATE TABLE portfolio_parking_bookings (
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    month date NOT NULL CHECK (extract(day FROM month) = 1),
    provider text COLLATE "C" NOT NULL,
    currency text NOT NULL,
    entry_id uuid NOT NULL,
    PRIMARY KEY (account_id, domain_id, month, provider, currency),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);

-- saved_formats: how the sheets of an account are written.

CREATE TABLE portfolio_saved_formats (
    account_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('domains', 'parking', 'charges')),
    mapping jsonb NOT NULL, -- the header of each column
    date_order text NOT NULL,
    decimal_mark text NOT NULL,
    encoding text, -- NULL: it is detected
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, name)
);

-- saved_views: how each member views the domains of an account.

CREATE TABLE portfolio_saved_views (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL, -- a real account, in the portfolio of a sandbox account too
    columns text[] NOT NULL, -- of the list of domains; empty: the usual ones
    views jsonb NOT NULL, -- an array of {name, query}
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, member_id)
);

-- runs: long work of a portfolio, in parts that jobs do.

CREATE TABLE portfolio_runs (
    account_id uuid NOT NULL, -- the portfolio
    id uuid NOT NULL,
    kind text NOT NULL,
    options jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed')),
    created_by uuid, -- the member; null: a schedule
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX portfolio_runs_listed ON portfolio_runs (account_id, kind, id);
-- For the deletion of all accounts' old runs.
CREATE INDEX portfolio_runs_created ON portfolio_runs (created_at);
CREATE INDEX portfolio_runs_imported ON portfolio_runs (created_at) WHERE kind = 'import';

-- The part of a run that is about one subject. A part of another kind can be added: the undo of an import.
CREATE TABLE portfolio_runs_parts (
    account_id uuid NOT NULL,
    run_id uuid NOT NULL,
    kind text NOT NULL,
    subject_id uuid NOT NULL, -- a registrar connection, or the portfolio
    provider text COLLATE "C" NOT NULL DEFAULT '', -- of a connection
    state text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed', 'skipped', 'unsupported')),
    claim uuid, -- of the worker that does it; another one has a new claim
    attempts smallint NOT NULL DEFAULT 0, -- claims in succession that did not end regularly
    counts jsonb NOT NULL DEFAULT '{}',
    details jsonb NOT NULL DEFAULT '[]', -- the first ones
    error jsonb,
    unread jsonb NOT NULL DEFAULT '[]', -- the first items of a list that could not be read, or only in part
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    advanced_at timestamptz NOT NULL, -- the last sign of progress
    finished_at timestamptz,
    PRIMARY KEY (account_id, run_id, kind, subject_id),
    FOREIGN KEY (account_id, run_id) REFERENCES portfolio_runs (account_id, id) ON DELETE CASCADE
);
-- One run at a time per connection; imports of a portfolio wait for each other.
CREATE UNIQUE INDEX portfolio_runs_parts_open ON portfolio_runs_parts (account_id, subject_id, kind)
    WHERE state IN ('queued', 'running') AND kind IN ('sync', 'billing', 'inventory', 'push');
CREATE INDEX portfolio_runs_parts_waiting ON portfolio_runs_parts (account_id, kind, subject_id, run_id)
    WHERE state IN ('queued', 'running');
CREATE INDEX portfolio_runs_parts_latest ON portfolio_runs_parts (account_id, subject_id, kind, created_at);

-- imports: what was read, what was done with each row, and what is needed to undo it.

-- The source of an import that a job runs, sealed; deleted when the import ends.
CREATE TABLE portfolio_imports_sources (
    account_id uuid NOT NULL,
    import_id uuid NOT NULL,
    number int NOT NULL,
    content bytea NOT NULL,
    first_row int, -- of those that it holds as JSON; null: bytes of the source
    PRIMARY KEY (account_id, import_id, number),
    FOREIGN KEY (account_id, import_id) REFERENCES portfolio_runs (account_id, id) ON DELETE CASCADE
);

CREATE TABLE portfolio_imports_rows (
    account_id uuid NOT NULL,
    import_id uuid NOT NULL,
    number int NOT NULL, -- of the row, from 0
    position int NOT NULL, -- line or index, as it is shown
    domain text, -- A-label; as written when it is none
    outcome text NOT NULL CHECK (outcome IN ('created', 'updated', 'unchanged', 'skipped', 'error')),
    domain_id uuid,
    errors jsonb NOT NULL,
    warnings jsonb NOT NULL,
    before jsonb, -- the changed fields of the domain; null: nothing was changed
    after jsonb,
    entry_ids uuid[] NOT NULL, -- that the row added to the ledger
    kept jsonb, -- why the undo kept it, because it was changed or used since; null: nothing was kept
    PRIMARY KEY (account_id, import_id, number),
    FOREIGN KEY (account_id, import_id) REFERENCES portfolio_runs (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_imports_rows_outcome ON portfolio_imports_rows (account_id, import_id, outcome, number);
CREATE INDEX portfolio_imports_rows_kept ON portfolio_imports_rows (account_id, import_id, number)
    WHERE kept IS NOT NULL;
-- The rows of a domain in one import, and in all imports of the portfolio.
CREATE INDEX portfolio_imports_rows_name ON portfolio_imports_rows (account_id, domain, import_id, number);

-- renewals: decisions, the settings of registrars that they imply, and secret links of calendars.

CREATE TABLE portfolio_renewals_decisions (
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    decision text NOT NULL CHECK (decision IN ('renew', 'drop', 'undecided')),
    years smallint CHECK (years BETWEEN 1 AND 10), -- to renew for; null: not decided
    note text,
    snooze_until date, -- no reminders before; null: as usual
    expires_at timestamptz, -- of the domain when it was decided: a renewal makes the decision obsolete
    decided_at timestamptz NOT NULL,
    decided_by uuid NOT NULL, -- the member
    PRIMARY KEY (account_id, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);

-- One calendar for each member of a portfolio.
CREATE TABLE portfolio_renewals_calendars (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, member_id)
);

-- A calendar is requested without its account. Tokens are kept as hashes.
CREATE TABLE portfolio_renewals_tokens (
    token_hash bytea PRIMARY KEY,
    account_id uuid NOT NULL,
    member_id uuid NOT NULL,
    FOREIGN KEY (account_id, member_id) REFERENCES portfolio_renewals_calendars (account_id, member_id) ON DELETE CASCADE
);
CREATE INDEX portfolio_renewals_tokens_calendar ON portfolio_renewals_tokens (account_id, member_id);

-- Auto-renew settings that wait to be sent to a registrar, of each domain the last one.
CREATE TABLE portfolio_renewals_pushes (
    account_id uuid NOT NULL, -- the portfolio
    domain_id uuid NOT NULL,
    connection_id uuid NOT NULL, -- that sends it
    auto_renew boolean NOT NULL,
    requested_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_renewals_pushes_waiting
    ON portfolio_renewals_pushes (account_id, connection_id, requested_at, domain_id);

-- registrars: connections, runs, the domains that registrars hold, and what is kept of reconciling.

CREATE TABLE portfolio_registrars_connections (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL, -- `porkbun`; `manual:NAME` for a registrar without an adapter
    name text COLLATE "C" NOT NULL, -- distinguishes accounts at one registrar
    label text,
    environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    base_url text, -- of a stand-in for the registrar; null: the registrar's own
    credentials bytea, -- sealed; null: none, or erased
    hints jsonb NOT NULL, -- the last characters of each credential, and when it was set
    is_enabled boolean NOT NULL,
    sync_interval_hours smallint NOT NULL CHECK (sync_interval_hours > 0),
    status text NOT NULL CHECK (status IN ('ok', 'auth_failed', 'restricted', 'rate_limited')), -- of the last request
    status_detail text,
    last_sync_at timestamptz,
    last_billing_sync_at timestamptz,
    suspected_drop int NOT NULL DEFAULT 0, -- domains that are held back, because many are missing at once
    suspected_drop_at timestamptz, -- the listing that did not have them
    next_allowed_at timestamptz, -- the registrar asked for no request before
    paced_until timestamptz NOT NULL, -- the rate limit is used up to this time (GCRA)
    disconnected_at timestamptz, -- null while connected; what the registrar held is kept
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, provider, name),
    CHECK (disconnected_at IS NULL OR credentials IS NULL)
) WITH (fillfactor = 50); -- each request to a registrar updates paced_until
CREATE INDEX portfolio_registrars_connections_by_end ON portfolio_registrars_connections (disconnected_at)
    WHERE disconnected_at IS NOT NULL;

-- The domains that a registrar holds. Null: the registrar does not say.
CREATE TABLE portfolio_registrars_holdings (
    account_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    domain text COLLATE "C" NOT NULL, -- lower-case A-label
    provider text COLLATE "C" NOT NULL, -- of the connection
    expires_at timestamptz,
    registered_at timestamptz,
    auto_renew boolean,
    locked boolean,
    privacy boolean,
    status text NOT NULL,
    status_raw text,
    nameservers text[],
    renewal_price numeric,
    renewal_currency text,
    source text NOT NULL CHECK (source IN ('api', 'import')),
    listing_id uuid NOT NULL, -- the last listing that had the domain
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- The listing without the domain: if a complete listing lacks many domains at once, their drop is held until the
    -- next complete listing lacks them, too.
    suspected_since timestamptz,
    missing_since timestamptz, -- the first complete listing without the domain
    PRIMARY KEY (account_id, connection_id, domain),
    CHECK ((renewal_price IS NULL) = (renewal_currency IS NULL))
);
CREATE INDEX portfolio_registrars_holdings_domain ON portfolio_registrars_holdings (account_id, domain, connection_id);
CREATE INDEX portfolio_registrars_holdings_provider
    ON portfolio_registrars_holdings (account_id, provider, domain, connection_id);
-- The few domains that registrars transfer away.
CREATE INDEX portfolio_registrars_holdings_leaving ON portfolio_registrars_holdings (account_id, domain)
    WHERE status = 'transferring_out' AND missing_since IS NULL;

-- The latest listing of each connection.
CREATE TABLE portfolio_registrars_snapshots (
    account_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL,
    source text NOT NULL CHECK (source IN ('api', 'import')),
    taken_at timestamptz NOT NULL,
    is_complete boolean NOT NULL,
    domains int NOT NULL,
    last_complete_at timestamptz,
    PRIMARY KEY (account_id, connection_id),
    FOREIGN KEY (account_id, connection_id) REFERENCES portfolio_registrars_connections (account_id, id) ON DELETE CASCADE
);

-- The urgent findings that are known, so that only new ones are published.
CREATE TABLE portfolio_registrars_drifts (
    account_id uuid NOT NULL PRIMARY KEY,
    finding_ids uuid[] NOT NULL
);

-- Domains whose auth code was requested, so that their transfer is expected.
CREATE TABLE portfolio_registrars_departures (
    account_id uuid NOT NULL,
    domain text COLLATE "C" NOT NULL,
    expected_until timestamptz NOT NULL,
    PRIMARY KEY (account_id, domain)
);

-- transfers to and from other registrars. No auth code is stored, only that one was requested.

CREATE TABLE portfolio_transfers (
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    state text NOT NULL, -- as last shown or published
    direction text CHECK (direction IN ('in', 'out')), -- of the latest known transfer, down to `is_expected`
    transfer_state text,
    transfer_status text, -- in the registrar's or the registry's own word
    transfer_provider text, -- the registrar that said so; null: the registry did
    transfer_message text,
    started_at timestamptz,
    ended_at timestamptz, -- null: pending, or at an unknown time
    is_expected boolean, -- whether the holder prepared it; null: unknown
    checked_at timestamptz, -- when a registrar was asked last; null: never
    failure text, -- why it did not answer then
    held_status text, -- of its last answer, as the next two
    locked boolean,
    created_at timestamptz, -- the registration
    code_requests timestamptz[] NOT NULL DEFAULT '{}', -- the latest ones, for their limit
    code_delivery text CHECK (code_delivery IN ('returned', 'emailed', 'dashboard', 'unsupported', 'pending')),
    code_expires_at timestamptz,
    inbound_checked_at timestamptz, -- when other registrars were asked for a transfer to them; null: never
    next_check_at timestamptz, -- null: not followed
    PRIMARY KEY (account_id, domain_id),
    CHECK (transfer_state IN ('pending', 'action_required', 'completed', 'failed', 'cancelled')),
    CHECK ((direction IS NULL) = (transfer_state IS NULL)),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
-- For the job that looks at the transfers of all accounts.
CREATE INDEX portfolio_transfers_due ON portfolio_transfers (next_check_at) WHERE next_check_at IS NOT NULL;

-- billing: charges of registrars. Each line of a bill, a line for several domains once for each of them.

-- No partitions: a charge changes when it is matched, applied or ignored.
CREATE TABLE portfolio_billing_charges (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    key bytea NOT NULL, -- hash of what identifies the line; the same line is recorded once
    provider text COLLATE "C" NOT NULL,
    connection_id uuid, -- null: imported without a connection
    order_id text NOT NULL, -- empty: the file has none, as in the next one
    line_id text NOT NULL,
    parent_order_id text, -- of a refund: the order that is refunded
    charged_on date NOT NULL,
    description text NOT NULL,
    domain_raw text, -- as the registrar writes it; null: the description alone can name a domain
    name_origin text NOT NULL CHECK (name_origin IN ('field', 'item', 'text')),
    domain text COLLATE "C", -- A-label; null: no domain is named
    kind text NOT NULL CHECK (kind IN ('registration', 'renewal', 'transfer', 'redemption', 'privacy', 'tax', 'refund',
                                       'other')),
    years smallint CHECK (years > 0), -- that the charge pays for; null: unknown
    total numeric(19, 4) NOT NULL, -- negative: a refund
    tax numeric(19, 4) NOT NULL, -- within the total, as the next one
    fees numeric(19, 4) NOT NULL,
    currency text NOT NULL,
    source text NOT NULL CHECK (source IN ('api', 'import')),
    run_id uuid NOT NULL, -- the sync or the import
    imported_at timestamptz NOT NULL,
    refund_of uuid, -- the charge that a refund reverses
    is_split boolean NOT NULL DEFAULT false, -- by a member; its parts are charges, too
    split_of uuid, -- of a part: the charge that is split
    is_ignored boolean NOT NULL DEFAULT false,
    domain_id uuid, -- null: not matched, or the domain was removed
    confidence numeric(3, 2), -- of the match, or of the best candidate
    method text,
    candidates jsonb NOT NULL DEFAULT '[]', -- domains that it can be, the likeliest first
    reason text, -- why the charge is not booked although its domain is known, such as entry_limit
    applied_at timestamptz,
    entry_id uuid, -- of the ledger; null for a total of zero
    is_linked boolean NOT NULL DEFAULT false, -- the entry was there before, and is no charge's own
    state text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN is_split THEN 'split'
             WHEN is_ignored THEN 'ignored'
             WHEN domain_id IS NULL AND candidates = '[]' THEN 'unmatched'
             WHEN domain_id IS NULL THEN 'suggested'
             WHEN applied_at IS NULL THEN 'matched'
             ELSE 'applied' END
    ) STORED,
    PRIMARY KEY (account_id, id),
    CHECK (NOT is_split OR split_of IS NULL AND domain_id IS NULL AND applied_at IS NULL),
    FOREIGN KEY (account_id, split_of) REFERENCES portfolio_billing_charges (account_id, id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id)
);
-- The parts of a split charge have its key.
CREATE UNIQUE INDEX portfolio_billing_charges_key ON portfolio_billing_charges (account_id, key) WHERE split_of IS NULL;
CREATE UNIQUE INDEX portfolio_billing_charges_parts ON portfolio_billing_charges (account_id, split_of, domain)
    WHERE split_of IS NOT NULL;
-- The order of the list, and one for each filter.
CREATE INDEX portfolio_billing_charges_newest ON portfolio_billing_charges (account_id, charged_on, id);
-- The sums of a list are read from this index alone; it serves the states, too.
CREATE INDEX portfolio_billing_charges_sums ON portfolio_billing_charges (account_id, state, charged_on, id)
    INCLUDE (provider, currency, total);
CREATE INDEX portfolio_billing_charges_provider ON portfolio_billing_charges (account_id, provider, charged_on, id);
-- For refunds, and for the foreign key.
CREATE INDEX portfolio_billing_charges_order ON portfolio_billing_charges (account_id, order_id);
CREATE INDEX portfolio_billing_charges_name ON portfolio_billing_charges (account_id, domain, charged_on);
CREATE INDEX portfolio_billing_charges_domain ON portfolio_billing_charges (account_id, domain_id);
CREATE INDEX portfolio_billing_charges_run ON portfolio_billing_charges (account_id, run_id);
-- An entry of the ledger belongs to one charge.
CREATE UNIQUE INDEX portfolio_billing_charges_entry ON portfolio_billing_charges (account_id, entry_id)
    WHERE entry_id IS NOT NULL AND applied_at IS NOT NULL;

-- notifications: preferences of the members, and their notices.

CREATE TABLE portfolio_notifications_preferences (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL, -- a real account, in the portfolio of a sandbox account too
    settings jsonb NOT NULL, -- what the member has set; what is absent has its default
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, member_id)
);

CREATE TABLE portfolio_notifications_notices (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    member_id uuid NOT NULL, -- a real account
    event text NOT NULL, -- name of the event that the notice is about
    title text NOT NULL, -- in a sentence, as of `created_at`
    severity text NOT NULL CHECK (severity IN ('info', 'warn', 'high', 'critical')),
    domain_id uuid,
    domain text, -- A-label
    threshold_days smallint, -- of a notice about an expiry
    expires_on date,
    auto_renew boolean,
    month date, -- of a cost alert: its first day
    amount numeric, -- renewal price of the domain; of a cost alert the sum of the month
    currency text,
    in_app boolean NOT NULL, -- whether the list of the member shows it
    email_at timestamptz, -- when the email is due; null when there is none, and when it was sent
    held_by text CHECK (held_by IN ('quiet_hours', 'digest')), -- why the email was not due at once
    emailed_at timestamptz,
    created_at timestamptz NOT NULL,
    read_at timestamptz,
    acknowledged_at timestamptz,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX portfolio_notifications_notices_list ON portfolio_notifications_notices (account_id, member_id, id DESC)
    WHERE in_app;
CREATE INDEX portfolio_notifications_notices_unread ON portfolio_notifications_notices (account_id, member_id, id DESC)
    WHERE in_app AND read_at IS NULL;
-- Of all accounts alike: the emails that are due.
CREATE INDEX portfolio_notifications_notices_due ON portfolio_notifications_notices (email_at, account_id)
    WHERE email_at IS NOT NULL;
CREATE INDEX portfolio_notifications_notices_age ON portfolio_notifications_notices (created_at);

-- The notices that a member has had, so that there is no second one, however often a job runs.
CREATE TABLE portfolio_notifications_keys (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('expiry', 'cost', 'event')),
    subject_id uuid NOT NULL, -- the domain or the event; of a cost alert zero
    due_on date NOT NULL, -- the expiry, the first day of the month, or the day of the event
    days smallint NOT NULL, -- the threshold; else zero
    notified_on date NOT NULL, -- of the latest notice, which can be repeated each day until it is acknowledged
    acknowledged_at timestamptz, -- of an expiry: there is no other notice about it
    PRIMARY KEY (account_id, member_id, kind, subject_id, due_on, days)
);
CREATE INDEX portfolio_notifications_keys_age ON portfolio_notifications_keys (due_on);

-- The day on which the domains of a portfolio were last looked through.
CREATE TABLE portfolio_notifications_runs (
    account_id uuid PRIMARY KEY,
    run_on date NOT NULL
);
