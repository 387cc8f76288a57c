"""The parts that the pictures of attacks share: frame, axis, pairs of bars, and how shares are said."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 28, 96, 60
_STYLE = """
  .tv-breach text{fill:#1f2933;font-family:system-ui,sans-serif;font-size:12px}
  .tv-breach .paper{fill:#ffffff}
  .tv-breach .head{font-size:16px;font-weight:600}
  .tv-breach .soft{fill:#52606d}
  .tv-breach .num{font-size:10px}
  .tv-breach .grid{stroke:#d9e2ec}
  .tv-breach .edge{stroke:#1f2933;stroke-width:1.5;stroke-dasharray:5 4}
  .tv-breach .before{fill:#c2410c}
  .tv-breach .after{fill:#1d6fb8}
  @media (prefers-color-scheme:dark){
    .tv-breach text{fill:#f0f4f8}
    .tv-breach .paper{fill:#12181f}
    .tv-breach .soft{fill:#b8c4d0}
    .tv-breach .grid{stroke:#33414f}
    .tv-breach .edge{stroke:#f0f4f8}
    .tv-breach .before{fill:#fb923c}
    .tv-breach .after{fill:#60a5fa}
  }
"""


def picture(title: str, words: str, body: Sequence[str], height: int = HEIGHT) -> str:
    """A whole picture with its title and the same in words, both safe to stand in XML."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'class="tv-breach" aria-labelledby="tv-breach-title tv-breach-desc">',
            f'<title id="tv-breach-title">{title}</title>',
            f'<desc id="tv-breach-desc">{words}</desc>',
            f"<style>{_STYLE}</style>",
            *body,
            "</svg>",
        ]
    )


def frame(top: float) -> list[str]:
    """The paper and lines at shares from 0 to `top`."""
    lines = [f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>']
    for share in (part * top / 5 for part in range(6)):
        y = tall(share, top)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(
            f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        )
    return lines


def ticks(marks: Sequence[str], name: str) -> list[str]:
    """The edges between bars, each with its mark, and what they measure."""
    lines = []
    base = HEIGHT - BOTTOM
    for place, mark in enumerate(marks):
        x = edge(place, len(marks))
        lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 5}"/>')
        lines.append(f'<text class="soft" x="{x:.1f}" y="{base + 19}" text-anchor="middle">{mark}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text class="soft" x="{middle}" y="{base + 42}" text-anchor="middle">{name}</text>')
    return lines


def edge(place: int, edges: int) -> float:
    """Where one of the edges between bars stands."""
    return LEFT + place * (WIDTH - LEFT - RIGHT) / (edges - 1)


def bars(before: Sequence[float], after: Sequence[float], top: float) -> list[str]:
    """A pair of bars between each two edges."""
    lines, base = [], HEIGHT - BOTTOM
    step = (WIDTH - LEFT - RIGHT) / len(before)
    width = min(step * 0.42, 46)
    for place, pair in enumerate(zip(before, after, strict=True)):
        middle = LEFT + (place + 0.5) * step
        for name, x, share in (("before", middle - width, pair[0]), ("after", middle, pair[1])):
            if not share:
                continue
            y = min(tall(share, top), base - 1.0)
            lines.append(
                f'<rect class="{name}" x="{x + 0.5:.1f}" y="{y:.1f}" width="{width - 1:.1f}" '
                f'height="{base - y:.1f}"/>'
            )
            if width >= 22:
                lines.append(
                    f'<text class="num" x="{x + width / 2:.1f}" y="{y - 4:.1f}" text-anchor="middle">'
                    f"{percent(share)}</text>"
                )
    return lines


def tall(share: float, top: float) -> float:
    """Where the top of a bar of this share stands."""
    return HEIGHT - BOTTOM - share / top * (HEIGHT - BOTTOM - TOP - 14)


def percent(share: float) -> str:
    """A share in words that never rounds something to nothing or all.

    >>> [percent(share) for share in (0, 0.00001, 0.0123, 0.5, 0.99999, 1)]
    ['0%', '≈0%', '1.2%', '50%', '≈100%', '100%']
    """
    if 0 < share < 0.001:
        return "≈0%"
    if 0.999 < share < 1:
        return "≈100%"
    return f"{100 * share:.1f}".removesuffix(".0") + "%"
