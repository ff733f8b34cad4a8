# SPDX-License-Identifier: Apache-2.0
"""The Python package on the embedded model: what it reads is what the program computed, and what it writes the program repeats."""
import base64
import html
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import zlib

from support import KVMINI, PROMPT, RUNS, InFolder

import numpy as np
import kvscope
from kvscope.program import ask

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FIGURES = ("slots", "kv_bytes", "bytes", "kl", "top1_same", "nll")


class Package(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.result = kvscope.run(PROMPT, RUNS, generate=4)

    def test_tables_hold_what_the_trace_holds(self):
        r = self.result
        self.assertEqual(r.names, ["full", *RUNS])
        self.assertEqual(len(r.tokens), len(r.token_ids))
        self.assertIn("4821"[0], "".join(t for t in r.tokens if isinstance(t, str)))
        steps = r.steps()
        self.assertEqual(len(steps), 3 * 5)
        self.assertEqual(steps.where(run="full")["kl"].tolist(), [0.0] * 5)
        n_heads = r.shape[0] * r.shape[1]
        heads = r.heads()
        self.assertEqual(len(heads), 3 * 5 * n_heads)
        self.assertTrue((heads.where(run="h2o:slots=12")["slots"] == 12).all())
        self.assertTrue(np.isnan(heads.where(run="full")["budget"]).all(), "unlimited is not a number")
        for name in RUNS:
            kept = r.kept(name, 0)
            self.assertEqual(kept.sum(), len(r.slots().where(run=name, step=0)))
            gone = r.events().where(run=name, step=0)
            self.assertEqual(len(gone) + kept.sum(), n_heads * r.n_prompt)
        with self.assertRaisesRegex(kvscope.Error, "steps: 0 to 4"):
            r.kept("h2o:slots=12", 99)
        self.assertIn("<td>full</td>", steps._repr_html_())
        self.assertTrue(repr(steps).endswith("15 rows"))
        self.assertIn("n/a", repr(heads.where(run="full")), "an unlimited budget")
        paid = r.slots().where(run="full", step=0, layer=0, kv_head=0)["attention"]
        self.assertAlmostEqual(paid.sum(), 1, places=5, msg="the last query's attention over all there is")

    def test_axes_have_names(self):
        heads = self.result.heads().where(run=RUNS[1])
        loss = heads.grid("attention_loss", "step", "layer", "kv_head")
        self.assertEqual(list(loss.axes), ["step", "layer", "kv_head"])
        self.assertEqual(loss.values.shape, (5, *self.result.shape))
        self.assertEqual(loss[2, 3, 1], heads.where(step=2, layer=3, kv_head=1)["attention_loss"][0])
        with self.assertRaisesRegex(kvscope.Error, "name another axis"):
            heads.grid("attention_loss", "layer")
        with self.assertRaisesRegex(kvscope.Error, "attention_loss.*got 'loss'"):
            heads.grid("loss", "layer")

    def test_figures_are_those_of_the_program(self):
        figures = self.result.figures()
        self.assertEqual(figures["run"].tolist(), self.result.names)
        for name in RUNS:  # of the steps after the prompt
            kl = self.result.steps().where(run=name)["kl"][1:]
            self.assertAlmostEqual(figures.where(run=name)["kl"][0], kl.mean(), places=12)
        said = json.loads(ask("run", "--prompt", PROMPT, "--generate", "4", "--follow", "reference", "--json",
                                                     *(word for name in RUNS for word in ("--lane", name))))["lanes"]
        for i, lane in enumerate(said):
            for name in ("slots", "kv_bytes", "kl", "top1_same", "nll", "says"):
                self.assertEqual(figures[name][i], lane[name], name)
        self.assertEqual(self.result.trace["lanes"][1]["kv_bytes"], figures["kv_bytes"][1])

    def test_a_file_has_the_same_figures(self):
        again = kvscope.read(self.write("t.json", json.dumps(self.result.trace)))
        np.testing.assert_array_equal(again.steps()["nll"], self.result.steps()["nll"])
        for name in FIGURES:
            np.testing.assert_array_equal(again.figures()[name], self.result.figures()[name], name)
        self.assertEqual(again.figures()["says"].tolist(), self.result.figures()["says"].tolist())
        self.assertTrue(np.isnan(again.figures()["tokens_per_s"]).all(), "a file holds no times, which is not 0")

    def test_a_session_of_the_window_is_read(self):
        text = json.dumps(self.result.trace).encode()
        results = {"schema": "kvscope.trace/1", "packed": "zlib, base64", "bytes": len(text), "data": base64.b64encode(zlib.compress(text)).decode()}
        session = {"kvscope": "session", "version": 1, "results": results}
        again = kvscope.read(self.write("s.kvscope", json.dumps(session)))
        np.testing.assert_array_equal(again.kept(RUNS[0], 0), self.result.kept(RUNS[0], 0))
        for change, words in (({"data": "%%%="}, "damaged"), ({"bytes": len(text) + 1}, "damaged"), ({"bytes": len(text) - 1}, "got more"),
                              ({"packed": "rot13"}, "expected zlib, base64"), ({"bytes": 10**12}, "0..536870912"), ({"data": 5}, "expected a text")):
            with self.assertRaisesRegex(kvscope.Error, words):
                kvscope.read(self.write("b.kvscope", json.dumps({**session, "results": {**results, **change}})))
        with self.assertRaisesRegex(kvscope.Error, "got one without; open it in the window"):
            kvscope.read(self.write("e.kvscope", json.dumps({"kvscope": "session", "version": 1})))

    def test_a_cell_shows_the_replay_page(self):
        cell = self.result._repr_html_()
        self.assertTrue(cell.startswith('<iframe sandbox="allow-scripts" srcdoc="'))
        self.assertIn(f"the text of the prompt ({self.result.n_prompt} tokens)", cell)
        self.assertTrue(html.unescape(re.search(r'srcdoc="([^"]*)"', cell)[1]) == self.result.page(), "the whole page, and nothing ends the attribute before")
        less = kvscope.run(PROMPT, RUNS[:1], generate=1, detail="summary")._repr_html_()
        self.assertFalse("<iframe" in less)
        self.assertIn("--detail why", less)

    @unittest.skipUnless(BROWSER, "no Chromium (apt-get install chromium): the cell is not opened")
    def test_a_browser_runs_the_page_in_its_frame_and_nothing_of_a_hostile_prompt(self):
        hostile = 'The code</script><script>document.title="broken"</script><img src=x onerror="parent.document.title=\'broken\'">"> is'
        cell = kvscope.run(hostile, RUNS[1:], generate=2)._repr_html_()
        self.assertFalse("<script>document" in cell)
        self.write("cell.html", f"<!doctype html><title>whole</title>{cell}")
        # a frame with a process of its own would not take part in the virtual time
        done = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.path('profile')}", "--virtual-time-budget=20000",
                               "--disable-site-isolation-trials", "--disable-features=IsolateSandboxedIframes", "--window-size=1200,900",
                               f"--screenshot={self.path('cell.png')}", "--enable-logging=stderr", "file://" + self.path("cell.html")],
                              capture_output=True, text=True, timeout=240)
        self.assertGreater(os.path.getsize(self.path("cell.png")), 60000, "the page is drawn: before it is, a picture has a third of that. " + done.stderr[-2000:])
        wrong = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(wrong, [], "no error, no refused script")
        if "KVSCOPE_KEEP_PICTURES" in os.environ:
            shutil.copy(self.path("cell.png"), os.environ["KVSCOPE_KEEP_PICTURES"])

    def test_kept_tokens_of_another_program_are_measured_beside_our_own(self):
        r = self.result
        model = r.trace["model"]
        file = kvscope.Kept(r.token_ids, n_layers=model["n_layers"], n_kv_heads=model["n_kv_heads"], n_prompt=r.n_prompt, model=model["name"])
        file.run("the same", ratio=0.4).step(0, r.kept(RUNS[0], 0)[:, :, :r.n_prompt])
        lists = [[[0, 1, 2, r.n_prompt - 1]] * model["n_kv_heads"]] * model["n_layers"]
        file.run("four").step(0, lists)
        for arrays in (False, True):
            file.write(self.path("k.json"), arrays)
            self.assertEqual(os.path.exists(self.path("k.safetensors")), arrays)
            again = kvscope.run(kept=self.path("k.json"), runs=[RUNS[0]])
            self.assertEqual(again.names[:2], ["full", RUNS[0]])
            ours, same, four = (again.steps().where(run=name) for name in again.names[1:])
            self.assertEqual(ours["kl"].tolist(), same["kl"].tolist(), "the same tokens, the same figures")
            self.assertGreater(four["kl"][1:].mean(), 0)
            self.assertTrue((again.heads().where(run=again.names[3], step=0)["slots"] == 4).all())
            self.assertEqual(again.token_ids, r.token_ids, "fed with the file's own text")

    def test_the_two_names_of_runs_mean_the_same(self):
        one, other = (kvscope.run(PROMPT, generate=1, detail="summary", **{word: RUNS[1]}) for word in ("runs", "lanes"))
        self.assertEqual(one.names, other.names)
        self.assertEqual(len(one.heads()), 0)

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(kvscope.Error, "exactly one of prompt"):
            kvscope.run()
        with self.assertRaisesRegex(kvscope.Error, "two names of the same"):
            kvscope.run(PROMPT, runs=RUNS, lanes=RUNS)
        with self.assertRaisesRegex(kvscope.Error, "runs as texts"):
            kvscope.run(PROMPT, runs=[{"snapkv": 0.2}])
        with self.assertRaisesRegex(kvscope.ProgramError, "unknown policy 'nonsense'") as caught:
            kvscope.run(PROMPT, ["nonsense:ratio=0.5"])
        self.assertEqual(caught.exception.status, 2)
        with self.assertRaisesRegex(kvscope.Error, "lone surrogate at character 3"):
            kvscope.run("abc\ud800", RUNS)
        with self.assertRaisesRegex(kvscope.Error, "a program can be started with"):
            kvscope.run(PROMPT, ["h2o:slots=3\0"])
        with self.assertRaisesRegex(kvscope.ProgramError, "no-such-folder"):
            kvscope.run(PROMPT, RUNS, model=self.path("no-such-folder"))

    def test_without_the_program_or_a_package_a_sentence_says_so(self):
        before = os.environ["KVSCOPE_CLI"]
        self.addCleanup(os.environ.__setitem__, "KVSCOPE_CLI", before)
        for path in (self.path("nothing"), self.path(".")):
            os.environ["KVSCOPE_CLI"] = path
            with self.assertRaisesRegex(kvscope.Error, "--build-only"):
                kvscope.run(PROMPT)
            self.assertIn("--build-only", kvscope.Run(self.result.trace)._repr_html_(), "a cell shows what it can")
        hidden = {name: None for name in ("matplotlib", "matplotlib.pyplot", "pandas", "torch")}
        saved = {name: sys.modules.get(name) for name in hidden}
        sys.modules.update(hidden)
        self.addCleanup(lambda: [sys.modules.pop(name) if module is None else sys.modules.__setitem__(name, module) for name, module in saved.items()])
        with self.assertRaisesRegex(kvscope.Error, "pip install pandas"):
            self.result.steps().pandas()
        with self.assertRaisesRegex(kvscope.Error, "pip install matplotlib"):
            self.result.plot_atlas()
        with self.assertRaisesRegex(kvscope.Error, "pip install torch"):
            with kvscope.record(None):
                pass

    def test_pandas_and_pictures_where_they_are(self):
        try:
            import matplotlib
            import pandas
        except ImportError as missing:
            self.skipTest(str(missing))
        matplotlib.use("Agg")
        frame = self.result.heads().pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(len(frame), len(self.result.heads()))
        from kvscope.atlas import EVICTED, KEPT, UNREAD, categories
        cells = categories(self.result, RUNS[1], 0)
        self.assertEqual(int((cells == KEPT).sum()), self.result.kept(RUNS[1], 0).sum())
        self.assertEqual(int((cells == EVICTED).sum() + (cells == KEPT).sum()), self.result.n_prompt * len(cells))
        self.assertEqual(int((cells == UNREAD).sum()), (len(self.result.tokens) - self.result.n_prompt) * len(cells))
        axes = kvscope.run("It costs $5 \\alpha_{ and $", ["keepkv:slots=5"], generate=1).plot_atlas(1)
        axes.figure.savefig(self.path("atlas.png"))
        self.assertGreater(os.path.getsize(self.path("atlas.png")), 5000)
        if "KVSCOPE_KEEP_PICTURES" in os.environ:
            self.result.plot_atlas(RUNS[0]).figure.savefig(os.path.join(os.environ["KVSCOPE_KEEP_PICTURES"], "atlas.png"))

    def test_the_model_is_a_folder_as_well(self):
        self.assertEqual(kvscope.run(prompt_ids=self.result.token_ids[:6], model=KVMINI, generate=0, detail="summary").n_prompt, 6)


if __name__ == "__main__":
    unittest.main()
