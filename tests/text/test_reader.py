"""The reader of text: units that join back to the text, and bring along what they cannot be read without."""

import json
from collections import Counter
from random import Random

import pytest
import regex
from documents import (
    PARTS,
    code,
    document,
    drawn_table,
    html_table,
    json_text,
    latex_table,
    markdown_table,
    separated_table,
    wiki_table,
)
from effort import in_proportion
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeorder.text.blocks import read
from edgeorder.text.units import NEEDS, Unit


def pieces(text: str) -> list[tuple[str, str]]:
    """Return kind and text of each unit."""
    return [(unit.kind, text[unit.start : unit.stop]) for unit in read(text)]


def brought(text: str, part: str) -> list[str]:
    """Return what the unit that holds a part brings along, in the order of the text."""
    units = read(text)
    (unit,) = [unit for unit in units if part in text[unit.start : unit.stop]]
    return [text[units[number].start : units[number].stop].strip() for number in sorted(unit.needs)]


def check(text: str) -> list[Unit]:
    """Assert what holds of the units of any text."""
    units = read(text)
    assert "".join(text[unit.start : unit.stop] for unit in units) == text
    assert [unit.start for unit in units[1:]] == [unit.stop for unit in units[:-1]]
    for number, unit in enumerate(units):
        assert unit.start < unit.stop
        assert len(unit.needs) <= NEEDS
        assert unit.size > 0
        assert all(other in range(len(units)) and other != number for other in unit.needs)
    return units


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_units_join_to_the_text(seed: int) -> None:
    """Whatever the document, its units are neighbours from the first character to the last."""
    check(document(Random(seed)))


