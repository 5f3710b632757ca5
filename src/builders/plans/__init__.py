"""Manifests of desired resources, plans, promotions, and simulations in the sandbox account."""
