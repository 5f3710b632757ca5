-- The operator's own mark of credit that was given: the same one twice is one grant.
ALTER TABLE invoices_credit ADD COLUMN reference text;
CREATE UNIQUE INDEX invoices_credit_by_reference ON invoices_credit (account_id, reference)
    WHERE reference IS NOT NULL;
