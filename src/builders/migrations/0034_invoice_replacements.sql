-- Which invoice was issued again in place of a void one, and why an invoice is void.
ALTER TABLE invoices_invoices
    ADD COLUMN replaces uuid, -- the void invoice whose other lines this one charges for
    ADD COLUMN void_reason text CHECK (void_reason IN ('released', 'cancelled')), -- null: not void, or not known
    ADD FOREIGN KEY (account_id, replaces) REFERENCES invoices_invoices (account_id, id);
CREATE UNIQUE INDEX invoices_invoices_replaces ON invoices_invoices (account_id, replaces) WHERE replaces IS NOT NULL;
