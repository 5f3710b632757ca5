"""The operator's way in."""
