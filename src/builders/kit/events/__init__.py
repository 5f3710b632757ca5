"""Events: the outbox that packages publish to, and the dispatcher that calls subscribers."""
