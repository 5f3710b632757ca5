"""`bld login`, `bld logout`, `bld whoami`: keys for this machine, which a person grants (RFC 8628)."""

import socket
import time
from typing import Annotated, Any

import typer

from builders_client.cli import faults, output, profiles, texts
from builders_client.cli.faults import REFUSED, SIGN_IN, Fault
from builders_client.cli.plans import open_page
from builders_client.cli.state import State, state_of
from builders_client.problems import ApiError, BuildersError

_ALL = ("developer_full", "domainer_full", "live")
_SLOWER_S = 5  # RFC 8628, 3.5
_PENDING, _TOO_FAST = "authorization_pending", "slow_down"


def log_in(
    ctx: typer.Context,
    *,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            metavar="PRESET",
            help="A preset of test keys to offer, or `live` for a live key; repeat it for more, by default all. "
            "You choose then.",
        ),
    ] = None,
    agent: Annotated[
        bool,
        typer.Option("--agent", help="Get keys for an agent: you say in the browser what it may do and spend."),
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Get keys for this machine. A person signs in with a browser, types the code and chooses the keys."""
    state = state_of(ctx)
    body = {
        "host": socket.gethostname()[:255],
        "scope": " ".join([*(scopes or _ALL), *(["agent"] if agent else [])]),
    }
    asked = state.call("auth_authorize", body=body)
    texts.note(f"Open {asked['verification_uri']} and type the code:")
    show_code(asked["user_code"])
    if not no_browser:
        open_page(state, asked["verification_uri"])
    keys = _collect(state, asked)
    if not keys:
        raise Fault("The person granted no key.", next_action="Repeat `bld login` and tick one.", code=SIGN_IN)
    where = profiles.store(state.profile, url=state.address(), keys=keys)
    texts.note(f"Signed in. The keys are in {where}.")
    output.show_list(state, [_told(key) for key in keys], _COLUMNS, empty="")


def show_code(code: str) -> None:
    """Show the code that the person types."""
    typer.secho(f"  {texts.plain(code)}", bold=True, err=True)


def _collect(state: State, asked: Any) -> list[Any]:
    """Return the keys once the person has decided. Raise Fault."""
    pause = float(asked["interval"])
    end = time.monotonic() + asked["expires_in"]
    while time.monotonic() < end:
        state.sleep(pause)
        try:
            return list(state.call("auth_collect", body={"device_code": asked["device_code"]})["keys"])
        except ApiError as error:
            if error.code == _TOO_FAST:
                pause += _SLOWER_S
            elif error.code == "access_denied":
                raise Fault(
                    "The person refused.", next_action="Ask them, then repeat `bld login`.", code=REFUSED
                ) from error
            elif error.code != _PENDING:
                raise
    raise Fault("Nobody typed the code in time.", next_action="Repeat `bld login`.", code=SIGN_IN)


def log_out(ctx: typer.Context) -> None:
    """Remove the keys of the profile from this machine. They are revoked, as far as they may."""
    state = state_of(ctx)
    stored = state.stored()
    if stored is None:
        raise Fault(f"There is no profile {state.profile}.", next_action="bld login", code=SIGN_IN)
    left = [key for key in stored["keys"] if not _revoke(state, stored["url"], key)]
    profiles.remove(state.profile)
    output.show(state, {"profile": state.profile, "status": "signed out"})
    for key in left:
        texts.note(f"The key {key['label']} …{key['last4']} still works. Next: revoke it in the console.")


def _revoke(state: State, url: str, key: Any) -> bool:
    """Return whether a key could revoke itself."""
    from builders_client import Builders

    try:
        with Builders(profiles.secret(key) or "-", base_url=url, http=state.http) as client:
            client.api_keys.revoke(key["id"])
    except ApiError as error:
        return error.status == faults.UNAUTHORIZED  # it does not work any more
    except BuildersError:
        return False
    return True


_COLUMNS: Any = {"KEY": "label", "KIND": "key_kind", "PRESET": "preset", "ENDS": "last4", "EXPIRES": "expires_at"}


def _told(key: Any) -> Any:
    return {name: value for name, value in key.items() if name != "secret"}


def show_me(ctx: typer.Context) -> None:
    """Show the account, the service and the keys that commands use."""
    state = state_of(ctx)
    account = state.call("profile_get")
    stored = state.stored()
    from_environment = profiles.environment_key() is not None
    keys = [] if from_environment or stored is None else [_told(key) for key in stored["keys"]]
    told = {
        "account": account,
        "api_url": state.address(),
        "profile": state.profile,
        "source": "BUILDERS_API_KEY" if from_environment else "profile",
        "keys": keys,
    }
    if state.is_json:
        output.print_json(state, told)
        return
    output.show(state, told, ("account.email", "account.id", "api_url", "source", "profile"))
    if keys:
        output.show_list(state, keys, _COLUMNS, empty="")
