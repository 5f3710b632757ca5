"""Handlers of billing."""
