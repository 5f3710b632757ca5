"""Wire format of transfers and auth codes."""
