"""What a tool shows of an answer, and the types that the document gives it."""

import pytest

from builders.app import Service
from builders.mcp_server.selections import read_selection, schema_of, select
from builders.mcp_server.server import TOOLS
from builders.mcp_server.tools import Tool

DOCUMENT = {"components": {"schemas": {"Row": {"type": "object", "properties": {"id": {"type": "string"}}}}}}
ANSWER = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
}


def test_a_member_has_another_name_and_only_these_parts() -> None:
    members = read_selection("rows=items(id) at=when.day")
    found = {"items": [{"id": 1, "secret": 2}], "when": {"day": "now"}, "other": 3}
    assert select(members, found) == {"rows": [{"id": 1}], "at": "now"}


def test_what_is_unknown_is_left_out() -> None:
    assert select(read_selection("a b.c d"), {"a": None, "b": None}) == {}


def test_a_text_of_others_is_cut_and_escaped_and_json_becomes_text() -> None:
    shown = select(read_selection("untrusted_a=a untrusted_b=b"), {"a": "x\u202e", "b": {"c": "\u202e"}})
    assert shown == {"untrusted_a": "x\\u{202e}", "untrusted_b": '{"c": "\\u{202e}"}'}


def test_types_are_those_of_the_document() -> None:
    schema = schema_of(read_selection("rows=items(id) note either pending:boolean"), DOCUMENT, ANSWER)
    assert schema["properties"] == {
        "rows": {"type": "array", "items": {"type": "object"}},
        "note": {"type": "string"},
        "either": {},
        "pending": {"type": "boolean"},
    }


@pytest.mark.parametrize("text", ["itms", "items(ids)", "note.text"])
def test_a_member_that_the_answer_lacks_is_an_error(text: str) -> None:
    with pytest.raises(LookupError):
        schema_of(read_selection(text), DOCUMENT, ANSWER)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda each: each.name)
def test_each_tool_shows_members_of_the_answer(service: Service, tool: Tool) -> None:
    schema = tool.output_schema(service.openapi())
    assert schema["properties"].keys() >= {"next_actions", "replayed"}
    assert all(each.get("type") != "null" for each in schema["properties"].values())
