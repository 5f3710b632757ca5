"""Entity tags as RFC 9110 has them: which requests a record's version lets through."""

from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given, strategies as st
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from builders.kit.errors import Invalid
from builders.kit.http.bodies import Reply, ReplyWithHeaders
from builders.kit.http.etags import (
    IfMatch,
    IfNoneMatch,
    ReadCondition,
    VersionMismatch,
    WriteCondition,
    read_condition,
    with_etag,
    write_condition,
)
from builders.kit.http.routes import PathRouter, Router

VERSION = 7
ONE, OTHER = UUID("0193a1b2-0000-7000-8000-000000000005"), UUID("0193a1b2-0000-7000-8000-000000000006")
router = Router(prefix="/things", tags=["things"])


class Thing(Reply):
    """A thing with a version."""

    version: int


@router.get("/one", response_model=Thing)
async def get(since: IfNoneMatch) -> ReplyWithHeaders | Response:
    """Read the thing."""
    return since.answer(Thing(version=VERSION), of=ONE, version=VERSION)


@router.patch("/one", response_model=Thing)
async def update(meant: IfMatch) -> ReplyWithHeaders:
    """Change the thing."""
    meant.check(of=ONE, version=VERSION)
    return with_etag(Thing(version=VERSION + 1), of=ONE, version=VERSION + 1)


@pytest.fixture(scope="module")
def front() -> PathRouter:
    """A service of one thing."""
    api = FastAPI()
    api.state.database = api.state.limits = None
    return PathRouter(api, [router], limits=None)


@pytest.fixture
async def client(front: PathRouter) -> httpx.AsyncClient:
    """Asks for the thing."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=front), base_url="http://builders.test")


def asked(*lines: tuple[str, str]) -> Request:
    headers = Headers(raw=[(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in lines])
    return Request({"type": "http", "method": "GET", "headers": headers.raw})


def meant(*values: str) -> WriteCondition:
    return write_condition(asked(*(("If-Match", value) for value in values)))


def had(*values: str) -> ReadCondition:
    return read_condition(asked(*(("If-None-Match", value) for value in values)))


def tag(version: str | int, of: UUID = ONE) -> str:
    return f'"{of}.{version}"'


@pytest.mark.parametrize("value", ["{}", '"6", {}', " ,{} ,, ", "*", '"a,b",{}', 'W/"6",{}'])
def test_a_write_that_expects_the_version_goes_through(value: str) -> None:
    meant(value.format(tag(7))).check(of=ONE, version=7)


@pytest.mark.parametrize(
    "value", [tag(6), f"{tag(6)}, {tag(8)}", f"W/{tag(7)}", '""', '"7"', tag("07"), tag(7, OTHER), tag("a,7")]
)
def test_a_write_that_expects_another_version_is_refused(value: str) -> None:
    with pytest.raises(VersionMismatch) as refusal:
        meant(value).check(of=ONE, version=7)

    assert (refusal.value.status, refusal.value.code) == (412, "version_mismatch")
    assert refusal.value.members["version"] == 7


def test_without_the_header_any_version_matches() -> None:
    write_condition(asked()).check(of=ONE, version=7)
    assert isinstance(read_condition(asked()).answer("record", of=ONE, version=7), ReplyWithHeaders)


def test_repeated_headers_form_one_list() -> None:
    meant('"6"', tag(7)).check(of=ONE, version=7)
    assert isinstance(had('"6"', f"W/{tag(7)}").answer("record", of=ONE, version=7), Response)


@pytest.mark.parametrize("value", ["{}", "W/{}", "*", '"1", W/{}'])
def test_a_read_of_a_known_version_is_304(value: str) -> None:
    answer = had(value.format(tag(7))).answer("record", of=ONE, version=7)

    assert isinstance(answer, Response)
    assert (answer.status_code, answer.body, answer.headers["ETag"]) == (304, b"", tag(7))


@pytest.mark.parametrize("value", [tag(6), f"W/{tag(8)}", tag(77), tag(7, OTHER), '"7"'])
def test_a_read_of_another_version_is_200(value: str) -> None:
    answer = had(value).answer("record", of=ONE, version=7)

    assert isinstance(answer, ReplyWithHeaders)
    assert (answer.reply, answer.headers["ETag"]) == ("record", tag(7))


@pytest.mark.parametrize(
    "value", ["7", "", ",", "'7'", '"7', 'w/"7"', '"7" "8"', '*, "7"', "**", '"7\x7f"', '"7"x']
)
def test_a_malformed_list_of_tags_is_refused(value: str) -> None:
    for header, read in (("If-Match", write_condition), ("If-None-Match", read_condition)):
        with pytest.raises(Invalid) as refusal:
            read(asked((header, value)))
        assert refusal.value.errors[0]["loc"] == ["header", header]


tags = st.tuples(st.booleans(), st.text("0123456789ab,!~\xe4", max_size=3))


@given(sent=st.lists(tags, min_size=1), gaps=st.lists(st.sampled_from([",", ", ", " ,\t", ",,", " , , "])))
def test_any_list_of_tags_is_parsed(sent: list[tuple[bool, str]], gaps: list[str]) -> None:
    value = ""
    for at, (weak, opaque) in enumerate(sent):
        value += (gaps[at % len(gaps)] if gaps else ",") if at else ""
        value += f'{"W/" if weak else ""}"{opaque}"'

    found, either = meant(value).tags, had(value).tags

    assert found == either == {f'{"W/" if weak else ""}"{opaque}"' for weak, opaque in sent}


@given(value=st.text(st.characters(max_codepoint=255, exclude_characters="\0\r\n")))
def test_any_header_is_parsed_or_refused(value: str) -> None:
    try:
        tags = meant(value).tags
    except Invalid:
        return
    assert tags


async def test_etags_work_over_http(client: httpx.AsyncClient) -> None:
    fresh = await client.get("/things/one")
    same = await client.get("/things/one", headers={"If-None-Match": fresh.headers["ETag"]})
    changed = await client.patch("/things/one", headers={"If-Match": fresh.headers["ETag"]})
    late = await client.patch("/things/one", headers={"If-Match": changed.headers["ETag"]})
    wrong = await client.patch("/things/one", headers={"If-Match": "7"})

    assert (fresh.status_code, fresh.json(), fresh.headers["ETag"]) == (200, {"version": 7}, tag(7))
    assert fresh.headers["Cache-Control"] == "private, no-cache"
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag(7))
    assert (changed.status_code, changed.headers["ETag"]) == (200, tag(8))
    assert (late.status_code, late.json()["code"], late.json()["version"]) == (412, "version_mismatch", 7)
    assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, ["header", "If-Match"])


def test_the_document_lists_the_headers(front: PathRouter) -> None:
    path = front.app.openapi()["paths"]["/things/one"]

    assert [each["name"] for each in path["get"]["parameters"]] == ["If-None-Match"]
    assert path["get"]["responses"].keys() >= {"200", "304"}
    assert "ETag" in path["get"]["responses"]["200"]["headers"]
    assert [each["name"] for each in path["patch"]["parameters"]] == ["If-Match"]
    assert "version_mismatch" in path["patch"]["responses"]["412"]["description"]
