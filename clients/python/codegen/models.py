"""Models of replies. datamodel-code-generator writes them from schemas without limits and closed values."""

import json
import re
from collections.abc import Mapping
from typing import Any

from datamodel_code_generator import InputFileType, generate
from datamodel_code_generator.enums import DataModelType, OpenAPIScope
from datamodel_code_generator.format import DatetimeClassType, PythonVersion

from codegen.document import Document, Schema, is_decimal

# Types of values.py instead of generated ones.
OWN = {name: f"builders_client.values.{name}" for name in ("Amount", "Money")}
AMOUNT = r"^[0-9.]+$"
# The generator imports these types a second time, from the package.
_IMPORT_OF_OWN = re.compile(r"^from \. import .*\n", re.MULTILINE)


def render(document: Document) -> Mapping[str, str]:
    """Return the module of each tag."""
    placed = document.replies()
    objects = {
        name: tag for name, tag in placed.items() if "properties" in document.schemas[name] and name not in OWN
    }
    schemas = {f"{tag}.{name}": _model(document, objects, document.schemas[name]) for name, tag in objects.items()}
    own = {name: {"type": "object", "properties": {}} for name in OWN}
    made = generate(
        json.dumps({"openapi": "3.1.0", "paths": {}, "components": {"schemas": schemas | own}}),
        input_file_type=InputFileType.OpenAPI,
        openapi_scopes=[OpenAPIScope.Schemas],
        output_model_type=DataModelType.PydanticV2BaseModel,
        type_overrides=OWN,
        base_class="builders_client.values.Model",
        target_python_version=PythonVersion.PY_311,
        output_datetime_class=DatetimeClassType.Awaredatetime,
        use_schema_description=True,
        use_field_description=True,
        use_single_line_docstring=True,
        use_exact_imports=True,
        use_double_quotes=True,
        use_annotated=True,
        disable_timestamp=True,
        disable_future_imports=True,
        custom_file_header="# Written by script/clients.",
        formatters=[],
    )
    if not isinstance(made, Mapping):
        raise TypeError("the generator returned one module")
    modules = {path[-1].removesuffix(".py"): text for path, text in made.items() if path[-1] != "__init__.py"}
    return {name: _IMPORT_OF_OWN.sub("", text) for name, text in modules.items()}


def _model(document: Document, objects: Mapping[str, str], schema: Schema) -> Schema:
    """Return a schema that accepts values of later revisions: types only, and no closed set of values."""
    members = {name: _member(document, objects, name, each) for name, each in schema["properties"].items()}
    needed = [name for name in schema.get("required", ()) if name in members]
    said = {"description": schema["description"]} if "description" in schema else {}
    return {"type": "object", "properties": members, "required": needed, **said}


def _member(document: Document, objects: Mapping[str, str], name: str, schema: Schema) -> dict[str, Any]:
    text = schema.get("description") or document.resolve(schema).get("description", "")
    if known := _known(document, schema):
        text = f"{text} Known values: {', '.join(map(str, known))}.".lstrip()
    of = {"pattern": AMOUNT} if name == "amount" and schema.get("type") == "string" else {}
    return {**_type(document, objects, {**schema, **of}), **({"description": text} if text else {})}


def _known(document: Document, schema: Schema) -> list[Any]:
    """Return the values that the document names."""
    resolved = document.resolve(schema)
    for each in (
        resolved,
        *map(document.resolve, resolved.get("anyOf", ())),
        document.resolve(resolved.get("items", {})),
    ):
        if found := each.get("x-extensible-enum") or each.get("enum"):
            return list(found)
    return []


def _type(document: Document, objects: Mapping[str, str], schema: Schema) -> dict[str, Any]:
    def inner(of: Schema) -> dict[str, Any]:
        return _type(document, objects, of)

    kind, values = schema.get("type"), schema.get("additionalProperties")
    made: dict[str, Any] = {"type": kind} if kind else {}
    if "$ref" in schema:
        made = _reference(document, objects, schema["$ref"].rpartition("/")[2])
    elif parts := schema.get("anyOf") or schema.get("oneOf"):
        made = {"anyOf": list(map(inner, parts))}
        if sum("$ref" in each for each in made["anyOf"]) > 1:  # a kind that a later revision adds
            made["anyOf"].append({"type": "object", "additionalProperties": True})
    elif isinstance(kind, list):
        made = {"anyOf": [inner({**schema, "type": each}) for each in kind]}
    elif kind == "array":
        made["items"] = inner(schema.get("items", {}))
    elif kind == "object":
        made["additionalProperties"] = inner(values) if isinstance(values, Mapping) else True
    elif kind == "string" and is_decimal(schema):
        made = {"$ref": "#/components/schemas/Amount"}
    elif kind == "string" and schema.get("format") in {"date", "date-time"}:
        made["format"] = schema["format"]
    return made


def _reference(document: Document, objects: Mapping[str, str], name: str) -> dict[str, Any]:
    if name in OWN:
        return {"$ref": f"#/components/schemas/{name}"}
    if name in objects:
        return {"$ref": f"#/components/schemas/{objects[name]}.{name}"}
    return _type(document, objects, document.schemas[name])
