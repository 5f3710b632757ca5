"""What the console says in place of the words of the API."""

import pytest

from builders.console.notices import place, said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Field required", "Fill this in."),
        ("Input should be greater than or equal to 1", "Write 1 or more."),
        ("Input should be less than or equal to 10", "Write 10 or less."),
        ("Input should be true or false.", "Choose yes or no."),
        ("Input should be a date, such as 2027-12-31.", "Write a date, such as 2027-12-31."),
        ("Input should be 'open', 'paid' or 'void'", "Choose one of these: 'open', 'paid' or 'void'."),
        ("Input should be a valid integer, unable to parse string as an integer", "Write a number."),
        ("String should have at most 80 characters", "Write at most 80 characters."),
        (
            "String should match pattern '^[a-z]+$'",
            "This is not written as it has to be; see below the field.",
        ),
        ("The name is taken.", "The name is taken."),
        ("Confirm it first: POST /v1/email-verification/resend.", "Confirm it first."),
    ],
)
def test_a_refusal_is_said_in_the_words_of_a_form(text: str, shown: str) -> None:
    assert said(text) == shown


@pytest.mark.parametrize(
    ("loc", "shown"),
    [
        (("body", "display_name"), "display name"),
        (("body", "items", 1, "renewal_price"), "items, row 2, renewal price"),
        (("body",), ""),
    ],
)
def test_the_place_of_a_value_is_said_in_words(loc: tuple[str | int, ...], shown: str) -> None:
    assert place(loc) == shown
