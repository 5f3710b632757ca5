"""Webhooks: where events go, and what became of each on its way."""
