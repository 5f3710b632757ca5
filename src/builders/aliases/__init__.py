"""Names on domains: the rules of local parts, who holds a name, and where it forwards."""
