"""Bodies are read strictly, and unknown members are named."""

import json
import re
from typing import Annotated, Any

import pytest
from hypothesis import example, given, strategies as st
from pydantic import Field, ValidationError, create_model
from pydantic_core import PydanticUndefined
from starlette.requests import Request
from starlette.types import Message

from builders.kit.errors import MAX_ERRORS, Invalid
from builders.kit.http import bodies, json_bodies
from builders.kit.http.bodies import Body, StrictBody, WriteReply
from builders.kit.http.media_types import MediaTypeUnsupported


class Part(Body):
    """A body in a body."""

    colour: str = ""


class Lamp(Body):
    """A body that ignores what it does not know."""

    name: str = ""
    watts: int = 0
    parts: tuple[Part, ...] = ()
    first: Part | None = None


class StrictPart(StrictBody):
    """A strict body in a strict body."""

    colour: Annotated[str, Field(pattern=r"^[a-z]{0,3}$")] = ""


class StrictLamp(StrictBody):
    """A body that refuses what it does not know."""

    name: str
    watts: int = 0
    parts: tuple[StrictPart, ...] = ()


async def read(raw: bytes, content_type: str | None = "application/json") -> Any:
    async def receive() -> Message:
        return {"type": "http.request", "body": raw, "more_body": False}

    headers = [] if content_type is None else [(b"content-type", content_type.encode("latin-1"))]
    return await json_bodies.read_json(Request({"type": "http", "headers": headers}, receive))


