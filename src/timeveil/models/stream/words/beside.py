"""A picture of two ways to publish one stream, for whoever knows the true slot: by fate, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from timeveil.evidence.risk import Posterior
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.page.canvas import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, bars, frame, percent, picture, tall

_TITLE = "What somebody learns who knows when it happened"
FATES = ("stayed", "moved", "missing")


def beside_svg(breach: StreamBreach, plain: StreamBreach) -> str:
    """Mean chances given to true values by what became of a record, by the paper's method and by packets.

    Lines mark what is promised: 1/l to everybody, and 1/l' to whoever knows the true slot. Below each pair
    stand the worst chance and the share of people above 1/l', of both.
    """
    pairs = [(plain.parts[fate], breach.parts[fate]) for fate in FATES]
    before, after = ([part.mean for part in column] for column in zip(*pairs, strict=True))
    size = breach.true_slot or breach.l
    body = [
        *frame(1.0),
        *_head(breach, plain),
        *bars(before, after, 1.0),
        *_below(pairs, size),
        *_lines(breach),
    ]
    return picture(_TITLE, escape(_words(pairs, size)), body)


def _words(pairs: Sequence[tuple[Posterior, Posterior]], size: int) -> str:
    said = []
    for fate, pair in zip(FATES, pairs, strict=True):
        told = [f"{name} {_told(part, size)}" for name, part in zip(_NAMES, pair, strict=True)]
        said.append(f"{fate}: {', '.join(told)}.")
    return " ".join(said)


_NAMES = ("paper's method", "closed packets")


def _told(part: Posterior, size: int) -> str:
    if not part.people:
        return "nobody"
    above = percent(part.share_above(1 / size))
    return f"{percent(part.mean)} on average, {percent(part.worst)} at most, {above} above 1/{size}"


def _head(breach: StreamBreach, plain: StreamBreach) -> list[str]:
    legend = [
        f'<rect class="{name}" x="{x}" y="60" width="11" height="11"/>'
        f'<text x="{x + 17}" y="70">{words}: {percent(found.share_above(1 / size))} above 1/{size}</text>'
        for name, x, words, found in (
            ("before", LEFT, "the paper's method", plain),
            ("after", LEFT + 280, "closed packets", breach),
        )
        for size in (breach.true_slot or breach.l,)
    ]
    return [
        f'<text class="head" x="{LEFT}" y="28">{escape(_TITLE)}</text>',
        f'<text class="soft" x="{LEFT}" y="47">Mean chance given to the true value of '
        f"{breach.people:,} people, by what became of their record.</text>",
        *legend,
    ]


def _below(pairs: Sequence[tuple[Posterior, Posterior]], size: int) -> list[str]:
    found, step = [], (WIDTH - LEFT - RIGHT) / len(pairs)
    for place, (fate, pair) in enumerate(zip(FATES, pairs, strict=True)):
        x, base = LEFT + (place + 0.5) * step, HEIGHT - BOTTOM
        shares = " · ".join(f"{round(part.people):,}" for part in pair)
        worst = " · ".join(percent(part.worst) if part.people else "none" for part in pair)
        above = " · ".join(percent(part.share_above(1 / size)) if part.people else "none" for part in pair)
        found += [
            f'<text x="{x:.1f}" y="{base + 18}" text-anchor="middle">{fate} ({shares} people)</text>',
            f'<text class="soft" x="{x:.1f}" y="{base + 35}" text-anchor="middle">worst {worst}</text>',
            f'<text class="soft" x="{x:.1f}" y="{base + 51}" text-anchor="middle">'
            f"above 1/{size}: {above}</text>",
        ]
    return found


def _lines(breach: StreamBreach) -> list[str]:
    found = []
    for name, size in (("l", breach.l), ("l'", breach.true_slot)):
        if size is not None:
            y = tall(1 / size, 1.0)
            found.append(f'<line class="edge" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            found.append(
                f'<text x="{WIDTH - RIGHT}" y="{y - 4:.1f}" text-anchor="end">1/{name} = 1/{size}</text>'
            )
    return found
