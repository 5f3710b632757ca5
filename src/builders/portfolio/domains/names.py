"""Domain names of a portfolio: what can be registered at a registry, in either form.

Names are mapped by UTS 46 and checked by IDNA 2008. The ICANN section of the Public Suffix List decides where
names are registered. Its private section lists hosting services too, such as blogspot.com, whose names are no
registrations: of it only the domains below which a registry sells names are suffixes here (REGISTRY_DOMAINS).
"""

import re

from publicsuffixlist import PublicSuffixList

from builders.kit.values import domain_names
from builders.kit.values.domain_names import is_special_use
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.domains.records import DomainName

# Domains below which a registry sells names (Public Suffix List, private section), and the TLD of documentation,
# which the demonstration data uses too (RFC 6761).
REGISTRY_DOMAINS = frozenset(
    (
        *("africa.com", "br.com", "cn.com", "co.com", "de.com", "eu.com", "gr.com", "hk.com", "it.com", "jpn.com"),
        *("mex.com", "ru.com", "sa.com", "uk.com", "us.com", "za.com", "com.de", "com.se", "gb.net", "hu.net"),
        *("in.net", "jp.net", "se.net", "uk.net", "za.net", "ae.org", "eu.org", "hk.org", "us.org", "za.org"),
        *("za.bz", "co.ca", "co.cz", "co.de", "co.krd", "edu.krd", "co.nl", "co.ro", "shop.ro", "radio.am"),
        *("radio.fm", "com.ru", "msk.ru", "net.ru", "org.ru", "pp.ru", "spb.ru", "biz.ua", "co.ua", "pp.ua"),
        *("v.ua", "ec.cc", "eu.cc", "gu.cc", "uk.cc", "us.cc", "inc.hk", "ltd.hk", "web.in", "ir.md", "can.re"),
        *("ngo.us", "biz.ng", "col.ng", "firm.ng", "gen.ng", "ltd.ng", "ngo.ng", "plc.ng", "name.pm", "sch.tf"),
        *(
            "biz.wf",
            "sch.wf",
            "org.yt",
            "gv.uy",
            "priv.at",
            "aus.basketball",
            "nz.basketball",
            "graphic.design",
            "611.to",
        ),
        *("aeroport.fr", "avocat.fr", "chambagri.fr", "chirurgiens-dentistes.fr", "experts-comptables.fr"),
        *("medecin.fr", "notaires.fr", "pharmacien.fr", "port.fr", "veterinaire.fr", "example"),
    )
)
_SUFFIXES = PublicSuffixList(accept_unknown=False, only_icann=True)
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//+|^mailto:", re.IGNORECASE)
_MAX_WRITTEN = 2048  # characters of a pasted address
_MAX_PARENTS = 5  # labels that are dropped to find a name to suggest
# Characters that editors and keyboards write in the place of a hyphen and of a dot.
_LOOK_ALIKE = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d"), "-"),
    **dict.fromkeys(map(ord, "\u00b7\u2022\u2024\u2027\u2219\u22c5\u3002\uff0e\uff61"), "."),
}
_SHOWN = 80  # characters of a name in a message


def parse_name(text: str) -> DomainName:
    """Return a registrable name that is written in either form. Raise NameInvalid, with a suggestion if any."""
    domain = domain_names.find_a_label(text)
    if domain is None:
        raise NameInvalid("This is not a domain name; send one such as harbour.com.", _suggest(text))
    suffix = find_suffix(domain)
    shown = domain if len(domain) <= _SHOWN else f"{domain[:_SHOWN]}..."
    if suffix is None:
        raise NameInvalid(f".{shown.rpartition('.')[2]} is not a top-level domain with registrations.")
    if domain == suffix:
        raise NameInvalid(f"{shown} is a public suffix: names are registered below it.")
    registrable = _registrable(domain, suffix)
    if domain != registrable:
        raise NameInvalid(f"{shown} is a host of a domain, not a registered domain.", registrable)
    return DomainName(domain=domain, unicode=domain_names.unicode_of(domain), tld=suffix)


def find_suffix(domain: str) -> str | None:
    """Return the public suffix of an A-label in lower case; None below an unknown or special top-level domain."""
    if is_special_use(domain):
        return None
    parts = domain.split(".")
    for own in (".".join(parts[-2:]), parts[-1]):
        if own in REGISTRY_DOMAINS:
            return own
    return _SUFFIXES.publicsuffix(domain)


def _registrable(domain: str, suffix: str) -> str:
    """Return the name one label below the suffix."""
    return ".".join(domain.split(".")[-(suffix.count(".") + 2) :])


def _suggest(text: str) -> str | None:
    """Return the registrable name in an address, an email address or a host; None when there is none."""
    if len(text) > _MAX_WRITTEN:
        return None
    written = _SCHEME.sub("", text.strip())
    plain = written.translate(_LOOK_ALIKE)
    found = _suggest_of(written)
    return found or _suggest_of(plain if "." in plain else plain.replace(",", "."))


def _suggest_of(written: str) -> str | None:
    """Return the registrable name in an address without its scheme; None when there is none."""
    host = re.split(r"[/?#\\\s]", written, maxsplit=1)[0].rpartition("@")[2].partition(":")[0]
    labels = [each for each in host.split(".") if each]
    for dropped in range(min(_MAX_PARENTS, len(labels))):
        domain = domain_names.find_a_label(".".join(labels[dropped:]))
        suffix = None if domain is None else find_suffix(domain)
        if domain is not None and suffix is not None and domain != suffix:
            return _registrable(domain, suffix)
    return None
