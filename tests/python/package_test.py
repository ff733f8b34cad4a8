# SPDX-License-Identifier: Apache-2.0
"""The Python package on the embedded model: what it reads is what the program computed, and what it writes the program repeats."""
import json
import os
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "app", "python"))
import kvscope  # noqa: E402

PROMPT = "The code of the vault is 4821. The sky was grey and the road was long. What is the code of the vault? The code of the vault is"
LANES = ["snapkv:ratio=0.4", "h2o:slots=12"]


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = kvscope.run(PROMPT, LANES, generate=4)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def test_tables_hold_what_the_trace_holds(self):
        r = self.result
        self.assertEqual(r.names, ["full", *LANES])
        self.assertEqual(len(r.tokens), len(r.token_ids))
        self.assertIn("4821"[0], "".join(t for t in r.tokens if isinstance(t, str)))
        steps = r.steps()
        self.assertEqual(len(steps), 3 * 5)
        self.assertEqual(steps.where(run="full")["kl"].tolist(), [0.0] * 5)
        model = r.trace["model"]
        n_heads = model["n_layers"] * model["n_kv_heads"]
        heads = r.heads()
        self.assertEqual(len(heads), 3 * 5 * n_heads)
        self.assertTrue((heads.where(run="h2o:slots=12")["slots"] == 12).all())
        self.assertTrue(np.isnan(heads.where(run="full")["budget"]).all(), "unlimited is not a number")
        for lane in LANES:
            kept = r.kept(lane, 0)
            self.assertEqual(kept.sum(), len(r.slots().where(run=lane, step=0)))
            gone = r.events().where(run=lane, step=0)
            self.assertEqual(len(gone) + kept.sum(), n_heads * r.n_prompt)
        with self.assertRaises(KeyError):
            r.kept("h2o:slots=12", 99)
        self.assertIn("<td>full</td>", steps._repr_html_())

    def test_figures_are_those_of_the_program(self):
        figures = self.result.figures()
        self.assertEqual(figures["run"].tolist(), self.result.names)
        for name in LANES:  # of the steps after the prompt
            kl = self.result.steps().where(run=name)["kl"][1:]
            self.assertAlmostEqual(figures.where(run=name)["kl"][0], kl.mean(), places=12)

    def test_a_file_is_read_as_well_and_nothing_else_is(self):
        with open(self.path("t.json"), "w") as f:
            json.dump(self.result.trace, f)
        again = kvscope.read(self.path("t.json"))
        np.testing.assert_array_equal(again.steps()["nll"], self.result.steps()["nll"])
        with self.assertRaisesRegex(ValueError, "kvscope.run"):
            again.figures()
        for other in ("[]", "{}", '{"schema":"kvscope.kept/1"}'):
            with open(self.path("x.json"), "w") as f:
                f.write(other)
            with self.assertRaisesRegex(ValueError, "expected a trace"):
                kvscope.read(self.path("x.json"))

    def test_kept_tokens_of_another_program_are_measured_beside_our_own(self):
        r = self.result
        model = r.trace["model"]
        file = kvscope.Kept(r.token_ids, n_layers=model["n_layers"], n_kv_heads=model["n_kv_heads"], n_prompt=r.n_prompt, model=model["name"])
        file.run("the same", ratio=0.4).step(0, r.kept(LANES[0], 0)[:, :, :r.n_prompt])
        lists = [[[0, 1, 2, r.n_prompt - 1]] * model["n_kv_heads"]] * model["n_layers"]
        file.run("four").step(0, lists)
        file.write(self.path("k.json"))
        again = kvscope.run(kept=self.path("k.json"), lanes=[LANES[0]])
        self.assertEqual(again.names[:2], ["full", LANES[0]])
        ours, same, four = (again.steps().where(run=name) for name in again.names[1:])
        self.assertEqual(ours["kl"].tolist(), same["kl"].tolist(), "the same tokens, the same figures")
        self.assertGreater(four["kl"][1:].mean(), 0)
        self.assertTrue((again.heads().where(run=again.names[3], step=0)["slots"] == 4).all())
        self.assertEqual(again.token_ids, r.token_ids, "fed with the file's own text")

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(ValueError, "exactly one of prompt"):
            kvscope.run()
        with self.assertRaisesRegex(kvscope.ProgramError, "unknown policy 'nonsense'") as caught:
            kvscope.run(PROMPT, ["nonsense:ratio=0.5"])
        self.assertEqual(caught.exception.status, 2)
        file = kvscope.Kept([1, 2, 3], n_layers=1, n_kv_heads=2)
        run = file.run("a")
        for kept, words in ((np.ones((1, 1, 3), dtype=bool), r"expected bool \[1, 2, tokens\]"), ([[[3], []]], "positions below 3"), ([[[0]]], "1 layers of 2")):
            with self.assertRaisesRegex(ValueError, words):
                run.step(0, kept)
        with self.assertRaisesRegex(ValueError, "at least one step"):
            file.write(self.path("k.json"))
        run.step(0, [[[0], [1, 2]]])
        with self.assertRaisesRegex(ValueError, "expected more than 0"):
            run.step(0, [[[0], []]])
        with self.assertRaisesRegex(ValueError, "another name"):
            file.run("a")


if __name__ == "__main__":
    unittest.main()
