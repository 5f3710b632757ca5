"""Parameters of the query are read as Starlette reads them."""

from hypothesis import example, given, strategies as st
from starlette.datastructures import QueryParams

from builders.kit.http import parameters

_PARTS = st.text("ab=&+%;#/?20CF8é\x00 ", max_size=24).map(str.encode)


@given(st.lists(st.binary(max_size=12) | _PARTS, max_size=6).map(b"&".join))
@example(b"u=https%3A%2F%2Fa.example%2F%3Fb%3D1&m=x")
@example(b"u=1&u=2&u")
@example(b"=a&&b=&=&c==d&%ff=%zz&e=%C3%A4+%2B")
def test_any_query_is_read_alike(query: bytes) -> None:
    assert parameters._sent({"query_string": query}) == dict(QueryParams(query.decode("latin-1")))
