"""Handlers of identity, a file for each part of its paths."""
