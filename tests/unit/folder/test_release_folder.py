"""A release folder: what is in it, that it opens as it was, and that it never is there by half."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import stat
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.folder.making import CANARY, names, plain_release, release_of

from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.release import Deferred, Release
from timeveil.domain.stored import PLAIN_PARQUET, Stored
from timeveil.errors import BundleError, ParameterError
from timeveil.folder import damage, open_release, write, writing
from timeveil.folder.manifest import as_json, describe
from timeveil.judging import verify

FORMATS = ("parquet", "csv")


def refused(code: str, *arguments, **named) -> BundleError:
    with pytest.raises(BundleError) as caught:
        write(*arguments, **named)
    assert caught.value.code == code
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.parametrize("form", FORMATS)
def test_a_release_opens_as_it_was_written(tmp_path, form):
    """Rows, order, types, manifest and promise come back from the folder."""
    release = plain_release()
    assert write(release, tmp_path / "out", format=form) == tmp_path / "out"
    opened = open_release(tmp_path / "out")
    assert opened.table.equals(release.table)
    assert opened.guarantee == release.guarantee
    stated = {key: value for key, value in opened.manifest.items() if key != "tables"}
    assert stated == release.manifest
    assert opened.manifest["tables"]["data"]["rows"] == 4
    assert verify(opened)


@pytest.mark.parametrize("form", FORMATS)
def test_the_folder_holds_three_files_and_nothing_is_left_beside_it(tmp_path, form):
    """The table, the manifest and a letter; the hidden folder is gone."""
    write(plain_release(), tmp_path / "out", format=form)
    assert names(tmp_path / "out") == ["README.txt", f"data.{form}", "release.json"]
    assert names(tmp_path) == ["out"]


def test_rights_follow_the_umask(tmp_path):
    """Everyone may read a release where the umask lets them, and nobody else may write it."""
    before = os.umask(0o002)
    try:
        write(plain_release(), tmp_path / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o755
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "out").iterdir()} == {0o644}


@pytest.mark.parametrize("form", FORMATS)
def test_every_type_comes_back(tmp_path, form):
    """Each type that `read` lets through keeps its values; types in memory only become written ones."""
    berlin = pa.timestamp("ms", "Europe/Berlin")
    columns = {
        "bool": pa.array([True, None]),
        "int8": pa.array([-128, None], pa.int8()),
        "uint64": pa.array([2**64 - 1, None], pa.uint64()),
        "float": pa.array([0.1, None], pa.float32()),
        "half": pa.array([1.5, None], pa.float16()),
        "double": pa.array([float("inf"), -0.1]),
        "nan": pa.array([float("nan"), None]),
        "decimal": pa.array([Decimal("1.50"), None], pa.decimal128(20, 2)),
        "small": pa.array([Decimal("1.50"), None], pa.decimal32(5, 2)),
        "date": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "date64": pa.array([dt.date(2024, 2, 29), None], pa.date64()),
        "time": pa.array([dt.time(1, 2, 3), None], pa.time32("s")),
        "time64": pa.array([dt.time(1, 2, 3, 4), None], pa.time64("us")),
        "stamp": pa.array([dt.datetime(2024, 2, 29, 1), None], pa.timestamp("s")),
        "nanos": pa.array([1, None], pa.timestamp("ns")),
        "zoned": pa.array([0, -(10**13)], berlin),
        "text": pa.array(["", None]),
        "large": pa.array(["x", None], pa.large_string()),
        "code": pa.array(["x", None]).dictionary_encode(),
        "nothing": pa.nulls(2),
        "=name": pa.array([1, 2]),
    }
    release = release_of(columns)
    write(release, tmp_path / "out", format=form)
    opened = open_release(tmp_path / "out").table
    assert opened.drop(["nan"]).to_pylist() == release.table.drop(["nan"]).to_pylist()
    assert str(opened["nan"].to_pylist()) == str(release.table["nan"].to_pylist())
    assert opened.schema.field("zoned").type == berlin
    assert opened.schema.field("code").type == opened.schema.field("large").type == pa.string()
    assert opened.schema.field("stamp").type == pa.timestamp("ms")


CELLS = (
    st.none() | st.text(st.sampled_from("=+-@'\"\t\r\n,;aé\U0001f600 01"), max_size=6) | st.text(max_size=4)
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, CELLS, st.none() | st.integers(-5, 5)), max_size=8))
def test_parquet_and_csv_open_equal(tmp_path_factory, rows):
    """Formula cells, quotes, line breaks, apostrophes, nulls and empty text survive both formats."""
    left, right, number = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {
        "a": pa.array(left, pa.string()),
        "b": pa.array(right, pa.string()),
        "n": pa.array(number, pa.int64()),
    }
    release = release_of(columns)
    folder = tmp_path_factory.mktemp("both")
    for form in FORMATS:
        write(release, folder / form, format=form)
    parquet, csv = (open_release(folder / form).table for form in FORMATS)
    assert parquet.equals(csv)
    assert parquet.equals(release.table)


def test_no_cell_of_text_starts_a_formula_and_numbers_stay_numbers(tmp_path):
    """A spreadsheet finds an apostrophe before =, +, -, @, tab and line breaks, but none before -5."""
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "'=1", "'tis"]
    write(release_of({"a": texts, "n": [-5] * 9}), tmp_path / "out", format="csv")
    import csv

    with (tmp_path / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
        cells = [row[:2] for row in csv.reader(file)][1::2]
    assert {text for text, _ in cells} == {*("'" + text for text in texts[:8]), "'tis"}
    assert {number for _, number in cells} == {"-5"}
    assert open_release(tmp_path / "out").manifest["tables"]["data"]["formula_cells"]


def test_a_parquet_table_carries_rows_and_nothing_else(tmp_path, monkeypatch):
    """No statistics, dictionary, metadata or unused dictionary value: canaries are nowhere in the bytes."""
    monkeypatch.setitem(PLAIN_PARQUET, "compression", "none")
    code = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array(["u", "v", CANARY]))
    whole = pa.array([CANARY, "seen", "seen", "seen", CANARY])
    release = release_of({"code": code.slice(0, 2), "part": whole.slice(1, 2)})
    noted = release.table.replace_schema_metadata({"pandas": CANARY})
    noted = noted.cast(
        pa.schema([f.with_metadata({"note": CANARY}) for f in noted.schema], noted.schema.metadata)
    )
    write(Release(release.guarantee, release.manifest, {"data": noted}), tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert CANARY.encode() not in file.read_bytes()
    assert b"seen" in (tmp_path / "out" / "data.parquet").read_bytes()
    with pq.ParquetFile(tmp_path / "out" / "data.parquet") as file:
        assert file.metadata.metadata is None
        for place in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(0).column(place)
            assert not chunk.is_stats_set
            assert not chunk.has_dictionary_page
            assert not chunk.has_offset_index
            assert not chunk.has_column_index


def test_row_groups_do_not_follow_the_batches_that_came_in(tmp_path, monkeypatch):
    """Two cuts of the same rows give the same bytes."""
    release = plain_release()
    table = release.table
    cut = pa.concat_tables([table.slice(0, 1), table.slice(1, 2), table.slice(3)])
    monkeypatch.setattr("timeveil.folder.tables.BLOCK_ROWS", 3)
    write(release, tmp_path / "one")
    write(Release(release.guarantee, release.manifest, {"data": cut}), tmp_path / "two")
    with pq.ParquetFile(tmp_path / "two/data.parquet") as file:
        assert [file.metadata.row_group(place).num_rows for place in (0, 1)] == [3, 1]
    assert (tmp_path / "one/data.parquet").read_bytes() == (tmp_path / "two/data.parquet").read_bytes()


def test_deferred_and_stored_tables_are_written_too(tmp_path):
    """A release need not be in memory."""
    release = plain_release()
    pq.write_table(release.table, tmp_path / "rows.parquet")
    for name, part in (("a", Deferred(lambda: release.table)), ("b", Stored(tmp_path / "rows.parquet"))):
        write(Release(release.guarantee, release.manifest, {"data": part}), tmp_path / name)
        assert open_release(tmp_path / name).table.equals(release.table)


def test_some_columns_can_be_read_alone(tmp_path):
    """Both formats hand out single columns, as the judges ask for them."""
    for form in FORMATS:
        write(plain_release(), tmp_path / form, format=form)
        part = open_release(tmp_path / form).parts["data"]
        assert part.read(["day", "zip"]).column_names == ["day", "zip"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2_932_897], pa.int32()).cast(pa.date32()),
        pa.array([23_936_500], pa.int32()).cast(pa.date32()),  # 65,536 years after 1970, and 16 bits wrap
        pa.array([-719_163], pa.int32()).cast(pa.date32()),
        pa.array([253_402_300_800_000], pa.int64()).cast(pa.timestamp("ms")),
        pa.array([253_402_300_800], pa.int64()).cast(pa.timestamp("s", "UTC")),
    ],
)
def test_a_year_that_csv_cannot_tell_is_told_to_the_publisher(tmp_path, column):
    """Before anything is written, and with what to do; Parquet takes it."""
    release = release_of({"n": [1], "when": column})
    error = refused("unsupported-input", release, tmp_path / "out", format="csv")
    assert "column `when` has dates or times outside the years 1 to 9999" in error.message
    assert "Parquet" in error.hint
    assert names(tmp_path) == []


def test_an_empty_release_is_a_release(tmp_path):
    """No rows, and the types are known all the same."""
    empty = release_of({"zip": pa.array([], pa.string())}, quasi=("zip",))
    for form in FORMATS:
        write(empty, tmp_path / form, format=form)
        assert open_release(tmp_path / form).table.equals(empty.table)


def test_the_letter_says_what_the_recipient_needs(tmp_path):
    """Promise, columns, granularity, how to check."""
    write(plain_release(), tmp_path / "out")
    letter = " ".join((tmp_path / "out/README.txt").read_text().split())
    for phrase in (
        "2 different people",
        "published by day",
        "zip",
        "day_start",
        "timeveil verify",
        "guess among people",
    ):
        assert phrase in letter
    assert "01234" not in letter


def test_nothing_that_exists_is_written_over(tmp_path):
    """A folder, an empty folder, a file and a dangling link are all in the way."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "file", "link"):
        refused("folder-exists", plain_release(), tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path / "folder") == []


