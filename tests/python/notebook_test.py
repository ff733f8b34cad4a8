# SPDX-License-Identifier: Apache-2.0
"""The notebooks in assets/notebooks: run here from the first cell to the last. Needs nbclient and ipykernel; skipped without them."""
import glob
import os
import unittest

from support import PACKAGE, ROOT, InFolder, skipped

try:
    import ipykernel  # noqa: F401
    import matplotlib  # noqa: F401
    import nbformat
    from nbclient import NotebookClient
except ImportError as missing:
    skipped(missing)

NOTEBOOKS = sorted(glob.glob(os.path.join(ROOT, "assets", "notebooks", "*.ipynb")))
MOST = 400_000                                                         # bytes of a file that is kept


class Notebooks(InFolder):
    def test_they_run_from_the_first_cell_to_the_last(self):
        os.environ["PYTHONPATH"] = PACKAGE
        self.assertTrue(NOTEBOOKS)
        for path in NOTEBOOKS:
            with self.subTest(os.path.basename(path)):
                notebook = nbformat.read(path, as_version=4)
                stored = [self.kinds(cell) for cell in notebook.cells]
                NotebookClient(notebook, timeout=600, resources={"metadata": {"path": self.path(".")}}).execute()  # raises where a cell does
                self.assertEqual([self.kinds(cell) for cell in notebook.cells], stored, "what is kept is what it shows today")
                pages = [out.data["text/html"] for cell in notebook.cells for out in cell.get("outputs", ()) if "<iframe" in out.get("data", {}).get("text/html", "")]
                self.assertEqual(len(pages), 1, "a run shows its page")

    def test_what_is_kept_is_small_and_says_nothing_of_the_machine(self):
        for path in NOTEBOOKS:
            self.assertLess(os.path.getsize(path), MOST)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for word in ("/home/", "/root/", "/tmp/", os.path.expanduser("~") + "/"):
                self.assertFalse(word in text, word)

    @staticmethod
    def kinds(cell):
        return [sorted(out.get("data", {out.get("name", "error"): None})) for out in cell.get("outputs", ())]


if __name__ == "__main__":
    unittest.main()
