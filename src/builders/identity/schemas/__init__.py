"""Requests and replies of identity, one file for each file of handlers."""
