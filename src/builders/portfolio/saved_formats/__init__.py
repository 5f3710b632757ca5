"""Formats of a user's own sheets, which imports name in `format`."""
