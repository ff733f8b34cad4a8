# SPDX-License-Identifier: Apache-2.0
"""kvscope-cli where disk or memory ends: a sentence, status 1, the old file as it was, nothing beside it."""
import errno
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import unittest

CLI, FAULTS = os.environ["KVSCOPE_CLI"], os.environ["KVSCOPE_FAULTS"]
TINY = str(pathlib.Path(__file__).resolve().parents[1] / "golden" / "tiny-gqa")
TRACE = ["trace", "--model", TINY, "--prompt-ids", ",".join(str(i % 64) for i in range(48)), "--generate", "4", "--lane", "h2o:slots=6", "--threads",
         "2", "--out"]


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvscope-faults-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "t.json"
        self.file.write_text("old")

    def trace(self, *, fault="", **more):
        environment = os.environ | ({"LD_PRELOAD": FAULTS, "KVSCOPE_FAULT": fault} if fault else {})
        return subprocess.run([CLI, *TRACE, self.file], capture_output=True, text=True, timeout=120, env=environment, **more)

    def intact(self, run, *words):
        """It failed in a sentence that holds one of the words, and left everything as it was."""
        self.assertEqual(run.returncode, 1, run)
        self.assertEqual(run.stderr.count("\n"), 1, run)
        self.assertTrue(run.stderr.startswith("kvscope-cli: "), run)
        self.assertTrue(any(word in run.stderr for word in words), run)
        self.assertEqual(self.file.read_text(), "old")
        self.assertEqual(os.listdir(self.folder), ["t.json"])

    def whole(self):
        self.file.write_text("old")
        run = self.trace()
        self.assertEqual(run.returncode, 0, run)
        whole = self.file.read_bytes()
        self.file.write_text("old")
        return whole

    def test_every_call_that_writes_may_fail(self):
        whole = self.whole()
        for kind, error in (("write", errno.ENOSPC), ("write", errno.EIO), ("sync", errno.EIO), ("rename", errno.EIO)):
            for nth in range(1, 200):
                run = self.trace(fault=f"{kind}:{nth}:{error}+")
                if run.returncode == 0:
                    self.assertEqual(self.file.read_bytes(), whole)
                    break
                self.intact(run, os.strerror(error))
            self.assertGreater(nth, 1, f"no {kind} was seen")
            self.file.write_text("old")

    def test_a_limit_of_file_sizes_is_a_sentence(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        run = self.trace(preexec_fn=limited)
        self.assertNotEqual(run.returncode, -signal.SIGXFSZ)
        self.intact(run, "File too large")

    def test_a_full_disk_is_a_sentence(self):
        script = ('mount -t tmpfs -o size=20k none "$1" && printf old > "$1/t.json" && "${@:2}"; status=$?; '
                  'printf "%s %s %s" "$status" "$(cat "$1/t.json")" "$(ls "$1" | tr "\\n" " ")" >&3; exit 0')
        ours, theirs = os.pipe()
        namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        if subprocess.run([*namespace, "mount", "-t", "tmpfs", "none", self.folder], capture_output=True).returncode != 0:
            self.skipTest("no private mounts here: the full disk is not tested")
        run = subprocess.run([*namespace, "bash", "-c", f"exec 3>&{theirs}; {script}", "-", self.folder, CLI, *TRACE, self.file],
                             capture_output=True, text=True, timeout=120, pass_fds=[theirs])
        os.close(theirs)
        with os.fdopen(ours) as said:
            status, old, *files = said.read().split()
        self.assertEqual((status, old, files), ("1", "old", ["t.json"]), run)
        self.assertIn("No space left on device", run.stderr)

    def test_memory_may_end_anywhere(self):
        """Of the many thousand allocations every one of the first of main(), then fewer and fewer."""
        whole = self.whole()
        nth, failed = 1, 0
        while True:
            run = self.trace(fault=f"allocation:{nth}:{errno.ENOMEM}")
            if run.returncode == 0:
                if self.file.read_bytes() != whole:
                    self.assertEqual(self.file.read_text(), "old")
                self.file.write_text("old")
            elif nth > 40:  # before that the loader and the libraries begin, each in its own way
                self.intact(run, "memory", "Cannot allocate")
            failed += run.returncode != 0
            if run.returncode == 0 and nth > 40000:
                break
            nth += 1 + nth // 6
        self.assertGreater(failed, 10)


class NamedFiles(unittest.TestCase):
    def test_nothing_of_a_file_that_a_session_names_is_told(self):
        """Runs may name files. One that does not hold what a run reads is refused, and no word of it is said."""
        with tempfile.TemporaryDirectory(prefix="kvscope-faults-") as folder:
            secret, session = pathlib.Path(folder, "secret"), pathlib.Path(folder, "s.kvscope")
            secret.write_text("root:topsecretwords:1000\n")
            for run in (f"duo:heads={secret}", f"headkv:slots=4,scores={secret}", f"qfilter:slots=4,file={secret}", f"given:file={secret}"):
                session.write_text(json.dumps({"kvscope": "session", "version": 1, "model": {"built_in": True}, "prompt": "a b c d e f",
                                               "lanes": ["full", run], "seed": "7"}))
                said = subprocess.run([CLI, "run", "--session", session], capture_output=True, text=True, timeout=120)
                self.assertIn(said.returncode, (1, 2), said)
                self.assertIn(str(secret), said.stderr)
                self.assertNotIn("outside of its folder", said.stderr)
                self.assertNotIn("topsecret", said.stdout + said.stderr)

    def test_a_file_outside_of_the_folder_of_a_session_is_not_even_opened(self):
        with tempfile.TemporaryDirectory(prefix="kvscope-faults-") as folder, tempfile.TemporaryDirectory(prefix="kvscope-faults-") as other:
            secret, session, link = pathlib.Path(other, "secret"), pathlib.Path(folder, "s.kvscope"), pathlib.Path(folder, "link")
            secret.write_text("root:topsecretwords:1000\n")
            link.symlink_to(secret)
            for named in (secret, link, f"{folder}/../{other.split('/')[-1]}/secret"):
                session.write_text(json.dumps({"kvscope": "session", "version": 1, "model": {"built_in": True}, "prompt": "a b c d e f",
                                               "lanes": ["full", f"headkv:slots=4,scores={named}"], "seed": "7"}))
                for trust, words in (([], "--trust-files reads them"), (["--trust-files"], "expected")):
                    said = subprocess.run([CLI, "run", "--session", session, *trust], capture_output=True, text=True, timeout=120)
                    self.assertIn(said.returncode, (1, 2), said)
                    self.assertIn(words, said.stderr)
                    self.assertNotIn("topsecret", said.stdout + said.stderr)


if __name__ == "__main__":
    unittest.main()
