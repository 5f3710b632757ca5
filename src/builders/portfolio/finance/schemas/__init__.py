"""The wire format of finance."""
