"""A report as one HTML page that needs nothing beside itself: no script, no font, no address to call.

Whatever comes from a release is escaped here, in one place; pictures escape their own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import count

from timeveil.page.page_style import style
from timeveil.page.tree import Block, Lines, Numbers, Picture, Report, Section, Sentences

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = re.compile(r"<style>(.*?)</style>\s*", re.DOTALL)
_DARK = "@media (prefers-color-scheme:dark)"


def html_page(report: Report) -> str:
    """The page. The same report gives the same bytes."""
    private = report.kind == "private"
    title = f"PRIVATE: {report.title}" if private else report.title
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{style()}\n{_picture_style(report)}</style>",
        "</head>",
        f'<body class="{report.kind}">',
        *([f'<aside class="strip" aria-label="Notice">{escape(report.notice)}</aside>'] if private else []),
        *_header(report),
        "<main>",
    ]
    numbers = count(1)
    for place, section in enumerate(report.sections, start=1):
        lines += _section(section, place, numbers)
    lines += ["</main>", f"<footer><p>{escape(report.notice)}</p></footer>", "</body>", "</html>"]
    return "\n".join(lines) + "\n"


def _header(report: Report) -> Iterator[str]:
    yield f"<header>\n<h1>{escape(report.title)}</h1>"
    yield f'<p class="notice">{escape(report.notice)}</p>'
    yield f'<div class="standing {"holds" if report.holds else "violated"}">'
    yield from (f"<p>{_told(sentence)}</p>" for sentence in report.standing)
    yield '</div>\n<nav aria-label="Sections">\n<ol>'
    for place, section in enumerate(report.sections, start=1):
        yield f'<li><a href="#s{place}">{escape(section.heading)}</a></li>'
    yield "</ol>\n</nav>\n</header>"


def _section(section: Section, place: int, numbers: Iterator[int]) -> Iterator[str]:
    yield f'<section aria-labelledby="s{place}">\n<h2 id="s{place}">{escape(section.heading)}</h2>'
    for block in section.blocks:
        yield from _block(block, numbers)
    yield "</section>"


def _block(block: Block, numbers: Iterator[int]) -> Iterator[str]:
    match block:
        case Sentences() if block.numbered:
            yield "<ol>"
            yield from (f"<li>{_told(sentence)}</li>" for sentence in block.sentences)
            yield "</ol>"
        case Sentences():
            yield from (f"<p>{_told(sentence)}</p>" for sentence in block.sentences)
        case Numbers():
            yield from _table(block)
        case Picture():
            yield f"<figure>\n{embedded(block.svg, next(numbers))}\n</figure>"
        case Lines():
            yield f"<pre>{escape(chr(10).join(block.lines))}</pre>"


def _table(block: Numbers) -> Iterator[str]:
    sides = [' class="w"' if place < block.words else "" for place in range(len(block.head))]
    caption = escape(block.caption)
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{caption}">'
    yield f"<table>\n<caption>{caption}</caption>\n<thead>"
    head = zip(sides, block.head, strict=True)
    yield f"<tr>{''.join(_head_cell(side, name) for side, name in head)}</tr>\n</thead>\n<tbody>"
    for row in block.rows:
        first, *others = [_told(cell) for cell in row]
        cells = "".join(f"<td{side}>{cell}</td>" for side, cell in zip(sides[1:], others, strict=True))
        yield f'<tr><th scope="row"{sides[0]}>{first}</th>{cells}</tr>'
    yield "</tbody>\n</table>\n</div>"


def _head_cell(side: str, name: str) -> str:
    return f'<th scope="col"{side}>{escape(name)}</th>' if name else f"<td{side}></td>"


def _told(sentence: str) -> str:
    """A sentence with its names set off.

    >>> _told("`<b>` of 3 & more")
    '<code>&lt;b&gt;</code> of 3 &amp; more'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence))


def embedded(svg: str, number: int) -> str:
    """A picture to stand in a page beside others: names of its own, and rules that the page has once.

    >>> embedded('<svg xmlns="x" aria-labelledby="a-title"><title id="a-title">T</title></svg>', 2)
    '<svg aria-labelledby="p2-a-title"><title id="p2-a-title">T</title></svg>'
    """
    alone = _STYLE.sub("", svg).strip()
    names = re.findall(r'\bid="([^"]+)"', alone.partition("</desc>")[0])
    bare = re.sub(r' xmlns="[^"]*"', "", alone, count=1)
    for name in names:
        bare = bare.replace(f'id="{name}"', f'id="p{number}-{name}"')
    head, end, rest = bare.partition(">")
    for name in names:
        head = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", f"p{number}-{name}", head)
    shown = head + end + rest
    return "".join(mark if mark.isprintable() or mark == "\n" else "?" for mark in shown)


def _picture_style(report: Report) -> str:
    """The rules of all pictures, each once; dark colours are for screens."""
    pictures = [block for section in report.sections for block in section.blocks]
    found = [rule for one in pictures if isinstance(one, Picture) for rule in _STYLE.findall(one.svg)]
    return "".join(dict.fromkeys(found)).replace(_DARK, _DARK.replace("@media ", "@media screen and "))
