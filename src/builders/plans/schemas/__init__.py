"""Bodies and replies of /v1/sandbox."""
