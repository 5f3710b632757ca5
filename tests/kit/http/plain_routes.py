"""One little interface, declared twice: on plain FastAPI and on the kit's routes."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Body, Cookie, Depends, FastAPI, Header, Path, Query, Request, Response
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from builders.kit.callers import Caller
from builders.kit.effects import Effect
from builders.kit.errors import Invalid, NotFound, Problem, problems
from builders.kit.http import application
from builders.kit.http.bodies import Reply
from builders.kit.http.callers import Credential, invalid_credentials, needs
from builders.kit.http.routes import PathRouter, Router
from builders.kit.values import ids
from docs.document import complete

PREFIX = "/v1/things"
Reader = Annotated[Caller, needs("things:read")]
Writer = Annotated[Caller, needs("things:write", effect=Effect.WRITE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A record."""

    name: str
    size: int | None
    note: str = "unsaid"  # not in the reply


class ThingReply(Reply):
    """What is shown of it."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)

    name: str
    size: Annotated[int | None, Field(serialization_alias="sizeOf")]


class ThingCreate(BaseModel):
    """A thing that is wanted."""

    name: Annotated[str, Field(min_length=1, max_length=20)]
    size: Annotated[int, Field(ge=1, le=9)] = 1
    parts: list["ThingCreate"] = []


class Echo(Reply):
    """What a handler was given, in the words of Python."""

    given: str


class Colour(StrEnum):
    """A word of a few."""

    RED = "red"
    BLUE = "blue"


class Window:
    """What a dependency found."""

    def __init__(self, offset: int, width: int, agent: str | None) -> None:
        self.text = f"{offset}+{width} {agent}"


def window(
    request: Request,
    offset: Annotated[int, Query(ge=0)] = 0,
    width: Annotated[int, Query(ge=1, le=100)] = 10,
    user_agent: Annotated[str | None, Header()] = None,
) -> Window:
    """A dependency with parameters of its own."""
    assert request.url.path.startswith(PREFIX)
    return Window(offset, width, user_agent)


async def doubled(number: int) -> int:
    """A dependency that is a coroutine."""
    return number * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A dependency whose fields are parameters."""

    depth: Annotated[int, Query(ge=1)] = 1
    colour: Annotated[str | None, Query(max_length=5), AfterValidator(str.upper)] = None


def area(view: Annotated[Window, Depends(window)], height: Annotated[int, Query(ge=1)] = 3) -> str:
    """A dependency with a dependency and parameters of its own."""
    return f"{view.text} x {height}"


async def owner(name: str, caller: Reader) -> str:
    """A dependency on the caller."""
    return f"{name} of {caller.account_id.int}"


def echo(**given: Any) -> Echo:
    return Echo(given=", ".join(f"{name}={value!r}" for name, value in given.items()))


def declare(router: APIRouter) -> None:
    """The same handlers on either router."""
    _declare_parameters(router)
    _declare_places(router)
    _declare_bodies(router)
    _declare_answers(router)


def _declare_parameters(router: APIRouter) -> None:
    @router.get("")
    async def listing(
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        q: Annotated[str | None, Query(min_length=2)] = None,
        tag: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI's way to take several
        deep: bool = False,
    ) -> Echo:
        """List things."""
        return echo(limit=limit, q=q, tag=tag, deep=deep)

    @router.get("/kinds")
    async def kinds(
        cursor: Annotated[Annotated[str, Field(title="Cursor")] | None, Query()] = None,
        mode: Literal["fast", "slow"] = "slow",
        colour: Colour | None = None,
        day: date | None = None,
        at: AwareDatetime | None = None,
        ratio: Annotated[Decimal | None, Query(ge=0, le=1)] = None,
        code: Annotated[str, StringConstraints(to_upper=True, max_length=3)] | None = None,
        one: UUID | None = None,
    ) -> Echo:
        return echo(cursor=cursor, mode=mode, colour=colour, day=day, at=at, ratio=ratio, code=code, one=one)

    @router.get("/mine")
    async def mine() -> Echo:
        return echo(mine=True)

    @router.get("/numbers/{number}")
    async def number(number: Annotated[int, Path(ge=1, le=1000)]) -> Echo:
        return echo(number=number)

    @router.get("/ids/{thing_id}")
    async def by_id(thing_id: UUID) -> Echo:
        return echo(thing_id=thing_id)


