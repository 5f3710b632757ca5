"""Erasure of accounts: requested by a person and confirmed by deciders, or by the operator, and done by a job."""
