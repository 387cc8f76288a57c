"""The trade-off as a curve: what each setting costs, from left to right, and what it risks, upward."""

from __future__ import annotations

from collections.abc import Iterator

from timeveil.explore.exploration import Exploration, Setting
from timeveil.page import svg
from timeveil.page.svg import RELEASE, RISK, Panel, Picture
from timeveil.page.wording import amount

_HEIGHT, _TOP = 340.0, 72.0


def curve(exploration: Exploration, *, finished: bool) -> Picture | None:
    """The settings so far; each is a link to its row in the table, where it can be taken."""
    points = exploration.feasible
    if not points:
        return None
    most_loss = max([p.loss for p in points] + [exploration.max_loss or 0.0]) or 1.0
    most_risk = max([p.risk for p in points] + [exploration.max_risk or 0.0]) or 1.0
    panel = Panel(86, _TOP, 590, _HEIGHT - _TOP - 56, 0.0, most_risk * 1.08, 2)

    def at(setting: Setting) -> tuple[float, float]:
        return panel.left + panel.width * setting.loss / (most_loss * 1.05), panel.y(setting.risk)

    name = exploration.parameter.replace("_", "-")
    marks = svg.round_numbers(0.0, most_risk * 1.05, 4)
    body = [
        *svg.heading(f"What {name} costs, and what it leaves at risk", "Lower left is better.", 24),
        *svg.value_axis(panel, marks, [amount(exploration.risk, mark) for mark in marks]),
        svg.text(24, _TOP + 14, "risk", "soft"),
        svg.text(panel.left + panel.width, panel.bottom + 36, "loss", "soft", "end"),
        *_losses(panel, exploration, most_loss),
        *_limits(panel, exploration, most_loss),
    ]
    if len(points) > 1:
        body.append(svg.path([at(point) for point in points], "link"))
    knee, best = (exploration.knee, exploration.best) if finished else (None, None)
    places: dict[tuple[int, int], list[Setting]] = {}
    for point in points:  # settings that come to the same have one dot and one label
        x, y = at(point)
        places.setdefault((round(x / 8), round(y / 8)), []).append(point)
    for same in places.values():
        (x, y), noted = at(same[0]), (" · knee" * (knee in same)) + (" · best" * (best in same))
        taken = next((point for point in same if point in (knee, best)), same[0])
        words = f"{name} {', '.join(f'{point.value:g}' for point in same)}{noted}"
        size, colour = (8, RISK) if noted else (5.5, RELEASE)
        anchor = "end" if x > panel.left + panel.width * 0.8 else "start"
        label = svg.text(x - 11 if anchor == "end" else x + 11, y - 7, words, "strong" * bool(noted), anchor)
        circle = f'<circle class="f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
        body.append(f'<a href="#take-{taken.value:g}">{circle}{label}</a>')
    amounts = [(amount(exploration.loss, p.loss), amount(exploration.risk, p.risk)) for p in points]
    pairs = zip(points, amounts, strict=True)
    said = "; ".join(f"{name} {p.value:g}: loss {loss}, risk {risk}" for p, (loss, risk) in pairs)
    return Picture(f"The trade-off of {name}", f"{said}.", _HEIGHT, tuple(body), role="group")


def _losses(panel: Panel, exploration: Exploration, most: float) -> Iterator[str]:
    for mark in svg.round_numbers(0.0, most * 1.05, 5):
        x = panel.left + panel.width * mark / (most * 1.05)
        yield svg.line(x, panel.bottom, x, panel.bottom + 5, "grid")
        yield svg.text(x, panel.bottom + 19, amount(exploration.loss, mark), "soft", "middle")


def _limits(panel: Panel, exploration: Exploration, most: float) -> Iterator[str]:
    """The limits as broken lines, with words."""
    if exploration.max_loss is not None:
        x = panel.left + panel.width * exploration.max_loss / (most * 1.05)
        yield svg.line(x, panel.top, x, panel.bottom, "edge")
        yield svg.text(x + 5, panel.top + 12, f"at most {amount(exploration.loss, exploration.max_loss)}")
    if exploration.max_risk is not None:
        y = panel.y(exploration.max_risk)
        yield svg.line(panel.left, y, panel.left + panel.width, y, "edge")
        yield svg.text(panel.left + 6, y - 5, f"at most {amount(exploration.risk, exploration.max_risk)}")
