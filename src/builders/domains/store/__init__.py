"""All SQL of the domains: the domains themselves, and which of them are due to be looked at."""
