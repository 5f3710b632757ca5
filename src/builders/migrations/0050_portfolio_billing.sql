-- Charges of registrars: each line of a bill, a line for several domains once for each of them.

-- No partitions: a charge changes when it is matched, applied or ignored.
CREATE TABLE portfolio_billing_charges (
    account_id uuid NOT NULL, -- the portfolio
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
    is_ignored boolean NOT NULL DEFAULT false,
    domain_id uuid, -- null: not matched, or the domain was removed
    confidence numeric(3, 2), -- of the match, or of the best candidate
    method text,
    candidates jsonb NOT NULL DEFAULT '[]', -- domains that it can be, the likeliest first
    applied_at timestamptz,
    entry_id uuid, -- of the ledger; null for a total of zero
    is_linked boolean NOT NULL DEFAULT false, -- the entry was there before, and is no charge's own
    state text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN is_ignored THEN 'ignored'
             WHEN domain_id IS NULL AND candidates = '[]' THEN 'unmatched'
             WHEN domain_id IS NULL THEN 'suggested'
             WHEN applied_at IS NULL THEN 'matched'
             ELSE 'applied' END
    ) STORED,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, key),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE SET NULL (domain_id)
);
-- The order of the list, and one for each filter.
CREATE INDEX portfolio_billing_charges_newest ON portfolio_billing_charges (account_id, charged_on, id);
CREATE INDEX portfolio_billing_charges_state ON portfolio_billing_charges (account_id, state, charged_on, id);
CREATE INDEX portfolio_billing_charges_provider ON portfolio_billing_charges (account_id, provider, charged_on, id);
-- For refunds, and for the foreign key.
CREATE INDEX portfolio_billing_charges_order ON portfolio_billing_charges (account_id, order_id);
CREATE INDEX portfolio_billing_charges_name ON portfolio_billing_charges (account_id, domain, charged_on);
CREATE INDEX portfolio_billing_charges_domain ON portfolio_billing_charges (account_id, domain_id);
CREATE INDEX portfolio_billing_charges_run ON portfolio_billing_charges (account_id, run_id);
-- An entry of the ledger belongs to one charge.
CREATE UNIQUE INDEX portfolio_billing_charges_entry ON portfolio_billing_charges (account_id, entry_id)
    WHERE entry_id IS NOT NULL AND applied_at IS NOT NULL;
