"""The demo: a catalog with its images, accounts with keys, a portfolio, and simulated registrars."""
