"""Fake registrars: servers that answer like the registrars' APIs, built from their documentation."""
