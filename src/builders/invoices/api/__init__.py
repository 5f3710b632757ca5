"""The handlers of the invoices."""
