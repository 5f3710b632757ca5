"""Requests and responses of the invoices."""

from typing import Annotated

from pydantic import Field

from builders.invoices.records import BillingDetails, BuyerLine
from builders.kit.http.bodies import Body
from builders.kit.http.members import create_of, written_of
from builders.kit.values.docs import doc

BillingDetailsReply = written_of(BillingDetails, "BillingDetailsReply")


@create_of(BillingDetails, address=Field(default_factory=list), country=None, tax_id=None)
class BillingDetailsUpdate(Body):
    """The buyer on future invoices. Replaces the present billing details."""

    name: Annotated[BuyerLine, doc("Name of the person or company that buys.")]
