# SPDX-License-Identifier: Apache-2.0
"""JSON files of strangers: every value knows where it stands, so that a complaint can say so. Mirrors engine/io/json_cursor.h."""
import json
import math
import os

import numpy as np

from .errors import Error, shown

MOST_WHOLE = 2**31 - 1


def read_json(path, most_bytes):
    """The root of a JSON file of at most so many bytes. Raises Error: no such file, too large, not UTF-8, not JSON, too deep."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            text = file.read(most_bytes + 1)
    except OSError as error:
        raise Error(f"{name}: expected a file that can be read, got: {error.strerror}") from error
    if len(text) > most_bytes:
        raise Error(f"{name}: expected at most {most_bytes} bytes, got more; write less into it (fewer steps, or a smaller --detail)")
    return parse_json(text, name)


def parse_json(text, name):
    """The same of bytes."""
    def no_number(word):
        raise Error(f"{name}: expected numbers or null, got {word}, which JSON does not have; what is not known is null")
    try:
        return Value(json.loads(text.decode("utf-8"), parse_constant=no_number), name)
    except UnicodeDecodeError as error:
        raise Error(f"{name}: expected UTF-8, got the byte 0x{text[error.start]:02x} at byte {error.start}; is this another kind of file?") from error
    except RecursionError as error:
        raise Error(f"{name}: expected JSON at most 64 levels deep, got more") from error
    except Error:
        raise
    except ValueError as error:                                        # JSONDecodeError, and numbers of thousands of digits
        raise Error(f"{name}: expected JSON, got something else or not all of it: {error}") from error


class Value:
    """A value inside a document. All getters raise Error."""

    __slots__ = ("value", "_up", "_key")

    def __init__(self, value, up, key=None):
        self.value, self._up, self._key = value, up, key

    @property
    def where(self):
        """The document's name and the way to this value: `t.json: runs[1].steps[0]`."""
        way, at = "", self
        while isinstance(at._up, Value):
            way = (f"[{at._key}]" if isinstance(at._key, int) else f".{at._key}") + way
            at = at._up
        return f"{at._up}: {way[1:] if way.startswith('.') else way}" if way else str(at._up)

    def fail(self, expected):
        raise Error(f"{self.where}: expected {expected}, got {shown(self.value)}")

    def given(self, key):
        """True where the key exists and is not null."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def at(self, key):
        if not isinstance(self.value, dict):
            self.fail("an object")
        if key not in self.value:
            raise Error(f"{self.where}: expected {key!r}, got none; a truncated file, or one of another kind?")
        return Value(self.value[key], self, key)

    def each(self, most=MOST_WHOLE):
        """The elements of a list of at most so many."""
        if not isinstance(self.value, list):
            self.fail("a list")
        if len(self.value) > most:
            self.fail(f"a list of at most {most}")
        for i, item in enumerate(self.value):
            yield Value(item, self, i)

    def whole(self, least=0, most=MOST_WHOLE):
        if type(self.value) is not int or not least <= self.value <= most:
            self.fail(f"a whole number in {least}..{most}")
        return self.value

    def text(self):
        if not isinstance(self.value, str):
            self.fail("a text")
        return self.value

    def flag(self):
        if not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value

    def number(self):
        """NaN: null."""
        if self.value is None:
            return math.nan
        if type(self.value) not in (int, float) or not math.isfinite(self.value):
            self.fail("a finite number or null")
        return float(self.value)

    def wholes(self, least, most):
        """int64 of a list of whole numbers."""
        if not isinstance(self.value, list):
            self.fail("a list of whole numbers")
        for i, x in enumerate(self.value):
            if type(x) is not int or not least <= x <= most:
                Value(x, self, i).whole(least, most)
        return np.array(self.value, dtype=np.int64)

    def numbers(self):
        """float64 of a list of numbers or null (NaN)."""
        if not isinstance(self.value, list):
            self.fail("a list of numbers")
        for i, x in enumerate(self.value):
            if x is not None and (type(x) not in (int, float) or not math.isfinite(x)):
                Value(x, self, i).number()
        return np.array(self.value, dtype=float)


def token_text(t):
    """Text of a token as files have it: a text; of special tokens their name; of others that are no whole character their bytes. t: Value."""
    if isinstance(t.value, str):
        return t.value
    if t.given("special"):
        return t.at("special").text()
    try:
        return bytes.fromhex(t.at("hex").text())
    except Error:
        raise
    except ValueError:
        return t.at("hex").fail("bytes in hexadecimal digits")


def display(text):
    """Text of a token for people: bytes and controls are named, nothing moves the text around it."""
    if isinstance(text, bytes):
        return "".join(f"<{b:02X}>" for b in text)
    return "".join(c if c.isprintable() else f"<{ord(c):X}>" if c not in "\n\t" else {"\n": "\\n", "\t": "\\t"}[c] for c in text)
