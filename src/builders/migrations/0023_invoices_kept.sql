-- More of what the house promises about money, kept also against a statement that forgets it.

-- What credit paid of an invoice stands, what came for it only grows, and one that was given up is not open again.
CREATE FUNCTION invoices_keep_money() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status <> 'draft' AND (
        NEW.credit_applied <> OLD.credit_applied OR NEW.amount_paid < OLD.amount_paid
        OR (OLD.status = 'uncollectible' AND NEW.status = 'open')
    ) THEN
        RAISE EXCEPTION 'what was paid of the invoice % stands', OLD.number USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER invoices_keep_money BEFORE UPDATE ON invoices_invoices
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_money();

-- No line is ever changed, nor given to another invoice.
DROP TRIGGER invoices_keep_changed ON invoices_lines;
CREATE TRIGGER invoices_keep_changed BEFORE UPDATE ON invoices_lines
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();

-- What came for an invoice, and its number, go with it alone, and only a sandbox's or a draft ever goes.
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
CREATE TRIGGER invoices_keep_number_as_given BEFORE UPDATE ON invoices_numbers
    FOR EACH ROW EXECUTE FUNCTION invoices_keep_book();

-- Credit is deleted of a sandbox alone, when it is reset.
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
