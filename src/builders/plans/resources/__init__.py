"""The kinds of resources in a manifest: a file for each, with its diff (pure), drift check and execution."""
