"""Approval of plans by people: the policy of an account, decisions about plans, and notices to the deciders."""
