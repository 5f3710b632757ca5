"""How a project compares with what it is to be, and what is told of it. Pure."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from builders.mail import service as mail
from builders.projects.events import ProjectData
from builders.projects.records import Project, ProjectChange

_MEMBERS = tuple(each.name for each in fields(ProjectChange) if each.name not in {"id", "version"})


def change_of(project: Project, **members: Any) -> ProjectChange:
    """The change that leaves a project as it is, but for these members."""
    present = {name: getattr(project, name) for name in _MEMBERS}
    return ProjectChange(id=project.id, version=project.version, **{**present, **members})


def changed(project: Project, change: ProjectChange) -> list[str]:
    """The members that are to be another."""
    return [name for name in _MEMBERS if _plain(getattr(project, name)) != _plain(getattr(change, name))]


def news(project: Project, changed: Sequence[str] = ()) -> ProjectData:
    """What is told of a project."""
    mailbox = project.default_destination
    return ProjectData(
        id=project.id,
        name=project.name,
        slug=project.slug,
        status=project.status,
        changed=list(changed),
        website=project.website,
        allowed_domains=list(project.allowed_domains),
        default_destination=None if mailbox is None else mail.mask(mailbox),
        alias_limit=project.alias_limit,
        manifest=project.manifest,
        manifest_key=project.manifest_key,
        version=project.version,
    )


def _plain(value: object) -> object:
    """Lists and tuples with the same items are the same."""
    return list(value) if isinstance(value, list | tuple) else value
