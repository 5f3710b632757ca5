"""Invoices: numbers, totals, credit, payments, and the steps for unpaid invoices."""
