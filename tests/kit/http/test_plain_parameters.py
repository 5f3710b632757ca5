"""The fast path reads the parameters of all operations, except those that are listed here with the reason."""

from fastapi.routing import APIRoute

from builders.app import ROUTERS
from builders.kit.http.compiled_routes import CompiledRoute

# Lists, whose parameter the query repeats.
SLOW = {
    "/v1/portfolio/registrars/billing/charges/apply": {"ids"},
    "/v1/events": {"types"},
    "/v1/portfolio/registrars/sync": {"provider"},
}


def test_the_fast_path_reads_all_other_parameters() -> None:
    routes = [each for router in ROUTERS for each in router.routes if isinstance(each, APIRoute)]
    compiled = [CompiledRoute(each) for each in routes]
    slow = {
        each.path: parameters.repeatable
        for each in compiled
        for parameters in each.dependencies.parameters()
        if not parameters.is_plain
    }
    assert slow == SLOW
