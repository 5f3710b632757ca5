"""Renewals of a portfolio: due renewals with their costs, decisions, and a calendar."""
