"""Any change of a file that somebody sends is read or refused with its place, and reaches no other account."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, strategies as st

from builders.identity.records import Preset
from tests.cast import Person
from tests.changes import changed_bytes, changed_text, check
from tests.conftest import MakePerson
from tests.corpus.cases import FOLDER, list_paths, read_case
from tests.corpus.test_corpus import KINDS, REGISTRARS
from tests.kit.sheets.workbook_files import ods, ods_cell, ods_row, rows_of, xls, xlsx
from tests.loop_time import loop_time
from tests.random_cases import cases

PREVIEW = "/v1/portfolio/import/preview"
AFTER = (
    "/v1/portfolio/domains",
    f"{REGISTRARS}/billing/charges",
    f"{REGISTRARS}/inventory",
    "/v1/portfolio/parking",
)
TEXTS = [path for path in list_paths() if read_case(path).workbook is None]
TABLE: Sequence[Sequence[str | float]] = [
    ["Domain", "Expires", "Price", "Auto Renew"],
    ["harbour.com", 46_000.5, 12.5, "yes"],
    ["lantern.com", "2027-01-31", "1.234,56 EUR", "no"],
]
BOOKS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "xlsx": (rows_of(*TABLE), xlsx),
    "ods": ("".join(ods_row(*map(ods_cell, row)) for row in TABLE), ods),
}


@pytest.fixture
async def bob(people: MakePerson) -> Person:
    """Return a domainer with another account."""
    return await people("bob", Preset.DOMAINER_FULL)


@pytest.mark.fuzzer
@cases(25)
@given(data=st.data())
async def test_a_changed_table_is_read_or_refused(alice: Person, bob: Person, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(TEXTS))
    case, kind = read_case(path), path.parent.name
    content = data.draw(changed_bytes(case.content()))
    encoded = data.draw(
        st.sampled_from(({}, {}, {"encoding": "utf-8"}, {"encoding": "windows-1252"}, {"encoding": "x"}))
    )
    with loop_time() as loop:
        answer = await alice.post(
            KINDS[kind][0], content=content, params={**case.query, **encoded}, headers={"Content-Type": "text/csv"}
        )
    check(answer, loop)
    for each in AFTER:
        check(await alice.get(each, params={} if each.endswith("parking") else {"limit": 50}))
        found = await bob.get(each)
        assert found.is_success
        assert not found.json().get("items"), "a file of Alice reached Bob"


@pytest.mark.fuzzer
@cases(8)
@given(data=st.data())
async def test_a_changed_workbook_is_read_or_refused(alice: Person, data: st.DataObject) -> None:
    """What is changed is the sheet within the archive, or the whole file."""
    kind = data.draw(st.sampled_from((*BOOKS, "xls")))
    if kind == "xls" or data.draw(st.booleans()):
        whole = xls(*TABLE) if kind == "xls" else BOOKS[kind][1](BOOKS[kind][0])
        content = data.draw(changed_bytes(whole))
    else:
        sheet, write = BOOKS[kind]
        content = write(data.draw(changed_text(sheet)))
    with loop_time() as loop:
        answer = await alice.post(PREVIEW, content=content, headers={"Content-Type": "application/octet-stream"})
    check(answer, loop)


def test_the_tables_are_of_each_kind() -> None:
    assert {path.parent.name for path in TEXTS} == KINDS.keys()
    assert {path.parent.parent for path in TEXTS} == {FOLDER}
