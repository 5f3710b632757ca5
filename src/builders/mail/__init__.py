"""Outgoing email: templates, delivery, opt-outs, and the signed links that record opens and clicks."""
