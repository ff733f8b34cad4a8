# SPDX-License-Identifier: Apache-2.0
"""What the tests of the package share. Importing it ends the test as skipped where numpy is not."""
import os
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PACKAGE = os.path.join(ROOT, "app", "python")
KVMINI = os.path.join(ROOT, "assets", "models", "kvmini")
sys.path.insert(0, PACKAGE)
PROMPT = "The code of the vault is 4821. The sky was grey and the road was long. What is the code of the vault? The code of the vault is"
RUNS = ["snapkv:ratio=0.4", "h2o:slots=12"]


def skipped(why):
    """The test cannot run here."""
    print(f"skipped: {why}")
    sys.exit(77)


class InFolder(unittest.TestCase):
    """self.path(NAME) is in a folder of the test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)
