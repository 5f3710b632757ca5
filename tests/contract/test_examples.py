"""Examples of bodies and replies, which the packages have as data."""

from builders.app import read_examples
from tests.published import published


def test_each_example_is_of_a_model_in_the_document() -> None:
    assert sorted(read_examples().keys() - published().document["components"]["schemas"].keys()) == []
