"""One small release of each model, with its ledger, made once; and how tests read a page."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from timeveil.datasets import daily_cases, load_curves

MODELS = ("time", "stream", "series", "patterns")
PERSON, DROPPED = "canary7391", "canary8462"
"""What only the ledger knows: values of the person's column and of one that was dropped, and both names."""
HOSTILE = '<script>alert("x")</script>`&\n\u202e'
VOID = {"meta", "rect", "line", "circle", "polyline", "polygon"}


@cache
def pair(model: str) -> tuple[tv.Release, tv.Ledger]:
    """A release and its ledger."""
    return {"time": _times, "stream": _stream, "series": _series, "patterns": _patterns}[model]()


@cache
def told(model: str, *, private: bool) -> tv.Report:
    """The report on it."""
    release, ledger = pair(model)
    return tv.report(release, ledger if private else None)


def marked(table: pa.Table, person: str) -> pa.Table:
    """The table with a person's column and another one that only the ledger may know."""
    ids = pa.array([f"{PERSON}-{who}" for who in table[person].to_pylist()])
    rows = table.num_rows
    kept = table.drop_columns([person])
    secret = pa.array([f"{DROPPED}-{row % 7}" for row in range(rows)])
    return kept.append_column(f"who_{PERSON}", ids).append_column(f"what_{DROPPED}", secret)


def _times() -> tuple[tv.Release, tv.Ledger]:
    draw = np.random.default_rng(1)
    days = np.datetime64("2024-01-01") + draw.integers(0, 60, 400)
    rows = {
        "id": draw.integers(0, 60, 400),
        "day": days.astype("datetime64[D]"),
        HOSTILE: draw.choice(["10", "20"], 400),
        "result": draw.choice(["ok", "bad"], 400),
    }
    roles = tv.Roles(
        respondent=f"who_{PERSON}",
        time="day",
        quasi=[HOSTILE],
        sensitive=["result"],
        drop=[f"what_{DROPPED}"],
    )
    return tv.generalize_time(marked(pa.table(rows), "id"), roles, k=5, suppress=0.05)


def _stream() -> tuple[tv.Release, tv.Ledger]:
    roles = tv.Roles(
        respondent=f"who_{PERSON}", time="day", quasi=["district"], sensitive=["diagnosis"], drop="rest"
    )
    return tv.publish_stream(
        marked(daily_cases(days=40, seed=7), "person"), roles, l=2, window=5, seed=918273
    )


def _series() -> tuple[tv.Release, tv.Ledger]:
    hours = [f"h{hour:02}" for hour in range(24)]
    roles = tv.Roles(respondent=f"who_{PERSON}", series=hours[:8], sensitive=["tariff"], drop="rest")
    return tv.anonymize_series(marked(load_curves(people=120), "household"), roles, k=6, p=3)


def _patterns() -> tuple[tv.Release, tv.Ledger]:
    draw = np.random.default_rng(2)
    has = draw.random((300, 5)) < np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    who, what = np.nonzero(has)
    bought = pa.table({"basket": who, "item": [f"item {number}" for number in what.tolist()]})
    roles = tv.Roles(respondent=f"who_{PERSON}", item="item", drop="rest")
    return tv.sanitize_patterns(marked(bought, "basket"), roles, k=8, min_support=0.1)


class Page(HTMLParser):
    """A page taken apart: fails where a tag is not closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [found for name, found in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def words_of(data: Any) -> list[str]:
    """All texts of a report as data, pictures aside."""
    if isinstance(data, str):
        return [data]
    if isinstance(data, dict):
        return [word for name, part in data.items() if name not in ("svg", "kind") for word in words_of(part)]
    return [word for part in data for word in words_of(part)] if isinstance(data, list) else []
