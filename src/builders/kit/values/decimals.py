"""The JSON schema of an exact decimal that a request sends as text or as a number."""

from pydantic import WithJsonSchema


def published(pattern: str, **bounds: float) -> WithJsonSchema:
    """Return the schema: text of this pattern, which names the decimals, or a number within the bounds."""
    return WithJsonSchema({"anyOf": [{"type": "number", **bounds}, {"type": "string", "pattern": pattern}]})
