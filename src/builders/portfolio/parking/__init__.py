"""Parking revenue of domains: recorded by day, booked in the ledger, reported against renewal costs."""
