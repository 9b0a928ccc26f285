"""`python -m edgeorder.cli`, where the command is not on the path."""

from edgeorder.cli import main

main()
