"""Small Excel workbooks, written with nothing but a zip file."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

EPOCH = dt.datetime(1899, 12, 30)
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>'
)


def column_name(number: int) -> str:
    """A for 0, Z for 25, AA for 26."""
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def cell(place: str, value: Any, texts: dict[str, int]) -> str:
    match value:
        case None:
            return ""
        case str():
            return f'<c r="{place}" t="s"><v>{texts.setdefault(value, len(texts))}</v></c>'
        case bool():
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        case dt.date():
            moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
            days = (moment - EPOCH) / dt.timedelta(days=1)
            return f'<c r="{place}" s="{1 + isinstance(value, dt.datetime)}"><v>{days!r}</v></c>'
    return f'<c r="{place}"><v>{value!r}</v></c>'


def sheet(rows: Sequence[Sequence[Any]], texts: dict[str, int]) -> str:
    lines = (
        f'<row r="{number}">'
        + "".join(cell(f"{column_name(c)}{number}", value, texts) for c, value in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, 1)
    )
    return f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def entries(sheets: Mapping[str, str], texts: Sequence[str]) -> dict[str, str]:
    """The files of a workbook, from the XML of its sheets by name and its shared texts."""
    numbered = list(enumerate(sheets, 1))
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n, _ in numbered
    )
    for offset, name in enumerate(("styles", "sharedStrings"), len(numbered) + 1):
        relations += f'<Relationship Id="rId{offset}" Type="{_OFFICE}/{name}" Target="{name}.xml"/>'
    listed = "".join(f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>' for n, name in numbered)
    types = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        f'spreadsheetml.{kind}+xml"/>'
        for part, kind in {
            "workbook": "sheet.main",
            "styles": "styles",
            "sharedStrings": "sharedStrings",
            **{f"worksheets/sheet{n}": "worksheet" for n, _ in numbered},
        }.items()
    )
    shared = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in texts)
    root = f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    return {
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f"{types}</Types>",
        "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{root}</Relationships>',
        "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{relations}'
        "</Relationships>",
        "xl/styles.xml": _HEAD + _STYLES,
        "xl/sharedStrings.xml": f'{_HEAD}<sst xmlns="{_MAIN}">{shared}</sst>',
        **{f"xl/worksheets/sheet{n}.xml": sheets[name] for n, name in numbered},
    }


def packed(files: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """A workbook of rows by the name of their sheet; text, numbers, dates, times and None."""
    texts: dict[str, int] = {}
    written = {name: sheet(rows, texts) for name, rows in sheets.items()}
    return packed(entries(written, list(texts)))
