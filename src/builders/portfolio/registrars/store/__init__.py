"""SQL of registrars."""
