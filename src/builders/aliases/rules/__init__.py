"""The rules for names: their syntax and forms, and the reserved words. Pure."""
