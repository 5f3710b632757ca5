"""Labels hold no terminal control, bidirectional or zero-width characters."""

import pytest

from builders.kit.values import texts
from tests.cast import Person
from tests.plans.make import PLAN, alias, manifest
from tests.webhooks.make import PATH, WANTED

UNFIT = ["a\x1b[2Jb", "a\u202eb", "a\u200bb", "\ufeffab", "a\u2060b", "a\u00adb", "a\u200db", "ab\u200c", "a\nb"]
UNFIT += ["\u2800", "\u3164", "\ufe0f", "\u0301 \u2800"]  # nothing that one can see
FIT = ["Ada's hook", "Größe", "👩\u200d💻 build", "\u0645\u06cc\u200c\u062e", "日本"]
KEY = {"key_kind": "test", "preset": "developer_full"}


@pytest.mark.parametrize("label", UNFIT)
async def test_an_unfit_label_is_a_422_in_every_operation(label: str, alice: Person) -> None:
    webhook = {"key": "hook", "label": label, "url": WANTED["url"], "events": ["alias.*"]}
    aliased = alias("ada@unknown.example", note=label)
    labelled = alias("ada@unknown.example", labels={"team": label})
    answers = [
        await alice.post("/v1/api-keys", json={**KEY, "label": label}),
        await alice.post(PATH, json=WANTED | {"label": label}),
        await alice.post("/v1/builders/projects", json={"name": label}),
        await alice.post(PLAN, json=manifest([], resources={"webhooks": [webhook]})),
        await alice.post(PLAN, json=manifest([aliased])),
        await alice.post(PLAN, json=manifest([labelled])),
    ]
    assert [each.status_code for each in answers] == [422] * 6
    assert {each.json()["detail"][0]["type"] for each in answers} == {"text_form"}


@pytest.mark.parametrize("label", FIT)
def test_other_labels_are_accepted(label: str) -> None:
    assert texts.one_line(label) == label
    assert texts.one_line("") == ""