def test_no_folder_is_made_on_the_way(tmp_path):
    """The parent must be there."""
    refused("folder-missing", plain_release(), tmp_path / "a" / "b")
    assert names(tmp_path) == []


def test_an_unknown_format_is_refused(tmp_path):
    """Only parquet and csv."""
    with pytest.raises(ParameterError):
        write(plain_release(), tmp_path / "out", format="xlsx")


def test_a_column_that_cannot_be_written_is_named(tmp_path):
    """Nested columns have no place in a release, beside lists of text or whole numbers."""
    error = refused("unsupported-input", release_of({"deep": [[[CANARY]]]}), tmp_path / "out")
    assert "`deep`" in error.message
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk-full"),
        (errno.EDQUOT, "disk-full"),
        (errno.EACCES, "no-permission"),
        (errno.EROFS, "no-permission"),
        (errno.EIO, "not-written"),
    ],
)
@pytest.mark.parametrize("form", FORMATS)
def test_trouble_with_the_disk_leaves_nothing(tmp_path, monkeypatch, number, code, form):
    """Whatever the operating system says in the middle of writing, nothing is left."""

    class Failing:
        closed = False

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.closed = True

        def write(self, _):
            raise OSError(number, f"{CANARY} in the text of the system")

        def flush(self):
            pass

    monkeypatch.setattr(writing, "new_file", lambda _: Failing())
    refused(code, plain_release(), tmp_path / "out", format=form)
    assert names(tmp_path) == []


