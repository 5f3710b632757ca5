"""Hostile bodies of forms: refused early, within a bound of the loop's processor time, and without a log line."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import pytest
from starlette.types import Message

from builders.console.actions import ACTIONS
from builders.console.forms import CSRF, CSRF_HEADER
from builders.kit.values import ids
from tests.browser import ACCEPT, OWN
from tests.cast import Person
from tests.console.visitor import Visitor, fields_of
from tests.kit.asgi import request_scope
from tests.loop_time import MOST_S, loop_time

Visit = Callable[[Person], Awaitable[Visitor]]
PATH = "/console/do/import-preview"
CHUNK = 64 * 1024  # bytes that a server passes on at once
MULTIPART, URL_ENCODED = "multipart/form-data; boundary=B", "application/x-www-form-urlencoded"
LARGE = 1_850_000  # bytes, below the limit of a body
END = b"\r\n--B--\r\n"


def part(head: bytes, value: bytes = b"x") -> bytes:
    return b"--B\r\n" + head + b"\r\n\r\n" + value


def named(head: bytes) -> bytes:
    return b'Content-Disposition: form-data; name="x"' + head


def times(text: bytes, most: int = LARGE) -> bytes:
    return text * (most // len(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """A form, whose first field is the token of the session unless it has none."""

    body: bytes
    status: int
    kind: str = MULTIPART
    has_token: bool = True


DISPOSITION = b"Content-Disposition: form-data; "
FILE = named(b'; filename="f.csv"')
FORMS: Mapping[str, Hostile] = {
    "parameters of a head, without a token": Hostile(
        body=part(DISPOSITION + times(b"a=b; ") + b'name="x"') + END, status=422, has_token=False
    ),
    "parameters of a head": Hostile(body=part(DISPOSITION + times(b"a=b; ") + b'name="x"') + END, status=422),
    "separators in a name": Hostile(body=part(DISPOSITION + b'name="' + times(b";") + b'"') + END, status=422),
    "quotes in a name": Hostile(body=part(DISPOSITION + b'name="' + times(b'\\"') + b'"') + END, status=422),
    "a malformed head": Hostile(body=times(part(b"A b: c") + b"\r\n"), status=422),
    "lines of a head": Hostile(body=part(times(b"A: b\r\n") + named(b"")) + END, status=422),
    "lines of a head without a token": Hostile(
        body=part(times(b"A: b\r\n") + named(b"")) + END, status=422, has_token=False
    ),
    "one line of a head": Hostile(body=part(b"A: " + times(b"b") + b"\r\n" + named(b"")) + END, status=422),
    "a name of a header": Hostile(body=part(times(b"A") + b": b\r\n" + named(b"")) + END, status=422),
    "heads of a thousand bytes": Hostile(
        body=b"\r\n".join([part(DISPOSITION + b'name="x"; y="' + b";" * 900 + b'"')] * 190) + END, status=422
    ),
    "parts": Hostile(body=times(part(named(b"")) + b"\r\n") + END, status=422),
    "boundaries that are none": Hostile(body=part(FILE, times(b"\r\n--Bx")) + END, status=422),
    "line feeds": Hostile(body=part(FILE, times(b"\r\n")) + END, status=422),
    "begins of boundaries": Hostile(body=part(FILE, times(b"\r\n--")) + END, status=422),
    "a long text": Hostile(body=part(named(b""), times(b"x")) + END, status=422),
    "no last boundary": Hostile(body=part(FILE, times(b"a\n")), status=422),
    "an epilogue": Hostile(body=part(named(b"")) + END + times(b"\r\n--B"), status=422),
    "a preamble without a token": Hostile(body=times(b"\r\n") + part(named(b"")), status=403, has_token=False),
    "no boundary": Hostile(body=times(b"x"), status=422, kind="multipart/form-data", has_token=False),
    "a long boundary": Hostile(
        body=times(b"x"), status=422, kind=f"multipart/form-data; boundary={'B' * 71}", has_token=False
    ),
    "parameters of the media type": Hostile(
        body=times(b"x"), status=415, kind='multipart/form-data; x="' + ";" * 60_000, has_token=False
    ),
    "separators of fields": Hostile(body=times(b"&"), status=422, kind=URL_ENCODED),
    "separators of fields without a token": Hostile(
        body=times(b"&"), status=422, kind=URL_ENCODED, has_token=False
    ),
    "fields": Hostile(body=times(b"a=b&"), status=422, kind=URL_ENCODED),
    "escapes": Hostile(body=b"source=" + times(b"%41", 999_000), status=422, kind=URL_ENCODED),
    "escapes that are none": Hostile(body=b"source=" + times(b"%", 999_000), status=422, kind=URL_ENCODED),
    "blanks": Hostile(body=b"source=" + times(b"+", 999_000), status=422, kind=URL_ENCODED),
    "a name": Hostile(body=times(b"a"), status=422, kind=URL_ENCODED),
    "a name without a token": Hostile(body=times(b"a"), status=403, kind=URL_ENCODED, has_token=False),
}


@dataclass(slots=True)
class Sending:
    """A body that is sent in chunks; counts those that were read."""

    chunks: list[bytes]
    read: int = 0
    messages: list[Message] = field(default_factory=list)

    async def receive(self) -> Message:
        self.read += 1
        more = self.read < len(self.chunks)
        return {"type": "http.request", "body": self.chunks[self.read - 1], "more_body": more}

    async def send(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.messages)


async def post(browser: Visitor, body: bytes, kind: str, *more: tuple[str, str]) -> Sending:
    """Send a form in chunks."""
    cookie = browser.headers["Cookie"]
    headers = [("Host", "builders.test"), ("Accept", ACCEPT), ("Origin", OWN), ("Cookie", cookie)]
    sending = Sending([body[at : at + CHUNK] for at in range(0, len(body), CHUNK)])
    scope = request_scope("POST", PATH, [*headers, ("Content-Type", kind), *more])
    await browser.person.service(scope, sending.receive, sending.send)
    return sending


def with_token(hostile: Hostile, token: str) -> bytes:
    """Return the body, which begins with the token."""
    if not hostile.has_token:
        return hostile.body
    if hostile.kind == URL_ENCODED:
        return f"{CSRF}={token}&".encode() + hostile.body
    return part(f'Content-Disposition: form-data; name="{CSRF}"'.encode(), token.encode()) + b"\r\n" + hostile.body


@pytest.fixture
async def token(browser: Visitor) -> str:
    """Return the token of Alice's session."""
    return str(fields_of(await browser.open("/console/portfolio/import"), "import-preview")[CSRF])