NASTY = st.sampled_from(
    [
        *"\n\r\t \u2028\x85|-+:=[]{}\"'\\,;.!?…#*>`~<1aé中กक()┌─│",
        *("\r\n", "\n\n", "```", "<table>", "<tr>", "<td>", "</table>", "- ", "1. ", "Anna: ", "2026-05-01 10:00 "),
        *("|---|", "+---+", "# ", "def f():\n    ", '{"a": 1}', "Dr.", "\u00a0.", "\ud800", "-->", "//", "/*"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(text=st.lists(NASTY, max_size=40).map("".join) | st.text(max_size=60))
@example("")
@example(" \n ")
def test_units_join_to_any_text(text: str) -> None:
    """So do those of a text that is nothing but the signs that structure is made of."""
    check(text)


CLUSTERS = st.sampled_from(
    [
        "a",
        "word ",
        ". ",
        "! ",
        "。",
        " ",
        ", ",
        "\u0301",
        " \u0338",
        ".\u0338",
        "👩‍🚀",
        "🇩🇪",
        "\u200d",
        "क्षि",
        "한",
        "\U000e0067",
    ]
)


@settings(max_examples=150, deadline=None)
@given(text=st.lists(CLUSTERS, min_size=1, max_size=12).map("".join), times=st.sampled_from([1, 3, 40]))
@example(" \u0338T. \u0338he limit is here", 40)
def test_no_unit_parts_a_grapheme(text: str, times: int) -> None:
    """An accent on a blank or a full stop belongs to it, so that no unit begins with one."""
    text *= times
    assert {unit.start for unit in check(text)} <= {found.start() for found in regex.finditer(r"\X", text)}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_line_breaks_of_either_kind_are_read_alike(part) -> None:
    """A text with carriage returns has the same units as one without."""
    for seed in range(20):
        text = part(Random(seed)).replace("\r", "")
        kinds = [(unit.kind, unit.needs) for unit in read(text)]
        assert [(unit.kind, unit.needs) for unit in read(text.replace("\n", "\r\n"))] == kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |\n> | 3 | 4 |", ["header", "row", "row"]),
        ("a | b\n--|--\n1 | 2\n3 | 4\n", ["header", "row", "row"]),
        (" a | b\n---+---\n 1 | 2\n 3 | 4\n(2 rows)", ["header", "row", "row", "sentence"]),
        ("id, name, limit\n1, Oslo, 150\n2, Rome, 130\n", ["header", "row", "row"]),
        ("id|name\n1|Oslo\n2|Rome\n", ["header", "row", "row"]),
        ('id,name\n1,"Oslo,\nNorway"\n2,Rome\n', ["header", "row", "row"]),
        ("NAME    READY   STATUS\npod-a   1/1     Running\npod-b   0/1     Error\n", ["header", "row", "row"]),
        ("一、酒店上限\n二、机票预订\n", ["item", "item"]),
        ("① 酒店\n② 机票\n（3）早餐\n", ["item", "item", "item"]),
        ('    "city": "Oslo",\n    "limit": 1\n  },\n  {\n    "city": "Rome",\n    "limit": 2\n', ["line"] * 3),
        ("[10:05] Anna: hello to you all\n[10:06] Bob: and to you, too\n[10:07] Anna: thank you", ["turn"] * 3),
        ("Anna (10:05): hello to you\nBob (10:06): and to you\nAnna (10:07): thank you so", ["turn"] * 3),
        ("1/5/26, 10:05 - Anna: hello to you\n1/5/26, 10:06 - Bob: and to you\n1/5/26, 10:07 - Anna: oh", ["turn"] * 3),
        ("**Q:** what may we do?\n**A:** all that you like\n**Q:** oh, is it so?", ["turn"] * 3),
        ("00:00:01.000 --> 00:00:02.000\nHello.\n\n00:00:03.000 --> 00:00:04.000\nYes.", ["turn", "turn"]),
        ("1\n00:00:01,000 --> 00:00:02,000\nHello.\n\n2\n00:00:03,000 --> 00:00:04,000\nYes.", ["turn", "turn"]),
        ("1\n00:00:01,000 --> 00:00:02,000\nHello.\n2\n00:00:03,000 --> 00:00:04,000\nYes.", ["turn", "turn"]),
        (
            "=====  =====  =====\nA      B      C\n=====  =====  =====\nx      y      z\n=====  =====  =====\n",
            ["header", "row"],
        ),
        ("NAME    LIMIT   SINCE\n-----   -----   -----\nOslo    150     2010\n", ["header", "row"]),
        ('size\tprice\n5"\t3\n7"\t4\n9"\t5\n', ["header", "row", "row", "row"]),
        ('id,body\n1,"' + "word, and more\n" * 300 + '"\n2,b\n', ["header", "row", "row"]),
        (
            "# Limits\ncity,limit\nOslo,150\nRome,130\n## More\na,b\n1,2\n3,4\n",
            ["heading", *["header", "row", "row"]] * 2,
        ),
        ("Limits\n======\ncity\tlimit\nOslo\t150\nRome\t130\n", ["heading", "header", "row", "row"]),
        ("Limits by city:\ncity;limit\nOslo;150\nRome;130\n", ["sentence", "header", "row", "row"]),
        ("# Use\nimport os\nx = os.name\n\n## More of it\ny = 3\nz = y + x\n", ["line"] * 4),
        ("INFO starting it\nERROR it failed\n  at line 3\nINFO done", ["log", "log", "log"]),
    ],
)
def test_other_ways_to_write_the_same(text: str, kinds: list[str]) -> None:
    """Tables, lists, transcripts and logs are read in the ways in which they are commonly written."""
    assert [kind for kind, _ in pieces(text)] == kinds


def test_a_text_without_words_is_one_unit_or_none() -> None:
    """Nothing has no units; blanks are one."""
    assert pieces("") == []
    assert pieces(" \n\t") == [("blank", " \n\t")]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("make", [markdown_table, separated_table, drawn_table, html_table, latex_table, wiki_table])
def test_a_row_brings_its_header(make, seed: int) -> None:
    """Every row of every kind of table is a unit of its own that needs the header of that table and no other."""
    random = Random(seed)
    text = "\n\n".join(["Before it.", make(random), "Between. They are two.", make(random), "After it."])
    units = check(text)
    headers = [number for number, unit in enumerate(units) if unit.kind == "header"]
    rows = [(number, unit) for number, unit in enumerate(units) if unit.kind == "row"]
    assert len(headers) == 2
    assert len(rows) >= 4
    for number, row in rows:
        assert [other for other in row.needs if units[other].kind == "header"] == [
            max(h for h in headers if h < number)
        ]
        assert text[row.start : row.stop].count("City") == 1


def test_cells_of_several_lines_in_latex_are_no_rows() -> None:
    """A line break in braces, or in a table inside the table, parts no row; nor does an escaped sign."""
    inner = "\\begin{tabular}{l}a\\\\b\\end{tabular}"
    rows = [r"Oslo & \makecell{a \\ b \} c} \\", rf"Rome & {inner} \\ \hline", r"A \& B & \{x \\"]
    text = "\n".join([r"\begin{tabular}{|p{3cm}|l|}", r"City & Note \\ \hline", *rows, r"\end{tabular}", "After it."])
    assert [piece.strip() for kind, piece in pieces(text) if kind == "row"] == rows
    assert [piece for kind, piece in pieces(text) if kind == "header"] == ["City & Note \\\\ \\hline\n"]


def test_a_table_without_a_header_has_rows_only() -> None:
    """A piece of a table that was cut in the middle has no header: its first row is none."""
    assert [kind for kind, _ in pieces("| Oslo | 150 |\n| Rome | 130 |\n")] == ["row", "row"]
    assert [kind for kind, _ in pieces("Oslo,150,2\nRome,130,3\nParis,170,4\n")] == ["row"] * 3


def test_tables_in_a_row_keep_their_headers_apart() -> None:
    """A line under another header begins the next table, as do two borders in a row."""
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n| c | d |\n|---|---|\n| 3 | 4 |\n"
    assert brought(text, "| 3 |") == ["| c | d |\n|---|---|"]
    text = "+--+\n| a|\n+--+\n| 1|\n+--+\n+--+\n| b|\n+--+\n| 2|\n+--+\n"
    assert brought(text, "| 2|") == ["+--+\n| b|\n+--+"]


def test_a_table_inside_a_cell_belongs_to_its_row() -> None:
    """Rows of an inner table never stand under the header of the outer one."""
    inner = "<table><tr><th>x</th></tr><tr><td>9</td></tr></table>"
    text = f"<table><tr><th>a</th></tr><tr><td>{inner}</td></tr><tr><td>2</td></tr></table>"
    rows = [piece for kind, piece in pieces(text) if kind == "row"]
    assert rows == [f"<tr><td>{inner}</td></tr>", "<tr><td>2</td></tr>"]


@pytest.mark.parametrize(
    "text",
    [
        "We paid a, b and c.\nThey paid d, e and f.\nAll paid g, h and i.",
        "It is so; we know.\nIt was so; we knew, too; yes.\nIt is; yes.",
        "[1] Some text in brackets.\n[2] More of it.",
        "[Note: see the manual, please.]",
        "x < y and y < z | w",
    ],
)
def test_prose_is_no_table_and_no_json(text: str) -> None:
    """Commas, semicolons, bars and brackets in sentences make no table and no array."""
    assert {kind for kind, _ in pieces(text)} == {"sentence"}


def test_an_item_brings_its_parents_and_what_announces_the_list() -> None:
    """A nested item needs the items above it, and the line with a colon that says what they are."""
    text = "Not allowed:\n- smoking\n  - indoors\n    goes on\n\n    - at night\n- noise\n\nAll else is."
    assert brought(text, "at night") == ["Not allowed:", "- smoking", "- indoors\n    goes on"]
    assert brought(text, "noise") == ["Not allowed:"]
    assert brought(text, "All else") == []


def test_a_long_item_and_a_long_turn_are_sentences_that_need_the_first() -> None:
    """Where an item or a turn is long its sentences can be kept alone, with the one that says whose they are."""
    long = " ".join(f"Sentence {number} of many words is here." for number in range(20))
    assert brought(f"- first: {long}\n- second", "Sentence 7 ") == ["- first: Sentence 0 of many words is here."]
    text = f"Anna: Hello to you all. {long}\nBob: That was very long.\nAnna: So it was."
    assert brought(text, "Sentence 7 ") == ["Anna: Hello to you all."]


def test_code_brings_its_fence_and_the_head_of_its_definition() -> None:
    """A short definition is one unit; a line of a long one needs its heads, with or without a fence."""
    short = "@cache\ndef short(a):\n    return a\n\n\n"
    long = "class Long:\n    def all(self):\n" + "".join(
        f"        self.value_{n} = load({n}, 'x' * {n})\n" for n in range(60)
    )
    for before, after in (("```python\n", "```"), ("", "")):
        text = before + short + long + after
        fences = [part.strip() for part in (before, after) if part]
        assert brought(text, "return a") == fences
        assert brought(text, "self.value_7 ")[len(before) // 10 :][:2] == ["class Long:", "def all(self):"]
        assert set(fences) <= set(brought(text, "self.value_7 "))
    assert [unit.size for unit in read(short + long) if "short" in (short + long)[unit.start : unit.stop]] == [3]


def test_what_is_long_is_not_brought_along() -> None:
    """A paragraph that only begins like a heading, or a page of comments, would leave no room for what stands below."""
    long = "Words that go on and on. " * 30
    for text in (f"# {long}\n\nIt is so. Indeed.", f"{long}\n===\n\nIt is so. Indeed."):
        assert brought(text, "Indeed") == []
    comment = "/*\n" + " * It is explained here at some length.\n" * 20 + " */\n"
    body = "".join(f"    value_{n} = load({n}, 'x' * {n});\n" for n in range(60))
    for note in (comment, "// It is explained here at some length.\n" * 20):
        assert brought(f"```c\n{note}void all() {{\n{body}}}\n```", "value_7 ") == ["```c", "void all() {", "```"]


def test_an_entry_brings_the_brackets_around_it() -> None:
    """Entries of long arrays are units that need the brackets; a short one is one unit."""
    rows = [{"city": f"City{number}", "note": "x" * 50} for number in range(20)]
    text = json.dumps({"count": 20, "rows": rows, "next": None})
    assert brought(text, "City7") == ["{", '"rows": [', "],", "}"]
    assert brought(f"```json\n{text}\n```", "City7") == ["```json", "{", '"rows": [', "],", "}", "```"]
    assert [kind for kind, _ in pieces('{"a": 1}\n{"a": 2}\n')] == ["entry", "entry"]


def test_a_heading_is_brought_by_what_stands_below_it() -> None:
    """Sentences, rows and items need the heading of their section."""
    text = "# One\n\nFirst. Second.\n\nTwo\n===\n\n| a |\n|---|\n| 1 |\n"
    assert brought(text, "Second") == ["# One"]
    assert brought(text, "| 1 |") == ["Two\n===", "| a |\n|---|"]


def test_turns_and_log_entries_are_units() -> None:
    """A turn reaches to the next speaker, a log entry over the trace below it."""
    assert pieces("Anna: Who may go there?\nBob: You\nmay go.\nAnna: Oh, thank you.") == [
        ("turn", "Anna: Who may go there?\n"),
        ("turn", "Bob: You\nmay go.\n"),
        ("turn", "Anna: Oh, thank you."),
    ]
    first, second = '2026-05-01 10:00:02 ERROR boom\nTraceback:\n  File "x"\n', "2026-05-01 10:00:03 INFO end"
    assert pieces(first + second) == [("log", first), ("log", second)]


def test_wrapped_lines_are_one_sentence_and_short_lines_are_not() -> None:
    """A line break where the next word would not have fitted belongs to the sentence; any other one ends it."""
    assert pieces("This is wrapped prose that goes on over a line\nand another one. Yes.\nShort line\nAnother") == [
        ("sentence", "This is wrapped prose that goes on over a line\nand another one. "),
        ("sentence", "Yes.\n"),
        ("sentence", "Short line\n"),
        ("sentence", "Another"),
    ]


def test_a_sentence_without_full_stops_is_cut_at_its_clauses() -> None:
    """Dictated text can shrink, too; an address is never cut."""
    text = "and then we said, more or less, that the desk would book it " * 40
    assert len(read(text)) > 5
    assert all(unit.stop - unit.start <= 400 for unit in check(text))
    assert len(read("https://example.com/" + "a1b2" * 500)) == 1
    assert len(read("中文没有标点" * 200)) > 2


N = 50_000
SLOW = {
    **{part.__name__: "\n\n".join([part(Random(7))] * (N // 100)) for part in PARTS},
    "breaks": "\n" * N,
    "full stops": "." * N,
    "full stops and blanks": ". " * N,
    "open arrays": "[\n" * N,
    "open objects": "{\n" * N,
    "arrays in arrays": "[" * N + "]" * N,
    "quotes": '["\\"' * N,
    "open tables": "<table>\n" * N,
    "open rows": "<table><tr>" * N,
    "fences": "```\n" * N,
    "headings": "# a\n" * N,
    "items": "- a\n\n" * N,
    "deep items": "".join(" " * min(number, 99) + "- a\n" for number in range(N // 20)),
    "deep code": "".join(" " * min(number, 99) + "if x:\n" for number in range(N // 20)),
    "rows that go on": 'a,"b\n' * N,
    "keys": "a: \n" * N,
    "open LaTeX tables": "\\begin{tabular}{l}[" * N,
    "lines of open LaTeX tables": "\\begin{tabular}{l}\n" * N,
    "rows of LaTeX": "\\begin{tabular}{l}" + "\\\\" * N + "\\hline" * N + "\\end{tabular}",
    "braces in LaTeX": "\\begin{tabular}{l}" + "{" * N + "\\\\" * N + "}" * N + "\\end{tabular}",
    "open wiki tables": "{|\n" * N,
    "rows of a wiki table": "{|\n" + "|-\n! a\n" * N,
    "headings above rows": "# a\nb,c\n1,2\n3,4\n" * N,
    "headings above lines": "# a\nb\n" * N,
    "underlined headings": "a\n===\n" * N,
    "quotes in rows": 'a,"b""c\n' * N,
    "numbers of cues": "1\n2 --> \n" * N,
    "speakers": "Anna: hello there friend\nBob: oh yes of course\n" * (N // 10),
    "mixed": "# a\n- x\ny\n[1\n" * N,
    "blanks": ("x" + " " * 1000) * (N // 1000),
    "clauses": "a, " * N,
    "flags": "🇩🇪" * N,
    "marks": "e" + "\u0301" * N,
}


@pytest.mark.parametrize("name", sorted(SLOW))
def test_reading_takes_time_in_proportion_to_the_text(name: str) -> None:
    """Nothing is read again and again."""
    in_proportion(read, SLOW[name])


def test_documents_hold_every_kind() -> None:
    """The generator of this suite makes every kind of unit, so what is shown over its documents is shown for all."""
    kinds = Counter(unit.kind for seed in range(150) for unit in read(document(Random(seed))))
    assert {"sentence", "heading", "row", "header", "item", "line", "turn", "entry", "log", "frame"} <= kinds.keys()
    assert len(read(code(Random(1)))) > 0 < len(read(json_text(Random(1))))
