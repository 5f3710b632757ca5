"""Request bodies about registrars and their inventories."""
