"""Invoices as documents: the HTML page and the PDF."""
