"""Account domains, proved by DNS or assigned by the operator, and the domains on which names can be claimed."""
