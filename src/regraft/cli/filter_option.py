"""Filters that the user types: refused at once, and shown in the message."""

import click


def checked_filter(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """A callback for options and arguments; the filter is loaded only if there is one."""
    from regraft.filters import BadFilter, parse

    if text is not None:
        try:
            parse(text)
        except BadFilter as fault:
            name = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
            raise fault.of(name, text) from None
    return text
