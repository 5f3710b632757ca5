"""A sequence of patches has the same result as the same patches of a dict (RFC 7396)."""

from typing import Any

from hypothesis import given, strategies as st

from tests.cast import Person
from tests.conftest import MakePerson
from tests.profile.make import me, patch
from tests.random_cases import cases

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "display_name": st.sampled_from(["Ada", "Grace", "Ωmega"]),
    "company": st.sampled_from(["Engines", "Ships & Co"]),
    "website": st.sampled_from(["https://engines.example", "http://ships.example/a?b"]),
    "country": st.sampled_from(["GB", "DE", "US"]),
    "timezone": st.sampled_from(["UTC", "Europe/Berlin"]),
    "locale": st.sampled_from(["en", "de-CH"]),
    "marketing_opt_in": st.booleans(),
}
CLEARED = {**dict.fromkeys(VALUES), "marketing_opt_in": False, "display_name": "Patty"}
patches = st.lists(
    st.fixed_dictionaries({}, optional={name: st.none() | values for name, values in VALUES.items()}).filter(bool),
    max_size=6,
)


@cases(6)
@given(sequence=patches)
async def test_patches_equal_a_fold_over_a_dict(people: MakePerson, sequence: list[dict[str, Any]]) -> None:
    patty: Person = await people("patty")
    expected: dict[str, Any] = dict(CLEARED)
    stored: dict[str, Any] = dict.fromkeys(VALUES) | {"marketing_opt_in": False}
    version = 1
    for each in sequence:
        cleaned = {name: bool(value) if name == "marketing_opt_in" else value for name, value in each.items()}
        version += any(stored[name] != value for name, value in cleaned.items())
        stored |= cleaned
        expected |= {name: CLEARED[name] if value is None else value for name, value in each.items()}
        profile = await patch(patty, **each)
        assert ({name: profile[name] for name in VALUES}, profile["version"]) == (expected, version)

    profile = await me(patty)
    assert ({name: profile[name] for name in VALUES}, profile["version"]) == (expected, version)
    await patty.aclose()
