"""Handlers of /v1/notifications and /v1/events."""
