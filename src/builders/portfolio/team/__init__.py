"""The team of a portfolio: members with roles, invitations, and what each role may do."""
