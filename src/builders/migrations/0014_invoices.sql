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
    amount numeric(20, 4) NOT NULL, -- quantity * unit_amount, rounded to the decimals of the currency
    tax_amount numeric(20, 4) NOT NULL,
    period_start timestamptz NOT NULL,
    period_end timestamptz,
    PRIMARY KEY (account_id, invoice_id, position),
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
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
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
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
    FOREIGN KEY (account_id, invoice_id) REFERENCES invoices_invoices (account_id, id) ON DELETE CASCADE
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

-- The promises about issued invoices hold against wrong statements, too.
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
        RAISE EXCEPTION 'the contents of the invoice % never change after its issue', OLD.number USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER invoices_keep BEFORE UPDATE OR DELETE ON invoices_invoices
    FOR EACH ROW EXECUTE FUNCTION invoices_keep();

-- What was paid by credit is final, the amount paid only grows, and an uncollectible invoice is not opened again.
CREATE FUNCTION invoices_keep_money() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status <> 'draft' AND (
        NEW.credit_applied <> OLD.credit_applied OR NEW.amount_paid < OLD.amount_paid
        OR (OLD.status = 'uncollectible' AND NEW.status = 'open')
    ) THEN
        RAISE EXCEPTION 'what was paid of the invoice % is final', OLD.number USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER invoices_keep_money BEFORE UPDATE ON invoices_invoices
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_money();

-- Lines are added to a draft alone, and deleted with their invoice.
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
CREATE TRIGGER invoices_keep_removed AFTER DELETE ON invoices_lines
    REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION invoices_keep_lines();

-- Rows of the books never change, and no line is changed or moved to another invoice.
CREATE FUNCTION invoices_keep_book() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what is booked never changes' USING ERRCODE = '23001';
END
$$;
CREATE TRIGGER invoices_keep_credit BEFORE UPDATE ON invoices_credit
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();
CREATE TRIGGER invoices_keep_payments BEFORE UPDATE ON invoices_payments
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();
CREATE TRIGGER invoices_keep_changed BEFORE UPDATE ON invoices_lines
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();
CREATE TRIGGER invoices_keep_number_as_given BEFORE UPDATE ON invoices_numbers
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();
CREATE TRIGGER invoices_keep_line_credit BEFORE UPDATE ON invoices_line_credits
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();

-- Payments, numbers and credited lines are deleted only with their invoice: a draft, or one of a sandbox.
CREATE FUNCTION invoices_keep_with() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM invoices_invoices WHERE account_id = OLD.account_id AND id = OLD.invoice_id) THEN
        RAISE EXCEPTION 'what is booked is never deleted' USING ERRCODE = '23001';
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER invoices_keep_payment BEFORE DELETE ON invoices_payments
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_with();
CREATE TRIGGER invoices_keep_number BEFORE DELETE ON invoices_numbers
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_with();
CREATE TRIGGER invoices_keep_line_credited BEFORE DELETE ON invoices_line_credits
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_with();

-- Credit is deleted only when a sandbox is reset.
CREATE FUNCTION invoices_keep_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM identity_accounts WHERE id = OLD.account_id AND sandbox_of IS NULL) THEN
        RAISE EXCEPTION 'what is booked is never deleted' USING ERRCODE = '23001';
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER invoices_keep_ledger BEFORE DELETE ON invoices_credit
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_ledger();
