"""Account domains: an account's own, proved by DNS or assigned by the operator, and where names can be claimed."""
