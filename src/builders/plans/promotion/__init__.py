"""The execution of a plan."""
