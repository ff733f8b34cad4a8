# SPDX-License-Identifier: Apache-2.0
"""Small pictures of numbers as SVG, for the pages that tests/peers/truth.py writes. No library is needed to draw them or to look at them."""
import math
import statistics
from html import escape

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 44
INK, FAINT, BLUE, ORANGE = "#1b1f24", "#8a929c", "#0072b2", "#d55e00"


def ticks_of(low, high):
    """Round numbers from low to high, three to eight of them."""
    step = next(s for power in range(-9, 9) for s in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if (high - low) / s <= 7)
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def text(x, y, words, anchor="middle", colour=INK, size=12, over=False):
    """over: it may stand over marks."""
    halo = ' paint-order="stroke" stroke="#ffffff" stroke-width="4"' if over else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"{halo}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour, dash=""):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" fill="none"{dashed}/>'


class Axes:
    """Values from `low` to `high` upwards; write() turns one into words."""

    def __init__(self, title, low, high, write):
        self.low, self.high, self.write = low, high, write
        self.marks = [text(LEFT, 22, title, "start", size=14)]
        for tick in ticks_of(low, high):
            self.marks += [line(LEFT, self.y(tick), WIDTH - RIGHT, self.y(tick), "#e3e6ea"), text(LEFT - 8, self.y(tick) + 4, write(tick), "end", FAINT)]

    def y(self, value):
        return HEIGHT - BOTTOM - (value - self.low) / (self.high - self.low) * (HEIGHT - BOTTOM - TOP)

    def across(self, value, words):
        self.marks += [line(LEFT, self.y(value), WIDTH - RIGHT, self.y(value), ORANGE, "5 4"), text(WIDTH - RIGHT, self.y(value) - 5, words, "end", ORANGE, over=True)]

    def below(self, words):
        self.marks.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, words, colour=FAINT))

    def svg(self):
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Noto Sans, DejaVu Sans, sans-serif">'
        return head + f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>' + "".join(self.marks) + "</svg>\n"


def bars(title, names, values, write, mark=None, low=0.0, below=""):
    """A bar for each name. mark: (value, words) of a line across."""
    top = max([*values, *([mark[0]] if mark else [])])
    bottom = min([low, *values])
    axes = Axes(title, bottom, top + 0.08 * (top - bottom), write)
    step = (WIDTH - LEFT - RIGHT) / len(values)
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        x, zero = LEFT + i * step, axes.y(max(bottom, 0.0))
        axes.marks.append(f'<rect x="{x + 0.15 * step:.1f}" y="{min(axes.y(value), zero):.1f}" width="{0.7 * step:.1f}" height="{abs(zero - axes.y(value)):.1f}" fill="{BLUE}"/>')
        axes.marks.append(text(x + step / 2, HEIGHT - BOTTOM + 16, name, size=12 if step > 40 else 9))
        if len(values) <= 8:
            axes.marks.append(text(x + step / 2, min(axes.y(value), zero) - 5, write(value), over=True))
    if mark:
        axes.across(*mark)
    axes.below(below if low == 0 else f"the axis begins at {write(low)}")
    return axes.svg()


def curves(title, xs, series, write, below, mark=None, low=0.0, high=None):
    """A line for each list of values over xs, all alike."""
    top = high if high is not None else max(max(ys) for ys in series)
    axes = Axes(title, low, top, write)
    x_of = lambda x: LEFT + (x - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT)
    for ys in series:
        way = "L".join(f"{x_of(x):.1f} {axes.y(y):.1f}" for x, y in zip(xs, ys, strict=True))
        axes.marks.append(f'<path d="M{way}" stroke="{BLUE}" stroke-opacity="{1 if len(series) < 3 else 0.55}" fill="none" stroke-width="1.5"/>')
    for tick in ticks_of(xs[0], xs[-1]):
        axes.marks.append(text(x_of(tick), HEIGHT - BOTTOM + 16, f"{tick:g}", colour=FAINT))
    if mark:
        axes.across(*mark)
    axes.below(below)
    return axes.svg()


def heat(title, rows, columns, values, write, below):
    """A cell for each row and column, coloured by how far its value is from 1: blue below, orange above, white at 1; full from twice or half on. At a
    row's end stands its median in words."""
    left, right, size, top = 104, 72, 15, 62
    width, height = WIDTH, top + size * len(rows) + 26
    step = (width - left - right) / len(columns)
    marks = [text(16, 22, title, "start", size=14)]
    for i, name in enumerate(columns):
        marks.append(text(left + (i + 0.5) * step, top - 6, name, colour=FAINT, size=9))
    marks.append(text(left, top - 20, "blue: lower, orange: higher; full from half or twice on", "start", FAINT, 10))
    marks.append(text(width - right + 6, top - 6, "median", "start", FAINT, 9))
    for r, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = top + r * size
        marks.append(text(left - 6, y + 11, name, "end", size=10))
        for i, value in enumerate(row):
            far = math.log2(max(value, 1e-9))
            colour = ORANGE if far > 0 else BLUE
            marks.append(f'<rect x="{left + i * step:.1f}" y="{y}" width="{step - 1:.1f}" height="{size - 1}" fill="{colour}" fill-opacity="{min(1.0, abs(far)):.2f}">'
                         f'<title>{escape(f"{name}, {columns[i]}: {write(value)}")}</title></rect>')
        marks.append(text(width - right + 6, y + 11, write(statistics.median(row)), "start", size=10))
    marks.append(text((left + width - right) / 2, height - 8, below, colour=FAINT, size=10))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="Noto Sans, DejaVu Sans, sans-serif">'
    return head + f'<rect width="{width}" height="{height}" fill="#ffffff"/>' + "".join(marks) + "</svg>\n"