def test_a_disk_that_is_really_full_leaves_nothing(tmp_path):
    """A limit on file sizes, set by the system itself, stops the writing."""
    program = f"""
import resource, sys
import pyarrow as pa, numpy as np
from tests.unit.folder.making import release_of
from timeveil.folder import write
from timeveil.errors import BundleError
release = release_of({{"n": pa.array(np.random.default_rng(0).random(50_000))}})
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    write(release, {str(tmp_path / "out")!r})
except BundleError as error:
    print(error.code)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=Path.cwd())
    assert done.stdout.strip() == "disk-full", done.stderr
    assert names(tmp_path) == []


def test_a_parent_that_cannot_be_written_is_said_so(tmp_path, monkeypatch):
    """Making the hidden folder is the first thing that fails."""

    def forbidden(self, *_, **__):
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(Path, "mkdir", forbidden)
    error = refused("no-permission", plain_release(), tmp_path / "out")
    assert error.message == "no permission to write `out`"
    assert names(tmp_path) == []


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    """Neither folder nor part of one is there after the user stopped it."""

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "_check", stopped)
    with pytest.raises(KeyboardInterrupt):
        write(plain_release(), tmp_path / "out")
    assert names(tmp_path) == []


def test_a_killed_write_leaves_nothing_visible(tmp_path):
    """After the process died in the middle there is no folder of that name, and what is left is closed."""
    program = f"""
