"""Shared infrastructure of all packages; imports none of them."""
