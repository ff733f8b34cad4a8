#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""group.py itself: a program whose tests pass, fail, are skipped, crash and leave."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GROUP = Path(__file__).with_name("group.py")
SOURCE = "TEST(A, Fine) {}\nTEST(A, Crashes) {}\nTEST_P(B, Each) {}\nTEST_F(A, Leaves) {}\nTEST(A, Fails) {}\nTEST(A, Skips) {}\n"
PROGRAM = """#!{python}
import os, signal, sys
TESTS = ["A.Fine", "A.Crashes", "Some/B.Each/0", "A.Leaves", "A.Fails", "A.Skips", "A.Last"]
if sys.argv[1] == "--gtest_list_tests":
    print("A.", *("  " + t[2:] for t in TESTS if t.startswith("A.")), "Some/B.", "  Each/0  # GetParam() = 1", sep="\\n")
    sys.exit(0)
status = 0
for t in sys.argv[1].split("=")[1].split(":"):
    print("[ RUN      ]", t, flush=True)
    if t == "A.Crashes": os.kill(os.getpid(), signal.SIGSEGV)
    if t == "A.Leaves": os._exit(0)
    if t == "A.Fails": status = 1
    print({{"A.Fails": "[  FAILED  ]", "A.Skips": "[  SKIPPED ]"}}.get(t, "[       OK ]"), t, "(0 ms)", flush=True)
sys.exit(status)
"""


class Group(unittest.TestCase):
    def run_group(self, source, *options):
        with tempfile.TemporaryDirectory() as folder:
            program, file = Path(folder) / "program", Path(folder) / "a_test.cpp"
            program.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
            program.chmod(0o755)
            file.write_text(source, encoding="utf-8")
            return subprocess.run([sys.executable, "-B", GROUP, *options, program, file], capture_output=True, text=True)

    def test_a_crash_fails_alone_and_hides_no_other_test(self):
        r = self.run_group(SOURCE)
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        for name in ("Crashes", "Leaves", "Fails"):
            self.assertIn(f"failed: A.{name}\n", r.stdout)
        self.assertTrue(r.stdout.endswith("2 of 6 tests passed, 3 failed, 1 skipped\n"), r.stdout)

    def test_says_skipped_only_when_all_were(self):
        self.assertEqual(self.run_group("TEST(A, Skips) {}\n").returncode, 77)
        self.assertEqual(self.run_group("TEST(A, Skips) {}\nTEST(A, Fine) {}\n").returncode, 0)

    def test_a_file_without_tests_and_a_test_without_a_file_are_errors(self):
        self.assertEqual(self.run_group("// none\n").returncode, 1)
        r = self.run_group(SOURCE, "--whole")
        self.assertEqual((r.returncode, r.stderr), (1, "error: in no file: A.Last\n"))
        self.assertEqual(self.run_group(SOURCE + "TEST(A, Last) {}\n", "--whole").returncode, 0)

    def test_sums_up_what_ctest_logged(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("1/3 Test: a.one\nx\n2 of 3 tests passed, 0 failed, 1 skipped\n2/3 Test: a.other\nOK\n3/3 Test: b.two\n1,000 of 9\n"
                      "1200 of 1201 tests passed, 1 failed, 0 skipped\n")
            log.flush()
            r = subprocess.run([sys.executable, "-B", GROUP, "--sum", log.name], capture_output=True, text=True, check=True)
        self.assertEqual(r.stdout, "Tests in the files of tests: 1,204, 1,202 passed, 1 failed, 1 skipped (a.one 1 of 3)\n")


if __name__ == "__main__":
    unittest.main()
