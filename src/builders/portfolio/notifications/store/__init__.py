"""SQL of a portfolio's notifications."""
