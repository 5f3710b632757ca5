"""Which URLs are refused and why, and how accepted ones are normalised."""

import pytest
from hypothesis import example, given, strategies as st

from builders.kit.outbound.client import Outbound
from builders.kit.outbound.targets import BLOCKED_PORTS, Rule, UrlRefused, validate_url
from builders.kit.process.settings import Settings
from tests.kit.outbound.hostile import HOSTILE, ORDINARY


def refusal(url: str, *, https_only: bool = False) -> Rule | None:
    try:
        validate_url(url, https_only=https_only)
    except UrlRefused as refused:
        return refused.rule
    return None


@pytest.mark.parametrize(("url", "rule"), HOSTILE)
def test_a_hostile_url_is_refused_by_its_rule(url: str, rule: Rule) -> None:
    assert refusal(url) is rule


def test_there_are_enough_hostile_urls() -> None:
    assert len({url for url, _ in HOSTILE}) >= 80


@pytest.mark.parametrize(("url", "written"), ORDINARY)
def test_an_ordinary_url_is_normalised(url: str, written: str) -> None:
    target = validate_url(url)
    assert target.url == written
    assert validate_url(written) == target


@given(st.one_of(st.text(), st.text().map("http://a.example/{}".format), st.text().map("https://{}".format)))
@example("https://\uff41.example\uff0fx")
@example("http://a.example/\u2028")
def test_an_accepted_url_is_plain_and_stable(url: str) -> None:
    try:
        target = validate_url(url)
    except UrlRefused:
        return
    assert target.url.isascii()
    assert not set(target.url) & set('\\ "<>#\r\n\t\0`{}|^')
    assert set(target.host) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.:")
    assert "@" not in target.url.split("/")[2]
    assert validate_url(target.url) == target


def test_one_scheme_can_be_asked_for() -> None:
    assert refusal("http://a.example/", https_only=True) is Rule.SCHEME
    assert refusal("https://a.example/", https_only=True) is None


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 5000, 8000, 8080, 8443, 9000, 65535])
def test_common_http_ports_are_allowed(port: int) -> None:
    assert refusal(f"https://a.example:{port}/") is None


@pytest.mark.parametrize(
    "port", [0, 1, 21, 22, 25, 53, 79, 81, 110, 442, 444, 587, 993, 1023, *sorted(BLOCKED_PORTS)]
)
def test_ports_of_other_services_are_refused(port: int) -> None:
    assert refusal(f"https://a.example:{port}/") is Rule.PORT


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.builders.example", "https://api.builders.example/v1/leads"),
        ("https://api.builders.example", "http://API.Builders.Example.:8443/"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/"),
        ("http://8.8.4.4:8000", "http://8.8.4.4/"),
        ("http://[2606:4700::1]:8000", "https://[2606:4700:0::1]/"),
    ],
)
def test_the_service_does_not_call_itself(base_url: str, url: str) -> None:
    with pytest.raises(UrlRefused, match="to this service") as refused:
        Outbound(Settings(base_url=base_url)).validate_url(url)
    assert refused.value.rule is Rule.HOST


def test_an_allowed_host_is_accepted_on_its_port_only() -> None:
    allow = ("localhost:22", "127.0.0.1:9000", "[::1]:9000", "mock.internal:9000", "10.0.0.7:9000")
    outbound = Outbound(Settings(outbound_allow=allow))
    for host in allow:
        assert outbound.validate_url(f"http://{host}/x").is_allowed
    assert outbound.validate_url("http://LOCALHOST.:22/").is_allowed
    assert outbound.validate_url("http://[0:0::1]:9000/").is_allowed
    for url in (
        *("http://localhost:9000/", "http://127.0.0.1:9001/", "http://127.0.0.2:9000/", "http://a.localhost:22/"),
        *(
            "http://10.0.0.8:9000/",
            "http://mock.internal/",
            "http://[::ffff:127.0.0.1]:9000/",
            "http://localhost/",
        ),
    ):
        with pytest.raises(UrlRefused):
            outbound.validate_url(url)


def test_an_allowed_host_must_keep_all_other_rules() -> None:
    outbound = Outbound(Settings(outbound_allow=("localhost:9000",)))
    for url in ("ftp://localhost:9000/", "http://a@localhost:9000/", "http://localhost:9000/#a"):
        with pytest.raises(UrlRefused):
            outbound.validate_url(url)
    with pytest.raises(UrlRefused):
        outbound.validate_url("http://localhost:9000/", https_only=True)


def test_a_refusal_becomes_a_422_with_its_location() -> None:
    with pytest.raises(UrlRefused) as refused:
        validate_url("https://127.0.0.1/secret-path")
    [error] = refused.value.at("body", "url").errors
    assert error == {
        "loc": ["body", "url"],
        "msg": "The URL's address is not public.",
        "type": "url_not_allowed",
    }


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://" + "a." * 1_000, Rule.HOST),
        ("http://" + "é" * 2_000, Rule.HOST),
        ("http://a.example/" + "%" * 2_000, None),
        ("http://a.example/" + "%" * 200_000, Rule.LENGTH),
    ],
)
def test_a_long_url_is_checked(url: str, rule: Rule | None) -> None:
    assert refusal(url) is rule
