"""The JSON Schema of a manifest, as it is answered."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from builders.kit.bodies import Reply, by_example
from builders.sandbox.examples import plans as examples

Json = Any  # what a JSON text can hold


class ManifestSchemaReply(Reply):
    """A JSON Schema (2020-12) of what `POST /v1/sandbox/plan` takes."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.SCHEMA), extra="forbid")

    dialect: Annotated[str, Field(alias="$schema")]
    address: Annotated[str, Field(alias="$id", description="Where it is published; stable.")]
    title: str
    description: str
    type: Literal["object"]
    required: list[str]
    properties: dict[str, Json]
    definitions: Annotated[dict[str, Json], Field(alias="$defs")]
    additional: Annotated[bool, Field(alias="additionalProperties")]
    examples: list[Json]
