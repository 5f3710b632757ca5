"""Tools for agents at /mcp (Model Context Protocol): they call what the API calls."""
