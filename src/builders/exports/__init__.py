"""Exports: the lists that credentials read, which a job writes into one file."""
