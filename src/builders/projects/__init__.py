"""Projects: what a builder's names have in common, the domains they may be on, and how many there may be."""
