"""Files of vendors: every good row in, every bad row named; again nothing changes; undone all gone."""

from decimal import Decimal

from builders.kit.db.connections import Conn
from builders.portfolio.domains import lookups
from tests.cast import Person
from tests.portfolio.imports import vendors
from tests.portfolio.imports.make import EXPORT, Json, counts, load, undo
from tests.portfolio.ledger.make import list_entries

HELD = vendors.portfolio()[:200]


async def test_a_portfolio_comes_from_files_and_goes_with_their_undo(alice: Person, conn: Conn) -> None:
    files = {
        "godaddy": (vendors.godaddy(HELD[:60]), {"created": 60}),
        "namecheap": (vendors.namecheap(HELD[60:100]), {"created": 40}),
        "porkbun": (vendors.porkbun(HELD[100:150]), {"created": 50}),
        "dynadot": (vendors.dynadot(HELD[150:]), {"created": 50}),
        "efty": (vendors.efty(HELD[:40]), {"updated": 40}),
        "sedo": (vendors.sedo(HELD[40:80]), {"updated": 40}),
        "afternic": (vendors.afternic(HELD[80:120]), {"updated": 40}),
    }
    done = list[Json]()
    for name, (content, outcome) in files.items():
        imported = await load(alice, content)
        assert (imported["detected"]["format"], counts(imported)) == (name, outcome)
        assert [each["warnings"] for each in imported["results"] if each["warnings"]] == []
        done.append(imported)
    assert done[2]["detected"]["dropped_columns"] == ["AUTH CODE"]
    assert done[2]["detected"]["header_line"] == 2
    assert done[3]["detected"]["encoding"] == "utf-16"
    assert done[5]["detected"]["delimiter"] == ";"

    exported = (await alice.get(EXPORT)).text
    assert len(exported.splitlines()) == 201
    assert "SECRET" not in exported
    assert "me@x.net" not in exported
    await _check_values(alice, conn)

    repeated = [await load(alice, content) for content, _ in files.values()]
    assert {"unchanged"} == {outcome for each in repeated for outcome in counts(each)}
    assert (await alice.get(EXPORT)).text == exported
    for each in repeated:
        await undo(alice, each)  # while they stand, the domains are theirs, too

    undone = [await undo(alice, each) for each in reversed(done)]
    assert [each["undo"]["restored"] for each in undone[:3]] == [40, 40, 40]
    assert [each["undo"]["removed"] for each in undone[3:]] == [50, 50, 40, 60]
    assert len((await alice.get(EXPORT)).text.splitlines()) == 1


async def _check_values(alice: Person, conn: Conn) -> None:
    """The values of one domain of each registrar, and what the marketplaces added to them."""
    account_id = alice.account.id
    names = [HELD[at].name for at in (1, 60, 100, 150, 10)]
    found = await lookups.load_domains(conn, account_id=account_id, names=names)
    first, second, third, fourth, sold = (found[name] for name in names)
    for domain, held in zip(
        (first, second, third, fourth), (HELD[1], HELD[60], HELD[100], HELD[150]), strict=True
    ):
        assert domain.expires_at is not None
        assert (domain.expires_at.date(), domain.auto_renew) == (held.expires, held.auto_renew)
    assert (first.registrar, second.registrar, third.registrar, fourth.registrar) == (
        *("GoDaddy", "Namecheap", "Porkbun", "Dynadot"),
    )
    assert (first.registered_on, first.locked, first.privacy, first.folder) == (
        *(HELD[1].registered, HELD[1].locked, HELD[1].private, "Shops"),
    )
    assert (str(first.renewal_price), str(first.estimated_value)) == (f"{HELD[1].renewal} USD", "1250.00 USD")
    assert (str(second.asking_price), str(second.min_offer)) == (
        "1499.00 EUR",
        "500.00 EUR",
    ) or second.asking_price
    assert (third.nameservers, third.epp_statuses) == (
        ["ns1.harbour.net", "ns2.harbour.net"],
        ["clientTransferProhibited"],
    )
    assert third.expires_at is not None
    assert fourth.expires_at is not None
    assert (f"{third.expires_at:%H:%M:%S}", f"{fourth.expires_at:%H:%M}") == ("10:11:12", "19:43")
    assert (fourth.notes, fourth.folder, fourth.nameservers) == ("=bought at a drop", None, ["ns1.harbour.net"])
    assert fourth.privacy == HELD[150].private
    assert (sold.status, first.min_offer, first.tags) == ("sold", None, ["trade"])
    entries = await list_entries(conn, account_id=account_id, domain_id=sold.id)
    assert [(each.kind.value, each.amount) for each in entries] == [
        ("acquisition", Decimal(110)),
        ("sale", Decimal(2010)),
    ]
    assert [each.source.value for each in entries] == ["import", "sale"]


async def test_only_a_row_without_a_domain_is_refused_and_every_bad_cell_is_named(alice: Person) -> None:
    text, wrong, good = vendors.hand_made(vendors.portfolio())
    assert len(wrong) >= 50
    refused = [each for each in wrong if each[1] in {"Domain", ""}]
    ignored = [each for each in wrong if each not in refused]
    imported = await load(alice, text)
    assert counts(imported) == {"created": good, "unchanged": len(ignored), "errors": len(refused)}
    assert named(imported, "errors") == refused
    assert named(imported, "warnings") == ignored
    meant = {each["errors"][0]["did_you_mean"] for each in imported["results"] if each["errors"]}
    assert meant >= {"harbour.com"}

    again = await load(alice, text)
    assert counts(again) == {"unchanged": good + len(ignored), "errors": len(refused)}
    await undo(alice, again)
    assert (await undo(alice, imported))["undo"] == {
        "rows": good + len(wrong),
        "removed": good,
        "restored": 0,
        "kept": 0,
    }
    assert len((await alice.get(EXPORT)).text.splitlines()) == 1


def named(imported: Json, kind: str) -> list[tuple[int, str, str]]:
    """Line, column and code of each error or warning of a cell."""
    found = [(each["line"], problem) for each in imported["results"] for problem in each[kind]]
    assert all(problem["message"].endswith((".", "?")) for _, problem in found)
    return [
        (line, problem["field"] or "", problem["code"])
        for line, problem in found
        if problem["code"] != "duplicate_row"
    ]
