-- The day from which the steps of being overdue are counted: later than the due date where a worker was late, so that
-- nobody loses names on the day of the first reminder.
ALTER TABLE invoices_invoices ADD COLUMN counted_from timestamptz; -- null: from the due date
