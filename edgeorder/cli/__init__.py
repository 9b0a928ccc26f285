"""The command line: `edgeorder` (extra `cli`)."""

from edgeorder.errors import missing_extra

try:
    import typer  # noqa: F401 - what every module here needs
except ModuleNotFoundError as error:
    raise missing_extra("typer", "cli") from error

from edgeorder.cli.app import main

__all__ = ["main"]
