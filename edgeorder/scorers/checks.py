"""Checks that the scorers share."""

from edgeorder.checks import whole_number


def check_whole(scorer: object, **least: int) -> None:
    """Make the named fields of a frozen scorer plain ints, numpy's included; None stays.

    Args:
        scorer: The scorer.
        least: The smallest value of each field.

    Raises:
        TypeError: For what is no whole number.
        ValueError: For a number that is too small.
    """
    for name, smallest in least.items():
        if (value := getattr(scorer, name)) is not None:
            object.__setattr__(scorer, name, whole_number(name, value, least=smallest))
