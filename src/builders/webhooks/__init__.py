"""Webhooks: destinations, deliveries of events to them, and the event feed."""
