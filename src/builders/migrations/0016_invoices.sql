-- Invoices: numbers without gaps, lines, account credit as a ledger, payments, and what Stripe told.

-- A number is given in the transaction that issues its invoice, so one that is undone leaves no gap.
CREATE TABLE invoices_series (
    series text PRIMARY KEY, -- such as INV-2026
    last bigint NOT NULL
);

CREATE TABLE invoices_invoices (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    number text, -- null while it is a draft
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
    buyer jsonb, -- as it was at issue; null while it is a draft
    promotion_id uuid,
    stage smallint NOT NULL DEFAULT 0 CHECK (stage BETWEEN 0 AND 3), -- of being overdue
    payment_method text, -- of the newest payment
    payment_reference text,
    created_at timestamptz NOT NULL,
    issued_at timestamptz,
    due_at timestamptz NOT NULL,
    paid_at timestamptz,
    voided_at timestamptz,
    uncollectible_at timestamptz,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, number),
    CHECK (total = subtotal + tax_total),
    CHECK (credit_applied + amount_paid <= total),
    CHECK ((status = 'draft') = (number IS NULL)),
    CHECK ((status = 'draft') = (issued_at IS NULL)),
    CHECK ((status = 'draft') = (buyer IS NULL)),
    CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
    CHECK (status <> 'paid' OR credit_applied + amount_paid = total),
    CHECK ((status = 'void') = (voided_at IS NOT NULL))
);
CREATE INDEX invoices_invoices_issued ON invoices_invoices (account_id, id) WHERE number IS NOT NULL;
CREATE INDEX invoices_invoices_by_status ON invoices_invoices (account_id, status, id) WHERE number IS NOT NULL;
CREATE INDEX invoices_invoices_newest ON invoices_invoices (id) WHERE number IS NOT NULL;
CREATE INDEX invoices_invoices_due ON invoices_invoices (stage, due_at) WHERE status = 'open';
CREATE INDEX invoices_invoices_by_promotion ON invoices_invoices (account_id, promotion_id)
    WHERE promotion_id IS NOT NULL;

-- Whose a number is: an operator has the number of a bank transfer, and nothing else.
CREATE TABLE invoices_numbers (
    number text PRIMARY KEY,
    account_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
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
    amount numeric(20, 4) NOT NULL, -- quantity * unit_amount, in whole smallest coins
    tax_amount numeric(20, 4) NOT NULL,
    period_start timestamptz NOT NULL,
    period_end timestamptz,
    PRIMARY KEY (account_id, invoice_id, position),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
);
CREATE INDEX invoices_lines_by_alias ON invoices_lines (account_id, alias_id) WHERE alias_id IS NOT NULL;

-- What an account has with us besides invoices is the sum of these; nothing here is ever changed.
CREATE TABLE invoices_credit (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    amount numeric(20, 4) NOT NULL CHECK (amount <> 0), -- negative where credit is used
    kind text NOT NULL CHECK (kind IN ('granted', 'applied', 'overpaid', 'returned')),
    reason text NOT NULL,
    invoice_id uuid, -- no foreign key: it outlives a sandbox that is reset
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX invoices_credit_by_currency ON invoices_credit (account_id, currency, id);

-- Locked by whoever spends or gives credit, so that two at once take turns; it holds no balance.
CREATE TABLE invoices_purses (
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
    amount numeric(20, 4) NOT NULL CHECK (amount > 0), -- what came
    overpaid numeric(20, 4) NOT NULL CHECK (overpaid >= 0), -- the part of it that became credit
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, invoice_id, method, reference),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
);

-- Links to pay by, and what became of them.
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

-- Each event of Stripe once. The account is null where the event is of nothing that we know.
CREATE TABLE invoices_stripe_events (
    id text PRIMARY KEY,
    type text NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('applied', 'noted', 'ignored', 'discrepancy')),
    detail text NOT NULL,
    account_id uuid,
    invoice_id uuid,
    created_at timestamptz NOT NULL
);
CREATE INDEX invoices_stripe_events_amiss ON invoices_stripe_events (created_at DESC)
    WHERE outcome = 'discrepancy';
CREATE INDEX invoices_stripe_events_by_invoice ON invoices_stripe_events (account_id, invoice_id)
    WHERE invoice_id IS NOT NULL;

-- Whom invoices are for, when it is not simply the account's name.
CREATE TABLE invoices_buyers (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    name text NOT NULL,
    address text[] NOT NULL,
    country text,
    tax_id text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id)
);

-- Each letter about an invoice once, however often its job runs.
CREATE TABLE invoices_letters (
    account_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    letter text NOT NULL,
    message_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, invoice_id, letter),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
);

-- What the house promises, kept also against a statement that forgets it.
CREATE FUNCTION invoices_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.status <> 'draft' AND NOT OLD.is_test THEN
            RAISE EXCEPTION 'the invoice % was issued and is never deleted', OLD.number USING ERRCODE = '23001';
        END IF;
        RETURN OLD;
    END IF;
    IF OLD.status IN ('paid', 'void') THEN
        RAISE EXCEPTION 'the invoice % is % and never changes', OLD.number, OLD.status USING ERRCODE = '23001';
    END IF;
    IF OLD.status <> 'draft' AND (
        NEW.status = 'draft'
        OR (NEW.account_id, NEW.id, NEW.number, NEW.is_test, NEW.currency, NEW.tax_rate, NEW.subtotal,
            NEW.tax_total, NEW.total, NEW.seller, NEW.buyer, NEW.promotion_id, NEW.issued_at, NEW.due_at)
        IS DISTINCT FROM
           (OLD.account_id, OLD.id, OLD.number, OLD.is_test, OLD.currency, OLD.tax_rate, OLD.subtotal,
            OLD.tax_total, OLD.total, OLD.seller, OLD.buyer, OLD.promotion_id, OLD.issued_at, OLD.due_at)
    ) THEN
        RAISE EXCEPTION 'the invoice % was issued and says what it says', OLD.number USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER invoices_keep BEFORE UPDATE OR DELETE ON invoices_invoices
    FOR EACH ROW EXECUTE FUNCTION invoices_keep();

-- Lines come with their draft and never change; they go with their invoice.
CREATE FUNCTION invoices_keep_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM touched JOIN invoices_invoices AS invoice
          ON invoice.account_id = touched.account_id AND invoice.id = touched.invoice_id
        WHERE invoice.status <> 'draft'
    ) THEN
        RAISE EXCEPTION 'the lines of an invoice that was issued never change' USING ERRCODE = '23001';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER invoices_keep_added AFTER INSERT ON invoices_lines
    REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION invoices_keep_lines();
CREATE TRIGGER invoices_keep_changed AFTER UPDATE ON invoices_lines
    REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION invoices_keep_lines();
CREATE TRIGGER invoices_keep_removed AFTER DELETE ON invoices_lines
    REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION invoices_keep_lines();

-- The ledger and what was paid are only added to.
CREATE FUNCTION invoices_keep_book() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what is booked never changes' USING ERRCODE = '23001';
END
$$;
CREATE TRIGGER invoices_keep_credit BEFORE UPDATE ON invoices_credit
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();
CREATE TRIGGER invoices_keep_payments BEFORE UPDATE ON invoices_payments
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();
