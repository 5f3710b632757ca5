"""Renewals of a portfolio: what is due and what it costs, decisions, and a calendar."""
