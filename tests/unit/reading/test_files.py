"""CSV and Parquet files, good and bad."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from timeveil.domain.roles import Roles
from timeveil.errors import InputError, RolesError, TimeveilError
from timeveil.reading import read, text_file

ROLES = Roles(respondent="who", time="at", quasi=["zip"])
CANARY = "canary7391"
BOTH = pytest.mark.parametrize("stored", [False, True])


@pytest.fixture
def file(tmp_path):
    def make(content: bytes | str, name: str = "visits.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def refused(kind: type[TimeveilError], code: str, path, roles=ROLES, **named) -> TimeveilError:
    with pytest.raises(kind) as caught:
        read(path, roles, **named)
    assert caught.value.code == code
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


@BOTH
def test_cells_are_text_as_they_stand(file, stored):
    """Leading zeros, blanks, quotes, line breaks, words for null; nothing at all is null, quotes are not."""
    path = file(
        'who,at,zip\n007,2024-01-01," 0123 "\n1e5,2024-01-02,"a ""b"",\nc"\nNA,2024-01-03,\n4,2024-01-04,""\n'
    )
    rows = read(path, ROLES, stored=stored).table
    assert rows["who"].to_pylist() == ["007", "1e5", "NA", "4"]
    assert rows["zip"].to_pylist() == [" 0123 ", 'a "b",\nc', None, ""]


@BOTH
@pytest.mark.parametrize(
    "content",
    [
        "\ufeffwho,at,zip\n1,2024-01-01,x\n",
        "who,at,zip\r\n1,2024-01-01,x\r\n",
        "who,at,zip\n1,2024-01-01,x",
        "\n\nwho,at,zip\n\n1,2024-01-01,x\n\n",
        "who;at;zip\n1;2024-01-01;x\n",
        "who\tat\tzip\n1\t2024-01-01\tx\n",
        '"who","at","zip"\n"1","2024-01-01","x"\n',
        "zip,other,at,who\nx,y,2024-01-01,1\n",
    ],
)
def test_usual_ways_to_write_csv(file, content, stored):
    """Byte order mark, line ends, blank lines, separators, quotes, columns in any order."""
    roles = Roles(respondent="who", time="at", quasi=["zip"], drop="rest")
    assert [list(r.values())[2] for r in read(file(content), roles, stored=stored).table.to_pylist()] == ["x"]


def test_a_tsv_file_is_separated_by_tabs(file):
    """Commas in it are text."""
    path = file("who\tat\tzip\n1\t2024-01-01\ta,b\n", "visits.tsv")
    assert read(path, ROLES).table["zip"].to_pylist() == ["a,b"]


@BOTH
@pytest.mark.parametrize("content", ["who,at,zip", "who,at,zip\n", "\ufeffwho,at,zip\r\n\r\n"])
def test_a_header_alone_is_a_table_without_rows(file, content, stored):
    """With every column in its type."""
    relation = read(file(content), ROLES, stored=stored)
    assert relation.rows == 0
    assert relation.table.schema.types == [pa.string(), pa.date32(), pa.string()]


@BOTH
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_header_is_refused(file, content, stored):
    """There is nothing to read."""
    assert "empty" in refused(InputError, "file-unreadable", file(content), stored=stored).message


@BOTH
@pytest.mark.parametrize(
    ("content", "where"),
    [
        (f"who,at,zip\n1,2024-01-01,x\n2,2024-01-02\n3,{CANARY},x\n", "data row 2 has 2 cells, the header 3"),
        (f"who,at,zip\n1,2024-01-01,x,{CANARY}\n", "data row 1 has 4 cells, the header 3"),
        (f'who,at,zip\n1,2024-01-01,x\n2,2024-01-02,"{CANARY}\n3,2024-01-01,x\n', ": data row 2"),
    ],
)
def test_ragged_rows_are_named_by_number(file, content, where, stored):
    """Too few cells, too many, a quote that never closes."""
    assert where in refused(InputError, "file-unreadable", file(content), stored=stored).message


@BOTH
def test_quotes_inside_a_cell_are_text(file, stored):
    """Only a cell that begins with a quote is a quoted one, even if quotes do not pair up."""
    path = file('who,at,zip\n1,2024-01-01,5" pipe\n2,2024-01-01,x\n')
    assert read(path, ROLES, stored=stored).table["zip"].to_pylist() == ['5" pipe', "x"]


@BOTH
def test_a_ragged_row_far_down_is_found(file, monkeypatch, stored):
    """In a later block of the file, where a reader with threads has lost count."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 500)
    path = file("who,at,zip\n" + "1,2024-01-01,x\n" * 300 + "1,2\n" + "1,2024-01-01,x\n" * 300)
    assert "row 301 has 2 cells" in refused(InputError, "file-unreadable", path, stored=stored).message


