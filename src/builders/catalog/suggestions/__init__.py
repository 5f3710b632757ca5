"""Suggestions of free names for a query, and alternatives to a name that is not available."""
