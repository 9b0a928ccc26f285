"""Generated documents: prose in many languages, tables, lists, code, JSON, logs, transcripts, and all of it mixed."""

import json
from collections.abc import Callable
from random import Random

LANGUAGES = {
    "English": "the limit for hotels is 150 euros a night and Dr. Smith approves it e.g. in June . ! ?",
    "German": "die Grenze für Hotels ist 150 Euro am 29. Juli z.B. in Köln und Dr. Müller zahlt sie . ! ?",
    "French": "la limite des hôtels est de 150 euros par nuit et M. Dupont l'approuve à l'été . ! ?",
    "Spanish": "el límite de los hoteles es de 150 euros por noche ¿ lo paga el Sr. García ? . !",
    "Polish": "limit dla hoteli wynosi 150 euro za noc a zwrot trwa pięć dni roboczych . ! ?",
    "Russian": "лимит на гостиницы 150 евро за ночь и т.д. возврат занимает пять дней . ! ?",
    "Greek": "το όριο για τα ξενοδοχεία είναι 150 ευρώ τη νύχτα και πληρώνει ο κ. Νίκος . ! ;",
    "Arabic": "الحد الأقصى للفندق هو 150 يورو في الليلة ويجب تقديم الإيصال خلال عشرة أيام . ! ؟ ،",
    "Urdu": "ہوٹل کی حد 150 یورو فی رات ہے اور رسید دس دن میں جمع کرنی ہوگی ۔ ؟ ! ،",
    "Hindi": "होटल की सीमा 150 यूरो प्रति रात है और रसीद दस दिनों के भीतर जमा करनी होगी । ? !",
    "Chinese": "酒店 每晚 的 上限 是 一百五十 欧元 ， 报销 需要 五 个 工作日 。 ！ ？",
    "Japanese": "ホテル の 上限 は 一泊 １５０ ユーロ です 、 領収書 が 必要 です 。 ！ ？",
    "Thai": "ค่าโรงแรม สูงสุด คืนละ 150 ยูโร ต้อง ส่ง ใบเสร็จ ภายใน สิบ วัน",
    "Korean": "호텔 한도는 1박에 150 유로이며 영수증을 열흘 안에 내야 합니다 . ! ?",
}
UNSPACED = ("Chinese", "Japanese", "Thai")
ODD = ("👨‍👩‍👧‍👦", "🇩🇪", "e\u0301", "\u200b", "\u00a0", "\ud800", "\r\n", "\u2028", "\x00", "“", "…", "--", "⠀", "n̈")


def prose(random: Random, language: str = "") -> str:
    """Return a paragraph."""
    language = language or random.choice(list(LANGUAGES))
    words = LANGUAGES[language].split()
    chosen = [random.choice(words) for _ in range(random.randint(1, 80))]
    return ("" if language in UNSPACED else " ").join(chosen).replace(" .", ".").replace(" ,", ",")


def url(random: Random) -> str:
    """Return an address, now and then a very long one."""
    return "https://example.com/" + "".join(random.choice("abc123/-_%") for _ in range(random.choice((9, 60, 2000))))


def rows(random: Random) -> list[list[str]]:
    """Return the cells of a table, header first."""
    names = ["city", "limit", "since", "note"][: random.randint(2, 4)]
    cells = {"city": lambda n: f"City{n}", "limit": lambda n: str(100 + n), "since": lambda n: f"20{n % 100:02}"}
    long = random.choice((1, 1, 1, 40))
    table = [
        [cells.get(name, lambda n: f"note {n} " * long)(number).strip() for name in names]
        for number in range(random.randint(2, 40))
    ]
    return [names, *table]


def markdown_table(random: Random) -> str:
    """Return a table in Markdown."""
    header, *body = rows(random)
    lines = ["| " + " | ".join(row) + " |" for row in (header, *body)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def separated_table(random: Random) -> str:
    """Return a table as CSV, TSV or with semicolons."""
    separator = random.choice(",\t;")
    return "\n".join(separator.join(row) for row in rows(random))


def drawn_table(random: Random) -> str:
    """Return a table in a box or a grid."""
    table = rows(random)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    box, every = random.random() < 0.5, random.random() < 0.5
    bar, line, cross = ("│", "─", "┼") if box else ("|", "-", "+")
    rule = (
        (f"├{cross.join(line * (w + 2) for w in widths)}┤")
        if box
        else f"+{cross.join(line * (w + 2) for w in widths)}+"
    )
    lines = [
        f"{bar} " + f" {bar} ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + f" {bar}" for row in table
    ]
    inner = [part for text in lines[1:] for part in ((text, rule) if every else (text,))]
    return "\n".join([rule, lines[0], rule, *inner, *(() if every else (rule,))])


def html_table(random: Random) -> str:
    """Return a table in HTML."""
    header, *body = rows(random)
    gap = random.choice(("", "\n"))
    head = "<tr>" + "".join(f"<th>{cell}</th>" for cell in header) + "</tr>"
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body]
    return gap.join(["<table>", "<thead>", head, "</thead>", "<tbody>", *lines, "</tbody>", "</table>"])


