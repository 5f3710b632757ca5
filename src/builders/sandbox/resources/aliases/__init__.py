"""Aliases in a manifest."""
