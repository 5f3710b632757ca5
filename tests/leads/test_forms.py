"""Any form is accepted or refused with a 422, and stored text has no control characters."""

import json
import unicodedata
from typing import Any

from hypothesis import example, given, settings as limits, strategies as st
from pydantic import ValidationError

from builders.leads.schemas import BuildersWaitlistRequest, CreateLeadRequest

TEXT = st.text(max_size=60) | st.sampled_from(
    ["", " ", "ada@example.net", "\u202e=1", "a\nb", "en-GB", "harbour.example", "https://x.example/?q#f", "lt100"]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
MEMBERS = st.sampled_from([*CreateLeadRequest.model_fields, *BuildersWaitlistRequest.model_fields, "other"])


def control_characters(value: Any) -> list[str]:
    """Return the control characters of a stored value, line feeds excluded."""
    text = json.dumps(value, ensure_ascii=False).replace("\\n", "")
    return [char for char in text if unicodedata.category(char) == "Cc" or char in "\u202a\u202e\u2066"]


@given(st.dictionaries(MEMBERS, VALUE, max_size=8))
@example({"name": "\x1b[31mAda\u202e", "message": "a\r\nb\x00c", "utm": {"term": "\x07"}})
@example({"consent": "", "utm": " ", "metadata": ""})
@example({"referrer": "http://[::1"})
@example({"referrer": "https://user:secret@x.example:99999/p?q"})
@example({"domain": "xn--a"})
@example({"domain": "ß.example."})
@limits(deadline=None)
def test_any_form_is_accepted_or_refused(members: dict[str, Any]) -> None:
    for kind in (CreateLeadRequest, BuildersWaitlistRequest):
        try:
            form = kind.model_validate({"email": "Ada@Example.net", **members})
        except ValidationError:
            continue
        request = form.request("192.0.2.7", source=None, interest=None)
        kept = dict(request.details)
        own = kept.pop("metadata", {})  # the client's own pairs
        assert control_characters([kept, request.text_version]) == []
        assert len(own) <= 20
        assert "secret" not in kept.get("referrer", "")
        assert request.email == request.email.lower()
        assert len(request.email) <= 254
        assert json.loads(json.dumps(kept)) == kept
        assert request.client == "192.0.2.0/24"
        assert len(kept.get("message", "")) <= 2000