async def test_hostile_forms_take_little_time_of_the_loop_and_no_line_of_the_log(
    browser: Visitor, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    slow, statuses = {}, {}
    for name, hostile in FORMS.items():
        with loop_time() as loop:
            statuses[name] = (await post(browser, with_token(hostile, token), hostile.kind)).status
        if loop.seconds >= MOST_S:
            slow[name] = loop.seconds

    assert statuses == {name: each.status for name, each in FORMS.items()}
    assert slow == {}
    assert [each for each in caplog.records if each.name.startswith("python_multipart")] == []


def with_file(token: str) -> bytes:
    """Return a form with the token first and then a large file."""
    return with_token(Hostile(body=part(FILE, times(b"a\n")) + END, status=200), token)


async def test_a_form_of_another_session_is_refused_before_its_file_is_read(
    visit: Visit, alice: Person, token: str
) -> None:
    other = await visit(alice)
    answers = {
        "token": await post(other, with_file(token), MULTIPART),
        "header": await post(other, with_file(token), MULTIPART, (CSRF_HEADER, token)),
        "file first": await post(other, part(FILE, times(b"a\n")) + END, MULTIPART),
        "another field first": await post(other, part(named(b"")) + b"\r\n" + with_file(token), MULTIPART),
        "without a token": await post(other, b"a=" + times(b"b"), URL_ENCODED),
    }

    assert {how: each.status for how, each in answers.items()} == dict.fromkeys(answers, 403)
    assert {how: each.read for how, each in answers.items()} == {**dict.fromkeys(answers, 1), "header": 0}


async def test_a_form_without_a_session_is_refused_before_it_is_read(browser: Visitor, token: str) -> None:
    browser.headers["Cookie"] = "svc_access_token=x"
    answer = await post(browser, with_file(token), MULTIPART)

    assert (answer.status, answer.read) == (401, 0)


async def test_a_token_in_the_header_admits_a_form(browser: Visitor, token: str) -> None:
    content = part(b'Content-Disposition: form-data; name="source"; filename="f.csv"', b"domain\nharbour.com\n")
    answer = await post(browser, content + END, MULTIPART, (CSRF_HEADER, token))

    assert (answer.status, b"harbour.com" in answer.body) == (200, True)


async def test_a_body_that_is_no_form_is_refused(browser: Visitor) -> None:
    answer = await post(browser, b"{}", "multipart/form-datas; boundary=B")

    assert answer.status == 415


async def test_a_hidden_field_that_no_page_sends_is_refused_by_each_form(browser: Visitor, token: str) -> None:
    found = {}
    for name in ACTIONS:
        for unexpected in ("_before.x", "_x"):
            fields = {CSRF: token, unexpected: "1"}
            found[name, unexpected] = (await browser.post_form(f"/console/do/{name}", fields)).status_code

    assert {each: status for each, status in found.items() if status != 422} == {}


@pytest.mark.parametrize(("member", "status"), [("token", 422), ("claimable", 404)])
async def test_the_value_before_is_that_of_a_member_of_the_answer(
    browser: Visitor, token: str, member: str, status: int
) -> None:
    fields = {CSRF: token, "id": str(ids.new()), f"_before.{member}": ""}
    answer = await browser.post_form("/console/do/domain-release", fields)

    assert answer.status_code == status


VALUES = ["", "é\r\nA: b", "../x", "portfolio/domains?x=%ff&&==", "x" * 5_000]


async def test_no_value_of_a_hidden_field_is_an_error_of_the_service(browser: Visitor, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    fields = fields_of(page, "name-change")
    found = {}
    for hidden in (each for each in fields if each.startswith("_")):
        for value in VALUES:
            answer = await browser.post_form("/console/do/name-change", {**fields, "note": value, hidden: value})
            found[hidden, value] = answer.status_code

    assert {each: status for each, status in found.items() if status >= 500} == {}
