"""Invoices as documents: the HTML page, the PDF and the emails."""
