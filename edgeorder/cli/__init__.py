"""The command line: `edgeorder` (extra `cli`)."""

from edgeorder.extras import optional

with optional("typer", "cli"):
    import typer  # noqa: F401 - what every module here needs

from edgeorder.cli.app import main

__all__ = ["main"]
