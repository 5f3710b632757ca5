"""Builders: names on curated domains and the portfolio behind them, as an automation API."""
