"""What the tests of kvscope-cli share: running it, and small inputs."""
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = os.path.join(HERE, "..", "golden", "tiny-gqa")        # 64 tokens, no tokenizer
CLI = os.environ["KVSCOPE_CLI"]
# Those of memory and of threads map terabytes that are never touched
limits_addresses = unittest.skipIf(any(kind in os.environ.get("KVSCOPE_SANITIZE", "") for kind in ("address", "thread")),
                                   "a sanitizer needs more addresses than this test leaves")
gets_signals_late = unittest.skipIf("thread" in os.environ.get("KVSCOPE_SANITIZE", ""), "ThreadSanitizer hands on no signal while a file is being written")
counts_memory = unittest.skipIf(os.environ.get("KVSCOPE_SANITIZE", ""), "a sanitizer's own memory would count")


def slowness():
    """Sanitizers and busy machines: KVSCOPE_TEST_SLOWNESS stretches the limits."""
    return float(os.environ.get("KVSCOPE_TEST_SLOWNESS", "1"))


def cli(*arguments, **kw):
    return subprocess.run([CLI, *arguments], capture_output=True, text=True, timeout=120 * slowness(), **kw)


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kvscope-cli-test-")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder])

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def read_json(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return json.load(f)

    def succeeds(self, *arguments):
        r = cli(*arguments)
        self.assertEqual((r.returncode, r.stderr), (0, ""), r.args)
        return r.stdout

    def refuses(self, status, arguments, *words):
        """Exit status, one line on stderr that begins with the program's name and holds the words, nothing on stdout."""
        r = cli(*arguments)
        self.assertEqual(r.returncode, status, r.stderr + r.stdout)
        self.assertEqual(r.stdout, "")
        self.assertTrue(r.stderr.startswith("kvscope-cli: "), r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
        self.assertTrue(r.stderr.endswith("\n"))
        self.assertFalse(r.stderr.endswith(".\n"), r.stderr)
        for word in words:
            self.assertIn(word, r.stderr)

    def leaves_nothing(self):
        self.assertEqual([n for n in os.listdir(self.folder) if "trace" in n or "part" in n or "tmp" in n], [])
