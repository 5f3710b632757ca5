"""Codes and links in a message, and the time that hostile text takes."""

import pytest

from builders.forwarding import extraction
from tests.forwarding.rules import ADA, PROVED, parse
from tests.loop_time import loop_time

HTML = {"Content-Type": "text/html; charset=utf-8"}
MOST_S = 0.5  # for 64 KB, in a thread of the mail filter


def codes(text: str) -> list[str]:
    return [each.code for each in extraction.list_codes(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Your code is 482913.", ["482913"]),
        ("482913 is your code", ["482913"]),
        ("Code:\n\n1234\n\n", ["1234"]),
        ("Use 482 913 to sign in", ["482 913"]),
        ("Use 482-913.", ["482-913"]),
        ("G-482913 is your code", ["G-482913"]),
        ("Enter AB12CD34", ["AB12CD34"]),
        ("codes 1111 and 2222, not 1111", ["1111", "2222"]),
        ("123", []),
        ("123456789", []),
        ("In 2026 we sold 1,234.50 at $4821 or 4821 EUR", []),
        ("on 2026-11-26 at 12:34, call +49 30 1234567", []),
        ("see https://author.example/482913 or a1234@author.example", []),
        ("UPPERCASE words only", []),
    ],
)
def test_codes_are_numbers_that_stand_alone(text: str, found: list[str]) -> None:
    assert codes(text) == found


@pytest.mark.parametrize(("written", "kept"), [(10, 10), (11, 10)])
def test_at_most_ten_codes_are_found(written: int, kept: int) -> None:
    assert len(codes(" or ".join(str(4000 + each) for each in range(written)))) == kept


def test_the_text_around_a_code_has_80_characters_on_one_line() -> None:
    (found,) = extraction.list_codes("x" * 500 + "\n\u202e 482913 \n" + "y" * 500)
    assert "482913" in found.context
    assert len(found.context) <= extraction.MAX_CONTEXT
    assert found.context.isprintable()


@pytest.mark.parametrize(
    ("url", "host", "is_of_sender"),
    [
        ("https://author.example/confirm?t=1", "author.example", True),
        ("https://mail.author.example/", "mail.author.example", True),
        ("https://author.example.evil.example/", "author.example.evil.example", False),
        ("http://evil.example", "evil.example", False),
        ("https://B\u00fccher.example/", "xn--bcher-kva.example", False),
    ],
)
def test_a_link_has_its_host_and_whether_it_is_of_the_sender(url: str, host: str, is_of_sender: bool) -> None:
    (found,) = extraction.list_links(f"Open {url} now.", "", author_domain="author.example")
    assert (found.url, found.host, found.is_of_sender) == (url, host, is_of_sender)


def test_two_names_below_a_host_of_many_are_two_organisations() -> None:
    (found,) = extraction.list_links("https://evil.github.io/", "", author_domain="author.github.io")
    assert not found.is_of_sender


@pytest.mark.parametrize(
    "text",
    [
        "https://author.example@evil.example/",
        "https://192.0.2.1/",
        "https://[::1",
        "javascript:alert(1)",
        "ftp://author.example/",
    ],
)
def test_what_hides_its_host_is_no_link(text: str) -> None:
    assert extraction.list_links(text, "", author_domain="author.example") == []


@pytest.mark.parametrize(("length", "count"), [(extraction.MAX_URL, 1), (extraction.MAX_URL + 1, 0)])
def test_a_link_of_html_has_at_most_1000_characters(length: int, count: int) -> None:
    url = "https://author.example/"
    html = f'<a href="{url}{"a" * (length - len(url))}">x</a>'
    assert len(extraction.list_links("", html, author_domain="author.example")) == count


def test_links_of_html_have_the_label_as_their_context() -> None:
    html = '<p><a class=b href="https://evil.example/?a=1&amp;b=2">https://author.example</a></p>'
    (found,) = extraction.list_links("", html, author_domain="author.example")
    assert (found.url, found.context) == ("https://evil.example/?a=1&b=2", "https://author.example")


def test_html_is_read_as_text() -> None:
    html = "<head><title>t</title></head><style>p{}</style><p>Hi&nbsp;<b>A&amp;B</b>"
    html += "<script>x<y</script><br>Bye<!-- > -->"
    assert extraction.text_of(html) == "Hi A&B\nBye"


@pytest.mark.parametrize(
    ("results", "is_found"),
    [
        (PROVED, True),
        ("spf=pass dkim=none dmarc=pass author=author.example aligned=none domains=author.example", True),
        ("spf=none dkim=pass dmarc=none author=author.example aligned=pass domains=author.example", True),
        ("spf=pass dkim=pass dmarc=none author=author.example aligned=none domains=author.example", False),
        ("spf=pass dkim=pass dmarc=pass author=evil.example aligned=pass domains=evil.example", False),
        ("", False),
    ],
)
def test_only_authentic_mail_has_extracted_items(results: str, is_found: bool) -> None:
    arrival = parse(results=results)
    assert arrival is not None
    assert bool(arrival.summary.extracted.codes) is is_found


def test_a_signature_of_a_part_of_the_body_is_not_enough() -> None:
    arrival = parse(DKIM_Signature="v=1; d=author.example; l=0; s=s1; b=")
    assert arrival is not None
    assert arrival.summary.extracted.codes == ()


def test_two_authors_have_no_extracted_items() -> None:
    arrival = parse(From=f"{ADA}, eve@author.example")
    assert arrival is not None
    assert (arrival.summary.author, arrival.summary.extracted.codes) == (None, ())


UNITS = [
    *("1", "12 ", "123-", "A1", "ABCDEFGHI1", "1A", "G-", " 4829", "482 913 ", "999 999 999 "),
    *("http", "https://", "https://a", "https://a.b ", "https://a.b/\n", "://", "<", "<a", "<a href=", "href = "),
    *('<a href="', '<a href="https://a.b', "<!--", "<script>", "</script>", "<style", "&", "&#1", "&amp;", "<p>"),
    *(" ", "\n", "\t \n", "\u202e", "\U0001f600", "\u0130"),
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["text/plain", "text/html"])
def test_64_kb_of_hostile_text_take_a_bounded_time(unit: str, kind: str) -> None:
    size = extraction.MAX_TEXT // len(unit.encode()) + 1
    with loop_time() as taken:
        parse(unit * size, Content_Type=f"{kind}; charset=utf-8")
    assert taken.seconds < MOST_S


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "zlib", "unicode_escape", "none"])
def test_the_codecs_of_python_are_not_used(charset: str) -> None:
    with loop_time() as taken:
        arrival = parse("a-" * 40_000, Content_Type=f"text/plain; charset={charset}")
    assert arrival is not None
    assert arrival.readable.text.startswith("a-a-")
    assert taken.seconds < MOST_S


@pytest.mark.parametrize(("size", "is_cut"), [(64 * 1024, False), (64 * 1024 + 1, True)])
def test_a_text_is_cut_at_64_kb(size: int, is_cut: bool) -> None:
    arrival = parse("x" * size)
    assert arrival is not None
    assert (len(arrival.readable.text), arrival.readable.is_cut) == (min(size, 64 * 1024), is_cut)
