"""The text of a member in the OpenAPI document."""

from typing import Any

from pydantic import Field


def doc(text: str) -> Any:  # a FieldInfo, which may stand where pydantic accepts any annotation
    """Return the annotation that describes a member."""
    return Field(description=text)
