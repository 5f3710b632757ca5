"""Requests and replies of webhooks, one file for each file of handlers."""
