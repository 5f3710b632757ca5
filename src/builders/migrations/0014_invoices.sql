-- works with: 1.0.0
-- run: before

-- Invoices: numbers without gaps, lines, account credit as a ledger, payments, and events of Stripe.

-- A number is assigned in the transaction that issues its invoice, so a rollback leaves no gap.
CREATE TABLE invoices_series (
    series text PRIMARY KEY, -- such as INV-2026
    last bigint NOT NULL
);

CREATE TABLE invoices_invoices (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    number text, -- null: a draft
    is_test boolean NOT NULL, -- of a sandbox account
    status text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'open', 'paid', 'void', 'uncollectible')),
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    tax_rate numeric(7, 4) NOT NULL CHECK (tax_rate BETWEEN 0 AND 100), -- percent, at issue
    subtotal numeric(20, 4) NOT NULL CHECK (subtotal >= 0),
    tax_total numeric(20, 4) NOT NULL CHECK (tax_total >= 0),
    total numeric(20, 4) NOT NULL,
    credit_applied numeric(20, 4) NOT NULL DEFAULT 0 CHECK (credit_applied >= 0),
    amount_paid numeric(20, 4) NOT NULL DEFAULT 0 CHECK (amount_paid >= 0),
    seller jsonb NOT NULL, -- as it was at issue
    buyer jsonb, -- as it was at issue; null: a draft
    promotion_id uuid,
    replaces uuid, -- the void invoice whose other lines this one charges for
    stage smallint NOT NULL DEFAULT 0 CHECK (stage BETWEEN 0 AND 3), -- of being overdue
    payment_method text, -- of the newest payment
    payment_reference text,
    created_at timestamptz NOT NULL,
    issued_at timestamptz,
    due_at timestamptz NOT NULL,
    -- When the stages of being overdue begin: after the due date if a worker was late, so that nobody loses names
    -- on the day of the first reminder; null: at the due date.
    counted_from timestamptz,
    paid_at timestamptz,
    voided_at timestamptz,
    void_reason text CHECK (void_reason IN ('released', 'cancelled')), -- null: not void, or unknown
    uncollectible_at timestamptz,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, number),
    UNIQUE (account_id, id, currency, total), -- which its lines name, so that neither changes (decision 0063)
    CHECK (total = subtotal + tax_total),
    CHECK (credit_applied + amount_paid <= total),
    CHECK ((status = 'draft') = (number IS NULL)),
    CHECK ((status = 'draft') = (issued_at IS NULL)),
    CHECK ((status = 'draft') = (buyer IS NULL)),
    CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
    CHECK (status <> 'paid' OR credit_applied + amount_paid = total),
    CHECK ((status = 'void') = (voided_at IS NOT NULL)),
    FOREIGN KEY (account_id, replaces) REFERENCES invoices_invoices (account_id, id)
);
CREATE INDEX invoices_invoices_issued ON invoices_invoices (account_id, id) WHERE number IS NOT NULL;
CREATE INDEX invoices_invoices_by_status ON invoices_invoices (account_id, status, id) WHERE number IS NOT NULL;
CREATE INDEX invoices_invoices_newest ON invoices_invoices (id) WHERE number IS NOT NULL;
CREATE INDEX invoices_invoices_due ON invoices_invoices (stage, due_at) WHERE status = 'open';
CREATE INDEX invoices_invoices_by_promotion ON invoices_invoices (account_id, promotion_id)
    WHERE promotion_id IS NOT NULL;
CREATE UNIQUE INDEX invoices_invoices_replaces ON invoices_invoices (account_id, replaces) WHERE replaces IS NOT NULL;

-- From a number to the account: an operator has only the number of a bank transfer.
CREATE TABLE invoices_numbers (
    number text PRIMARY KEY,
    account_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id)
);
CREATE INDEX invoices_numbers_by_invoice ON invoices_numbers (account_id, invoice_id);

CREATE TABLE invoices_lines (
    account_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    position integer NOT NULL, -- from 1
    id uuid NOT NULL,
    description text NOT NULL,
    alias_id uuid,
    quantity integer NOT NULL CHECK (quantity > 0),
    unit_amount numeric(20, 4) NOT NULL CHECK (unit_amount >= 0),
    amount numeric(20, 4) NOT NULL, -- quantity * unit_amount, rounded to the decimals of the currency
    tax_amount numeric(20, 4) NOT NULL,
    period_start timestamptz NOT NULL,
    period_end timestamptz,
    invoice_currency text NOT NULL,
    invoice_total numeric(20, 4) NOT NULL,
    PRIMARY KEY (account_id, invoice_id, position),
    FOREIGN KEY (account_id, invoice_id, invoice_currency, invoice_total)
        REFERENCES invoices_invoices (account_id, id, currency, total)
);
CREATE INDEX invoices_lines_by_alias ON invoices_lines (account_id, alias_id) WHERE alias_id IS NOT NULL;

