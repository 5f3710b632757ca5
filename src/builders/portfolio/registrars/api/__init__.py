"""Handlers of registrars."""
