"""Handlers of /v1/sandbox."""
