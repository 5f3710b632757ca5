"""Projects: groups of aliases that share settings, such as the allowed domains and a limit on their number."""
