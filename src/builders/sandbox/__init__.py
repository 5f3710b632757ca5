"""From a manifest of wanted names to a reviewed plan, and from the plan to its promotion."""
