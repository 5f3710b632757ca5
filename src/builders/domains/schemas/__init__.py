"""The wire format of account domains."""