@BOTH
@pytest.mark.parametrize(
    "content",
    [
        f"who,at,zip\n1,2024-01-01,{CANARY}\x81\n".encode("latin-1"),
        f"who,at,zip\n1,2024-01-01,{CANARY}é\n".encode() + b"1,2024-01-01,\xe9\n",
        f"who,at,zip\n1,2024-01-01,{CANARY}\n".encode("utf-16")[:-1],
        f"who,at,zip\n1,2024-01-01,{CANARY}\n".encode("utf-16-le"),
        b"who,at,zip\x81\n1,2024-01-01,x\n",
        bytes(range(256)) * 20,
    ],
)
def test_what_is_not_text_is_refused(file, content, stored):
    """Neither UTF-8 nor Windows-1252, both, half a letter of UTF-16, none of its mark, a bad header, junk."""
    assert refused(InputError, "bad-encoding", file(content), stored=stored).hint


@BOTH
def test_text_that_is_not_utf8_is_windows_1252(file, monkeypatch, stored):
    """Wherever it shows, also in the header and in a later block."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 400)
    path = file("who,at,zip\n" + "1,2024-01-01,x\n" * 200)
    path.write_bytes(path.read_bytes() + b"2,2024-01-01,M\xfcnchen \x80\n")
    relation = read(path, ROLES, stored=stored)
    assert relation.table["zip"].to_pylist()[-1] == "München €"
    assert relation.decided == {"encoding": "Windows-1252"}
    roles = Roles(respondent="who", time="at", quasi=["größe"])
    path = file("who,at,größe\n1,2024-01-01,x\n".encode("cp1252"))
    assert read(path, roles, stored=stored).table.column_names[-1] == "größe"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b;c\n1,2;3\n", ["1", "2;3"]),
        ('"a;b",c\n1,2\n', ["1", "2"]),
        ("price, EUR;n\n1;2\n", ["1", "2"]),
        ("a|b\n1|2\n", ["1", "2"]),
        ("a;b;c;d,e\n1,2\n", ["1", "2"]),
    ],
)
def test_the_delimiter_is_what_cuts_header_and_rows_alike(file, content, expected):
    """Names may have a comma or a semicolon of their own."""
    source = text_file.CsvFile(file(content))
    assert list(pa.concat_tables(source.batches(source.names)).to_pylist()[0].values()) == expected


def test_columns_left_out_need_not_be_utf8(file):
    """They are never looked at."""
    path = file(b"who,at,zip,x\n1,2024-01-01,a,\xff\n")
    assert read(path, Roles(respondent="who", time="at", quasi=["zip"], drop=["x"])).rows == 1


def test_columns_of_the_same_name_are_refused(file):
    """A role could mean either."""
    assert "`zip`" in refused(RolesError, "column-twice", file("who,at,zip,zip\n1,2024-01-01,x,y\n")).message


def test_a_packed_file_that_is_none_is_refused(file):
    """Not gzip at all, or cut short."""
    whole = gzip.compress(b"who,at,zip\n" + b"1,2024-01-01,x\n" * 10_000, compresslevel=0)
    for content in ("who,at,zip\n", whole[:100_000]):
        error = refused(InputError, "file-unreadable", file(content, "visits.csv.gz"))
        assert error.message == "`visits.csv.gz` is damaged or incomplete and cannot be unpacked"
        assert error.hint == "copy it again, or pack it again"


@BOTH
@pytest.mark.parametrize(
    "content", [b"", b"PAR1", CANARY.encode() * 100, b"PAR1" + CANARY.encode() + b"PAR1"]
)
def test_what_is_no_parquet_is_refused(file, content, stored):
    """Empty, too short, junk, junk between the right marks."""
    error = refused(InputError, "file-unreadable", file(content, "visits.parquet"), stored=stored)
    assert "`visits.parquet`" in error.message


@BOTH
def test_a_parquet_file_cut_short_or_damaged_inside_is_refused(file, stored):
    """At the end, or in the middle of its pages."""
    path = file(b"", "visits.parquet")
    rows = pa.table(
        {"who": range(5000), "at": ["2024-01-01"] * 5000, "zip": [f"{CANARY}{i}" for i in range(5000)]}
    )
    pq.write_table(rows, path, write_page_checksum=True)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    refused(InputError, "file-unreadable", path, stored=stored)
    path.write_bytes(whole[:50] + b"\xff" * 3000 + whole[3050:])
    refused(InputError, "file-unreadable", path, stored=stored)


def test_an_empty_parquet_table_is_a_table(file):
    """Types known, no rows."""
    path = file(b"", "visits.parquet")
    pq.write_table(
        pa.table(
            {
                "who": pa.array([], pa.int64()),
                "at": pa.array([], pa.date32()),
                "zip": pa.array([], pa.string()),
            }
        ),
        path,
    )
    for stored in (False, True):
        assert read(path, ROLES, stored=stored).table.schema.types == [pa.int64(), pa.date32(), pa.string()]


def test_parquet_columns_with_points_in_their_names(file):
    """`a` is not `a.b`."""
    path = file(b"", "visits.parquet")
    pq.write_table(pa.table({"a.b": ["x"], "a": ["y"], "at": ["2024-01-01"], "who": [1]}), path)
    roles = Roles(respondent="who", time="at", quasi=["a"], drop="rest")
    for stored in (False, True):
        assert read(path, roles, stored=stored).table["a"].to_pylist() == ["y"]


def test_files_that_are_not_there_or_no_files(tmp_path, file):
    """Each is said in its own words, with the name of the file."""
    assert "`none.csv`" in refused(InputError, "file-missing", tmp_path / "none.csv").message
    assert "folder without tables" in refused(InputError, "file-missing", tmp_path).message
    (tmp_path / "folder.csv").mkdir()
    refused(InputError, "file-missing", tmp_path / "folder.csv")
    assert "no file like `*.csv`" in refused(InputError, "file-missing", tmp_path / "no" / "*.csv").message
    assert ".xlsx" in refused(InputError, "unsupported-input", file("x", "visits.docx")).hint
    refused(InputError, "file-missing", tmp_path / "none" / "none.csv")


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EACCES, "no-permission"), (errno.EIO, "file-unreadable")]
)
def test_a_file_that_may_not_be_read(file, monkeypatch, number, code):
    """What the system says is not passed on."""
    path = file("who,at,zip\n")

    def forbidden(self, *_, **__):
        raise OSError(number, CANARY)

    monkeypatch.setattr(Path, "open", forbidden)
    assert path.name in refused(InputError, code, path).message


@BOTH
def test_bad_times_and_nulls_are_counted_over_the_whole_file(file, monkeypatch, stored):
    """Row numbers are right in every block, and say nothing of the value."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 400)
    good = ["1,2024-01-01,x"] * 200
    bad = [*good, f"1,{CANARY},x", *good, f"1,{CANARY},x"]
    error = refused(InputError, "bad-time", file("\n".join(["who,at,zip", *bad])), stored=stored)
    assert error.facts == {"column": "at", "count": 2, "row": 201}
    gaps = [*good, "1,,x", *good, ",2024-01-01,x", "1,,x"]
    error = refused(InputError, "nulls", file("\n".join(["who,at,zip", *gaps])), stored=stored)
    assert error.facts == {"column": "at", "count": 2, "row": 201}
    gone = [*good, ",2024-01-01,x", *good, ",2024-01-01,x"]
    error = refused(InputError, "nulls", file("\n".join(["who,at,zip", *gone])), stored=stored)
    assert error.facts == {"column": "who", "count": 2, "row": 201}
    assert read(file("\n".join(["who,at,zip", *gaps])), ROLES, nulls="withhold", stored=stored).rows == 403


@BOTH
def test_what_the_time_column_holds_may_show_late(file, monkeypatch, stored):
    """Dates in the first block, a clock reading in the last."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 400)
    path = file("who,at,zip\n" + "1,2024-01-01,x\n" * 200 + "1,2024-01-01 10:00,x\n")
    relation = read(path, ROLES, stored=stored)
    assert relation.axis.type == relation.table.schema.field("at").type == pa.timestamp("ms")
