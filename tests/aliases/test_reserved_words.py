from pathlib import Path

import pytest
from hypothesis import assume, given, strategies as st

from builders.aliases.records import Detail, Reason, ReservedClass, Rules, SeparatorPolicy
from builders.aliases.rules import (
    RESERVED,
    ReservedGroup,
    ReservedNames,
    skeleton,
    squash,
    unmask,
    validate_local_part,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "local-parts.md"
DOMAIN = "harbour.example"
KEPT = [word for g in RESERVED.groups if g.reserved_class is not ReservedClass.PREMIUM for word in g.words]
DISGUISES = {"o": "0", "l": "1i", "i": "1l", "s": "5", "e": "3", "a": "4", "t": "7", "b": "8", "g": "9"}
PAIRS = {"m": ["rn"], "w": ["vv"], "d": ["cl"]}


def reason(name: str, policy: SeparatorPolicy = SeparatorPolicy.IGNORE_DOTS) -> Reason:
    return validate_local_part(name, domain=DOMAIN, rules=Rules(separator_policy=policy)).reason


def group_of(name: str) -> str | None:
    entry = RESERVED.find(name)
    return entry.group.name if entry else None


@pytest.mark.parametrize(
    "name",
    [
        *("admin", "Administrator", "WEBMASTER", "hostmaster", "postmaster"),  # CA/B 3.2.2.4.4
        *("abuse", "noc", "security", "usenet", "news", "www", "uucp", "ftp"),  # RFC 2142
        *("info", "marketing", "sales", "support"),
        *("root", "sysadmin", "ssl-admin", "ssladministrator", "is", "it", "mis"),
        *(
            "p0stmaster",
            "po5tmaster",
            "postrnaster",
            "pos7m4st3r",
            "vvebmaster",
            "web-master",
            "w.e.b.m.a.s.t.e.r",
        ),
        *(
            "adm1n",
            "admln",
            "4dmin",
            "aclmin",
            "aclrnln",
            "ad-min",
            "admin1",
            "1admin",
            "admin.team",
            "it-admin",
        ),
        *("admins", "administrators", "admin-istrator", "site_administrator", "the-postmaster"),
        *(
            "no-reply",
            "no.reply",
            "no_reply",
            "n0reply",
            "no-reply-4",
            "shop-noreply",
            "do-not-reply",
            "mailer.daemon",
        ),
        *("rnailer-daemon", "mailer-daemon2", "mta_sts", "autodisc0ver", "vvvvvv", "n0c", "ce0"),
        *(
            "list-request",
            "list_reque5t",
            "owner-list",
            "0wner-list",
            "li.st-ow.ner",
            "bounces-42",
            "list-bounces",
        ),
        *("b1lling", "bi11ing", "acc0unt", "he1p", "he1p-de5k", "payrnents", "ver1fy", "bui1ders", "5vc"),
    ],
)
def test_obvious_guesses_of_an_attacker_are_reserved(name: str) -> None:
    assert reason(name) is Reason.RESERVED


@pytest.mark.parametrize(
    "name",
    [
        *(
            "jane",
            "jane.doe",
            "acme-support",
            "sales-acme",
            "acme.billing",
            "security-lamp",
            "newsy",
            "pope",
            "mall",
        ),
        *(
            "lt",
            "ls",
            "mls",
            "15",
            "17",
            "1t",
            "13941",
            "homeowner",
            "owners",
            "request",
            "requests",
            "bouncer",
            "rooted",
        ),
        *(
            "team7",
            "it4",
            "isa",
            "theo",
            "ceos",
            "hello",
            "hi",
            "me",
            "scunthorpe",
            "grapes",
            "akshita",
            "nishit",
        ),
        *("hancock", "sussex", "shitake", "pornthip", "nazir", "snigger", "hell", "maria-1988", "4u", "x8x"),
    ],
)
def test_harmless_names_are_available(name: str) -> None:
    assert reason(name) is Reason.OK


def test_patterns_ignore_the_separators_that_the_domain_ignores() -> None:
    """On such a domain, mail to list-request@ reaches the owner of listrequest."""
    for name in ("listrequest", "list-request", "homeowner", "l.i.s.t-bounces"):
        assert reason(name, SeparatorPolicy.IGNORE_ALL) is Reason.RESERVED
    assert reason("listrequest") is Reason.OK
    assert reason("list.request") is Reason.OK  # dots are ignored: the same name as in the line above
    assert reason("list.request", SeparatorPolicy.DISTINCT) is Reason.RESERVED


@pytest.mark.parametrize(
    "name", ["shit", "sh1t", "s.h.i.t", "you-shit", "5hit_happens", "motherfucker", "f-u-c-k-you"]
)
def test_abuse_is_blocked(name: str) -> None:
    result = validate_local_part(name, domain=DOMAIN)
    assert result.reason is Reason.BLOCKED
    assert name not in result.message


def test_no_spelling_of_an_available_name_is_blocked() -> None:
    assert reason("youshit") is reason("you.shit") is Reason.OK
    assert reason("you.shit", SeparatorPolicy.DISTINCT) is Reason.BLOCKED


def test_without_data_nothing_is_reserved_or_blocked() -> None:
    empty = ReservedNames(groups=[], words=[], anywhere=[])
    assert empty.find("admin") is None
    assert not empty.blocks("admin")


def test_reserved_has_priority_over_blocked() -> None:
    assert reason("shit-admin") is Reason.RESERVED


def test_the_message_has_a_reason_and_an_action() -> None:
    def message(name: str) -> str:
        return validate_local_part(name, domain=DOMAIN).message

    assert message("No.Reply") == (
        "`no.reply` is reserved: it is a sender address whose replies are ignored. Choose another name."
    )
    assert message("p0stmaster").startswith("`p0stmaster` can be mistaken for `postmaster`, which is reserved: ")
    assert message("x-owner").startswith("`x-owner` fits `*-owner`, which is reserved: ")
    assert message("sales").endswith(" Choose another name, or ask the operator of the domain for it.")


def test_the_class_says_who_can_claim_the_name() -> None:
    classes = {
        name: validate_local_part(name, domain=DOMAIN).reserved_class
        for name in ("admin", "sales", "mail", "jane")
    }
    assert classes == {"admin": "hard", "sales": "vendor", "mail": "premium", "jane": None}


def test_a_premium_word_is_premium_in_each_spelling_of_its_key() -> None:
    assert reason("mail") is Reason.OK
    assert group_of("mail") == "sought-after"
    assert validate_local_part("m.ail", domain=DOMAIN).reserved_class is ReservedClass.PREMIUM
    for name in ("m-ail", "mall", "ma1l", "mails"):
        assert validate_local_part(name, domain=DOMAIN).reserved_class is None


@given(st.sampled_from(KEPT), st.data())
def test_names_confusable_with_a_longer_word_are_reserved(word: str, data: st.DataObject) -> None:
    characters = [
        c if len(word) <= 3 else data.draw(st.sampled_from([c, *DISGUISES.get(c, ""), *PAIRS.get(c, [])]))
        for c in squash(word)
    ]
    disguise = data.draw(st.sampled_from(["", ".", "-", "_"])).join(characters)
    assume(not squash(disguise).isdigit())  # `54135` is confusable with `sales`, but numbers are never reserved
    assert reason(disguise) is Reason.RESERVED


def test_no_blocked_word_can_be_written_in_digits() -> None:
    digits = set(unmask("0123456789"))
    assert not [word for word in RESERVED._blocked if set(word) <= digits]


@given(st.text("0123456789", min_size=1, max_size=64))
def test_a_number_is_always_available(digits: str) -> None:
    assert reason(digits) is Reason.OK
    assert reason(digits, SeparatorPolicy.IGNORE_ALL) is Reason.OK


@given(st.text("abcdeilmnorstvw013457", max_size=12), st.text("abcdeilmnorstvw013457", max_size=12))
def test_texts_with_equal_skeletons_are_unmasked_equally(one: str, other: str) -> None:
    assert (skeleton(one) == skeleton(other)) <= (unmask(one) == unmask(other))
    assert unmask(unmask(one)) == unmask(one) == unmask(skeleton(one))
    assert unmask(one + other) == unmask(one) + unmask(other)


@pytest.mark.parametrize("group", RESERVED.groups, ids=lambda group: group.name)
def test_the_data_is_well_formed(group: ReservedGroup) -> None:
    for word in group.words:
        assert word.replace("-", "").isalpha()  # `unmask` replaces digits: `pop3` becomes `pope`
        assert word == word.lower()
        entry = RESERVED.find(squash(word))
        assert entry is not None
        assert entry.group is group
    for pattern in group.patterns:
        assert pattern.count("*") == 1
        assert pattern.startswith("*") or pattern.endswith("*")
        assert reason(pattern.replace("*", "xyz")) is Reason.RESERVED
    assert group.source
    assert not group.why.endswith(".")


def test_a_word_is_in_one_group() -> None:
    def group(name: str, word: str) -> ReservedGroup:
        return ReservedGroup(
            name=name, reserved_class=ReservedClass.HARD, source="-", why="-", words=(word,), patterns=()
        )

    with pytest.raises(ValueError, match="'no-reply' in two is 'noreply' in one"):
        ReservedNames(groups=[group("one", "noreply"), group("two", "no-reply")], words=[], anywhere=[])


def rows_under(heading: str) -> list[list[str]]:
    """Return the cells of the table after a heading of the page."""
    section = PAGE.read_text("utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_page_shows_the_reserved_groups() -> None:
    assert rows_under("Reserved names") == [
        [g.name, g.reserved_class, " ".join(f"`{n}`" for n in g.words + g.patterns), g.source]
        for g in RESERVED.groups
    ]


def test_the_page_explains_each_reason_detail_and_policy() -> None:
    assert [row[0].strip("`") for row in rows_under("Reasons")] == list(Reason)
    assert [row[0].strip("`") for row in rows_under("Details of `invalid`")] == list(Detail)
    assert [row[0].strip("`") for row in rows_under("Which names are the same")] == list(SeparatorPolicy)
