"""The wire format of the catalog."""
