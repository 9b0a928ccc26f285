"""What is masked, and what stays as it is."""

import pytest
from faults.planted import KEY
from pydantic import SecretStr

from edgeorder.masking import is_key, masked, without


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (
            "edgeorder probe --base-url 'https://me:p@ss@host/v1?api-key=abc&v=2'",
            "https://me:***@host/v1?api-key=***&v=2",
        ),
        ("GET https://ghp_4711abc@host:80/v1#top", "GET https://***@host:80/v1#top"),
        ("https://host/v1?sig=a%2Fb&token=c#top", "https://host/v1?sig=***&token=***#top"),
        ("Bearer eyJhbGciOi.x-1", "Bearer ***"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, safe: str) -> None:
    assert safe in masked(text)


@pytest.mark.parametrize("text", ["https://host/v1?model=m&max_tokens=16", "a signal=5", "monkeys: 3", "me@host.org"])
def test_other_text_stays(text: str) -> None:
    assert masked(text) == text


def test_a_known_key_is_masked_however_json_writes_it() -> None:
    said = f"{KEY} {KEY.replace('/', chr(92) + '/')} and so on"
    assert without(said, SecretStr(f" {KEY}\n"), None) == "*** *** and so on"
    assert masked(said, KEY) == "*** *** and so on"


def test_a_placeholder_is_no_key() -> None:
    assert [is_key(value) for value in (None, "", "none", "EMPTY", "ollama", KEY, SecretStr(KEY))] == [False] * 5 + [
        True
    ] * 2


def test_a_key_that_begins_with_another_is_masked_whole() -> None:
    short, long = "key-4711-abc", "key-4711-abc-of-the-other"
    for secrets in ((short, long), (long, short)):
        assert without(f"{long} and {short}", *secrets) == "*** and ***"
