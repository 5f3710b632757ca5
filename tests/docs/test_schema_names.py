"""Repeated schemas of the document become components with a plain name; null joins the type of a scalar."""

from typing import Any

import pytest

from docs import schema_names

CODE = {"type": "string", "pattern": "^[A-Z]{3}$"}
NAMES = {"Code": {"description": "Three capitals.", "schema": CODE}}


def document(*members: dict[str, Any], **schemas: dict[str, Any]) -> dict[str, Any]:
    """Return a document with one model of these members, and other schemas."""
    model = {"type": "object", "properties": {f"member{at}": each for at, each in enumerate(members)}}
    return {"paths": {}, "webhooks": {}, "components": {"schemas": {"Thing": model, **schemas}}}


def members(shared: dict[str, Any]) -> list[dict[str, Any]]:
    return list(shared["components"]["schemas"]["Thing"]["properties"].values())


def test_a_schema_of_the_table_is_a_component_and_keeps_its_notes_beside_the_reference() -> None:
    shared = document({**CODE, "description": "Of the price."}, {"anyOf": [CODE, {"type": "null"}]})
    schema_names.share_schemas(shared, NAMES)
    reference = {"$ref": "#/components/schemas/Code"}
    assert members(shared) == [
        {**reference, "description": "Of the price."},
        {"anyOf": [reference, {"type": "null"}]},
    ]
    assert shared["components"]["schemas"]["Code"] == {"description": "Three capitals.", **CODE}


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "string", "maxLength": 100}, "UpTo100Text"),
        ({"type": "string", "minLength": 8}, "AtLeast8Text"),
        ({"type": "string", "minLength": 1, "maxLength": 2048}, "From1To2048Text"),
        ({"type": "integer", "minimum": 1.0, "maximum": 365.0}, "From1To365Integer"),
        ({"type": "number", "minimum": 0}, "AtLeast0Number"),
    ],
)
def test_a_repeated_bound_is_named_after_its_ends(schema: dict[str, Any], name: str) -> None:
    shared = document(schema, schema)
    schema_names.share_schemas(shared, {})
    assert members(shared) == [{"$ref": f"#/components/schemas/{name}"}] * 2


@pytest.mark.parametrize(
    "schema", [{"type": "string", "format": "uuid"}, {"type": "string"}, {"type": "string", "const": "alias"}]
)
def test_a_standard_type_stays_inline(schema: dict[str, Any]) -> None:
    shared = document(schema, schema)
    schema_names.share_schemas(shared, {})
    assert members(shared) == [schema, schema]
    assert not schema_names.list_inline(shared)


def test_a_single_bound_stays_inline() -> None:
    shared = document({"type": "string", "maxLength": 100})
    schema_names.share_schemas(shared, {})
    assert members(shared) == [{"type": "string", "maxLength": 100}]


def test_a_name_of_no_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="no inline schema is \\['Code'\\]"):
        schema_names.share_schemas(document({"type": "string"}), NAMES)


def test_a_title_of_two_schemas_is_refused() -> None:
    shared = document({"title": "Size", "enum": ["s", "m"]}, {"title": "Size", "enum": ["l"]})
    with pytest.raises(ValueError, match="two different schemas are called Size"):
        schema_names.share_schemas(shared, {"Size": {"description": "A size."}})


def test_the_name_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="a model is called Code"):
        schema_names.share_schemas(document(CODE, Code={"type": "object"}), NAMES)


@pytest.mark.parametrize(
    ("schema", "united"),
    [
        (
            {"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}], "description": "A note."},
            {"type": ["string", "null"], "maxLength": 9, "description": "A note."},
        ),
        (
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
    ],
)
def test_null_joins_the_type_of_an_open_scalar(schema: dict[str, Any], united: dict[str, Any]) -> None:
    shared = document(schema)
    schema_names.unite_null(shared)
    assert members(shared) == [united]
