"""Rules for what a project says of itself, beyond what a schema can say. What breaks one raises ValueError."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import count

from builders.kit.values import domain_names, texts
from builders.projects.records import MAX_DESCRIPTION

_LONGEST, _SHORTEST = 40, 3  # characters of a slug


def read_description(text: str) -> str:
    """Text of several lines, tidied."""
    tidy = texts.cleaned(text)
    if not tidy:
        raise ValueError("There is nothing to see in this text.")
    if len(tidy) > MAX_DESCRIPTION:
        raise ValueError(f"A description has at most {MAX_DESCRIPTION} characters.")
    return tidy


def read_domain(text: str) -> str:
    """A domain as it is stored: lower-case A-labels."""
    name = domain_names.find_a_label(text)
    if name is None:
        raise ValueError("Not a domain; send one such as harbour.example.")
    return name


def derive_slug(name: str) -> str:
    """What a project of this name is called in addresses when nobody says; the same for the same name."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    if not stem:
        return "project"
    if not stem[0].isalpha():
        stem = f"project-{stem}"
    if len(stem) < _SHORTEST:
        stem = f"{stem}-project"
    return stem[:_LONGEST].rstrip("-")


def free_slug(name: str, taken: Collection[str]) -> str:
    """The derived slug, with the first number from 2 with which it is not taken."""
    return next(slug for slug in _slugs(derive_slug(name)) if slug not in taken)


def _slugs(stem: str) -> Iterator[str]:
    yield stem
    for number in count(2):
        tail = f"-{number}"
        yield f"{stem[: _LONGEST - len(tail)].rstrip('-')}{tail}"
