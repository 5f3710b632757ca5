"""Handlers of identity."""
