"""/v1/sandbox: a file for plans and promotions, one for the status."""