import os
from tests.unit.folder.making import plain_release
from timeveil.folder import write, writing
writing._check = lambda *_: os._exit(9)
write(plain_release(), {str(tmp_path / "out")!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=Path.cwd())
    assert done.returncode == 9, done.stderr
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".out.partial-")
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    write(plain_release(), tmp_path / "other")
    assert not left.exists()
    write(plain_release(), tmp_path / "out")
    assert names(tmp_path) == ["other", "out"]


def test_a_release_that_breaks_its_promise_is_not_written(tmp_path):
    """What was read back is verified before the folder gets its name."""
    good = release_of({"zip": ["a", "b"]}, quasi=("zip",))
    bad = Release(good.guarantee, good.manifest, {"data": good.table.slice(0, 3)})
    refused("not-verified", bad, tmp_path / "out")
    assert names(tmp_path) == []


def test_the_verdict_that_counts_is_on_what_was_read_back(tmp_path, monkeypatch):
    """`verify` sees the rows that are in the file, not those that were to be written."""
    seen = []

    def lying(self, rows, **options):
        write_table(self, rows.slice(1), **options)

    def judge(release, ledger=None):
        seen.append(release.parts["data"].num_rows)
        return Verdict("recipient", (), (Violation("x", "no"),))

    write_table, rows = pq.ParquetWriter.write_table, plain_release().table.num_rows
    monkeypatch.setattr(pq.ParquetWriter, "write_table", lying)
    monkeypatch.setattr(writing, "have_same_rows", lambda *_: True)
    monkeypatch.setattr(writing, "verify", judge)
    monkeypatch.setattr(writing, "describe", lambda m, n, s, f, rows, d: describe(m, n, s, f, rows - 1, d))
    refused("not-verified", plain_release(), tmp_path / "out")
    assert seen == [rows - 1]


def test_bytes_that_changed_on_the_way_are_noticed(tmp_path, monkeypatch):
    """A disk that stores something else than what was meant is found out."""
    monkeypatch.setattr(writing, "verify", lambda release: Verdict("recipient", ()))

    def lying(self, rows, **options):
        write_table(self, rows.take([2, 3, 0, 1]), **options)

    write_table = pq.ParquetWriter.write_table
    monkeypatch.setattr(pq.ParquetWriter, "write_table", lying)
    refused("not-verified", plain_release(), tmp_path / "out")
    assert names(tmp_path) == []


def test_of_two_writers_one_wins_whole(tmp_path):
    """Writers of the same name do not mix and do not replace each other."""
    outcomes = []

    def run():
        try:
            write(plain_release(), tmp_path / "out")
            outcomes.append("written")
        except BundleError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["folder-exists"] * 3 + ["written"]
    assert open_release(tmp_path / "out").table.num_rows == 4
    assert names(tmp_path) == ["out"]


def opening(folder: Path, **named) -> BundleError:
    with pytest.raises(BundleError) as caught:
        open_release(folder, **named)
    assert CANARY not in str(caught.value)
    return caught.value


@pytest.fixture
def folder(tmp_path) -> Path:
    return write(plain_release(), tmp_path / "out")


def test_a_folder_that_is_none_is_said_so(tmp_path):
    """Neither a missing folder nor an empty one is a release."""
    assert opening(tmp_path / "nowhere").code == "folder-missing"
    assert opening(tmp_path).code == "folder-missing"


