"""Pages for people: what the API does, with the same scopes and permissions, as HTML with forms."""
