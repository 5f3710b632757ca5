"""Identity: accounts, API keys, sessions and access tokens; who makes a request, and with which scopes."""