@pytest.mark.parametrize("form", FORMATS)
def test_a_changed_table_is_named(tmp_path, form):
    """One changed byte is enough, and `check=False` still opens what can be opened."""
    folder = write(plain_release(), tmp_path / "out", format=form)
    table = folder / f"data.{form}"
    table.write_bytes(table.read_bytes() + b" ")
    error = opening(folder)
    assert error.code == "folder-damaged"
    assert f"`data.{form}`" in error.message
    assert [found.code for found in damage(folder)] == ["file-changed"]
    assert open_release(folder, check=False).manifest["model"] == "time"


def test_missing_and_extra_files_are_named(folder):
    """A folder holds the files of its manifest and no other."""
    (folder / "ledger.parquet").write_text("x")
    (folder / "data.parquet").unlink()
    assert [found.code for found in damage(folder)] == ["file-missing", "file-extra"]
    assert "data.parquet" in opening(folder).message


def test_a_whole_folder_has_no_damage(folder):
    """Nothing is found where nothing is wrong."""
    assert damage(folder) == ()


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_cut_short_cannot_be_read(tmp_path, form):
    """Reading says which file, without a word of what is in it."""
    folder = write(release_of({"a": [f"{CANARY}{i}" for i in range(50)]}), tmp_path / "out", format=form)
    table = folder / f"data.{form}"
    table.write_bytes(table.read_bytes()[:-150])
    with pytest.raises(BundleError) as caught:
        open_release(folder, check=False).table  # noqa: B018
    assert caught.value.code == "folder-damaged"
    assert CANARY not in str(caught.value)


def test_a_cell_of_the_wrong_type_does_not_show_itself(tmp_path):
    """The parser's own words would quote the cell."""
    folder = write(release_of({"n": [1, 2]}), tmp_path / "out", format="csv")
    table = folder / "data.csv"
    table.write_text(table.read_text().replace("1,", f"{CANARY},", 1))
    with pytest.raises(BundleError) as caught:
        open_release(folder, check=False).table  # noqa: B018
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None


def changed(folder: Path, change) -> BundleError:
    path = folder / "release.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    return opening(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(format=2),
        lambda m: m.pop("guarantee"),
        lambda m: m.update(guarantee={"name": "magic"}),
        lambda m: m.update(columns=3),
        lambda m: m.update(columns=[]),
        lambda m: m.update(columns=[{"name": "zip"}]),
        lambda m: m["columns"].append(m["columns"][0]),
        lambda m: m["columns"][0].update(type="list<item: string>"),
        lambda m: m["columns"][0].update(type="decimal128(99, 2)"),
        lambda m: m.update(tables=[]),
        lambda m: m["tables"]["data"].update(file="../out/data.parquet"),
        lambda m: m["tables"]["data"].update(file="release.json"),
        lambda m: m["tables"]["data"].update(rows=-1),
        lambda m: m["tables"]["data"].update(rows=True),
        lambda m: m["tables"]["data"].pop("sha256"),
        lambda m: m["tables"]["data"].update(format="xlsx"),
    ],
)
def test_a_manifest_of_the_wrong_shape_is_refused(folder, change):
    """Nothing of a manifest is believed unseen."""
    assert changed(folder, change).code == "folder-damaged"


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"3"])
def test_a_manifest_that_is_no_object_is_refused(folder, content):
    """Junk in release.json is damage, not a crash."""
    (folder / "release.json").write_bytes(content)
    assert opening(folder).code == "folder-damaged"


def test_a_wrong_row_count_is_noticed_on_reading(folder):
    """The manifest and the table must agree."""
    path = folder / "release.json"
    manifest = json.loads(path.read_text())
    manifest["tables"]["data"]["rows"] = 5
    path.write_bytes(as_json(manifest))
    with pytest.raises(BundleError, match="has 4 rows"):
        open_release(folder, check=False).table  # noqa: B018


def test_a_table_behind_a_link_is_not_of_the_folder(folder, tmp_path):
    """A link could lead anywhere."""
    (folder / "data.parquet").rename(tmp_path / "elsewhere.parquet")
    (folder / "data.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    assert [found.code for found in damage(folder)] == ["file-missing"]
