"""Forms of a portfolio by who may not send them: a member whose role was lowered since, and a stranger."""

from collections.abc import Mapping
from typing import Any

import pytest

from builders.identity.records import Preset
from tests.conftest import MakePerson
from tests.console.conftest import Fingerprint
from tests.console.import_forms import packed
from tests.console.money import LIKE_AMOUNT
from tests.console.portfolio_scene import add, fill, in_days
from tests.console.scenes import Scene
from tests.console.visitor import action_of, fields_of
from tests.plans.approval.make import join_team

FILE = packed()
# By the form: its page, and what is typed into it.
FORMS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "portfolio-domain-change": ("portfolio/domains/{id}", {"notes": "mine"}),
    "entry-add": ("portfolio/domains/{id}", {"amount": "3 USD"}),
    "entry-void": ("portfolio/domains/{id}", {}),
    "renewal-record": ("portfolio/domains/{id}", {"amount": "3 USD"}),
    "sale-record": ("portfolio/sale/{id}", {"sale.gross": "3 USD"}),
    "domains-preview": ("portfolio/domains", {"domains": "{id}", "add_tags": "mine"}),
    "renewals-decide": ("portfolio/renewals", {"decision.{id}": "drop"}),
    "renewals-drop": ("portfolio/renewals?drop_max_income=9999", {}),
    "parking-record": ("portfolio/parking", {"domain": "{id}", "date": "2026-11-01", "amount": "3 USD"}),
    "import-preview": ("portfolio/import", {"source": FILE}),
}


def typed_into(form: str, domain_id: str) -> dict[str, Any]:
    return {name.format(id=domain_id): value.format(id=domain_id) for name, value in FORMS[form][1].items()}


@pytest.mark.parametrize("form", FORMS)
async def test_a_role_that_was_lowered_since_the_page_was_opened_counts(
    scene: Scene, fingerprint: Fingerprint, form: str
) -> None:
    domain_id = await fill(scene.alice)
    await join_team(scene.alice, scene.charlie, "manager")
    browser = await scene.visit(scene.charlie)
    page = await browser.open(f"/console/of/{scene.alice.account.id}/{FORMS[form][0].format(id=domain_id)}")
    async with scene.alice.browser() as api:
        path = f"/v1/portfolio/team/members/{scene.charlie.account.id}"
        assert (await api.patch(path, json={"role": "viewer"})).is_success
    before = fingerprint(scene)
    refused = await browser.submit(page, form, **typed_into(form, domain_id))
    found = fingerprint(scene)

    assert refused.status_code == (422 if form == "renewals-drop" else 403), refused.text
    assert not LIKE_AMOUNT.findall(refused.text)
    assert {each for each in found if found[each] != before.get(each)} <= {"identity_audit"}


@pytest.mark.parametrize("form", FORMS)
async def test_ids_of_another_account_are_unknown_in_a_form(
    scene: Scene, fingerprint: Fingerprint, people: MakePerson, form: str
) -> None:
    theirs = await fill(scene.alice)
    erin = await people("erin", Preset.DOMAINER_FULL)
    async with erin.browser() as api:
        own = await add(api, "own.com", ("acquisition", "1.00"), expires_at=in_days(20))
    async with scene.alice.browser() as api:
        entries = (await api.get(f"/v1/portfolio/domains/{theirs}/finance")).json()["entries"]
    browser = await scene.visit(erin)
    page = await browser.open(f"/console/{FORMS[form][0].format(id=own)}")
    before = fingerprint(scene)
    fields = {
        **fields_of(page, form),
        **typed_into(form, theirs),
        "domain_id": theirs,
        "entry_id": entries[0]["id"],
    }
    answer = await browser.post_form(action_of(page, form), fields)

    assert answer.status_code < 500
    assert "harbour" not in answer.text or form == "import-preview"  # the file itself names it
    assert fingerprint(scene) == before
