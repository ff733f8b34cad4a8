"""Ctrl+C, and what is drawn on a terminal."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import unittest

from program import CLI, CliTest, gets_signals_late, slowness

LONG = ["--prompt", "Once upon a time there was a king", "--generate", "900", "--lane", "local:slots=64"]


class Interrupt(CliTest):
    def start(self, *arguments):
        process = subprocess.Popen([CLI, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def stop(self, process, after, number=signal.SIGINT):
        time.sleep(after * slowness())  # it listens only once it has begun
        self.assertIsNone(process.poll(), "it must still be running")
        begin = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=20 * slowness())
        return time.monotonic() - begin, out, err

    def test_stops_at_once_with_status_130_and_leaves_no_file(self):
        for after in (0.1, 0.4):
            for number in (signal.SIGINT, signal.SIGTERM):
                process = self.start("trace", *LONG, "--precision", "f64", "--out", self.path("trace.json"))
                seconds, out, err = self.stop(process, after, number)
                self.assertEqual((process.returncode, out, err), (130, b"", b"kvscope-cli: stopped\n"))
                self.assertLess(seconds, 0.2 * slowness())
                self.leaves_nothing()

    def test_keeps_the_file_that_was_there(self):
        self.write("trace.json", '{"old":1}')
        process = self.start("trace", *LONG, "--out", self.path("trace.json"))
        self.stop(process, 0.3)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.read_json("trace.json"), {"old": 1})
        self.assertEqual(os.listdir(self.folder), ["trace.json"])

    @gets_signals_late
    def test_a_second_one_ends_what_cannot_be_written(self):
        os.mkfifo(self.path("pipe"))
        reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)  # and never reads
        self.addCleanup(os.close, reader)
        process = self.start("trace", *LONG[:3], "30", "--detail", "why", "--lane", "local:slots=9", "--out", self.path("pipe"))
        deadline = time.monotonic() + 60
        waiting, rounds_alike = 0, 0
        while rounds_alike < 10 and time.monotonic() < deadline:  # full: how much fits in depends on how large the parts were
            time.sleep(0.05)
            before, waiting = waiting, int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4), sys.byteorder)
            rounds_alike = rounds_alike + 1 if waiting == before > 32768 else 0
        self.assertGreater(waiting, 32768, "it is being written")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(process.poll(), "a file that is being written is finished")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=20 * slowness())[1], b"kvscope-cli: stopped\n")
        self.assertEqual(process.returncode, 130)

    def test_whenever_it_comes_a_file_is_whole_or_absent(self):
        seen = set()
        for after in [0.02 * i for i in range(12)]:
            process = self.start("trace", "--prompt", "Once upon a time there was", "--generate", "8", "--lane", "local:slots=4", "--out", self.path("trace.json"))
            time.sleep(after)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20 * slowness())
            self.assertIn(process.returncode, (0, 130, -signal.SIGINT))
            there = os.path.exists(self.path("trace.json"))
            if there:
                self.assertEqual(self.read_json("trace.json")["schema"], "kvscope.trace/1")
                os.remove(self.path("trace.json"))
            self.leaves_nothing()
            seen.add(there)
        self.assertIn(False, seen)


class Progress(CliTest):
    def on_a_terminal(self, *arguments):
        """Runs with stderr on a pseudo terminal; returns (stdout, what the terminal got)."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([CLI, *arguments], stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        drawn = b""
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    drawn += os.read(ours, 65536)
                except OSError:
                    break
        os.close(ours)
        out, _ = process.communicate(timeout=20 * slowness())
        self.assertEqual(process.returncode, 0)
        return out, drawn.decode()

    def test_a_terminal_sees_percent_and_remaining_time_and_a_clean_line_at_the_end(self):
        out, drawn = self.on_a_terminal("run", "--json", *LONG[:3], "1600", "--lane", "local:slots=8")
        self.assertRegex(drawn, r"\[#* *\] +\d+ %  ETA \d+ s  step \d+ of \d+")
        self.assertTrue(drawn.endswith("\r\x1b[K"), repr(drawn[-40:]))
        percent = [int(x) for x in re.findall(r"(\d+) %", drawn)]
        self.assertEqual(percent, sorted(percent))
        self.assertEqual(json.loads(out)["schema"], "kvscope.run/1")

    def test_quiet_draws_nothing(self):
        self.assertEqual(self.on_a_terminal("run", "--quiet", *LONG[:3], "200")[1], "")

    def test_a_pipe_sees_nothing(self):
        self.assertEqual(self.succeeds("run", "--json", *LONG[:3], "200")[0], "{")


if __name__ == "__main__":
    unittest.main()
