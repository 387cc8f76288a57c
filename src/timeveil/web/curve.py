"""The trade-off of a parameter as a curve, drawn as it is computed."""

from timeveil.explore.exploration import Exploration, Setting
from timeveil.page import svg
from timeveil.page.svg import RELEASE, RISK, Panel, Picture
from timeveil.page.wording import amount

_HEIGHT = 340.0


def curve(exploration: Exploration, *, finished: bool = False) -> str:
    """The settings so far as SVG; each is a link to its row in the table, where it can be taken."""
    points = exploration.feasible
    if not points:
        return ""
    most_loss = max([p.loss for p in points] + [exploration.max_loss or 0.0]) or 1.0
    most_risk = max([p.risk for p in points] + [exploration.max_risk or 0.0]) or 1.0
    name = exploration.parameter.replace("_", "-")
    panel = Panel(86, 72.0, 590, 212.0, 0.0, most_risk * 1.08, 2)
    right = panel.left + panel.width

    def x(loss: float) -> float:
        return panel.left + panel.width * loss / (most_loss * 1.05)

    def words(point: Setting) -> str:
        loss, risk = amount(exploration.loss, point.loss), amount(exploration.risk, point.risk)
        return f"{name} {point.value:g}: loss {loss}, risk {risk}"

    marks = svg.round_numbers(0.0, most_risk * 1.05, 4)
    body = [
        *svg.heading(f"What {name} costs, and what it leaves at risk", "Lower left is better.", 24),
        *svg.value_axis(panel, marks, [amount(exploration.risk, mark) for mark in marks]),
        svg.text(24, panel.top + 14, "risk", "soft"),
        svg.text(right, panel.bottom + 36, "loss", "soft", "end"),
    ]
    for tick in svg.round_numbers(0.0, most_loss * 1.05, 5):
        body.append(svg.line(x(tick), panel.bottom, x(tick), panel.bottom + 5, "grid"))
        body.append(svg.text(x(tick), panel.bottom + 19, amount(exploration.loss, tick), "soft", "middle"))
    if (limit := exploration.max_loss) is not None:
        body.append(svg.line(x(limit), panel.top, x(limit), panel.bottom, "edge"))
        body.append(svg.text(x(limit) + 5, panel.top + 12, f"at most {amount(exploration.loss, limit)}"))
    if (limit := exploration.max_risk) is not None:
        y = panel.y(limit)
        body.append(svg.line(panel.left, y, right, y, "edge"))
        body.append(svg.text(panel.left + 6, y - 5, f"at most {amount(exploration.risk, limit)}"))
    if len(points) > 1:
        body.append(svg.path([(x(point.loss), panel.y(point.risk)) for point in points], "link"))
    knee, best = (exploration.knee, exploration.best) if finished else (None, None)
    dots: dict[tuple[int, int], list[Setting]] = {}
    for point in points:  # settings that come to the same have one dot and one label
        cell = round(x(point.loss) / 8), round(panel.y(point.risk) / 8)
        dots.setdefault(cell, []).append(point)
    for same in dots.values():
        left, y = x(same[0].loss), panel.y(same[0].risk)
        mark = (" · knee" * (knee in same)) + (" · best" * (best in same))
        target = next((point for point in same if point in (knee, best)), same[0])
        size, colour = (8, RISK) if mark else (5.5, RELEASE)
        away, anchor = (-11, "end") if left > right - panel.width * 0.2 else (11, "start")
        label = f"{name} {', '.join(f'{point.value:g}' for point in same)}{mark}"
        text = svg.text(left + away, y - 7, label, "strong" * bool(mark), anchor)
        circle = f'<circle class="f{colour}" cx="{left:.1f}" cy="{y:.1f}" r="{size}"/>'
        body.append(f'<a href="#take-{target.value:g}">{circle}{text}</a>')
    description = f"{'; '.join(map(words, points))}."
    return Picture(f"The trade-off of {name}", description, _HEIGHT, tuple(body), role="group").svg(1)
