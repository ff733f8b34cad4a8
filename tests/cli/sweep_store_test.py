# SPDX-License-Identifier: Apache-2.0
"""sweep --store: what is finished is kept, whatever happens to the programs that fill the folder."""
import csv
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from program import CLI, CliTest, cli

PROMPT = os.path.join(os.path.dirname(__file__), "..", "..", "assets", "prompts", "needle.txt")
SWEEP = ["sweep", "--prompt-file", PROMPT, "--generate", "4", "--policies", "h2o,snapkv,local", "--ratios", "0.1,0.2,0.4", "--seeds", "2", "--quiet"]
N_ITEMS = 2 * (1 + 3 * 3)


def figures(text):
    """Rows of the CSV without what a clock says."""
    return [{k: v for k, v in row.items() if not k.startswith("tokens_per_s")} for row in csv.DictReader(io.StringIO(text))]


def items_in(folder):
    return sorted(n for n in os.listdir(folder) if n.endswith(".json") and not n.startswith("sweep-"))


def contents(folder):
    out = {}
    for name in items_in(folder):
        with open(os.path.join(folder, name), "rb") as f:
            out[name] = f.read()
    return out


def kill_until_done(command, store, n_kills, rng, longest):
    """Starts the sweep again and again and kills it at a random moment, n_kills times, then lets it finish. Returns what the last one
    printed, how many were killed, and how many items stood there after each kill. A store that is full before is begun anew: every kill must
    hit work."""
    killed, seen = 0, []
    while killed < n_kills:
        before = contents(store) if os.path.isdir(store) else {}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0, longest))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            now = contents(store) if os.path.isdir(store) else {}
            for name, text in before.items():
                assert now.get(name) == text, f"{name} was there before the kill and is not the same after it"
            for name, text in now.items():
                json.loads(text)
            seen.append(len(now))
            continue
        assert process.returncode == 0
        shutil.rmtree(store)
    last = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (last.returncode, last.stderr) == (0, ""), last.stderr
    return last.stdout, killed, seen


