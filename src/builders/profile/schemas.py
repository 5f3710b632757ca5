"""Requests of the profile, and answers that are no records."""

from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool

from builders.kit.http.bodies import PatchBody
from builders.kit.http.members import patch_of, written_of
from builders.kit.values.docs import doc
from builders.mail.link_pages import ConfirmedReply
from builders.profile.fields import Email
from builders.profile.records import Profile, ProfileFields

ProfileUpdated = written_of(Profile, "ProfileUpdated")


@patch_of(ProfileFields, "display_name", "company", "website", "country", "timezone", "locale")
class CustomerProfileUpdate(PatchBody):
    """A merge patch of the profile (RFC 7396): absent members do not change, null clears. At least one member."""

    marketing_opt_in: Annotated[
        StrictBool | None, AfterValidator(bool), doc("Whether to send offers by email; null: false.")
    ] = None
    email: Annotated[
        Email,
        Field(
            default_factory=str,  # not used: an absent member is not in the patch
            description="New address, pending until its recipient confirms it. The present address "
            "is notified. Sending the present address cancels a pending change. Needs a live key.",
        ),
    ]


class ConfirmationReply(ConfirmedReply):
    """The result of following the link."""
