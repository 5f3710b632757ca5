"""Bodies that are large, deep, not JSON, or ambiguous JSON."""

import json
import select
import socket

import pytest

from builders.plans.records import MAX_BYTES
from tests.fuzz.served import Served
from tests.fuzz.wire import CLOSE, Answer, answers, ask

PATHS = ["/v1/api-keys", "/v1/api-keys/x/rotate", "/v1/sandbox/plan", "/v1/sandbox/promote"]
KEY = b'"key_kind":"test","preset":"developer_full"'

NOT_JSON = {
    "deep lists": b"[" * 100_000,
    "deep lists, closed": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep in a member": b'{"label":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "NaN": b'{"label":NaN}',
    "Infinity": b'{"label":-Infinity}',
    "a million digits": b'{"label":' + b"9" * 1_000_000 + b"}",
    "a lone surrogate": b'{"label":"\\ud800",%s}' % KEY,
    "a lone surrogate in a name": b'{"\\udfff":1,"label":"x",%s}' % KEY,
    "a surrogate in UTF-8": b'{"label":"\xed\xa0\x80"}',
    "not UTF-8": b'{"label":"\xff\xfe"}',
    "UTF-16": '{"label":"x"}'.encode("utf-16"),
    "UTF-32": '{"label":"x"}'.encode("utf-32"),
    "two byte order marks": b'\xef\xbb\xbf\xef\xbb\xbf{"label":"x"}',
    "a bare NUL": b'{"label":"a\0b"}',
    "two values": b"{} {}",
    "a comma too many": b'{"label":"x",}',
    "a comment": b'{"label":"x"} // y',
    "single quotes": b"{'label':'x'}",
    "half of it": b'{"label":"x"',
    "gzip": b"\x1f\x8b\x08\x00" + bytes(100),
}
UNFIT = {
    "a NUL": b'{"label":"a\\u0000b",%s}' % KEY,
    "a NUL in a name": b'{"a\\u0000b":1,"label":"x",%s}' % KEY,
    "a NUL far inside": b'{"x":[[[{"y":"\\u0000"}]]],"label":"x",%s}' % KEY,
    "10^400 as a float": b'{"confirm_deletes":1e400,"label":"x",%s}' % KEY,
    "10^400": b'{"label":1%s,"plan_id":1%s}' % ((b"0" * 400,) * 2),
    "a long text": b'{"label":"%s"}' % (b"a" * 1_000_000),
    "a long text of marks": b'{"label":"%s"}' % ("\u0301".encode() * 400_000),
    "150,000 members": b"{%s}" % b",".join(b'"k%d":1' % n for n in range(150_000)),
    "150,000 almost right": b"{%s}" % b",".join(b'"labe%d":1' % n for n in range(120_000)),
    "a name of a million": b'{"%s":1}' % (b"a" * 1_000_000),
    "a list": b"[%s]" % b",".join([b"{}"] * 100_000),
    "a text": b'"label"',
    "a number": b"1",
    "null in every place": b'{"label":null,"plan_id":null,"resources":null}',
    "a billion laughs, as far as JSON goes": b'{"resources":{"aliases":[%s]}}' % b",".join([b"{}"] * 100_000),
}
VALIDATED_WITHIN_S = 180  # seconds of processor time, of which a loaded machine gives a part
OTHER_TYPES = [
    b"",
    b"Content-Type: text/plain\r\n",
    b"Content-Type: application/x-www-form-urlencoded\r\n",
    b"Content-Type: multipart/form-data; boundary=x\r\n",
    b"Content-Type: application/xml\r\n",
    b"Content-Type: application/jsonx\r\n",
    b'Content-Type: ;;;=\xff"\\\r\n',
    b"Content-Type: application/" + b"a/" * 20_000 + b"+json\r\n",
    b"Content-Type: text/plain\r\nContent-Type: application/json\r\n",
]


def post(served: Served, path: str, body: bytes, header: bytes = b"Content-Type: application/json\r\n") -> Answer:
    return ask(served.port, f"POST {path} HTTP/1.1\r\n".encode() + header + served.header(), body)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", NOT_JSON)
