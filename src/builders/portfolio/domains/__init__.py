"""The domains of a portfolio: names, facts from registrars and registries, life cycle, tags and ownership."""
