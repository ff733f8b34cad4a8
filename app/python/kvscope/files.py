# SPDX-License-Identifier: Apache-2.0
"""Opens a file for what is in it."""
import base64
import binascii
import os
import zlib

from .document import parse_json, read_json
from .errors import Error
from .kept import Kept
from .trace import Run

MOST_TRACE, MOST_SESSION = 512 << 20, 64 << 20                         # bytes, as the program has them (TRACE.md section 5)


def read(path):
    """A trace (kvscope.trace/1) or a session with results (*.kvscope) as a Run; a file of kept tokens (kvscope.kept/1) as a Kept.

    Raises Error: no such file, another kind of file, a damaged or truncated one, sizes and indices that do not fit together.
    """
    name = os.fspath(path)
    root = read_json(path, MOST_TRACE)
    content = root.value if isinstance(root.value, dict) else {}
    schema = content.get("schema")
    if schema == "kvscope.trace/1":
        return Run(root)
    if schema == "kvscope.kept/1":
        return Kept.of(root, os.path.dirname(name))
    if content.get("kvscope") == "session":
        return _of_session(root, name)
    got = schema if isinstance(schema, str) else f"a file of kvscope called {content['kvscope']!r}" if isinstance(content.get("kvscope"), str) else "no schema"
    raise Error(f"{name}: expected a trace (kvscope.trace/1), a file of kept tokens (kvscope.kept/1) or a session with results, got {got[:80]}; "
                "kvscope-cli trace --out writes a trace")


def _of_session(root, name):
    if not root.given("results"):
        raise Error(f"{name}: expected a session with results, got one without; open it in the window, let it compute and save it")
    results = root.at("results")
    for key, expected in (("schema", "kvscope.trace/1"), ("packed", "zlib, base64")):
        if results.at(key).value != expected:
            results.at(key).fail(expected)
    size = results.at("bytes").whole(0, MOST_TRACE)
    if os.path.getsize(name) > MOST_SESSION:
        raise Error(f"{name}: expected a session of at most {MOST_SESSION} bytes, got {os.path.getsize(name)}")
    try:
        packed = base64.b64decode(results.at("data").text(), validate=True)
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(packed, size + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise Error(f"{name}: results: expected base64 of zlib, got something else ({error}): the file is damaged") from error
    if len(text) != size or not unpacker.eof:
        raise Error(f"{name}: results: expected {size} bytes, got {'more' if len(text) > size else len(text)}: the file is damaged")
    return Run(parse_json(text, f"{name}: results"))
