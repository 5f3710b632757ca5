from hypothesis import given, strategies as st

from builders.identity.records import Preset
from builders.identity.scopes import DESCRIPTIONS, PRESETS, expand
from tests.cast import Person
from tests.identity.make import PATH

# As the design page writes them down, word for word: two presets, and who holds what.
SHARED = {
    *("account:read", "account:write", "keys:read", "keys:write", "notifications:read", "notifications:write"),
    *("domains:read", "domains:write", "invoices:read", "sandbox:read"),
}
DEVELOPER = {
    *("aliases:read", "aliases:write", "projects:read", "projects:write", "sandbox:write", "sandbox:promote"),
}
DOMAINER = {
    *("portfolio:read", "portfolio:write", "registrars:read", "registrars:write", "transfers:write"),
    *("team:read", "team:write"),
}


async def test_the_catalog_lists_every_scope_with_who_holds_it(alice: Person) -> None:
    answer = await alice.get(f"{PATH}/scopes")

    holders = {each["scope"]: frozenset(each["presets"]) for each in answer.json()["items"]}
    assert holders == {
        **dict.fromkeys(SHARED, frozenset({"domainer_full", "developer_full"})),
        **dict.fromkeys(DEVELOPER, frozenset({"developer_full"})),
        **dict.fromkeys(DOMAINER, frozenset({"domainer_full"})),
        "plans:approve": frozenset(),
        "mail:read": frozenset(),
    }
    assert len(answer.json()["items"]) == len(holders) == 25


async def test_every_scope_is_described_in_a_sentence(dana: Person) -> None:
    for each in (await dana.get(f"{PATH}/scopes")).json()["items"]:
        assert each["description"][0].isupper()
        assert each["description"].endswith(".")
        assert len(each["description"]) > 10


def test_write_implies_read() -> None:
    assert expand({"keys:write"}) == {"keys:write", "keys:read"}
    assert expand({"sandbox:promote"}) == {"sandbox:promote"}


def test_what_cannot_be_read_is_not_implied() -> None:
    assert expand({"transfers:write"}) == {"transfers:write"}


@given(st.sets(st.sampled_from(sorted(DESCRIPTIONS))))
def test_expanding_adds_reading_and_nothing_else(scopes: set[str]) -> None:
    expanded = expand(scopes)

    assert scopes <= expanded <= DESCRIPTIONS.keys()
    assert all(scope.endswith(":read") for scope in expanded - scopes)
    assert expand(expanded) == expanded


def test_a_preset_holds_every_scope_but_those_that_people_have_or_give() -> None:
    held = set().union(*(expand(PRESETS[preset]) for preset in Preset))
    assert held == DESCRIPTIONS.keys() - {"plans:approve", "mail:read"}
