"""The HTTP client for URLs that users give: URL validation, DNS resolution, guarded connections."""
