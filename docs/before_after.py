"""Draw the README's picture: a clinic's visits as they were, and as they are published.

Side by side for wide screens, one above the other for phones.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from pathlib import Path

import timeveil as tv
from timeveil.datasets import clinic_visits

PICTURES = Path(__file__).parent / "explanation" / "pictures"
ROLES = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
K = 5
WIDTH, ROW, TOP, LEFT, GAP = 430, 26, 64, 58, 70
FIRST, DAYS = date(2024, 1, 1), 366
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:16px;font-weight:600}"
    ".alone{stroke:#c0392b;stroke-width:3;stroke-linecap:round}.shared{fill:#2f7d5b}.number{fill:#fff;font-size:11px;text-anchor:middle}"
    ".axis{fill:#777;font-size:11px}@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{fill:#aaa}}"
)


def across(moment: date) -> float:
    """How far to the right of its panel's left edge a day is."""
    return (date(moment.year, moment.month, moment.day) - FIRST).days / DAYS * WIDTH


def panels() -> tuple[tuple[str, list[str]], tuple[str, list[str]], list[str]]:
    """Title and marks of both panels, with numbers counted from the tables they show, and the zip codes."""
    visits = clinic_visits(seed=0)
    release, _ = tv.generalize_time(visits, ROLES, K, suppress=0.01)
    rows = [tuple(row.values()) for row in visits.select(["patient", "taken_at", "zip"]).to_pylist()]
    zips = sorted({code for _, _, code in rows})
    people = defaultdict(set)
    shared = defaultdict(set)
    for patient, moment, code in rows:
        people[moment, code].add(patient)
        shared[moment.month, code].add(patient)
    alone = {patient for group in people.values() if len(group) == 1 for patient in group}
    points = " ".join(
        f"M{across(moment):.0f} {TOP + ROW * (zips.index(code) + 0.2 + 0.6 * (number % 7) / 6):.0f}h0"
        for number, (_, moment, code) in enumerate(rows)
    )
    published = {tuple(row.values()) for row in release.table.select(["taken_at_start", "zip"]).to_pylist()}
    cells = []
    for start, code in sorted(published):
        x, y, wide = across(start), TOP + ROW * zips.index(code), WIDTH / 12
        cells.append(
            f'<rect class="shared" x="{x + 1:.1f}" y="{y + 2}" width="{wide - 2:.1f}" height="{ROW - 4}" '
            f'rx="4"/>'
            f'<text class="number" x="{x + wide / 2:.1f}" y="{y + ROW / 2 + 4}">'
            f"{len(shared[start.month, code])}</text>"
        )
    everyone = len({patient for patient, _, _ in rows})
    low = min(len(shared[start.month, code]) for start, code in published)
    before = f"Before: {len(alone):,} of {everyone:,} patients can be singled out"
    after = f"After: nobody; {low} or more share every group"
    return (before, [f'<path class="alone" d="{points}"/>']), (after, cells), zips


def drawn(*, stacked: bool) -> str:
    """The picture as SVG."""
    *both, zips = panels()
    high = TOP + ROW * len(zips) + 30
    wide = LEFT + WIDTH + 10
    parts = []
    for number, (title, marks) in enumerate(both):
        right, down = (0, number * high) if stacked else (number * (LEFT + WIDTH + GAP), 0)
        labels = [
            f'<text class="axis" x="-8" y="{TOP + ROW * (row + 0.65):.0f}" text-anchor="end">{code}</text>'
            for row, code in enumerate(zips)
        ]
        months = [
            f'<text class="axis" x="{across(date(2024, month, 1)):.0f}" y="{high - 12}">{name}</text>'
            for month, name in ((1, "January 2024"), (7, "July"))
        ]
        heading = f'<text class="title" x="-40" y="36">{title}</text>'
        moved = f'<g transform="translate({LEFT + right} {down})">'
        parts += [moved, heading, *labels, *months, *marks, "</g>"]
    size = f"{wide} {2 * high}" if stacked else f"{wide + LEFT + WIDTH + GAP} {high}"
    words = f"{both[0][0]} by place and time. {both[1][0]}, a place and a month."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" aria-label="{words}">'
        f"<title>{words}</title><style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    (PICTURES / "before-after.svg").write_text(drawn(stacked=False), "utf-8")
    (PICTURES / "before-after-narrow.svg").write_text(drawn(stacked=True), "utf-8")
