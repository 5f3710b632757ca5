"""Requests and replies of billing."""
