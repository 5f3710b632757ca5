"""The DNS records of account domains: queries, validation of their text, and the resulting health."""
