"""The JSON Schema of a manifest, as it is answered."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from builders.kit.http.bodies import Reply, by_example
from builders.sandbox.examples import plans as examples

Json = Any  # what a JSON text can hold


class ManifestSchemaReply(Reply):
    """A JSON Schema (2020-12) of what `POST /v1/sandbox/plan` takes."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.SCHEMA), extra="forbid")

    dialect: Annotated[str, Field(alias="$schema", description="Version of JSON Schema.")]
    address: Annotated[str, Field(alias="$id", description="Where it is published; stable.")]
    title: Annotated[str, Field(description="Name of the schema.")]
    description: Annotated[str, Field(description="What the schema is for.")]
    type: Annotated[Literal["object"], Field(description="A manifest is a JSON object.")]
    required: Annotated[list[str], Field(description="Members that a manifest must have.")]
    properties: Annotated[dict[str, Json], Field(description="Schema of each member.")]
    definitions: Annotated[dict[str, Json], Field(alias="$defs", description="Schemas that others refer to.")]
    additional: Annotated[
        bool, Field(alias="additionalProperties", description="False: unknown members are refused.")
    ]
    examples: Annotated[list[Json], Field(description="Manifests that the schema accepts.")]
