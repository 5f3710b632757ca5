"""The lines of the mail server's log, as Debian's Postfix 3.7 writes them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from builders.forwarding.log_lines import MAX_LINE, Delivery, Expired, Refusal, Returned, Unreadable, read_line

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
AT = datetime(2026, 11, 23, 4, 51, 49, tzinfo=UTC)
HEAD = "2026-11-23T04:51:49.123456+00:00 mx1"
SENT = (
    "DF6756FF: to=<alice@example.net>, orig_to=<{}>, relay=mx.sink.example[192.0.2.99]:25, delay=0.22, "
    "delays=0.19/0.02/0.01/0, dsn=2.0.0, status=sent (250 OK)"
)
BOUNCED = (
    "73B32722: to=<alice@example.net>, orig_to=<ada@harbour.example>, relay=mx.sink.example[192.0.2.99]:25, "
    "conn_use=2, delay=0.09, delays=0.07/0/0.01/0, dsn={}, status=bounced (host mx.sink.example[192.0.2.99] "
    "said: {})"
)
AT_RCPT = "(in reply to RCPT TO command)"
REFUSED = "; from=<reader@lists.example> to=<{}> proto=ESMTP helo=<mx.sink.example>"


def read(text: str, program: str = "smtp") -> object:
    """Return what a line tells."""
    return read_line(f"{HEAD} postfix/{program}[735]: {text}\n".encode(), now=NOW)


def delivery(text: str, program: str = "smtp") -> Delivery:
    """Return the delivery of a line."""
    found = read(text, program)
    assert isinstance(found, Delivery)
    return found


def test_a_delivery_names_the_message_its_name_and_its_result() -> None:
    assert delivery(SENT.format("ADA+shop@harbour.example")) == Delivery(
        at=AT.replace(microsecond=123456),
        program="smtp",
        queue_id="DF6756FF",
        to="alice@example.net",
        original="ADA+shop@harbour.example",
        status="sent",
        code="2.0.0",
        next_queue_id=None,
        has_no_mailbox=False,
    )


def test_the_filter_names_the_next_message_and_a_stranger_names_none() -> None:
    text = SENT.format("a@harbour.example").replace("250 OK", "250 2.0.0 Ok: queued as CF9BA7D3")
    assert delivery(text, "lmtp").next_queue_id == "CF9BA7D3"
    assert delivery(text, "smtp").next_queue_id is None


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        ("5.1.1", f"550 5.1.1 No such mailbox {AT_RCPT}", True),
        ("5.1.10", f"556 5.1.10 No mail here {AT_RCPT}", True),
        ("5.1.8", f"550 5.1.8 Bad sender {AT_RCPT}", False),
        ("5.1.0", f"550 5.1.0 <a@b.example>: Sender address rejected: User unknown {AT_RCPT}", False),
        ("5.2.2", f"552 5.2.2 Mailbox full {AT_RCPT}", False),
        ("5.7.1", f"550 5.7.1 Spam {AT_RCPT}", False),
        ("5.1.1", "550 5.1.1 Spam (in reply to end of DATA command)", False),
        ("5.1.1", f"550 5.1.1 {AT_RCPT} (in reply to end of DATA command)", False),
        ("5.1.1", "550 5.1.1 Who is that (in reply to MAIL FROM command)", False),
    ],
)
def test_only_what_the_server_says_about_the_recipient_is_about_the_mailbox(
    code: str, said: str, expected: bool
) -> None:
    assert delivery(BOUNCED.format(code, said)).has_no_mailbox is expected


def test_a_result_of_another_program_is_not_about_the_mailbox() -> None:
    assert not delivery(BOUNCED.format("5.1.1", f"550 5.1.1 No {AT_RCPT}"), "lmtp").has_no_mailbox


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            "smtpd",
            "NOQUEUE: reject: RCPT from unknown[192.0.2.10]: 550 5.7.1 <ada@harbour.example>: Recipient no",
        ),
        (
            "cleanup",
            "EF4DC71B: milter-reject: END-OF-MESSAGE from unknown[192.0.2.66]: 5.7.1 Spam message rejected",
        ),
        ("smtpd", "3892F71F: reject: RCPT from mx.example[2001:db8::1]: 550 5.1.1 <ada@harbour.example>: No"),
    ],
)
def test_a_refusal_names_the_recipient(program: str, text: str) -> None:
    found = read(text + REFUSED.format("ada@harbour.example"), program)
    assert isinstance(found, Refusal)
    assert found.to == "ada@harbour.example"


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("smtpd", "NOQUEUE: reject: RCPT from unknown[192.0.2.10]: 450 4.2.1 <a@b.example>: Later" + REFUSED),
        ("cleanup", "EF4DC71B: milter-reject: END-OF-MESSAGE from unknown[192.0.2.66]: 4.7.1 Try again" + REFUSED),
        ("smtpd", "NOQUEUE: milter-reject: CONNECT from unknown[192.0.2.10]: 451 4.7.1 Unavailable; proto=SMTP"),
        ("smtpd", "disconnect from mx.sink.example[192.0.2.10] ehlo=1 mail=1 rcpt=1 data=1 quit=1 commands=5"),
        ("smtpd", "DF6756FF: client=unknown[192.0.2.10]"),
        ("qmgr", "DF6756FF: removed"),
        ("smtp", "connect to mx.sink.example[192.0.2.99]:25: Connection refused"),
        ("postscreen", SENT),
    ],
)
def test_other_lines_tell_nothing(program: str, text: str) -> None:
    assert read(text.replace("{}", "a@b.example"), program) is None


def test_what_the_filter_returned_and_what_expired_have_queue_ids() -> None:
    returned = read("CF9BA7D3: client=localhost[127.0.0.1]", "filter/smtpd")
    assert isinstance(returned, Returned)
    assert returned.queue_id == "CF9BA7D3"
    expired = read('4Y2b1: from=<"a, status=sent"@b.example>, status=expired, returned to sender', "qmgr")
    assert isinstance(expired, Expired)


@pytest.mark.parametrize(
    "program_of_another", ["sshd[7]: DF: to=<a@b.example>, status=sent (x)", "kernel: postfix/smtp[7]: x"]
)
def test_lines_of_other_programs_tell_nothing(program_of_another: str) -> None:
    assert read_line(f"{HEAD} {program_of_another}\n".encode(), now=NOW) is None


def test_the_traditional_time_gets_the_year_in_which_it_is_not_in_the_future() -> None:
    def time_of(written: str, now: datetime) -> datetime:
        found = read_line(f"{written} mx1 postfix/smtp[7]: {SENT.format('a@b.example')}".encode(), now=now)
        assert isinstance(found, Delivery)
        return found.at

    local = datetime(2026, 11, 23, 4, 51, 49).astimezone(UTC)
    assert time_of("Nov 23 04:51:49", NOW) == local
    assert time_of("Nov  3 04:51:49", NOW).day in {2, 3, 4}
    assert time_of("Dec 30 12:00:00", datetime(2027, 1, 1, tzinfo=UTC)).year == 2026
    with pytest.raises(Unreadable):
        time_of("Nov 31 04:51:49", NOW)


HOSTILE = [
    '"x>, relay=a[1.2.3.4]:25, delay=1, delays=0/0/0/1, dsn=5.1.1, status=bounced (b)"@harbour.example',
    '"\\">, relay=none, delay=1, delays=1/0/0/0, dsn=2.0.0, status=sent (\\\\"@harbour.example',
    '"a, orig_to=<victim@harbour.example>, status=sent ("@harbour.example',
    "häfen\u2028@harbour.example",
]


@pytest.mark.parametrize("address", HOSTILE)
def test_an_address_that_looks_like_the_rest_of_a_line_is_an_address(address: str) -> None:
    found = delivery(SENT.format(address))
    assert (found.original, found.status, found.code) == (address, "sent", "2.0.0")


def test_a_reply_that_looks_like_a_line_changes_nothing() -> None:
    text = BOUNCED.format("5.1.1", "550 x), orig_to=<victim@harbour.example>, dsn=2.0.0, status=sent (250 OK")
    found = delivery(text)
    assert (found.status, found.code, found.original) == ("bounced", "5.1.1", "ada@harbour.example")


def test_an_unquoted_address_does_not_end_its_line() -> None:
    with pytest.raises(Unreadable):
        read(SENT.format("x>, relay=none, delay=1, delays=0, dsn=5.1.1, status=sent ( @harbour.example"))


@pytest.mark.parametrize(
    ("named", "helo"),
    [
        ("x>: No; from=<a@b.example> to=<victim@harbour.example> proto=ESMTP@harbour.example", "mx"),
        ("ada@harbour.example", "x>; from=<a@b.example> to=<victim@harbour.example> proto=ESMTP"),
    ],
)
def test_a_refusal_with_two_readings_is_not_read(named: str, helo: str) -> None:
    tail = f'; from=<> to=<"{named}"@harbour.example> proto=ESMTP helo=<{helo}>'
    with pytest.raises(Unreadable):
        read(f"NOQUEUE: reject: RCPT from unknown[192.0.2.10]: 550 5.1.1 <{named}>: No{tail}", "smtpd")


def test_a_line_without_its_end_and_an_endless_one_are_not_read() -> None:
    whole = SENT.format("a@b.example")
    for text in (whole[:-1], whole + "x" * MAX_LINE):
        with pytest.raises(Unreadable):
            read(text)


@given(st.text(max_size=200), st.sampled_from(["smtp", "smtpd", "cleanup", "qmgr", "lmtp"]))
def test_any_text_is_read_or_refused(text: str, program: str) -> None:
    for each in (text, SENT.format(text), BOUNCED.format("5.1.1", text), f"NOQUEUE: reject: RCPT from {text}"):
        line = f"{HEAD} postfix/{program}[735]: {each}".encode(errors="surrogatepass")
        try:
            read_line(line, now=NOW)
        except Unreadable:
            continue


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_a_quoted_local_part_never_changes_the_result(local_part: str) -> None:
    quoted = local_part.replace("\\", "\\\\").replace('"', '\\"')
    found = delivery(SENT.format(f'"{quoted}"@harbour.example'))
    assert (found.status, found.original) == ("sent", f'"{quoted}"@harbour.example')
