"""The matrix of adapters and behaviors, which docs/reference shows, has no gap."""

from collections import Counter
from pathlib import Path

from builders.demo.registrars.fake import Fault
from builders.portfolio.registrars.providers import ADAPTERS
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.registrars.behaviors import FAULTS, Behavior, list_behaviors, list_reasons
from tests.registrars.fakes import FAKES


def test_every_adapter_has_a_fake_and_a_suite() -> None:
    suites = {each.stem.removeprefix("test_") for each in Path(__file__).parent.glob("test_*.py")}
    assert ADAPTERS.keys() == FAKES.keys()
    assert ADAPTERS.keys() == suites - {"matrix", "how_to"}


def test_auto_renew_can_be_set_at_each_registrar_but_one() -> None:
    assert [name for name, each in ADAPTERS.items() if not each.profile.capabilities.set_auto_renew] == [
        "namecheap"
    ]


def test_every_behavior_has_one_test() -> None:
    tests = [
        test
        for name, test in vars(RegistrarSuite).items()
        if name.startswith("test_") and "connect" in test.__annotations__
    ]
    played = [
        [*mark.args] if mark.name == "plays" else mark.args[1]
        for test in tests
        for mark in test.pytestmark
        if mark.name == "plays" or mark.args[0] == "behavior"
    ]
    assert len(played) == len(tests)
    assert Counter(each for behaviors in played for each in behaviors) == Counter(Behavior)


def test_every_fault_but_silence_is_a_behavior() -> None:
    assert {*FAULTS.values()} == {*Fault} - {Fault.HANG}


def test_every_cell_says_tested_or_why_not() -> None:
    rows = list(list_behaviors())
    cells = {"tested", *(f"does not occur ({number})" for number in range(1, len(list_reasons()) + 1))}
    assert [row[0] for row in rows] == list(Behavior)
    assert {len(row) for row in rows} == {1 + len(ADAPTERS)}
    assert {cell for _, *row in rows for cell in row} == cells
