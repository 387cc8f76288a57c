"""Make the seed corpus and the small releases that the targets work on: `python -m tests.fuzz.seeds`.

Everything is drawn from a fixed seed. Files that are already there, such as inputs that once broke something,
stay.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
from tests.workbooks import workbook

import timeveil as tv
from timeveil.service import Parameters, Service

HERE = Path(__file__).parent
CORPUS, RELEASES = HERE / "corpus", HERE / "releases"
CANARY = "canary7391"

JOBS = {
    "time": 'in = "v.csv"\nout = "out"\nrespondent = "who"\ntime = "day"\nk = 5\nquasi = ["zip"]\n'
    'drop = "rest"\nsuppress = 0.01\n\n[hierarchies]\nzip = "prefixes:3,2"\n\n'
    '[granularity.fortnight]\nkind = "groups"\nof = "week"\nn = 2\n',
    "stream": 'command = "publish-stream"\nin = "in"\nout = "out"\nstate = "s"\ntime = "day"\n'
    'sensitive = "ill"\nl = 3\nwindow = 7\nmove-cost = [1, 2.5]\nwithhold-cost = {a = 3}\n',
    "series": 'command = "anonymize-series"\nin = "w.csv"\nout = "out"\nk = 4\np = 2\n'
    'series = ["h00..h23"]\nround_outward = "off"\n',
    "patterns": 'command = "sanitize-patterns"\nin = "b.csv"\nout = "out"\nk = 3\nmin_support = 0.1\n'
    'respondent = "who"\nitem = "item"\n',
}
CALENDARS = {
    "groups": '[granularity.fortnight]\nkind = "groups"\nof = "week"\nn = 2\nanchor = 2006-01-02\n',
    "boundaries": '[granularity.wave]\nkind = "boundaries"\nat = ["2020-03-01", "2020-07-01"]\n'
    'labels = ["first"]\n[granularity.steps]\nkind = "boundaries"\nat = [0, 5, 9]\nunit = "day"\n',
    "parts": '[granularity.shift]\nkind = "day-parts"\n'
    'parts = {early = "06:00", late = "14:00", night = "22:00"}\n',
    "terms": '[granularity.term]\nkind = "terms"\n'
    'starts = {autumn = "09-15", rest = "07-01"}\ngaps = ["rest"]\n',
    "business": '[granularity.work]\nkind = "business-days"\ndays = ["mon", "tue"]\nholidays = [2024-12-25]\n'
    '[granularity.workmonth]\nkind = "business-periods"\nof = "month"\n',
}
HIERARCHIES = {
    "table": "01234;012**;*\n01299;012**;*\n99999;999**;*\n",
    "commas": "a,A,*\nb,A,*\n,,*\n",
    "intervals": "intervals:5,10,20.0",
    "prefixes": "prefixes:3,2",
}
QUERIES = {
    "time": "time\n--between\n2024-01-01\n2024-01-03\n--where\nzip=z1\n--where\nn=1..3",
    "stream": "stream\n--between\n2024-01-01\n..\n--where\nill=a",
    "series": "series\n--range\nh0=0.5:2\n--difference\nh0,h1=:-1\n--like\n1,2,3,4\n--tolerance\n0.5",
    "patterns": "patterns\n--given\nbread\n--then\nmilk",
    "top": "patterns\n--top\n3\n--longer-than\n1\n--json",
}


def visits() -> pa.Table:
    rng = random.Random(1)  # noqa: S311
    rows = range(40)
    return pa.table(
        {
            "who": [f"{CANARY}-{row % 20}" for row in rows],
            "day": [f"2024-01-{1 + rng.randrange(9):02}" for _ in rows],
            "zip": [f"z{row % 2}" for row in rows],
            "n": [row % 4 for row in rows],
        }
    )


def cases() -> pa.Table:
    rows = range(36)
    return pa.table(
        {
            "who": [f"{CANARY}-{row}" for row in rows],
            "day": [f"2024-01-{1 + row // 6:02}" for row in rows],
            "age": [str(20 + row % 7) for row in rows],
            "ill": ["abc"[row % 3] for row in rows],
        }
    )


def walks() -> pa.Table:
    rng = random.Random(2)  # noqa: S311
    return pa.table({f"h{hour}": [round(rng.uniform(0, 9), 1) for _ in range(16)] for hour in range(4)})


def baskets() -> pa.Table:
    pairs = [(f"{CANARY}-{n}", item) for n in range(24) for item in ("bread", "milk", "tea")[: 1 + n % 3]]
    return pa.table({"who": [who for who, _ in pairs], "item": [item for _, item in pairs]})


def released() -> dict[str, tuple[tv.Release, tv.Ledger]]:
    """A release and its ledger of each model."""
    time = tv.Roles(respondent="who", time="day", quasi=["zip"], keep=["n"])
    stream = tv.Roles(respondent="who", time="day", quasi=["age"], sensitive=["ill"])
    series = tv.Roles(series=["h0", "h1", "h2", "h3"])
    basket = tv.Roles(respondent="who", item="item")
    return {
        "time": tv.generalize_time(visits(), time, k=2),
        "stream": tv.publish_stream(cases(), stream, l=2, window=3, seed=7),
        "series": tv.anonymize_series(walks(), series, k=4, p=2),
        "patterns": tv.sanitize_patterns(baskets(), basket, k=2, min_support=2),
    }


def keep(target: str, name: str, content: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def as_parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def as_csv(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue()


def make_tables() -> None:
    plain = as_csv(visits().slice(0, 4))
    keep("csv", "plain", plain)
    keep("csv", "semicolons", plain.replace(b",", b";").replace(b"\n", b"\r\n"))
    keep("csv", "packed", gzip.compress(plain, mtime=0))
    keep("csv", "times", b'who,day,zip\n1,2024-01-01T10:00:00.5+02:00,\n2,2024-01-02 11:30Z,"a\nb"\n')
    keep(
        "csv", "office", "who;day;zip;n\n1;31.01.2024 2:05 pm;Köln;1.234,5\n2;3.2.2024;x;2\n".encode("cp1252")
    )
    keep("csv", "slashes", b"who|day|zip\n1|01/31/2024|a\n2|2/3/2024 10:00|b\n")
    keep("csv", "utf-16", "who\tday\tzip\n1\t31 Jan 2024\ta\n".encode("utf-16"))
    keep("csv", "zstd", pa.compress(plain, codec="zstd", asbytes=True))
    lines = (json.dumps(row) for row in visits().slice(0, 3).to_pylist())
    keep("json", "plain", "\n".join(lines).encode())
    keep("json", "odd", b'{"who": 1e5, "day": "20240131", "zip": ["a", null], "n": true}\n{"who": null}\n')
    few = visits().slice(0, 3)
    rows = list(zip(*few.to_pydict().values(), strict=True))
    keep("excel", "plain", workbook({"empty": [], "s": [few.column_names, *rows]}))
    for name, compression in {"plain": None, "lz4": "lz4"}.items():
        target = io.BytesIO()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_file(target, few.schema, options=options) as writer:
            writer.write_table(few)
        keep("arrow", name, target.getvalue())
    target = io.BytesIO()
    coded = few.set_column(2, "zip", few["zip"].dictionary_encode())
    with pa.ipc.new_stream(target, coded.schema) as writer:
        writer.write_table(coded)
    keep("arrow", "stream", target.getvalue())
    keep("parquet", "plain", as_parquet(few, use_dictionary=False, compression="none"))
    keep("parquet", "dictionary", as_parquet(few.set_column(2, "zip", few["zip"].dictionary_encode())))
    days = pa.array([1, 2, None], pa.timestamp("ns", "UTC"))
    keep(
        "parquet", "nested", as_parquet(few.set_column(1, "day", days).append_column("l", [[[1], [], None]]))
    )


def make_releases() -> None:
    for model, (release, ledger) in released().items():
        folder = RELEASES / model
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(exist_ok=True)
        tv.write(release, folder, format="csv")
        keep("manifest", model, (folder / "release.json").read_bytes())
        keep("release", f"{model}.csv", (folder / "data.csv").read_bytes())
        with tempfile.TemporaryDirectory() as name:
            tv.write(ledger, Path(name) / "ledger")
            keep("ledger", model, (Path(name) / "ledger").read_bytes())
            tv.write(release, Path(name) / "out")
            keep("release", f"{model}.parquet", (Path(name) / "out" / "data.parquet").read_bytes())


def make_service() -> None:
    snapshot = as_csv(cases().select(["day", "age", "ill"]).slice(0, 12))
    keep("inbox", "plain", snapshot)
    keep("inbox", "parquet", as_parquet(cases().select(["day", "age", "ill"]).slice(0, 6)))
    with tempfile.TemporaryDirectory() as name:
        inbox, state = Path(name) / "in", Path(name) / "state"
        inbox.mkdir()
        (inbox / "a.csv").write_bytes(snapshot)
        roles = tv.Roles(time="day", quasi=["age"], sensitive=["ill"])
        with Service(
            inbox, Path(name) / "out", state, Parameters(roles, {"l": 2, "window": 2}), seed=7
        ) as service:
            service.run()
        keep("state", "plain", state.read_bytes())


def make_texts() -> None:
    texts = {"job": JOBS, "calendar": CALENDARS, "hierarchy": HIERARCHIES, "query": QUERIES}
    for target, known in texts.items():
        for name, text in known.items():
            keep(target, name, text.encode())
    keep("job", "deep", b"a = " + b"[" * 2000)
    keep("job", "long-number", b"k = " + b"9" * 5000)
    keep("job", "dotted", b"a." * 400 + b"a = 1")
    deep = json.dumps({"format": 1, "model": "time", "x": 0}).replace("0}", "[" * 900 + "]" * 900 + "}")
    keep("manifest", "deep", deep.encode())


if __name__ == "__main__":
    make_tables()
    make_releases()
    make_service()
    make_texts()
