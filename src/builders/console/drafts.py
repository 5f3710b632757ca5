"""A form whose session had ended: what was typed is kept, and shown after the same account has signed in again.

Only the account of the form's session is shown it, whoever signs in at the browser. Credentials and files are not
kept, nor is anything of a support session.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from fastapi import Request

from builders.console import views
from builders.console.actions import ACTIONS
from builders.console.forms import CSRF, ETAG, FILE, PAGE, Sent, read_form
from builders.console.notices import Notice
from builders.console.registrars import CREDENTIAL
from builders.console.spaces import ROOT, split
from builders.console.views import DRAFT, View
from builders.identity import drafts
from builders.kit.http import forms
from builders.kit.http.forms import KeptForm
from builders.kit.http.origins import OriginForbidden
from builders.kit.values import ids

_SECRETS = frozenset(("user_code", FILE))
_KEPT = "What you typed is kept for an hour, for your account alone. Credentials and files are not kept."
_LOST = "What you typed could not be kept."


class Draft(NamedTuple):
    """A form that was not saved."""

    space: str  # the prefix of its paths
    page: str  # with its query
    action: str
    fields: Mapping[str, Sequence[str]]


async def keep(request: Request) -> KeptForm | None:
    """Keep a form that was sent without a session; return the way back to it. Raise OriginForbidden, Invalid."""
    space, path = split(request.scope["path"])
    action = path.rpartition("/")[2]
    length = request.headers.get("content-length", "")
    is_kept = request.headers.get("content-type", "").startswith(forms.MEDIA_TYPE)
    if action not in ACTIONS or not is_kept or not length.isdecimal() or int(length) > drafts.MAX_BYTES:
        return _way_back(request)
    owners = list[UUID]()

    def admit(name: str, value: str) -> None:
        owner = views.find_csrf_owner(request.app.state.keyring, value) if name == CSRF else None
        if owner is None:
            raise OriginForbidden("The form was not made by this service.")
        owners.append(owner)

    sent = await read_form(request, admit=admit)
    if not owners or owners[0] == ids.NIL:
        return _way_back(request)
    page = sent.first(PAGE)
    draft_id = await _store(request, owners[0], Draft(space.prefix, page, action, sent.fields))
    back = forms.local_path(views.address_of(space, page, {DRAFT: str(draft_id)}))
    return None if back is None else KeptForm(back, _KEPT)


def _way_back(request: Request) -> KeptForm | None:
    """Return the page from which a form came that is not kept."""
    sent = urlsplit(request.headers.get("referer", ""))
    path = forms.local_path(f"{sent.path}?{sent.query}".removesuffix("?"))
    is_own = sent.netloc == request.headers.get("host") and sent.path.startswith(f"{ROOT}/")
    return KeptForm(path, _LOST) if path is not None and is_own and "/do/" not in path else None


async def keep_refused(request: Request, view: View) -> str | None:
    """Keep a form of a session that is too old for it; return the id of the draft."""
    if view.support:
        return None
    page = f"{view.path}?{urlencode(view.query)}".removesuffix("?")
    draft = Draft(view.space.prefix, page, view.sent_action, view.sent.fields)
    return str(await _store(request, view.person_id, draft))


async def _store(request: Request, owner: UUID, draft: Draft) -> UUID:
    kept = {
        name: values
        for name, values in draft.fields.items()
        if name == ETAG or (not name.startswith(("_", CREDENTIAL)) and name not in _SECRETS)
    }
    content = json.dumps(draft._replace(fields=kept)).encode()
    async with request.app.state.database.transaction() as conn:
        return await drafts.keep(conn, keyring=request.app.state.keyring, account_id=owner, content=content)


async def restore(request: Request, view: View) -> str | None:
    """Fill in the form of the draft in the address of the page; return the version that it was shown with."""
    draft_id, content = ids.find(view.draft or ""), None
    if draft_id is not None and not view.support:
        async with request.app.state.database.connection() as conn:
            key = {"account_id": view.person_id, "draft_id": draft_id}
            content = await drafts.find(conn, keyring=request.app.state.keyring, **key)
    if content is None:
        view.notice = Notice("What was typed is kept no longer, or belongs to another account.", "wait")
        return None
    draft = Draft(*json.loads(content))
    if draft.space != view.space.prefix or draft.page.partition("?")[0] != view.path:
        return None
    view.sent, view.sent_action = Sent(draft.fields), draft.action
    view.notice = Notice("Nothing was saved, because you had to sign in. The form has what you typed.", "wait")
    return view.sent.first(ETAG) or None


def tell_change(view: View, before: str | None, now: str | None) -> None:
    """Say on the page of a restored form that what it changes has another version than the form was shown with."""
    if before is not None and now is not None and before != now and view.notice is not None:
        text = f"{view.notice.text} It was changed meanwhile: saving replaces the fields that differ."
        view.notice = Notice(text, "wait")
