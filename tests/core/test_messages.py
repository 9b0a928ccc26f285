"""Counting messages: everything that is sent counts, twice-held things once, and nothing counts 0 in silence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, BudgetError, Chunk, CounterError, message_counter, place
from edgeorder.message_parts import MessageParts, read_message


def words(text: str) -> int:
    return len(text.split())


CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "wells"}'}}


class TestParts:
    """What of a message of a chat endpoint is counted."""

    @pytest.mark.parametrize(
        ("message", "texts"),
        [
            ({"role": "user", "content": "Hi"}, ("user", "Hi")),
            ({"role": "user", "name": "Ann", "content": "Hi"}, ("user", "Ann", "Hi")),
            (("human", "Hi"), ("human", "Hi")),
            ("Hi", ("user", "Hi")),
            ({"role": "assistant", "content": None}, ("assistant",)),
            (
                {"role": "assistant", "content": "", "tool_calls": [CALL]},
                ("assistant", "search", '{"query": "wells"}', "c1", ""),
            ),
            (
                {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}},
                ("assistant", "search", "{}", ""),
            ),
            ({"role": "tool", "tool_call_id": "c1", "content": "Dry."}, ("tool", "c1", "Dry.")),
            (
                {"role": "user", "content": ["a", {"type": "text", "text": "b"}, {"type": "input_text", "text": "c"}]},
                ("user", "a", "b", "c"),
            ),
            (
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "xyz"}]},
                ("assistant", "Hm."),
            ),
            (
                {"role": "assistant", "content": [{"type": "reasoning", "summary": [{"text": "a"}, {"text": "b"}]}]},
                ("assistant", "a", "b"),
            ),
            (
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "found"}]},
                ("user", "1", "found"),
            ),
            (
                {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "abc"}}]},
                ("user", "abc"),
            ),
            (
                {"role": "user", "content": [{"type": "non_standard", "value": {"type": "text", "text": "a"}}]},
                ("user", "a"),
            ),
        ],
    )
    def test_texts(self, message, texts):
        """Role, name, text, reasoning, calls with name, arguments and id, and results are counted."""
        parts = read_message(message)
        assert (parts.texts, parts.images, parts.notes) == (texts, 0, ())

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5000}},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            {"type": "image", "base64": "A" * 5000, "mime_type": "image/png"},
            {"type": "file", "base64": "A" * 5000, "mime_type": "image/jpeg"},
        ],
    )
    def test_images(self, block):
        """An image counts by the rule, whatever its size and form."""
        message = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, block]}
        assert message_counter(words)([message]) == 3 + 1 + 3 + 1600
        assert message_counter(words, image_tokens=85)([message]) == 3 + 1 + 3 + 85
        assert message_counter(words).notes([message]) == ()

    @pytest.mark.parametrize(
        ("block", "tokens"),
        [
            ({"type": "mystery", "what": "a b c"}, words(json.dumps({"type": "mystery", "what": "a b c"}))),
            (
                {"type": "input_audio", "input_audio": {"data": "A" * 4000, "format": "wav"}},
                3000 + words(json.dumps({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}})),
            ),
            ({"type": "file", "file": {"file_id": "f-1"}}, words('{"type": "file", "file": {"file_id": "f-1"}}')),
            (
                {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
                words('{"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}'),
            ),
        ],
    )
    def test_what_is_not_known_counts_its_json_and_is_named(self, block, tokens):
        """A block of an unknown kind counts its JSON and a token for each byte of data, and a note says which."""
        message = {"role": "user", "content": [block]}
        counter = message_counter(words)
        assert counter([message, message]) == 2 * (3 + 1 + tokens)
        [note] = counter.notes([message, message])
        assert f"block of type '{block['type']}' in a message was counted by its JSON" in note

    def test_what_cannot_count_is_named(self):
        """At once, and not as a failure of the counter at the first text."""
        with pytest.raises(TypeError, match="counter must be a name or a callable from text to tokens, not 5"):
            message_counter(5)

    def test_a_call_held_twice_counts_once(self):
        """A call that stands in `tool_calls` and among the blocks, parsed and raw, is one call."""
        parsed = {"role": "assistant", "content": "", "tool_calls": [CALL]}
        blocks = [{"type": "tool_use", "id": "c1", "name": "search", "input": {"query": "wells"}}]
        assert message_counter(words)([{**parsed, "content": blocks}]) == message_counter(words)([parsed])
        alone = {"role": "assistant", "content": blocks}
        assert message_counter(words)([alone]) == message_counter(words)([parsed])

    @pytest.mark.parametrize("value", [5, None, object(), {"content": "a"}, ["a"]])
    def test_what_is_no_message(self, value):
        """Anything else is an error that shows it."""
        with pytest.raises(TypeError, match="a message has a role and content"):
            message_counter(words)([value])

    def test_tools(self):
        """Tools count by their JSON; what is no tool is an error."""
        tool = {"type": "function", "function": {"name": "search", "parameters": {}}}
        assert message_counter(words)([], [tool]) == words(json.dumps(tool))
        with pytest.raises(TypeError, match="a tool is a dict of its JSON, or a tool of LangChain or LlamaIndex"):
            message_counter(words)([], [print])

    @pytest.mark.parametrize("bad", [-1, 1.5, True, "85"])
    def test_bad_image_tokens(self, bad):
        """The number of tokens of an image is a whole number."""
        with pytest.raises((TypeError, ValueError), match="image_tokens"):
            message_counter(image_tokens=bad)

    def test_bad_counter(self):
        """An unknown name is an error at once, a counter that fails is one when it counts."""
        with pytest.raises(CounterError, match="knows no encoding or model"):
            message_counter("nope")
        with pytest.raises(CounterError, match="must return a number of tokens"):
            message_counter(lambda text: None)(["a"])  # type: ignore[arg-type, return-value]

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )

    @given(st.lists(st.fixed_dictionaries({"role": st.text()}, optional={"content": json_values, "name": st.text()})))
    def test_any_content_counts(self, messages):
        """Whatever the content is made of, a message counts, and a list counts the sum of its messages."""
        counter = message_counter(len)
        assert counter(messages) == sum(counter([message]) for message in messages)
        assert counter(messages) >= 3 * len(messages)


class TestReserve:
    """`reserve=` takes messages wherever it takes texts."""

    HISTORY = ({"role": "user", "content": "Which wells?"}, {"role": "assistant", "content": "", "tool_calls": [CALL]})

    def test_messages_count_as_the_counter_counts_them(self):
        """A budget's reserve of messages, texts and tokens, nested in any way, is the sum of them."""
        tokens = message_counter(words)(self.HISTORY)
        for reserve in ([*self.HISTORY, "a b", 5], [self.HISTORY, ["a b", 5]], (self.HISTORY, "a b", 5)):
            assert Budget(100, counter=words, reserve=reserve).room(words) == 100 - tokens - 2 - 5
        assert Budget(100, reserve=self.HISTORY[0]).room(words) == 100 - message_counter(words)(self.HISTORY[:1])
        more = Budget(100, reserve=5).reserving(self.HISTORY).reserving("a b")
        assert more.room(words) == 100 - tokens - 2 - 5

    def test_a_budget_holds_no_message(self):
        """What is kept is plain data: the budget can be compared, hashed, and loaded from its JSON."""
        budget = Budget(100, reserve=[self.HISTORY, "a b", 5])
        assert all(isinstance(part, int | str | MessageParts) for part in budget.reserve)
        assert hash(budget) == hash(Budget(100, reserve=[self.HISTORY, "a b", 5]))
        parts = budget.reserve[1]
        plain = {"texts": list(parts.texts), "tokens": parts.tokens, "images": parts.images, "notes": []}
        assert Budget(100, reserve=[plain]).reserve == (parts,)

    def test_notes(self):
        """Images and unknown blocks in the reserve are named in the record."""
        odd = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "mystery"}]}
        placement = place(
            [Chunk("a b")], budget=Budget(2000, message_counter(words, image_tokens=90), reserve=[odd, odd])
        )
        assert placement.record.room == 2000 - 2 * (3 + 1 + 90 + 2)
        assert placement.record.notes[-2:] == (
            "a block of type 'mystery' in a message was counted by its JSON",
            "images in the reserve were counted by a rule: 2 at 90 tokens each",
        )
        assert "images" not in str(place([Chunk("a")], budget=Budget(9, counter=words, reserve="a")).record.notes)

    @pytest.mark.parametrize("reserve", [None, [None], 1.5, [True], {"a": 1}, object()])
    def test_bad_reserve(self, reserve):
        """Anything else is refused, naming what may stand there."""
        with pytest.raises(
            TypeError, match=r"Budget\.reserve must be tokens \(int\) or texts \(str\), or messages of a chat, not"
        ):
            Budget(100, reserve=reserve)

    def test_empty_in_is_empty_out(self):
        """Without chunks a reserve that leaves nothing is no error; with one it is."""
        budget = Budget(10, counter=words, reserve=20)
        placement = place([], budget=budget)
        assert (placement.indices, placement.block.text, placement.tokens) == ((), "", 0)
        assert (placement.record.room, placement.record.left) == (0, 0)
        with pytest.raises(BudgetError, match="leaves nothing"):
            place([Chunk("a")], budget=budget)
        with pytest.raises(BudgetError, match="leaves nothing"):  # the question alone is too much to send
            place([], budget=budget, query="Why?", prompt="after")


