# SPDX-License-Identifier: Apache-2.0
"""Columns, and arrays whose axes have names."""
import numpy as np

from .document import display
from .errors import Error, needs

MOST_SHOWN, MOST_WIDE = 20, 44                                         # rows, characters of a cell


class Table(dict):
    """Columns of equal length by name, as numpy arrays. A number that is not there is NaN."""

    def __init__(self, rows, columns):
        super().__init__((name, column([row[i] for row in rows])) for i, name in enumerate(columns))

    @classmethod
    def of(cls, columns):
        """Of columns as they are."""
        table = cls([], ())
        table.update(columns)
        return table

    def __len__(self):
        return len(next(iter(self.values()))) if self.keys() else 0

    def __bool__(self):
        return len(self) > 0

    def where(self, **equals):
        """The rows in which these columns have these values. Raises Error: no such column."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in equals.items():
            if name not in self:
                raise Error(f"where: expected one of the columns {', '.join(self)}, got {name!r}")
            keep &= self[name] == value
        return Table.of({name: values[keep] for name, values in self.items()})

    def pandas(self):
        """The same as a pandas.DataFrame (needs pandas)."""
        return needs("pandas", "Table.pandas").DataFrame(dict(self))

    def grid(self, value, *axes):
        """One column over others, all values of each in the order in which they come: table.grid("attention_loss", "step", "layer", "kv_head").

        Returns a Grid. NaN: no such row. Raises Error: several rows at one place (name another axis, or choose with where()), no such column.
        """
        for name in (value, *axes):
            if name not in self:
                raise Error(f"grid: expected one of the columns {', '.join(self)}, got {name!r}")
        names, places = {}, []
        for name in axes:
            place = {}
            places.append([place.setdefault(x, len(place)) for x in self[name].tolist()])
            names[name] = list(place)
        out = np.full([len(n) for n in names.values()], np.nan)
        seen = np.zeros(out.shape, dtype=bool)
        np.add.at(seen, tuple(places), True)
        if seen.sum() < len(self):
            raise Error(f"grid: expected one row for each {', '.join(axes)}, got {len(self)} for {int(seen.sum())}; name another axis, or choose rows with where()")
        out[tuple(places)] = self[value]
        return Grid(out, names)

    def _shown(self):
        """(texts of the first rows, a sentence)"""
        n = min(len(self), MOST_SHOWN)
        return [[_cell(values[i]) for values in self.values()] for i in range(n)], f"{len(self)} rows{f', the first {n} shown' if len(self) > n else ''}"

    def _repr_html_(self):
        from html import escape
        rows, told = self._shown()
        line = lambda tag, texts: "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"  # noqa: E731
        return f"<table><caption>{told}</caption>{line('th', self)}{''.join(line('td', row) for row in rows)}</table>"

    def __repr__(self):
        rows, told = self._shown()
        rows = [[display(text) if len(text) <= MOST_WIDE else display(text[:MOST_WIDE - 3]) + "..." for text in row] for row in [list(self), *rows]]
        wide = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join([*("  ".join(text.rjust(n) for text, n in zip(row, wide)) for row in rows), told])


class Grid:
    """values: float64 with an axis for each of `axes`, by name the values along it, in order."""

    def __init__(self, values, axes):
        self.values, self.axes = values, axes

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)

    def __getitem__(self, at):
        return self.values[at]

    def __repr__(self):
        return f"<kvscope.Grid {' x '.join(f'{name}: {len(along)}' for name, along in self.axes.items())}>"


def column(values):
    """An array of whole numbers, of numbers (None: NaN), of truths, or of whatever it is."""
    kinds = set(map(type, values))
    if kinds and kinds <= {int, float, type(None)}:
        return np.array(values, dtype=np.int64 if kinds == {int} else float)  # numpy takes None for NaN
    if kinds == {bool}:
        return np.array(values, dtype=bool)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _cell(value):
    if isinstance(value, float):
        return "n/a" if np.isnan(value) else f"{value:.6g}"
    return "n/a" if value is None else str(value)
