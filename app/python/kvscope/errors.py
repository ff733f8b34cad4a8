# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as a sentence: what, where, expected, got, remedy."""


class Error(ValueError):
    """Something that was given cannot be used; the text says what, where, what was expected, what it got, and what to do."""


class ProgramError(Error):
    """kvscope-cli refused or failed; the text is its own sentence, `status` its exit status (-N: ended by signal N)."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def shown(value):
    """A value for a message: in one line, short whatever it is."""
    if isinstance(value, (dict, list, tuple)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = {None: "null", True: "true", False: "false"}.get(value) if value is None or isinstance(value, bool) else None
    if text is None:
        try:
            text = repr(value)
        except ValueError:                                             # a whole number of thousands of digits
            text = "a number of too many digits"
    return text if len(text) <= 60 else text[:57] + "..."


def needs(package, what):
    """The module of a package that not every machine has. Raises Error."""
    import importlib
    try:
        return importlib.import_module(package)
    except ImportError as missing:
        raise Error(f"{what}: expected the Python package {package.partition('.')[0]}, got none ({missing}); pip install {package.partition('.')[0]}") from missing
