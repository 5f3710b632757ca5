"""Any value in any field of a form of the console gets a page, never an error of the service, and stays text."""

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from builders.console import views
from builders.console.actions import ACTIONS
from builders.console.forms import CSRF
from tests.cast import Person
from tests.changes import MOST_S
from tests.console.visitor import Visitor, fields_of
from tests.loop_time import loop_time
from tests.random_cases import cases

TEMPLATES = [each.read_text() for each in (Path(views.__file__).parent / "templates").rglob("*.html")]
# In a template by itself, or as an argument of a macro: m.field("webhook-add", "url", …).
FIELD = re.compile(r'(?:name="|m\.\w+\("[\w-]+", ")([a-z_.]+)"')
FIELDS = sorted({name for text in TEMPLATES for name in FIELD.findall(text)})
SCRIPT = "<script>alert(1)</script>"
# They end the session that asks, and the keys of the account.
ENDING = ("session-end", "keys-revoke", "erasure-confirm")
TEXTS = st.sampled_from(
    [
        *(
            "",
            " ",
            "\0",
            SCRIPT,
            '" onfocus="alert(1)',
            "x" * 5_000,
            "\u202e",
            "İ",
            "{{7*7}}",
            "-1",
            "1e999",
            "9" * 400,
        ),
        *(
            "2026-02-30",
            "9999-12-31",
            "1.234,56",
            "USD",
            "on",
            "[]",
            '{"a":',
            "a@b@c",
            "ada@harbour.example",
            "xn--",
        ),
        *("01890a5d-ac96-774b-bcce-b302099a8057", "../../x", "https://127.0.0.1/", "live", "*", "\r\nX: y", "%00"),
    ]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FORMS = st.dictionaries(
    st.sampled_from(FIELDS) | st.text("abc_.[]", max_size=6), TEXTS | st.lists(TEXTS, max_size=3), max_size=8
)


@pytest.mark.fuzzer
@cases(40)
@given(action=st.sampled_from(sorted(ACTIONS)), fields=FORMS, space=st.sampled_from(("/console", "/console/test")))
async def test_any_fields_of_a_form_get_a_page(
    browser: Visitor, bob: Person, action: str, fields: dict[str, str | list[str]], space: str
) -> None:
    if action in ENDING:
        return
    token = fields_of(await browser.open("/console/webhooks"), "webhook-add")[CSRF]
    with loop_time() as loop:
        page = await browser.post_form(f"{space}/do/{action}", {**fields, CSRF: token})
    assert page.status_code < 500, page.text
    assert loop.seconds < MOST_S
    assert SCRIPT not in page.text
    assert "Traceback" not in page.text
    assert str(bob.account.id) not in page.text


def test_fields_are_found() -> None:
    assert {"label", "url", "email"} <= {*FIELDS}
    assert {*ENDING} <= ACTIONS.keys()
