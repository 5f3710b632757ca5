"""The kinds of resources that a manifest contains: for each its diff (pure) and its execution."""