class SweepStore(CliTest):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")
        self.command = SWEEP + ["--store", self.store]

    def text_of(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def test_it_prints_what_a_sweep_without_a_store_prints_and_computes_nothing_twice(self):
        plain, first = self.succeeds(*SWEEP), self.succeeds(*self.command)
        self.assertEqual(figures(first), figures(plain))
        self.assertEqual(len(items_in(self.store)), N_ITEMS)
        times = {n: os.stat(os.path.join(self.store, n)).st_mtime_ns for n in items_in(self.store)}
        self.assertEqual(self.succeeds(*self.command), first)  # speeds, too: they were read
        self.assertEqual({n: os.stat(os.path.join(self.store, n)).st_mtime_ns for n in items_in(self.store)}, times)
        self.assertEqual(sorted(n for n in os.listdir(self.store) if not n.startswith("sweep-")), items_in(self.store))

    def test_what_a_run_was_warned_of_is_said_whoever_computed_it(self):
        sweep = ["sweep", "--prompt", "Tom is here. Anna is there.", "--generate", "1", "--policies", "h2o,local", "--ratios", "0.05,0.5", "--table"]
        told = [line for line in cli(*sweep).stderr.splitlines() if "budget raised from" in line]
        self.assertGreater(len(told), 0)
        again = lambda *more: [line for line in cli(*sweep, "--store", self.store, *more).stderr.splitlines() if "budget raised from" in line]
        again("--shard", "1/2")
        again("--shard", "2/2")
        self.assertEqual(again(), told, "all items lie there")
        self.assertEqual(again("--quiet"), [])

    def test_another_question_is_another_item(self):
        self.succeeds(*self.command)
        for more in (["--seed", "5"], ["--precision", "f64"], ["--temperature", "0.5"], []):
            command = self.command if more else [("5" if x == "4" else x) for x in self.command]  # --generate 5
            self.succeeds(*command, *more)
        # --seed 5 and 6 beside 0 and 1; each of the others is new altogether
        self.assertEqual(len(items_in(self.store)), 5 * N_ITEMS)
        self.succeeds(*self.command, "--seed", "1")  # seeds 1 and 2: one of them is there
        self.assertEqual(len(items_in(self.store)), 5 * N_ITEMS + N_ITEMS // 2)

    def test_what_is_no_item_is_said_and_computed_again(self):
        expected = self.succeeds(*self.command)
        names = items_in(self.store)
        whole = contents(self.store)
        item = json.loads(whole[names[0]])
        item["figures"]["kl"] = 12345
        damages = [whole[names[0]][:200], b"", b"not JSON", b"{}\n", b"\0" * 4096, whole[names[1]], b"x" * (2 << 20), json.dumps(item).encode(),
                   whole[names[0]].replace(b'"slots":', b'"slots":1', 1), b"[" * 100000]
        for damage in damages:
            self.write(os.path.join("store", names[0]), damage)
            r = cli(*self.command)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
            self.assertIn(names[0], r.stderr)
            self.assertIn("it is computed again", r.stderr)
            self.assertEqual(figures(r.stdout), figures(expected))
            again, before = json.loads(contents(self.store)[names[0]]), json.loads(whole[names[0]])
            for one in (again, before):
                one["figures"].pop("tokens_per_s"), one.pop("sha256")
            self.assertEqual(again, before)

    def test_other_files_are_left_alone_and_links_are_not_followed(self):
        expected = self.succeeds(*self.command)
        self.write("store/notes.txt", "mine")
        self.write("store/" + "0" * 32 + ".json", "foreign")
        os.mkdir(self.path("store/folder.json"))
        self.assertEqual(figures(self.succeeds(*self.command)), figures(expected))
        self.assertEqual(self.text_of("store/notes.txt"), "mine")
        victim = self.write("victim", "precious")
        name = next(n for n in items_in(self.store) if os.path.isfile(os.path.join(self.store, n)) and n[0] != "0")
        os.remove(os.path.join(self.store, name))
        os.symlink(victim, os.path.join(self.store, name))
        self.refuses(1, self.command, name, "a link")
        self.assertEqual(self.text_of("victim"), "precious")
        contents_file = next(n for n in os.listdir(self.store) if n.startswith("sweep-"))
        os.remove(os.path.join(self.store, contents_file))
        os.symlink(victim, os.path.join(self.store, contents_file))
        self.refuses(1, self.command, contents_file, "a link")
        self.assertEqual(self.text_of("victim"), "precious")
        os.remove(os.path.join(self.store, contents_file))
        self.write("store/" + contents_file, "{}")
        os.symlink(os.path.join(self.store, contents_file), self.path("table.csv"))
        for out in (os.path.join(self.store, name), os.path.join(self.store, contents_file), self.path("table.csv")):
            self.refuses(2, self.command + ["--out", out], "--out", "a file of --store")
        os.remove(os.path.join(self.store, contents_file))
        os.remove(os.path.join(self.store, name))
        os.mkdir(os.path.join(self.store, name))
        r = cli(*self.command)
        self.assertEqual(r.returncode, 1)
        self.assertIn("got a folder", r.stderr)

    def test_shards_make_the_same_result_in_any_order_and_at_once(self):
        plain = self.succeeds(*SWEEP)
        loud = [x for x in self.command if x != "--quiet"]
        r = cli(*loud, "--shard", "3/3")
        self.assertEqual((r.returncode, r.stdout), (0, ""))
        self.assertIn(f"of {N_ITEMS} items are there", r.stderr)
        both = [subprocess.Popen([CLI, *self.command, "--shard", f"{i}/3"], stdout=subprocess.PIPE, text=True) for i in (1, 2)]
        out = [p.communicate(timeout=120)[0] for p in both]
        self.assertEqual([p.returncode for p in both], [0, 0])
        self.assertEqual(len(items_in(self.store)), N_ITEMS)
        whole = [x for x in out if x] or [self.succeeds(*self.command)]
        self.assertEqual(figures(whole[0]), figures(plain))

    def test_two_at_once_on_the_same_work_do_no_harm(self):
        both = [subprocess.Popen([CLI, *self.command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        out = [p.communicate(timeout=120) for p in both]
        self.assertEqual([(p.returncode, e) for p, (_, e) in zip(both, out)], [(0, "")] * 3)
        self.assertEqual(figures(out[0][0]), figures(self.succeeds(*self.command)))
        self.assertEqual(sorted(n for n in os.listdir(self.store) if not n.startswith("sweep-")), items_in(self.store))
        self.assertEqual(len(items_in(self.store)), N_ITEMS)

    def test_words_that_cannot_be(self):
        for more, words in ((["--shard", "1/2"], "--store"), (["--store", self.store, "--shard", "0/2"], "from 1/N"), (["--store", self.store, "--shard", "3/2"], "from 1/N"),
                            (["--store", self.store, "--shard", "1/2x"], "from 1/N"), (["--seeds", "0"], "1..100000"), (["--json", "--table"], "both")):
            self.refuses(2, SWEEP + more, words)
        file = self.write("file", "x")
        for store in (file, os.path.join(file, "below"), "/no/such/folder/store", "/proc/1/x"):
            self.refuses(1, SWEEP + ["--store", store], store)

    def test_it_survives_kills(self):
        seed = int(os.environ.get("KVSCOPE_TEST_SEED", str(time.time_ns() % 100000)))
        with self.subTest(seed=seed):
            plain = self.succeeds(*SWEEP)
            got, killed, _ = kill_until_done([CLI, *self.command], self.store, 4, random.Random(seed), longest_of(self.command, self.store))
            self.assertEqual(killed, 4)
            self.assertEqual(figures(got), figures(plain))
            self.assertEqual(len(items_in(self.store)), N_ITEMS)
            self.assertEqual([n for n in os.listdir(self.store) if n.endswith(".part")], [])


MPIRUN = shutil.which("mpirun")
HAS_MPI = MPIRUN and os.path.exists(os.path.join(os.path.dirname(CLI), "kvscope_mpi.so"))


@unittest.skipUnless(HAS_MPI, "no MPI: mpirun is not there, or this build has no kvscope_mpi.so")
class Mpi(CliTest):
    """Ranks of one job: rank 0 deals, the other works."""

    def setUp(self):
        super().setUp()
        self.store = self.path("store")
        self.job = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", "2", CLI, *SWEEP, "--threads", "1", "--store", self.store, "--mpi"]

    def test_a_rank_that_is_killed_ends_the_job_and_the_next_one_completes_the_store(self):
        for victim in (1, 0):  # who works, who writes
            process = subprocess.Popen(self.job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.wait_for_items(2 if victim else 4)
            os.kill(self.rank(process.pid, victim), signal.SIGKILL)
            out, _ = process.communicate(timeout=120)
            self.assertNotEqual(process.returncode, 0)
            self.assertEqual(out, "")
        there = contents(self.store)
        self.assertLess(len(there), N_ITEMS)
        r = subprocess.run(self.job, capture_output=True, text=True, timeout=300)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertEqual(figures(r.stdout), figures(self.succeeds(*SWEEP, "--threads", "1")))
        self.assertEqual(len(items_in(self.store)), N_ITEMS)
        self.assertEqual({n: contents(self.store)[n] for n in there}, there)  # nothing twice

    def test_three_ranks_deal_texts_and_tell_a_damaged_item_once(self):
        texts = os.path.join(os.path.dirname(PROMPT), "..", "text", "questions.jsonl")
        sweep = ["sweep", "--texts", texts, "--policies", "local", "--ratios", "0.2,0.5", "--threads", "1", "--quiet"]
        job = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", "3", CLI, *sweep, "--store", self.store, "--mpi"]
        alone = self.succeeds(*sweep)
        r = subprocess.run(job, capture_output=True, text=True, timeout=300)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertEqual(figures(r.stdout), figures(alone))
        self.write(os.path.join("store", items_in(self.store)[3]), "half")
        r = subprocess.run(job, capture_output=True, text=True, timeout=300)
        self.assertEqual((r.returncode, r.stderr.count("computed again")), (0, 1), r.stderr)
        self.assertEqual(figures(r.stdout), figures(alone))

    def wait_for_items(self, n):
        end = time.monotonic() + 120
        while not os.path.isdir(self.store) or len(items_in(self.store)) < n:
            self.assertLess(time.monotonic(), end, "no items come")
            time.sleep(0.005)

    def rank(self, job, number):
        """The process of a rank below mpirun."""
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/environ", "rb") as f:
                    environment = f.read().split(b"\0")
                with open(f"/proc/{name}/stat", encoding="utf-8") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
            except (OSError, ValueError):
                continue
            if parent == job and f"OMPI_COMM_WORLD_RANK={number}".encode() in environment:
                return int(name)
        self.fail(f"no rank {number}")


class NoMpi(CliTest):
    @unittest.skipIf(HAS_MPI, "this build has MPI")
    def test_without_it_mpi_is_a_sentence(self):
        self.refuses(2, SWEEP + ["--store", self.path("s"), "--mpi"], "--mpi", "--shard")

    def test_what_it_needs_is_said(self):
        self.refuses(2, SWEEP + ["--mpi"], "--store")
        self.refuses(2, SWEEP + ["--mpi", "--store", self.path("s"), "--shard", "1/2"], "no --shard")


def longest_of(command, store):
    """Seconds that the whole sweep takes here. The store is empty afterwards."""
    begin = time.monotonic()
    subprocess.run([CLI, *command], capture_output=True, check=True)
    shutil.rmtree(store)
    return time.monotonic() - begin


def main():
    """sweep_store_test.py --kills N [--seed S]: the kill test at length, by hand."""
    import argparse
    import tempfile

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        command = SWEEP + ["--store", store]
        plain = subprocess.run([CLI, *SWEEP], capture_output=True, text=True, check=True).stdout
        longest = longest_of(command, store)
        got, killed, seen = kill_until_done([CLI, *command], store, a.kills, random.Random(a.seed), longest)
        assert figures(got) == figures(plain), "other figures than those of an uninterrupted sweep"
        assert len(items_in(store)) == N_ITEMS, items_in(store)
        left = [n for n in os.listdir(store) if not n.endswith(".json")]
        print(f"{killed} kills in a sweep of {longest:.2f} s, items there after each: {seen}; {N_ITEMS} items at the end, figures equal, left over: {left or 'nothing'}")


if __name__ == "__main__":
    sys.exit(main()) if "--kills" in sys.argv else unittest.main()
