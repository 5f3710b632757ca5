"""Backups of the database and the files beside it, sealed; and what a restored database waits for."""
