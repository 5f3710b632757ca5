"""Lists of attributes as parameters of a statement."""

from dataclasses import dataclass

from builders.kit.db.columns import columns


@dataclass(frozen=True)
class Name:
    """A record."""

    id: int
    label: str


def test_each_attribute_becomes_a_list_in_the_order_of_the_records() -> None:
    found = columns(iter([Name(2, "two"), Name(1, "one")]), "label", "id")
    assert found == {"label": ["two", "one"], "id": [2, 1]}


def test_no_records_give_empty_lists() -> None:
    assert columns([], "id", "label") == {"id": [], "label": []}
