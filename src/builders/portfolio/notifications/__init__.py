"""What a portfolio's owner is told: the catalog of events, and test sends."""
