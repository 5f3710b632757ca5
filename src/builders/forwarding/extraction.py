"""What a program wants from a message: the codes and the links in its text. Pure.

The text is that of a stranger, up to MAX_TEXT characters. Each pattern reads a bounded number of characters from
each position, so that the time grows with the length of the text only.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import unescape
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from builders.forwarding.records import ExtractedCode, ExtractedLink
from builders.kit.values.domain_names import find_a_label
from builders.mail.addresses import one_line

MAX_TEXT = 64 * 1024  # characters that are read, of bytes that are as many at most
MAX_FOUND = 10  # codes, and links
MAX_CONTEXT = 80  # characters
MAX_URL = 1_000  # characters; a longer one is ignored
# Four to eight digits, also in two groups or after letters; or six to ten capitals with digits. Not a part of a
# number, an amount, a date, a time, an address or a word.
_CODE = re.compile(
    r"(?<![\w.,:/@#&=+%$€£-])(?<!\d )"
    r"(?:[A-Z]{1,3}-)?(?:\d{3}[ -]\d{3}|\d{4,8}|(?=[A-Z]{0,9}\d)(?=\d{0,9}[A-Z])[A-Z0-9]{6,10})"
    r"(?![\w/@=%$€£+-]|[.,:]\d| ?(?:USD|EUR|GBP|%|€|£)| \d)"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_URL = re.compile(rf"https?://[^\s<>\"'`\\^{{}}|()\[\]\x00-\x1f\x7f]{{1,{MAX_URL}}}", re.IGNORECASE)
_END = ".,;:!?*_~"  # of a sentence, not of a link
_HREF = re.compile(r"""\bhref\s{0,9}=\s{0,9}(?:"([^"]{1,2000})"|'([^']{1,2000})')""", re.IGNORECASE)
_BLOCKS = ("br", "p", "div", "tr", "li", "h1", "h2", "h3", "h4", "table", "blockquote", "hr", "/p", "/div", "/tr")
_SKIPPED = ("script", "style", "head", "title", "template")
_LOWER = {each: each + 32 for each in range(ord("A"), ord("Z") + 1)}  # places stay the same, unlike with str.lower
_SPACES = re.compile(r"[ \t\r\f\v\u00a0]{1,1000}")
_LINES = re.compile(r"(?: ?\n){3,1000}")


def list_codes(text: str) -> Sequence[ExtractedCode]:
    """Return the codes of a text, each once, with the text around it."""
    found: dict[str, ExtractedCode] = {}
    for match in _CODE.finditer(text[:MAX_TEXT]):
        code = match[0]
        if _YEAR.fullmatch(code) is None and code not in found:
            found[code] = ExtractedCode(code=code, context=_around(text, match.start(), match.end()))
        if len(found) == MAX_FOUND:
            break
    return list(found.values())


def list_links(text: str, html: str, *, author_domain: str) -> Sequence[ExtractedLink]:
    """Return the links of a text and of the HTML beside it, each once. No link is opened."""
    own, found = organisation_of(author_domain), dict[str, ExtractedLink]()
    text = text[:MAX_TEXT]
    for url, context in (*_urls(text), *_hrefs(html[: MAX_TEXT - len(text)])):
        host = _host_of(url)
        if host is not None and len(url) <= MAX_URL and url not in found:
            found[url] = ExtractedLink(
                url=url, host=host, is_of_sender=organisation_of(host) == own, context=context
            )
        if len(found) == MAX_FOUND:
            break
    return list(found.values())


def organisation_of(domain: str) -> str:
    """Return the organisational domain (RFC 7489, 3.2) of an A-label; the domain itself if it has none."""
    return _suffixes().privatesuffix(domain) or domain


def text_of(html: str) -> str:
    """Return the text of HTML, in one pass: without tags, comments, scripts and styles."""
    pieces, at, lowered = list[str](), 0, html.translate(_LOWER)
    while at < len(html):
        begin = html.find("<", at)
        pieces.append(html[at : begin if begin >= 0 else len(html)])
        if begin == -1:
            break
        close = "-->" if html.startswith("<!--", begin) else ">"
        end = html.find(close, begin)
        name = re.split(r"[\s/>]", lowered[begin + 1 : begin + 12], maxsplit=1)[0]
        if name in _SKIPPED and end >= 0:
            end = lowered.find(f"</{name}", end)
            end = html.find(">", end) if end >= 0 else end
        if lowered.startswith(tuple(f"<{each}" for each in _BLOCKS), begin):
            pieces.append("\n")
        if end == -1:
            break
        at = html.find(">", end) + 1
    spaced = _SPACES.sub(" ", unescape("".join(pieces)))
    return _LINES.sub("\n\n", spaced).strip()


@cache
def _suffixes() -> PublicSuffixList:
    """Return the list with its private section: two names below a host of many are two organisations."""
    return PublicSuffixList()


def _urls(text: str) -> Iterator[tuple[str, str]]:
    for match in _URL.finditer(text):
        yield match[0].rstrip(_END), _around(text, match.start(), match.end())


def _hrefs(html: str) -> Iterator[tuple[str, str]]:
    for match in _HREF.finditer(html):
        url = unescape(match[1] or match[2]).strip()
        end = html.find("<", match.end())
        label = html[match.end() : end if 0 <= end < match.end() + MAX_CONTEXT else match.end() + MAX_CONTEXT]
        if _URL.fullmatch(url):
            yield url, one_line(unescape(label.partition(">")[2]))[:MAX_CONTEXT]


def _host_of(url: str) -> str | None:
    """Return the host of an address as an A-label; None for one without a domain, or with a user."""
    try:
        parts = urlsplit(url)
        host = None if "@" in parts.netloc else parts.hostname
    except ValueError:
        return None
    return host and find_a_label(host)


def _around(text: str, begin: int, end: int) -> str:
    """Return the text around a match on one line, which is in the middle."""
    room = max(MAX_CONTEXT - (end - begin), 0) // 2
    return one_line(text[max(begin - room, 0) : end + room])[:MAX_CONTEXT]
