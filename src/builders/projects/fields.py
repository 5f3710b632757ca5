"""Parse and derive fields of a project; raise ValueError for an invalid one. Schemas check all simpler rules."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import count

from builders.kit.values import domain_names, texts
from builders.projects.records import MAX_DESCRIPTION

_MAX_SLUG, _MIN_SLUG = 40, 3  # characters


def parse_description(text: str) -> str:
    """Return a text of one or several lines without surrounding blanks and control characters."""
    cleaned = texts.cleaned(text)
    if not cleaned:
        raise ValueError("The text has no visible characters.")
    if len(cleaned) > MAX_DESCRIPTION:
        raise ValueError(f"A description has at most {MAX_DESCRIPTION} characters.")
    return cleaned


def parse_domain(text: str) -> str:
    """Return the stored form of the domain: in lower case, as A-labels."""
    name = domain_names.find_a_label(text)
    if name is None:
        raise ValueError("Not a domain; send one such as harbour.example.")
    return name


def derive_slug(name: str) -> str:
    """Return the slug of a project that is created without one; the same name always has the same slug."""
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", ascii_name).strip("-")
    if not stem:
        return "project"
    if not stem[0].isalpha():
        stem = f"project-{stem}"
    if len(stem) < _MIN_SLUG:
        stem = f"{stem}-project"
    return stem[:_MAX_SLUG].rstrip("-")


def choose_slug(name: str, taken: Collection[str]) -> str:
    """Return the derived slug; when it is taken, append the first number from 2 that makes it unique."""
    return next(slug for slug in _candidates(derive_slug(name)) if slug not in taken)


def _candidates(stem: str) -> Iterator[str]:
    yield stem
    for number in count(2):
        suffix = f"-{number}"
        yield f"{stem[: _MAX_SLUG - len(suffix)].rstrip('-')}{suffix}"
