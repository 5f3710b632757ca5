"""Transfers of portfolio domains to other registrars, and the auth codes that they need."""
