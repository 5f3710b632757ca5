"""Every form of every page: without its token, with another one, from another site, sent twice, and stale."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from builders.console import views
from builders.console.actions import ACTIONS
from builders.console.forms import CSRF
from tests.cast import Person
from tests.console.conftest import Fingerprint
from tests.console.form_scenes import FORMS, open_form
from tests.console.scenes import Scene
from tests.console.visitor import Visitor, action_of, fields_of, heading

Visit = Callable[[Person], Awaitable[Visitor]]


def test_every_form_of_a_template_is_in_the_table() -> None:
    """Forms of the console are written with one macro; a button of a form may name another action."""
    folder = Path(views.__file__).parent / "templates"
    texts = [each.read_text() for each in folder.rglob("*.html")]
    names = re.compile(r"""(?:m\.form\("|link\(["']do/)([\w-]+)["']""")
    written = {name for text in texts for name in names.findall(text)}

    assert written == ACTIONS.keys()
    assert FORMS.keys() == ACTIONS.keys()


@pytest.mark.parametrize("form", FORMS)
async def test_a_form_is_refused_unless_this_session_made_it(
    scene: Scene, fingerprint: Fingerprint, form: str
) -> None:
    browser, page, typed = await open_form(scene, FORMS[form])
    other = await scene.visit(browser.person)
    path, fields = action_of(page, form), {**fields_of(page, form), **typed}
    of_other = fields_of(await other.open("/console/webhooks"), "webhook-add")[CSRF]
    before = fingerprint(scene)
    answers = {
        "without a token": await browser.post_form(path, {**fields, CSRF: ""}),
        "with the token of another session": await browser.post_form(path, {**fields, CSRF: of_other}),
        "sent by another session": await other.post_form(path, fields),
        "from another site": await browser.post_form(path, fields, origin="https://evil.example"),
        "from nowhere": await browser.post_form(path, fields, origin="null"),
    }

    assert {how: each.status_code for how, each in answers.items()} == dict.fromkeys(answers, 403)
    assert fingerprint(scene) == before


@pytest.mark.parametrize("form", FORMS)
async def test_a_form_sent_twice_acts_once_and_shows_the_first_result(
    scene: Scene, fingerprint: Fingerprint, form: str
) -> None:
    browser, page, typed = await open_form(scene, FORMS[form])
    path, fields = action_of(page, form), {**fields_of(page, form), **typed}
    first = await browser.post_form(path, fields)
    assert first.status_code == 200, first.text
    before = fingerprint(scene)
    second = await browser.post_form(path, fields)

    assert (second.status_code, second.url, heading(second)) == (200, first.url, heading(first)), second.text
    assert fingerprint(scene) == before


@pytest.mark.parametrize("form", [name for name, each in FORMS.items() if each.meanwhile is not None])
async def test_a_stale_form_does_nothing_and_shows_what_has_changed(
    scene: Scene, fingerprint: Fingerprint, form: str
) -> None:
    shown = FORMS[form]
    browser, page, typed = await open_form(scene, shown)
    assert shown.meanwhile is not None
    await shown.meanwhile(scene)
    before = fingerprint(scene)
    after = await browser.submit(page, form, **typed)
    found = fingerprint(scene)
    allowed = ("identity_audit", *shown.besides)
    changed = {each for each in found if found[each] != before.get(each) and not each.startswith(allowed)}

    assert shown.tells in after.text, (after.status_code, after.text)
    assert not changed
