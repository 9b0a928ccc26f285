"""What errors say, and what they keep to themselves."""

import pytest

from edgeorder.masking import masked, presentable


@pytest.mark.parametrize(
    ("text", "secrets", "safe"),
    [
        ("Illegal header value b'Bearer sk-abc12345\\n'", (), "Illegal header value b'Bearer ***\\n'"),
        ("no access with hf_abcDEF12345", (), "no access with ***"),
        ("GET http://me:pass@host:80/v1?key=abc&n=1 failed", (), "GET http://me:***@host:80/v1?key=***&n=1 failed"),
        ("{'api_key': 'abc', \"token\": \"def\"}", (), "{'api_key': '***', \"token\": \"***\"}"),
        ("the key plainly failed", ("plainly\n",), "the key *** failed"),
        ("Bearer authentication required", (None, " "), "Bearer authentication required"),
        (
            "max_tokens: 500, tokens: 7 at http://localhost:80/v1",
            (),
            "max_tokens: 500, tokens: 7 at http://localhost:80/v1",
        ),
    ],
)
def test_secrets_are_masked(text: str, secrets: tuple[str | None, ...], safe: str) -> None:
    """Known keys, and what looks like one; other text stays as it is."""
    assert masked(text, *secrets) == safe


def test_a_cause_that_holds_a_secret_is_not_shown() -> None:
    """Wherever it stands in the chain."""
    inner, outer, harmless = OSError("Bearer sk-abc12345"), ValueError("a wrapper"), ValueError("a wrapper")
    outer.__cause__ = inner
    inner.__context__ = outer  # chains that turn back end, too
    assert [presentable(error) for error in (inner, outer, harmless)] == [None, None, harmless]
