"""Planning: from the desired state and the live state to a list of actions."""