def test_invalid_json_is_refused(unharmed: Served, path: str, name: str) -> None:
    answer = post(unharmed, path, NOT_JSON[name])
    assert answer.status == 422
    (error,) = answer.json()["detail"]
    assert error["type"] == "json_invalid"
    assert error["loc"][0] == "body"


@pytest.mark.parametrize("path", [path for path in PATHS if not path.endswith("rotate")])
@pytest.mark.parametrize("name", UNFIT)
def test_an_unfit_body_gets_a_short_error(unharmed: Served, path: str, name: str) -> None:
    answer = post(unharmed, path, UNFIT[name])
    if path == "/v1/sandbox/plan" and len(UNFIT[name]) > MAX_BYTES:
        assert (answer.status, answer.json()["code"]) == (413, "manifest_too_large")
        return
    assert answer.status == 422
    errors = answer.json()["detail"]
    assert 0 < len(errors) <= 100
    assert all({"loc", "msg", "type"} <= set(error) <= {"loc", "msg", "type", "did_you_mean"} for error in errors)
    assert len(answer.body) < 100_000


@pytest.mark.parametrize(
    "hours", [b"1e400", b"1" + b"0" * 400, b"-1", b"0.5", b"169", b'"' + b"9" * 5_000 + b'"', b"[[]]"]
)
def test_invalid_hours_are_refused(unharmed: Served, hours: bytes) -> None:
    assert post(unharmed, "/v1/api-keys/x/rotate", b'{"overlap_hours":%s}' % hours).status == 422


@pytest.mark.parametrize("header", OTHER_TYPES, ids=range(len(OTHER_TYPES)))
def test_a_body_of_another_type_is_refused(unharmed: Served, header: bytes) -> None:
    assert post(unharmed, "/v1/api-keys", b'{"label":"x",%s}' % KEY, header).status == 415


@pytest.mark.parametrize(
    "body",
    [
        b'{"label":"x","key_kind":"live","key_kind":"test","preset":"developer_full"}',
        b'{"label":"x","key_kind":"live","key\\u005fkind":"test","preset":"developer_full"}',
        b'{"label":"x",%s,"a":%s{"b":1,"b":2}%s}' % (KEY, b"[" * 190, b"]" * 190),
        b'{"label":"x","label":"x",%s,"a":%s}' % (KEY, b"[" * 100_000),
        b'{%s,"label":"x","label":"x"}' % b",".join(b'"k%d":1' % n for n in range(150_000)),
    ],
    ids=["plain", "escaped", "deep", "before what is no JSON", "after many"],
)
def test_a_repeated_member_is_refused(unharmed: Served, body: bytes) -> None:
    answer = post(unharmed, "/v1/api-keys", body)
    assert answer.status == 422
    assert [each["type"] for each in answer.json()["detail"]] == ["member_repeated"]


def test_a_byte_order_mark_before_json_is_ignored(unharmed: Served) -> None:
    assert post(unharmed, "/v1/api-keys", b'\xef\xbb\xbf{"label":"x",%s}' % KEY).status == 200


def test_others_are_answered_while_a_large_body_is_validated(unharmed: Served) -> None:
    destination = "a@" + ".".join(["éü"] * 20) + ".example"  # slow to validate
    alias = {"key": "a", "address": "a@b.example", "destinations": [destination] * 10}
    manifest = {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": "slow"},
        "resources": {"aliases": [alias] * 150},
    }
    body = json.dumps(manifest, ensure_ascii=False).encode()
    head = b"POST /v1/sandbox/plan HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + unharmed.header()
    with socket.create_connection(("127.0.0.1", unharmed.port), timeout=VALIDATED_WITHIN_S) as connection:
        connection.sendall(head + CLOSE + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        for _ in range(3):
            assert ask(unharmed.port, b"GET /livez HTTP/1.1\r\n").status == 200
        has_answered = select.select([connection], [], [], 0)[0]
        (answer,) = answers(connection)
    assert answer.status == 422
    assert not has_answered