def latex_table(random: Random) -> str:
    """Return a table in LaTeX."""
    table = rows(random)
    top, under, bottom = random.choice((("\\hline", "\\hline", "\\hline"), ("\\toprule", "\\midrule", "\\bottomrule")))
    lines = [
        " & ".join(row) + random.choice((" \\\\", r"\\[2pt]", r" \\ \hline")[: 1 + (top == "\\hline") * 2])
        for row in table
    ]
    begin = f"\\begin{{tabular}}{{{random.choice(('l', '|l'))}*{{{len(table[0]) - 1}}}{{r}}}}"
    return "\n".join([begin, top, lines[0], under, *lines[1:], bottom, r"\end{tabular}"])


def wiki_table(random: Random) -> str:
    """Return a table in MediaWiki's mark-up."""
    header, *body = rows(random)
    inline = random.random() < 0.5
    cells = [(" || " if inline else "\n| ").join(row) for row in body]
    caption = random.choice(([], ["|+ Limits"]))
    names = (" !! " if inline else "\n! ").join(header)
    return "\n".join(['{| class="wikitable"', *caption, "|-", f"! {names}", *(f"|-\n| {row}" for row in cells), "|}"])


def nested_list(random: Random) -> str:
    """Return a list with items below items."""
    lines, depth = [], 0
    for number in range(random.randint(1, 25)):
        depth = max(0, min(depth + random.choice((-1, 0, 0, 1)), 4)) if number else 0
        mark = random.choice(("-", "*", f"{number + 1}.", "•"))
        lines.append(f"{'  ' * depth}{mark} item {number}: {prose(random, 'English')[: random.choice((20, 60, 900))]}")
    return "\n".join(lines)


def code(random: Random) -> str:
    """Return functions."""
    parts = []
    for number in range(random.randint(1, 8)):
        body = [f"    value_{line} = load({number}, {line})" for line in range(random.randint(1, 20))]
        parts.append("\n".join([f"def function_{number}(path):", *body, f"    return value_{number}"]))
    return "\n\n".join(parts)


def fenced(random: Random) -> str:
    """Return code in a fence, which may never be closed."""
    mark = random.choice(("```", "~~~", "````"))
    return f"{mark}{random.choice(('', 'python'))}\n{code(random)}\n{random.choice((mark, mark, ''))}"


def json_text(random: Random) -> str:
    """Return an array, or an object with one."""
    header, *body = rows(random)
    items = [dict(zip(header, row, strict=True)) for row in body]
    value = random.choice((items, {"count": len(items), "rows": items, "next": None}))
    return json.dumps(value, indent=random.choice((None, 2)), ensure_ascii=random.random() < 0.5)


def log(random: Random) -> str:
    """Return log lines, some with a trace below."""
    lines = []
    for number in range(random.randint(2, 30)):
        lines.append(
            f"2026-05-01 10:00:{number:02} {random.choice(('INFO', 'ERROR'))} request {number} took {number * 7} ms"
        )
        if random.random() < 0.2:
            lines.append('Traceback (most recent call last):\n  File "a.py", line 3\nValueError: odd')
    return "\n".join(lines)


def transcript(random: Random) -> str:
    """Return who said what."""
    names = ["Anna", "Bob", "Dr. Chen", "Ольга", "田中"]
    turns = [f"{random.choice(names)}: {prose(random)}" for _ in range(random.randint(2, 15))]
    return random.choice(("\n", "\n\n")).join(turns)


def heading(random: Random) -> str:
    """Return a heading."""
    return random.choice(("# Limits", "## Rules for hotels", "Rules\n====="))


def odd(random: Random) -> str:
    """Return what is no text to speak of."""
    return "".join(random.choice(ODD) for _ in range(random.randint(1, 30)))


PARTS: tuple[Callable[[Random], str], ...] = (
    prose, prose, prose, url, markdown_table, separated_table, drawn_table, html_table, latex_table,
    wiki_table, nested_list, code, fenced,
    json_text, log, transcript, heading, odd,
)  # fmt: skip


def document(random: Random) -> str:
    """Return a document of one to five parts."""
    parts = [random.choice(PARTS)(random) for _ in range(random.randint(1, 5))]
    return random.choice(("\n\n", "\n\n", "\n", " ")).join(parts)
