"""Forms are read while they arrive: as browsers write them, however they are cut, and within limits."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from urllib.parse import quote_plus

import pytest
from hypothesis import given, strategies as st
from starlette.requests import Request
from starlette.types import Message

from builders.kit.errors import Invalid
from builders.kit.http import form_bodies
from builders.kit.http.form_bodies import MAX_BOUNDARY, MAX_FIELDS, MAX_HEAD, MAX_PARTS, MAX_TEXT, PIECE
from builders.kit.http.media_types import MAX_CONTENT_TYPE, MediaTypeUnsupported
from tests.random_cases import cases

Pairs = Sequence[tuple[str, str]]
ELSEWHERE = SimpleNamespace(state=SimpleNamespace(loop=None))  # the reader does not leave the loop of the test


class Upper:
    """A file whose content is one value in upper case."""

    def __init__(self) -> None:
        self._content = b""

    def write(self, content: bytes) -> None:
        self._content += content

    def texts(self) -> Sequence[str]:
        return [self._content.decode().upper()]


async def read(body: bytes, kind: str, *, cut: int = PIECE) -> Pairs:
    """Return the fields of a body that arrives in parts of `cut` bytes."""
    parts = [body[at : at + cut] for at in range(0, len(body), cut)] or [b""]

    async def receive() -> Message:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    headers = [(b"content-type", kind.encode())]
    request = Request({"type": "http", "method": "POST", "headers": headers, "app": ELSEWHERE}, receive)
    return await form_bodies.read_form(request, admit=None, open_file=Upper)


async def refusal(body: bytes, kind: str) -> str:
    """Return the code with which a form is refused."""
    with pytest.raises(Invalid) as refused:
        await read(body, kind)
    return str(refused.value.errors[0]["type"])


def url_encoded(pairs: Pairs) -> bytes:
    return "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in pairs).encode()


def multipart(parts: Sequence[tuple[str, bytes]], boundary: str = "B") -> bytes:
    """Return a form of parts: the parameters of each head and its content."""
    written = [
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + value + b"\r\n"
        for head, value in parts
    ]
    return b"".join(written) + f"--{boundary}--\r\n".encode()


URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data; boundary=B"
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
NAMES = st.text("abc._-é", min_size=1, max_size=8)


@cases(50)
@given(pairs=st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=5), cut=st.integers(1, 40))
async def test_each_cut_of_a_form_gives_its_fields(pairs: Pairs, cut: int) -> None:
    parts = [(f'name="{name}"', value.encode()) for name, value in pairs]

    assert await read(url_encoded(pairs), URL_ENCODED, cut=cut) == pairs
    assert await read(multipart(parts), MULTIPART, cut=cut) == pairs


@pytest.mark.parametrize("at", range(3))
async def test_an_escape_goes_on_in_the_next_piece(at: int) -> None:
    text = "x" * at + "é+ %" * 10_000
    pairs = [("notes", text), ("empty", "")]

    assert await read(url_encoded(pairs), URL_ENCODED) == pairs


async def test_what_is_no_field_or_no_escape_is_read_as_browsers_read_it() -> None:
    found = await read(b"&&a&=b&c=%&d=%4&e=%zz&f%=1&g=1=2&", URL_ENCODED)

    assert found == [("a", ""), ("", "b"), ("c", "%"), ("d", "%4"), ("e", "%zz"), ("f%", "1"), ("g", "1=2")]


async def test_a_file_is_the_values_of_its_sink() -> None:
    content = b"a\r\n--C\r\n-" * 5_000
    body = multipart([('name="a"', b"1"), ('name="source"; filename="x;\\"y.csv"', content), ('name="b"', b"2")])

    assert await read(body, MULTIPART) == [("a", "1"), ("source", content.decode().upper()), ("b", "2")]


async def test_a_form_without_fields_has_none() -> None:
    assert await read(b"", URL_ENCODED) == []
    assert await read(b"--B--\r\n", MULTIPART) == []


def head_of(size: int) -> str:
    """Return the parameters of a head of so many bytes."""
    name = 'name="x"; y="'
    return name + "y" * (size - len(f'Content-Disposition: form-data; {name}"\r\n')) + '"'


# By the limit: the code of the refusal, and a form with so many more than the limit.
AT_LIMITS: Mapping[str, tuple[str, str, Callable[[int], bytes]]] = {
    "fields": ("too_many_fields", URL_ENCODED, lambda more: b"&".join([b"a=b"] * (MAX_FIELDS + more))),
    "parts": ("too_many_fields", MULTIPART, lambda more: multipart([('name="x"', b"")] * (MAX_PARTS + more))),
    "head": ("head_too_large", MULTIPART, lambda more: multipart([(head_of(MAX_HEAD + more), b"")])),
    "text": ("field_too_large", URL_ENCODED, lambda more: b"x=" + b"y" * (MAX_TEXT - 1 + more)),
    "part": ("field_too_large", MULTIPART, lambda more: multipart([('name="x"', b"y" * (MAX_TEXT - 1 + more))])),
}


@pytest.mark.parametrize("limit", AT_LIMITS)
async def test_a_form_is_read_up_to_each_limit(limit: str) -> None:
    code, kind, body = AT_LIMITS[limit]

    assert await read(body(0), kind)
    assert await refusal(body(1), kind) == code


@pytest.mark.parametrize(
    ("length", "is_read"), [(0, False), (1, True), (MAX_BOUNDARY, True), (MAX_BOUNDARY + 1, False)]
)
async def test_a_boundary_has_1_to_70_bytes(length: int, is_read: bool) -> None:
    boundary = "B" * length
    body, kind = multipart([('name="x"', b"y")], boundary), f'multipart/form-data; boundary="{boundary}"'
    if is_read:
        assert await read(body, kind) == [("x", "y")]
    else:
        assert await refusal(body, kind) == "boundary_invalid"


async def test_a_media_type_has_at_most_200_bytes() -> None:
    kind = f"{MULTIPART}; x="
    longest = kind + "y" * (MAX_CONTENT_TYPE - len(kind))

    assert await read(multipart([('name="x"', b"y")]), longest) == [("x", "y")]
    with pytest.raises(MediaTypeUnsupported):
        await read(multipart([('name="x"', b"y")]), f"{longest}y")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'--B\r\nContent-Disposition: form-data; name="x"\r\n\r\ny', "form_incomplete"),
        (b'--B\r\nContent-Disposition: form-data; filename="x"\r\n\r\ny\r\n--B--\r\n', "form_malformed"),
        (b"--B\r\nA b: c\r\n\r\ny\r\n--B--\r\n", "form_malformed"),
        (b"--C\r\n", "form_malformed"),
        (b"nothing", "form_malformed"),
        (b"", "form_incomplete"),
        (multipart([('name="x"', b"\0")]), "nul_character"),
        (multipart([('name="x\0"; filename="f"', b"")]), "nul_character"),
    ],
)
async def test_a_malformed_form_is_refused(body: bytes, code: str) -> None:
    assert await refusal(body, MULTIPART) == code
