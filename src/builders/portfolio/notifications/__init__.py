"""Notifications of the members of a portfolio: preferences, notices, samples and the catalog of events."""
