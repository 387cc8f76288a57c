"""Small files of the new kinds that claim much are refused before they take it."""

from __future__ import annotations

import io
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from tests import workbooks

import timeveil as tv
from timeveil.errors import InputError
from timeveil.reading.sources import _places

ROLES = tv.Roles(respondent="who", time="at", drop="rest")
CANARY = "canary7391"


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=2MB,ratio=1")


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError) as caught:
        tv.read(path, ROLES)
    assert caught.value.code == "too-large"
    assert CANARY not in str(caught.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kilobytes
    return caught.value.message


LINE = b"p1,2024-01-01\n"
JSON = b'{"who": "p1", "at": "2024-01-01"}\n'


def packed(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


def test_packed_text_that_unpacks_to_too_much(tmp_path: Path) -> None:
    assert "unpacks to more" in refused(tmp_path / "a.csv.zst", packed(b"who,at\n" + LINE * 500_000))
    assert "unpacks to more" in refused(tmp_path / "a.jsonl.zst", packed(JSON * 200_000))
    text = (b"who,at\n" + LINE * 500_000).decode().encode("utf-16")
    assert "unpacks to more" in refused(tmp_path / "b.csv.zst", packed(text))


def test_a_line_that_does_not_end(tmp_path: Path) -> None:
    long = b'{"who": "' + CANARY.encode() * 300_000 + b'", "at": "2024-01-01"}\n'
    assert "row of more than" in refused(tmp_path / "a.jsonl", JSON + long)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_buffers_of_arrow(tmp_path: Path, compression: str) -> None:
    target = io.BytesIO()
    table = pa.table({"who": pa.nulls(500_000, pa.int64()).fill_null(0), "at": ["2024-01-01"] * 500_000})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(target, table.schema, options=options) as writer:
        writer.write_table(table)
    assert "would take" in refused(tmp_path / "a.arrow", target.getvalue())


def test_a_text_that_every_row_of_arrow_repeats(tmp_path: Path) -> None:
    who = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), [CANARY * 1000])
    table = pa.table({"who": who, "at": ["2024-01-01"] * 1000})
    target = io.BytesIO()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    assert "repeats texts" in refused(tmp_path / "a.arrow", target.getvalue())


def test_workbooks_that_unpack_to_too_much_or_spread_far(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra `excel`")
    rows = [["who", "at"], *(["p1", "2024-01-01"] for _ in range(60_000))]
    assert "unpacks to" in refused(tmp_path / "a.xlsx", workbooks.workbook({"s": rows}))
    far = '<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576">'
    far += '<c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
    assert "far apart" in refused(tmp_path / "a.xlsx", workbooks.packed(workbooks.entries({"s": far}, [])))
    texts = {CANARY * 1000: 0}
    cells = workbooks.sheet([["who", "at"], *([CANARY * 1000, 1] for _ in range(500))], texts)
    content = workbooks.packed(workbooks.entries({"s": cells}, list(texts)))
    assert "texts so long" in refused(tmp_path / "a.xlsx", content)


def test_there_is_room_for_every_place_between_the_outermost_cells() -> None:
    assert _places(b'<row r="1"><c r="A1"/></row><row><c r="C9"/></row>') == 9 * 3


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra `excel`")
    whole = workbooks.workbook({"s": [["who", "at"], [CANARY, "2024-01-01"]]})
    for content in (b"", CANARY.encode(), whole[:-40], whole[: len(whole) // 2]):
        (tmp_path / "a.xlsx").write_bytes(content)
        with pytest.raises(InputError) as caught:
            tv.read(tmp_path / "a.xlsx", ROLES)
        assert caught.value.code == "file-unreadable"
        assert CANARY not in str(caught.value)


def test_a_number_without_an_end_in_a_page_header_is_refused_at_once(tmp_path: Path) -> None:
    """However large it grows, nothing is worked out from it."""
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"who": range(200_000), "day": range(200_000)}), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:1_000_004] = b"\x15" + b"\xff" * 999_999
    path.write_bytes(content)
    with pytest.raises(tv.InputError, match="not a Parquet file, or is incomplete"):
        tv.read(path, tv.Roles(respondent="who", time="day"), unit="day")
