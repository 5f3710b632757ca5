"""Leads: addresses submitted on the vendor's pages, and their confirmation by email."""
