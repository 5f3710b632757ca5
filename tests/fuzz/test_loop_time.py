"""Hostile bodies of each media type, and hostile heads: within a bound of the processor time of the loop."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from builders.identity.records import Preset
from tests.cast import Person
from tests.conftest import MakePerson
from tests.kit.asgi import ask
from tests.loop_time import MOST_S, loop_time

CHUNK = 64 * 1024  # bytes that a server passes on at once
SMALL, LARGE = 60_000, 1_900_000  # below the size that leaves the loop, and below the limit of a body


class Sent(NamedTuple):
    """A hostile request."""

    target: str
    kind: str  # the media type
    body: bytes
    method: str = "POST"
    head: tuple[tuple[str, str], ...] = ()


def times(text: bytes, most: int = LARGE) -> bytes:
    return text * (most // len(text))


def jsons(size: int) -> Mapping[str, bytes]:
    """Return JSON of about a size that is hostile to one part of its reader."""
    return {
        "lists": times(b"[", size),
        "not whole": b'{"name":"%s"}' % times(b"\\u00e9", size)[:-1],
        "members": b"{%s}" % b",".join(b'"member%d":1' % n for n in range(size // 18)),
        "almost known members": b"{%s}" % b",".join(b'"nam%d":1' % n for n in range(size // 14)),
        "escapes": b'{"name":"%s"}' % times(b"\\u00e9", size),
        "zeros": b'{"name":"%s"}' % times(b"0", size),
        "digits": b'{"name":%s}' % times(b"9", size),
        "large numbers": b"[%s1]" % times(b"1e400,", size),
        "NUL at the end": b'[%s"\\u0000"]' % times(b"{},", size),
        "blanks": times(b" ", size),
        "rows": b'{"domains":[%s]}' % b",".join(b'{"domain":"d%d.com"}' % n for n in range(size // 24)),
        "marks": b'{"name":"%s"}' % times("\u0301".encode(), size),
    }


FORMS = {"escapes": b"token=" + times(b"%41"), "fields": times(b"a=b&"), "a name": times(b"a")}
CSVS = {
    "quotes": times(b'"'),
    "delimiters": times(b",", SMALL),
    "carriage returns": times(b"\r", SMALL),
    "bytes of no encoding": times(b"\xff\xfe\x81"),
    "rows": b"domain\n" + times(b"x.com\n", SMALL),
    "an archive": b"PK\x03\x04" + times(b"\0"),
}
OTHERS = ("application/octet-stream", "application/xml", "multipart/form-data; boundary=B", "image/png")
HEADERS = (
    *("Accept", "Accept-Encoding", "Content-Type", "Cookie", "If-None-Match", "Idempotency-Key", "Range"),
    *("X-Forwarded-For", "Origin", "Traceparent"),
)


def bodies() -> Iterator[tuple[str, Sent]]:
    for size in (SMALL, LARGE):
        for what, body in jsons(size).items():
            name = f"{what}, {size} bytes"
            yield f"JSON: {name}", Sent("/v1/portfolio/domains", "application/json", body)
            yield f"patch: {name}", Sent("/v1/me", "application/merge-patch+json", body, "PATCH")
    for what, body in jsons(SMALL).items():
        yield f"text: {what}", Sent("/v1/catalog/events", "text/plain", body)
    for what, body in FORMS.items():
        for path in ("/v1/auth/login/page", "/v1/portfolio/team/join"):
            yield f"form of {path}: {what}", Sent(path, "application/x-www-form-urlencoded", body)
    for what, body in CSVS.items():
        yield f"CSV: {what}", Sent("/v1/portfolio/import/preview", "text/csv", body)
    for kind in OTHERS:
        yield kind, Sent("/v1/portfolio/domains", kind, times(b'\0\r\n--B;="'))
    yield "a signed message", Sent("/v1/invoices/stripe", "application/octet-stream", times(b"{", 250_000))


def heads() -> Iterator[tuple[str, Sent]]:
    for text in (";", ",", '"', '\\"', "a=b; ", "a;q=0.5,", " ", "=", "%"):
        long = times(text.encode(), SMALL).decode()
        for name in HEADERS:
            yield f"{name}: {text}", Sent("/v1/builders/projects", "", b"{}", head=((name, long),))
        for target in ("/v1/me?", "/v1/me/", "/v1/builders/projects?cursor="):
            shown = long.replace(" ", "+").replace('"', "%22").replace("\\", "%5C")[:SMALL]
            yield f"{target}{text}", Sent(target + shown, "", b"", "GET")


async def slow(person: Person, requests: Iterable[tuple[str, Sent]]) -> dict[str, float]:
    """Return the seconds of the requests that exceed the bound. Each must be answered, and none with an error."""
    found = {}
    for name, sent in requests:
        parts = [sent.body[at : at + CHUNK] for at in range(0, len(sent.body), CHUNK)]
        kind = [("Content-Type", sent.kind)] if sent.kind else []
        headers = [("X-API-Key", person.key), *kind, *sent.head]
        with loop_time() as loop:
            answer = await ask(person.service, sent.method, sent.target, headers=headers, body=parts or b"")
        assert answer.status < 500, name
        if loop.seconds >= MOST_S:
            found[name] = loop.seconds
    return found


async def test_a_hostile_body_of_any_media_type_takes_little_time_of_the_loop(people: MakePerson) -> None:
    domainer = await people("domainer", Preset.DOMAINER_FULL)

    assert await slow(domainer, bodies()) == {}


async def test_a_hostile_head_takes_little_time_of_the_loop(alice: Person) -> None:
    await alice.get("/v1/nothing", headers={"Accept": "text/html"})  # loads what a page of a refusal needs

    assert await slow(alice, heads()) == {}
