"""Leads: who left an address on the vendor's pages, and whether they have confirmed that it was them."""
