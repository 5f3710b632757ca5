"""Wire formats of aliases."""