-- The credit of an account is the sum of its rows, which never change.
CREATE TABLE invoices_credit (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    amount numeric(20, 4) NOT NULL CHECK (amount <> 0), -- negative where credit is used
    kind text NOT NULL CHECK (kind IN ('granted', 'applied', 'overpaid', 'returned')),
    reason text NOT NULL,
    reference text, -- of the operator: the same reference twice is one grant
    invoice_id uuid, -- no foreign key: it outlives a sandbox that is reset
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX invoices_credit_by_currency ON invoices_credit (account_id, currency, id);
CREATE UNIQUE INDEX invoices_credit_by_reference ON invoices_credit (account_id, reference)
    WHERE reference IS NOT NULL;

-- Lines of paid invoices that became credit, each once.
CREATE TABLE invoices_line_credits (
    account_id uuid NOT NULL,
    line_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    credit_id uuid NOT NULL, -- in the ledger
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, line_id),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id)
);
CREATE INDEX invoices_line_credits_by_invoice ON invoices_line_credits (account_id, invoice_id);

-- Locked by transactions that spend or grant credit, so that they run one after the other; it contains no balance.
CREATE TABLE invoices_credit_locks (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    currency text NOT NULL,
    turns bigint NOT NULL,
    PRIMARY KEY (account_id, currency)
);

CREATE TABLE invoices_payments (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    method text NOT NULL,
    reference text NOT NULL, -- of the bank, or the checkout session
    amount numeric(20, 4) NOT NULL CHECK (amount > 0), -- received
    overpaid numeric(20, 4) NOT NULL CHECK (overpaid >= 0), -- the part that became credit
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, invoice_id, method, reference),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id)
);

-- Payment links and their outcomes.
CREATE TABLE invoices_checkouts (
    account_id uuid NOT NULL,
    id uuid NOT NULL, -- the idempotency key at Stripe
    invoice_id uuid NOT NULL,
    amount numeric(20, 4) NOT NULL,
    status text NOT NULL CHECK (status IN ('asked', 'open', 'refused', 'completed', 'expired', 'failed')),
    session_id text,
    url text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
);
CREATE INDEX invoices_checkouts_by_invoice ON invoices_checkouts (account_id, invoice_id, id);

-- Each event of Stripe once. The account is null if the event belongs to no known invoice.
CREATE TABLE invoices_stripe_events (
    id text PRIMARY KEY,
    type text NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('applied', 'noted', 'ignored', 'discrepancy')),
    detail text NOT NULL,
    account_id uuid,
    invoice_id uuid,
    created_at timestamptz NOT NULL
);
CREATE INDEX invoices_stripe_events_by_age ON invoices_stripe_events (created_at) WHERE outcome = 'ignored';
CREATE INDEX invoices_stripe_events_amiss ON invoices_stripe_events (created_at DESC)
    WHERE outcome = 'discrepancy';
CREATE INDEX invoices_stripe_events_by_invoice ON invoices_stripe_events (account_id, invoice_id)
    WHERE invoice_id IS NOT NULL;

-- Buyers of invoices, where the account's name is not enough.
CREATE TABLE invoices_buyers (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    name text NOT NULL,
    address text[] NOT NULL,
    country text,
    tax_id text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id)
);

-- Each email about an invoice once, however often its job runs.
CREATE TABLE invoices_emails (
    account_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    occasion text NOT NULL,
    message_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, invoice_id, occasion),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
);

-- Deletes the invoices of a sandbox account with all that is booked on them, and its credit; returns their number. With
-- the rights of the owner, because no role may delete invoices; one that is no test, and credit of a real account, stay.
CREATE FUNCTION invoices_clear(sandbox uuid) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    tests uuid[] := ARRAY(SELECT id FROM invoices_invoices WHERE account_id = sandbox AND is_test);
BEGIN
    DELETE FROM invoices_credit
    WHERE account_id = sandbox AND EXISTS (SELECT FROM identity_accounts WHERE id = sandbox AND sandbox_of IS NOT NULL);
    DELETE FROM invoices_buyers
    WHERE account_id = sandbox AND EXISTS (SELECT FROM identity_accounts WHERE id = sandbox AND sandbox_of IS NOT NULL);
    DELETE FROM invoices_numbers WHERE account_id = sandbox AND invoice_id = ANY(tests);
    DELETE FROM invoices_line_credits WHERE account_id = sandbox AND invoice_id = ANY(tests);
    DELETE FROM invoices_lines WHERE account_id = sandbox AND invoice_id = ANY(tests);
    DELETE FROM invoices_payments WHERE account_id = sandbox AND invoice_id = ANY(tests);
    -- Foreign keys delete the checkouts and emails of an invoice, but nothing that is booked.
    DELETE FROM invoices_invoices WHERE account_id = sandbox AND id = ANY(tests);
    RETURN cardinality(tests);
END
$$;
REVOKE EXECUTE ON FUNCTION invoices_clear FROM PUBLIC;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION invoices_clear SET search_path = %I, pg_temp', current_schema());
END $$;
