"""Results of the rows of a bulk call."""

from uuid import UUID

from builders.kit.http.bulk import BulkReply
from builders.kit.rows import RowOutcome, RowProblem, RowResult, summarize


def test_a_reply_has_a_result_for_each_row_and_their_numbers() -> None:
    made = UUID(int=1)
    refused = RowProblem(code="domain_invalid", message="Not a domain.", did_you_mean="a.example")
    results = [
        RowResult(index=0, domain="a.example", outcome=RowOutcome.CREATED, id=made),
        RowResult(line=3, domain="www.a.example", outcome=RowOutcome.ERROR, errors=[refused]),
        RowResult(line=4, domain="b.example", outcome=RowOutcome.CREATED),
    ]

    reply = BulkReply(results=results, summary=summarize(results)).model_dump(mode="json")

    assert reply["summary"] == {
        "total": 3,
        "created": 2,
        "updated": 0,
        "unchanged": 0,
        "skipped": 0,
        "errors": 1,
    }
    assert reply["results"][0]["id"] == str(made)
    [error] = reply["results"][1]["errors"]
    assert error == {
        "field": None,
        "code": "domain_invalid",
        "message": "Not a domain.",
        "did_you_mean": "a.example",
    }
