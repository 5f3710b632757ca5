"""Invoices: numbers, totals, credit, payments, and what happens when nobody pays."""
