"""The command line: `edgeorder`."""

from edgeorder.cli.app import main

__all__ = ["main"]
