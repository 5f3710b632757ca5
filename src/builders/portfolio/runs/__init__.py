"""Runs: long work of a portfolio, which jobs do in parts."""
