"""The query string is parsed as Starlette parses it."""

from fastapi import Request
from hypothesis import example, given, strategies as st
from starlette.datastructures import QueryParams

from builders.kit.http.parameters import query_parameters


@given(st.text("ab=&+%2ç;\x00", max_size=20))
@example("")
@example("q=a+b&q=c%20d")
@example("empty=&bare&=nameless&&")
@example("q=%C3%A9%ff&q%5B%5D=%")
@example("q=a=b;c=d")
def test_a_query_string_is_parsed_as_by_starlette(query: str) -> None:
    sent = query.encode("latin-1")
    request = Request({"type": "http", "query_string": sent, "headers": []})
    assert query_parameters(request) == dict(QueryParams(sent))
