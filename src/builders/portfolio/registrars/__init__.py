"""Registrar connections, the inventory of domains at registrars, and its comparison with the portfolio."""
