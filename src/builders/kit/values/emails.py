"""The normalized form in which email addresses are stored and compared."""

from email_validator import EmailNotValidError, validate_email

ENCODED_WORD = "=?"  # the beginning of an encoded word (RFC 2047)


def canonical(text: str) -> str:
    """Return the address in lower case, its domain as A-labels. Raises ValueError for an invalid address.

    Local parts are ASCII: few mail servers accept others, and users could not distinguish similar characters. An
    encoded word is refused, because mail programs decode it.
    """
    try:
        found = validate_email(text.strip(), check_deliverability=False, allow_smtputf8=False, strict=True)
    except EmailNotValidError as error:
        raise ValueError(str(error)) from None
    if ENCODED_WORD in found.local_part:
        raise ValueError(f"The part before the @-sign may not hold {ENCODED_WORD}")
    return f"{found.local_part}@{found.ascii_domain}".lower()
