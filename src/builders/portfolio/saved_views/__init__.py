"""How each member of a team views the domains of a portfolio."""
