-- Names that are claimed again within their paid period, and claims that are undone within the cooling-off period.

-- The released names of an account that were charged for, by name.
CREATE INDEX aliases_released ON aliases (account_id, domain, key) WHERE status = 'deleted' AND price_amount > 0;

-- Which claim of a name was undone: one for each account and name.
CREATE TABLE aliases_undone (
    account_id uuid NOT NULL,
    domain text NOT NULL, -- A-label
    key text NOT NULL,
    alias_id uuid NOT NULL,
    undone_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, domain, key),
    FOREIGN KEY (account_id, alias_id) REFERENCES aliases (account_id, id)
);
CREATE INDEX aliases_undone_by_alias ON aliases_undone (account_id, alias_id);

-- Lines of paid invoices that became credit: each once.
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
CREATE TRIGGER invoices_keep_line_credit BEFORE UPDATE ON invoices_line_credits
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();
CREATE TRIGGER invoices_keep_line_credited BEFORE DELETE ON invoices_line_credits
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_with();
