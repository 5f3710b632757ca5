"""/v1/aliases."""
