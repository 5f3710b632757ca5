"""SQL of the portfolio's domains."""
