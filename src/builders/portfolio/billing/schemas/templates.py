"""Replies about templates of CSV files."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.sheets.columns import Column
from builders.kit.sheets.csv_files import normalize_header
from builders.kit.sheets.kinds import Format
from builders.portfolio.billing.templates import Template


class TemplateColumn(Reply):
    """A column of a template."""

    name: Annotated[str, Field(description="The field, as in `mapping` of an import.")]
    header: Annotated[str, Field(description="Its header in the template.")]
    type: Annotated[
        Literal["date", "text", "domain", "kind", "number", "amount", "currency"],
        Field(description="Kind of its values."),
    ]
    required: Annotated[bool, Field(description="Whether each row needs a value.")]
    example: Annotated[str, Field(description="A value.")]
    aliases: Annotated[list[str], Field(description="Other headers of the field.")]


class BillingTemplate(Reply):
    """Format of a CSV file of charges or of parking revenue."""

    id: Annotated[str, Field(description="Name of the template.", json_schema_extra={"examples": ["cloudflare"]})]
    provider: Annotated[str | None, Field(description="The registrar; null for any.")]
    title: Annotated[str, Field(description="Kind of the data in the file.")]
    columns: Annotated[list[TemplateColumn], Field(description="The columns, in their order.")]
    header_row: Annotated[str, Field(description="The header as a line of CSV.")]
    sample_csv: Annotated[str, Field(description="A file that can be imported without changes.")]
    notes: Annotated[str, Field(description="Instructions to fill in the file.")]
    verified: Annotated[bool, Field(description="False: the registrar's export can differ.")]
    import_path: Annotated[str, Field(description="The operation that reads the file.")]


class BillingTemplates(Reply):
    """Templates of CSV files."""

    items: Annotated[list[BillingTemplate], Field(description="The templates.")]
    next_cursor: Annotated[None, Field(description="Always null: the list has one page.")]
    count: Annotated[int, Field(description="Number of templates.")]


def templates_reply(found: Sequence[Template]) -> BillingTemplates:
    """Return the templates."""
    items = [_template(each) for each in found]
    return BillingTemplates(items=items, next_cursor=None, count=len(items))


def _template(template: Template) -> BillingTemplate:
    form = template.form
    return BillingTemplate.from_record(
        form,
        id=template.id,
        provider=template.provider,
        columns=[_column(template.kind.row.columns[name], form, at) for at, name in enumerate(form.headers)],
        verified=form.is_verified,
        import_path=template.kind.path,
    )


def _column(column: Column[Any], form: Format, at: int) -> TemplateColumn:
    own = form.headers[column.name]
    return TemplateColumn.model_validate(
        {
            "name": column.name,
            "header": own,
            "type": column.type,
            "required": column.is_strict,
            "example": form.sample[0][at],
            "aliases": [each for each in column.headers if each != normalize_header(own)],
        }
    )
