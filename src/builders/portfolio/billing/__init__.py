"""Billing: what registrars charged, matched with the domains of a portfolio and booked in its ledger."""