async def refusal(raw: bytes) -> dict[str, Any]:
    with pytest.raises(Invalid) as caught:
        await read(raw)
    [error] = caught.value.errors
    return error


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(value=values, ascii_only=st.booleans())
@example(value={"a": "\\u0000 spelled out"}, ascii_only=True)
@example(value=[1e308, -1e308, 5e-324, 10**400], ascii_only=True)
@example(value="1e999", ascii_only=True)
async def test_reads_what_json_wrote(value: Any, *, ascii_only: bool) -> None:
    assert await read(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(raw=st.binary(min_size=1, max_size=60) | st.text(max_size=60).map(str.encode).filter(bool))
async def test_any_bytes_are_parsed_or_refused(raw: bytes) -> None:
    refused: Invalid | None = None
    try:
        await read(raw)
    except Invalid as error:
        refused = error
    assert refused is None or json.loads(bytes(refused.response().body))["detail"][0]["loc"][0] == "body"


@pytest.mark.parametrize(
    ("raw", "kind", "at"),
    [
        (b'{"a" 1}', "json_invalid", ["body", 5]),
        (b"[1,]", "json_invalid", ["body", 3]),
        (b" ", "json_invalid", ["body", 1]),
        (b"NaN", "json_invalid", ["body"]),
        (b"[-Infinity]", "json_invalid", ["body"]),
        (b'"\xff"', "json_invalid", ["body"]),
        (b'"\\ud800"', "json_invalid", ["body"]),
        (b'"a\x00b"', "json_invalid", ["body", 2]),
        (b"[" * 5000, "json_invalid", ["body"]),
        (b"[NaN, " + b"1" * 5000 + b"]", "json_invalid", ["body"]),
        (b'"\\u0000"', "nul_character", ["body"]),
        (b'{"a": [{"b\\u0000": 1}]}', "nul_character", ["body"]),
        (b"1e999", "number_too_large", ["body"]),
        (b'{"a": [-1E+400]}', "number_too_large", ["body"]),
        (b"[" + b"9" * 400 + b".5]", "number_too_large", ["body"]),
        (b"[-1" + b"0" * 210 + b"E+99, 1]", "number_too_large", ["body"]),
        (b'{"a":\t' + b"9" * 300 + b".0e9}", "number_too_large", ["body"]),
    ],
)
async def test_json_that_is_not_accepted_is_refused(raw: bytes, kind: str, at: list[str | int]) -> None:
    error = await refusal(raw)
    assert (error["type"], error["loc"]) == (kind, at)


@pytest.mark.parametrize(
    "raw",
    [b"[1e30, 1E+99, 1e-999]", b"[" + b"9" * 209 + b".5e99]", b'["1e999", "0e000"]', b'["' + b"9" * 300 + b'"]'],
)
async def test_numbers_that_a_float_holds_and_texts_with_larger_ones_are_accepted(raw: bytes) -> None:
    assert await read(raw) == json.loads(raw)


async def test_no_cache_keeps_the_texts_of_a_body() -> None:
    raw = b'{"api_key": "text-of-a-caller"}'
    first, second = await read(raw), await read(raw)
    assert first["api_key"] == second["api_key"]
    assert first["api_key"] is not second["api_key"]


def test_no_regular_expression_searches_a_body() -> None:
    # It would hold the interpreter, and so the other event loop, for 20 ms for each MB.
    assert not [name for name, value in vars(json_bodies).items() if isinstance(value, re.Pattern)]


@pytest.mark.parametrize(
    "content_type", ["application/json", "APPLICATION/JSON; charset=x", "application/a.b+json"]
)
async def test_json_is_recognised_by_its_media_type(content_type: str) -> None:
    assert await read(b'{"a": 1}', content_type) == {"a": 1}


@pytest.mark.parametrize(
    "content_type",
    [None, "", "text/plain", "text/json", "application/xml", "json", "application/jsonx", "\xff/json"],
)
async def test_a_body_of_another_media_type_is_refused(content_type: str | None) -> None:
    with pytest.raises(MediaTypeUnsupported) as refused:
        await read(b'{"a": 1}', content_type)
    assert refused.value.headers == {"Accept": "application/json"}


async def test_an_absent_body_differs_from_an_empty_one() -> None:
    assert await read(b"") is PydanticUndefined
    assert await read(b"null") is None


def found(body: Body) -> list[tuple[str, str | None]]:
    return [(each.field, each.did_you_mean) for each in bodies.unknown_fields(body)]


def test_unknown_members_are_named_at_any_depth() -> None:
    body = {"nmae": 1, "xyz": 2, "parts": [{}, {"color": "red"}], "first": {"colour": "red", "": 0}}
    assert found(Lamp.model_validate(body)) == [
        ("nmae", "name"),
        ("xyz", None),
        ("parts.1.color", "colour"),
        ("first.", None),
    ]


def test_warnings_are_added_to_the_response() -> None:
    reply = WriteReply()
    bodies.add_warnings(reply, Lamp.model_validate({"wats": 3}), "not a body", None)

    [warning] = reply.warnings
    assert warning.model_dump() == {
        "field": "wats",
        "code": "unknown_field",
        "did_you_mean": "watts",
        "message": "'wats' is not a known field; ignored. Did you mean 'watts'?",
    }


def test_of_very_many_unknown_members_the_first_are_named() -> None:
    reply = WriteReply()
    bodies.add_warnings(reply, Lamp.model_validate({f"nam{n}": n for n in range(1000)}))

    assert [each.field for each in reply.warnings] == [f"nam{n}" for n in range(bodies.MAX_WARNINGS)]


def test_a_very_long_name_is_cut_and_gets_no_suggestion() -> None:
    fields: dict[str, Any] = {"x" * 90: (int, 0)}
    long = create_model("Long", __base__=Body, **fields)

    [(field, meant)] = found(long.model_validate({"x" * 89: 1}))

    assert (field, meant) == (f"{'x' * 80}...", None)


def errors(body: object) -> list[tuple[tuple[int | str, ...], str, str]]:
    with pytest.raises(ValidationError) as caught:
        StrictLamp.model_validate(body)
    return [(each["loc"], each["type"], each["msg"]) for each in caught.value.errors()]


def test_a_strict_body_refuses_unknown_members_with_a_suggestion() -> None:
    assert errors({"name": "a", "wats": 3, "xyz": 1}) == [
        (("wats",), "unknown_field", "Unknown field. Did you mean 'watts'?"),
        (("xyz",), "unknown_field", "Unknown field."),
    ]


def test_a_nested_strict_body_refuses_unknown_members() -> None:
    assert errors({"name": "a", "parts": [{"color": "red"}, {"colour": "UP"}, {"{colour}": 1}]}) == [
        (("parts", 0, "color"), "unknown_field", "Unknown field. Did you mean 'colour'?"),
        (("parts", 1, "colour"), "string_pattern_mismatch", "String should match pattern '^[a-z]{0,3}$'"),
        (("parts", 2, "{colour}"), "unknown_field", "Unknown field. Did you mean 'colour'?"),
    ]


def test_other_errors_of_a_strict_body_lose_only_their_input() -> None:
    with pytest.raises(ValidationError) as caught:
        StrictLamp.model_validate({"watts": "hidden"})
    assert [each["type"] for each in caught.value.errors()] == ["missing", "int_parsing"]
    assert "hidden" not in str(caught.value)


def test_only_the_first_of_many_errors_are_reported() -> None:
    assert len(errors({f"nam{n}": n for n in range(5000)})) == MAX_ERRORS
    many = [{"loc": ("body", n), "msg": "Wrong.", "type": "wrong", "input": "hidden"} for n in range(5000)]
    refused = Invalid.many(many)
    assert refused.errors == [{"loc": ["body", n], "msg": "Wrong.", "type": "wrong"} for n in range(MAX_ERRORS)]


def test_an_object_of_a_strict_body_has_a_limited_number_of_suggestions() -> None:
    with pytest.raises(ValidationError) as refusal:
        StrictPart.model_validate({f"colour{at}": "red" for at in range(20)})
    unknown = [each for each in refusal.value.errors() if each["type"] == "unknown_field"]
    assert [("did_you_mean" in each.get("ctx", {})) for each in unknown].count(True) == 5
    assert len(unknown) == 20
