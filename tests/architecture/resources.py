"""The declarations of resources: a member is described in one class (decision 0053)."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet
from itertools import permutations

from tests.architecture.source import Source

LEAST = 3  # members; fewer are no copy of a resource
# Another set of facts, not another direction of the same: by resource and class.
MAY_REPEAT: Mapping[tuple[str, str], str] = {
    ("Seller", "Buyer"): "the other party of an invoice",
    ("Seller", "BillingDetails"): "what an account sets; an invoice keeps its own copy",
    ("Buyer", "Seller"): "the other party of an invoice",
    ("Buyer", "BillingDetails"): "what an account sets; an invoice keeps its own copy",
    ("MailAuthentication", "StoredMessage"): "the results as a member of a message, and in its event",
    ("BilledOn", "RehearsedInvoiceReply"): "what a rehearsal would bill: with lines, and mostly without an id",
    ("Candidate", "ChargeMatch"): "the decision, in which each of them can be null, with the candidates",
    ("ChargeMatch", "Candidate"): "a domain that is not decided about",
    ("PushedRow", "RenewalFailureData"): "an event about the failure alone",
}


def described(declared: ast.ClassDef) -> AbstractSet[str]:
    """Return the members that a class describes."""
    return {
        each.target.id
        for each in declared.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        if "doc(" in (kind := ast.unparse(each.annotation)) or "description=" in kind
    }


def is_resource(declared: ast.ClassDef) -> bool:
    """Return whether a class is a resource of the API."""
    called = (each.func for each in declared.decorator_list if isinstance(each, ast.Call))
    return any(ast.unparse(each) == "resource" for each in called)


def repeated_resources(files: Iterable[Source]) -> Iterator[tuple[str, str]]:
    """Yield each resource, and a class of its area that describes more than half of its members again."""
    areas: dict[tuple[str, ...], list[tuple[ast.ClassDef, AbstractSet[str]]]] = {}
    for file in files:
        area = file.module[1 : 3 if file.module[1] == "portfolio" else 2] if len(file.module) > 1 else ()
        classes = [(each, described(each)) for each in file.nodes if isinstance(each, ast.ClassDef)]
        areas.setdefault(area, []).extend(each for each in classes if len(each[1]) >= LEAST)
    for found in areas.values():
        for (one, members), (other, others) in permutations(found, 2):
            both = len(members & others)
            if is_resource(one) and both >= LEAST and both * 2 > len(members):
                yield one.name, other.name
