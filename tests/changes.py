"""Changed bytes and changed JSON for tests with random cases, and what holds of each answer of the service."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import httpx
from hypothesis import strategies as st

from tests.loop_time import LoopTime

Json = Any  # a value of any JSON type
MOST_S = 1.0  # of processor time on the loop, for a request of some kilobytes
LARGEST = 200_000  # bytes of a refusal
PIECES = [
    *(
        b"\0",
        b"\r",
        b"\n",
        b"\r\n",
        b"\t",
        b",",
        b";",
        b'"',
        b"'",
        b"\\",
        b"=1+1",
        b"@",
        b"-",
        b"<",
        b"&#0;",
        b"]]>",
    ),
    *(
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\x1b[0m",
        b"%00",
        b"9" * 400,
        b"1e999",
        b"1,234.5",
        b"0x1F",
    ),
    *(b"0001-01-01", b"9999-12-31", b"31/02/2026", b"xn--", b"a" * 300, b"{{7*7}}", b"<script>alert(1)</script>"),
    *(
        "\u202e".encode(),
        "İ".encode(),
        "a\u0301\u0301".encode(),
        "١٢".encode(),
        "\U0001d4b6".encode(),
        "\u2028".encode(),
    ),
]
VALUES: list[Json] = [
    *(None, True, False, 0, -1, 0.5, 1e308, 10**40, "", " ", "\0", "\u202e", "İ", "x" * 5_000, [], {}, [[]]),
    *({"": ""}, [None], "0", "1e999", "-0", "9999-12-31", "../../x", "' OR 1=1 --", "<script>alert(1)</script>"),
    *("a@b@c", "xn--", "ada@harbour.example", "01890a5d-ac96-774b-bcce-b302099a8057"),
]
MEMBERS = st.recursive(
    st.sampled_from(VALUES) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
).map(deepcopy)  # what is drawn is changed later


@st.composite
def changed_bytes(draw: st.DrawFn, original: bytes, *, most: int = 4) -> bytes:
    """Return the content with some pieces put in, left out or repeated."""
    content = original
    for _ in range(draw(st.integers(1, most))):
        at = draw(st.integers(0, len(content)))
        own = content[at : at + draw(st.sampled_from((1, 16, 200)))]
        put = draw(st.sampled_from(PIECES) | st.binary(max_size=6) | st.just(own))
        content = content[:at] + put + content[at + draw(st.sampled_from((0, 0, 1, 2, 8, 64))) :]
    return content


@st.composite
def changed_text(draw: st.DrawFn, original: str) -> str:
    """Return the text with some pieces put in, left out or repeated."""
    return draw(changed_bytes(original.encode())).decode(errors="replace")


@st.composite
def changed_json(draw: st.DrawFn, original: Json, *, most: int = 3) -> Json:
    """Return the value with some members replaced, left out, renamed or added."""
    whole = {"": deepcopy(original)}
    for _ in range(draw(st.integers(1, most))):
        holder, name = draw(st.sampled_from(list(_places(whole))))
        how = draw(st.sampled_from(("replace", "replace", "leave out", "rename", "add")))
        if how == "leave out" and holder is not whole:
            del holder[name]
        elif how == "rename" and isinstance(name, str) and holder is not whole:
            holder[draw(st.sampled_from((name.upper(), f"{name}s", f" {name}")) | st.text(max_size=8))] = (
                holder.pop(name)
            )
        elif how == "add" and isinstance(holder[name], dict):
            holder[name][draw(st.text(max_size=8))] = draw(MEMBERS)
        elif how == "add" and isinstance(holder[name], list):
            holder[name].append(draw(MEMBERS | st.sampled_from(holder[name] or [None]).map(deepcopy)))
        else:
            holder[name] = draw(MEMBERS)
    return whole[""]


def _places(value: Json) -> Iterator[tuple[Any, Any]]:
    """Yield each container with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in pairs:
        yield value, name
        yield from _places(each)


def check(answer: httpx.Response, loop: LoopTime | None = None) -> None:
    """Check that it is an answer or a refusal that says what is wrong and where, after a bounded time."""
    assert answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR, answer.text
    assert "Traceback" not in answer.text
    if loop is not None:
        assert loop.seconds < MOST_S, answer.text[:500]
    if not answer.is_error:
        return
    assert len(answer.content) < LARGEST
    body = answer.json()
    if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
        assert body["detail"]
        assert all(each["loc"] and each["msg"] and each["type"] for each in body["detail"])
    else:
        assert body["code"]
        assert body["detail"]
        assert body["next_action"]