def _declare_places(router: APIRouter) -> None:
    @router.get("/headers")
    async def headers(
        token: Annotated[str, Header(alias="X-Token", min_length=3)],
        x_level: Annotated[list[int], Header()] = [],  # noqa: B006 - as above
        session: Annotated[int | None, Cookie()] = None,
    ) -> Echo:
        return echo(token=token, levels=x_level, session=session)

    @router.get("/window")
    async def windowed(
        view: Annotated[Window, Depends(window)], twice: Annotated[int, Depends(doubled)], offset: int = 7
    ) -> Echo:
        return echo(view=view.text, twice=twice, offset=offset)

    @router.get("/area")
    async def covered(shown: Annotated[str, Depends(area)], offset: int = 7) -> Echo:
        return echo(shown=shown, offset=offset)

    @router.get("/box")
    async def boxed(box: Annotated[Box, Depends(Box)]) -> Echo:
        return echo(depth=box.depth, colour=box.colour)

    @router.get("/{name}")
    async def read(name: str) -> Echo:
        return echo(name=name)

    @router.get("/{name}/parts/{part}")
    async def read_part(name: str, part: str) -> Echo:
        return echo(name=name, part=part)


def _declare_bodies(router: APIRouter) -> None:
    @router.post("", status_code=201, response_model=ThingReply)
    async def create(body: ThingCreate) -> Thing:
        return Thing(name=body.name, size=body.size)

    @router.put("/{name}")
    async def put(name: str, body: ThingCreate | None = None) -> Echo:
        return echo(name=name, body=body)

    @router.post("/pair")
    async def pair(first: ThingCreate, second: ThingCreate, weight: Annotated[int, Body()] = 1) -> Echo:
        return echo(first=first, second=second, weight=weight)

    @router.post("/wrapped")
    async def wrapped(size: Annotated[int, Body(embed=True, ge=1)]) -> Echo:
        return echo(size=size)

    @router.post("/anything")
    async def anything(body: dict[str, Any]) -> Echo:
        return echo(body=body)

    @router.post("/several")
    async def several(body: list[int], limit: Annotated[int, Query(ge=1)] = 1) -> Echo:
        return echo(body=body, limit=limit)


def _declare_answers(router: APIRouter) -> None:
    @router.delete("/{name}", status_code=204)
    async def delete(name: str) -> None:
        del name

    @router.get("/{name}/raw")
    async def raw(name: str, request: Request) -> Response:
        return Response(f"{name};{request.method}", 206, {"X-Kind": "raw"}, "text/csv")

    @router.get("/{name}/refused", responses=problems(NotFound))
    async def refuse(name: str) -> Echo:
        raise NotFound(f"There is no {name}.", headers={"X-Kind": "refused"})

    @router.get("/{name}/invalid")
    async def invalid(name: str) -> Echo:
        raise Invalid(("path", "name"), f"{name} will not do.", "name_unfit")

    @router.get("/{name}/either")
    async def either(name: str) -> Echo:
        return echo(name=name)

    @router.get("/{name}/owned")
    async def owned(name: str, caller: Reader) -> Echo:
        return echo(name=name, account=caller.account_id.int)

    @router.get("/{name}/owner")
    async def owned_by(owner: Annotated[str, Depends(owner)]) -> Echo:
        return echo(owner=owner)

    @router.post("/{name}/owned", status_code=201)
    async def own(name: str, body: ThingCreate, caller: Writer) -> Echo:
        return echo(name=name, body=body, account=caller.account_id.int)


class Readers:
    """Knows the key of the reader, which cannot write."""

    async def __call__(
        self, credential: Credential, *, fresh: bool, address: str = "", in_turn_of: str | None = None
    ) -> Caller:
        """Return the reader."""
        del fresh, address, in_turn_of
        if credential.text != "reader":
            raise invalid_credentials("This key is not known.")
        account = UUID(int=7)
        return Caller(
            account_id=account,
            live_account_id=account,
            mode="live",
            method="api_key",
            scopes=frozenset({"things:read"}),
            key_id=ids.NIL,
        )

    def note_scope(self, caller: Caller, scope: str) -> None:
        """Note nothing."""


authenticate = Readers()


def unique_id(route: Any) -> str:  # APIRoute, whose name is all that is asked of it
    return f"things_{route.name}"


def make_plain() -> FastAPI:
    """Plain FastAPI; only the form of our error responses is configured."""
    app = FastAPI(title="Things", version="1", redirect_slashes=False)
    router = APIRouter(prefix=PREFIX, tags=["things"], generate_unique_id_function=unique_id)
    declare(router)
    app.include_router(router)

    async def refuse(_: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, Problem | Invalid)
        return refusal.response()

    app.add_exception_handler(Problem, refuse)
    app.add_exception_handler(Invalid, refuse)
    app.state.authenticate = authenticate
    return app


def make_compiled() -> tuple[PathRouter, FastAPI]:
    """The same on the kit's routes, and the FastAPI behind them."""
    app = application.make_app()
    router = Router(prefix=PREFIX, tags=["things"])
    declare(router)
    front = PathRouter(app, [router])
    none: dict[str, Any] = {"paths": {}, "schemas": {}}
    document = cache(lambda: complete(app, webhooks=none, examples={}, names={}))
    app.openapi = document  # type: ignore[method-assign] # as the service does
    app.state.authenticate = authenticate
    app.state.database = None  # no handler here asks for one
    return front, app
