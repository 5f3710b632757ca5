"""Registrar connections: what registrars hold for an account, and what they charge."""
