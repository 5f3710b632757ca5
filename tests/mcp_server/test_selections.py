"""What a tool shows of an answer, and the types that the document gives it."""

import pytest

from builders.app import Service
from builders.mcp_server.selections import Member, added, part, schema_of, select, show, taken
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
    members = show(rows=part("items", "id"), at=taken("when", "day"))
    found = {"items": [{"id": 1, "secret": 2}], "when": {"day": "now"}, "other": 3}
    assert select(members, found) == {"rows": [{"id": 1}], "at": "now"}


def test_what_is_unknown_is_left_out() -> None:
    assert select(show("a", "d", c=taken("b", "c")), {"a": None, "b": None}) == {}


def test_a_text_of_others_is_cut_and_escaped_and_json_becomes_text() -> None:
    shown = select(show(untrusted_a=taken("a"), untrusted_b=taken("b")), {"a": "x\u202e", "b": {"c": "\u202e"}})
    assert shown == {"untrusted_a": "x\\u{202e}", "untrusted_b": '{"c": "\\u{202e}"}'}


def test_types_are_those_of_the_document() -> None:
    schema = schema_of(
        show("note", "either", rows=part("items", "id"), pending=added("boolean")), DOCUMENT, ANSWER
    )
    assert schema["properties"] == {
        "rows": {"type": "array", "items": {"type": "object"}},
        "note": {"type": "string"},
        "either": {},
        "pending": {"type": "boolean"},
    }


@pytest.mark.parametrize("member", [taken("itms"), part("items", "ids"), taken("note", "text")])
def test_a_member_that_the_answer_lacks_is_an_error(member: Member) -> None:
    with pytest.raises(LookupError):
        schema_of(show(found=member), DOCUMENT, ANSWER)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda each: each.name)
def test_each_tool_shows_members_of_the_answer(service: Service, tool: Tool) -> None:
    schema = tool.output_schema(service.openapi())
    assert schema["properties"].keys() >= {"next_actions", "replayed"}
    assert all(each.get("type") != "null" for each in schema["properties"].values())
