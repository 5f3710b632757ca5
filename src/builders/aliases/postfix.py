"""Names as Postfix reads them (postconf virtual_alias_maps); pure.

A domain makes one key of every spelling of a name, and Postfix compares texts. So the map has the key, and the
spelling that was claimed; a second table turns a recipient with ignored separators into its key, which is looked
up in the map again (pipemap). What is no name after that is refused: no rule makes a mailbox of it.
"""

import re
from collections.abc import Iterator, Sequence

from builders.aliases.records import MAX_LOCAL_PART, Entry, SeparatorPolicy

IGNORED = {SeparatorPolicy.IGNORE_DOTS: ".", SeparatorPolicy.IGNORE_ALL: "._-"}
MOST_SEPARATORS = (MAX_LOCAL_PART - 1) // 2  # each stands between two other characters
DOMAINS_OF_BLOCK = 50


def map_lines(entry: Entry) -> Iterator[str]:
    """Lines of virtual_alias_maps; none for a name that forwards nowhere."""
    if entry.destinations:
        for spelling in sorted({entry.key, entry.local_part}):
            yield f"{spelling}@{entry.domain} {', '.join(entry.destinations)}"


def domain_line(domain: str) -> str:
    """Makes Postfix take mail for the domain (virtual_alias_domains is the same map unless it is set)."""
    return f"{domain} {domain}"


def spelling_lines(policy: SeparatorPolicy, domains: Sequence[str]) -> Iterator[str]:
    """The pcre table for domains of one policy: a rule for each number of ignored separators."""
    ignored = IGNORED.get(policy)
    if ignored is None:
        return
    for at in range(0, len(domains), DOMAINS_OF_BLOCK):
        some = "|".join(map(re.escape, domains[at : at + DOMAINS_OF_BLOCK]))
        yield f"if /@(?:{some})$/"
        for count in range(1, MOST_SEPARATORS + 1):
            yield _rule(ignored, count)
        yield "endif"


def _rule(ignored: str, count: int) -> str:
    """Takes so many separators out; what follows a `+` is no part of the name."""
    part = f"([^@+{ignored}]+)"
    name = f"[{ignored}]".join([part] * (count + 1))
    kept = "".join(f"${{{at}}}" for at in range(1, count + 2))
    return rf"/^{name}(?:\+[^@]*)?(@[^@]+)$/ {kept}${{{count + 2}}}"
