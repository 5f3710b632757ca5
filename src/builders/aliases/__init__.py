"""Aliases: the rules of local parts, the registry of names, and their forwarding destinations."""
