"""Replies about registrars, their inventories and runs."""
