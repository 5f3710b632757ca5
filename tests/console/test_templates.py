"""The templates that are compiled before the first page is asked for."""

from jinja2 import meta

from builders.console import views


def test_all_templates_that_others_use_are_prepared() -> None:
    jinja = views._jinja
    assert jinja.loader is not None
    used = set[str]()
    for name in jinja.list_templates():
        text, _, _ = jinja.loader.get_source(jinja, name)
        used.update(filter(None, meta.find_referenced_templates(jinja.parse(text))))  # None: a layout by condition

    assert used
    assert used <= set(views.PREPARED)
