"""Draw the README's picture: a clinic's visits as they were, and as they are published."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from pathlib import Path

import timeveil as tv
from timeveil.datasets import clinic_visits

PICTURE = Path(__file__).parent / "explanation" / "pictures" / "before-after.svg"
ROLES = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
K = 5
WIDTH, ROW, TOP, LEFT, GAP = 430, 26, 64, 58, 70
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:16px;font-weight:600}"
    ".alone{stroke:#c0392b;stroke-width:3;stroke-linecap:round}.shared{fill:#2f7d5b}.number{fill:#fff;font-size:11px;text-anchor:middle}"
    ".axis{fill:#777;font-size:11px}@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{fill:#aaa}}"
)


def drawn() -> str:
    """The picture as SVG, with numbers counted from the tables it shows."""
    visits = clinic_visits(seed=0)
    release, _ = tv.generalize_time(visits, ROLES, K, suppress=0.01)
    rows = [tuple(row.values()) for row in visits.select(["patient", "taken_at", "zip"]).to_pylist()]
    zips = sorted({code for _, _, code in rows})
    first, days = date(2024, 1, 1), 366

    def across(moment: date) -> float:
        return (date(moment.year, moment.month, moment.day) - first).days / days * WIDTH

    people = defaultdict(set)
    for patient, moment, code in rows:
        people[moment, code].add(patient)
    alone = {patient for group in people.values() if len(group) == 1 for patient in group}
    points = " ".join(
        f"M{LEFT + across(moment):.0f} {TOP + ROW * (zips.index(code) + 0.2 + 0.6 * (number % 7) / 6):.0f}h0"
        for number, (_, moment, code) in enumerate(rows)
    )
    dots = [f'<path class="alone" d="{points}"/>']
    published = {tuple(row.values()) for row in release.table.select(["taken_at_start", "zip"]).to_pylist()}
    shared = defaultdict(set)
    for patient, moment, code in rows:
        shared[moment.month, code].add(patient)
    cells = []
    for start, code in sorted(published):
        x, y, wide = 2 * LEFT + WIDTH + GAP + across(start), TOP + ROW * zips.index(code), WIDTH / 12
        count = len(shared[start.month, code])
        cells.append(
            f'<rect class="shared" x="{x + 1:.1f}" y="{y + 2}" width="{wide - 2:.1f}" height="{ROW - 4}" '
            f'rx="4"/>'
            f'<text class="number" x="{x + wide / 2:.1f}" y="{y + ROW / 2 + 4}">{count}</text>'
        )
    everyone = len({patient for patient, _, _ in rows})
    low = min(len(shared[start.month, code]) for start, code in published)
    titles = (
        (LEFT, f"Before: {len(alone):,} of {everyone:,} patients can be singled out"),
        (2 * LEFT + WIDTH + GAP, f"After: nobody; {low} or more share every group"),
    )
    labels = [
        f'<text class="axis" x="{x - 8}" y="{TOP + ROW * (row + 0.65):.0f}" text-anchor="end">{code}</text>'
        for x, _ in titles
        for row, code in enumerate(zips)
    ]
    head = [f'<text class="title" x="{x}" y="36">{words}</text>' for x, words in titles]
    below = TOP + ROW * len(zips) + 18
    months = [
        f'<text class="axis" x="{x + across(date(2024, month, 1)):.0f}" y="{below}">{name}</text>'
        for x, _ in titles
        for month, name in ((1, "January 2024"), (7, "July"))
    ]
    size = f'viewBox="0 0 {2 * (LEFT + WIDTH) + GAP + 10} {TOP + ROW * len(zips) + 30}"'
    words = f"{titles[0][1]} by place and time. {titles[1][1]}, a place and a month."
    parts = "".join([*head, *labels, *months, *dots, *cells])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{words}">'
        f"<title>{words}</title><style>{STYLE}</style>{parts}</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), "utf-8")