class TestForModel:
    """`Budget.for_model`: a share of a window that the model knows."""

    class Chat:
        def __init__(self):
            self.profile = {"max_input_tokens": 8001}

    class Metadata:
        context_window = 4096
        num_output = 96

    def test_windows(self):
        """LangChain's profile, also behind a binding, and LlamaIndex's metadata less the output."""
        llm = type("LLM", (), {"metadata": self.Metadata()})()
        bound = type("Bound", (), {"bound": self.Chat()})()
        assert Budget.for_model(self.Chat()) == Budget(4000)
        assert Budget.for_model(bound, 0.1, counter=words, reserve=5) == Budget(800, counter=words, reserve=5)
        assert Budget.for_model(llm, share=1) == Budget(4000)
        llm.metadata.num_output = -1
        assert Budget.for_model(llm, 0.5).tokens == 2048

    @pytest.mark.parametrize(
        "model", [object(), type("Chat", (), {"profile": {}})(), type("Chat", (), {"profile": None})()]
    )
    def test_unknown_window(self, model):
        """A model that does not know its window is an error with the next step."""
        with pytest.raises(ValueError, match=r"does not say how large its window is.*Budget\(tokens\)"):
            Budget.for_model(model)

    def test_no_window(self):
        """A window that is all output is an error."""
        llm = type("LLM", (), {"metadata": type("M", (), {"context_window": 64, "num_output": 64})()})()
        with pytest.raises(ValueError, match="window of 64 tokens and keeps them all for its output"):
            Budget.for_model(llm)

    @pytest.mark.parametrize("share", [0, -1, 1.01, float("nan")])
    def test_share(self, share):
        """A share is above 0 and at most 1."""
        with pytest.raises(ValueError, match="must be above 0 and at most 1"):
            Budget.for_model(self.Chat(), share)

    @pytest.mark.parametrize("share", ["half", True, None])
    def test_no_share(self, share):
        """What is no number is named."""
        with pytest.raises(TypeError, match=f"share must be a number, not {share!r}"):
            Budget.for_model(self.Chat(), share)
