"""Billing: charges of registrars, matched with the domains of a portfolio and booked in its ledger."""
