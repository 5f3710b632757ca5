"""Requests and replies of renewals."""
