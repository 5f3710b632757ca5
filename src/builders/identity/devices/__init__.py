"""Keys for a machine that a person connects: the device authorization grant (RFC 8628)."""
