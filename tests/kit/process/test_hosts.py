from typing import Any

import pytest

from builders.kit.process.hosts import Resolver, read_host, read_resolver
from builders.kit.process.settings import Settings


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("192.0.2.53", Resolver("192.0.2.53", 53)),
        ("192.0.2.53:5353", Resolver("192.0.2.53", 5353)),
        ("2001:db8::53", Resolver("2001:db8::53", 53)),
        ("[2001:db8::53]", Resolver("2001:db8::53", 53)),
        ("[2001:db8::53]:5353", Resolver("2001:db8::53", 5353)),
    ],
)
def test_a_name_server_is_an_address_and_a_port(text: str, wanted: Resolver) -> None:
    assert read_resolver(text) == wanted


@pytest.mark.parametrize(
    "text", ["", "dns.example", "192.0.2", "192.0.2.53:0", "192.0.2.53:65536", "[::1]x", "::1]:53"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write addresses"):
        read_resolver(text)


def test_a_host_is_stored_as_an_a_label() -> None:
    assert read_host("MX1.Bücher.example.") == "mx1.xn--bcher-kva.example"
    with pytest.raises(ValueError, match="full name"):
        read_host("mx1")


def test_settings_are_read_as_lists() -> None:
    given: Any = {"dns_resolvers": "192.0.2.53, [::1]:5353", "mail_hosts": "mx1.x.example,MX2.x.example"}
    settings = Settings(**given)

    assert settings.dns_resolvers == ("192.0.2.53", "[::1]:5353")
    assert settings.mail_hosts == ("mx1.x.example", "mx2.x.example")


@pytest.mark.parametrize("text", ["unix:/run/builders/lookup", "127.0.0.1:9470", "127.0.0.2:1", "[::1]:9470"])
def test_the_look_up_server_listens_on_this_machine(text: str) -> None:
    assert Settings(lookup_listen=text).lookup_listen == text


@pytest.mark.parametrize(
    "text",
    [
        *("0.0.0.0:9470", "[::]:9470", "192.0.2.1:9470", "localhost:9470", "127.0.0.1", "127.0.0.1:0"),
        *("unix:lookup", "unix:", "/run/lookup", f"unix:/{'x' * 107}"),
    ],
)
def test_the_look_up_server_listens_nowhere_else(text: str) -> None:
    with pytest.raises(ValueError, match="only this machine may reach it"):
        Settings(lookup_listen=text)


@pytest.mark.parametrize(
    "wrong",
    [{"dns_resolvers": "x"}, {"mail_hosts": "mx1"}, {"spf_include": "a b"}, {"postmaster": "Ada <ada@x.example>"}],
)
def test_a_wrong_setting_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="write"):
        Settings(**wrong)
