"""OAuth for the clients of people: a person gives them a connection with a mandate (decision 0062)."""
