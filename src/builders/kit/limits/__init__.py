"""Rate limits: declared policies, the limiter of a process, and the quota that processes share."""
