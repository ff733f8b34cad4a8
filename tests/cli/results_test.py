"""What kvscope-cli prints and writes when all is well."""
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import unittest
import zlib

from program import CLI, TINY, CliTest, cli

TRACE = ["trace", "--model", TINY, "--prompt-ids", "1,2,3,4,5,6,7,8,9,10"]


class Help(CliTest):
    def test_help_shows_commands_examples_and_policies(self):
        text = self.succeeds("--help")
        for word in ("info", "run", "trace", "Examples:", "--lane", "full", "Exit status: 0 done, 1 failed, 2 unusable arguments"):
            self.assertIn(word, text)

    def test_the_help_of_a_command_explains_every_option(self):
        for command in ("info", "run", "trace"):
            text = self.succeeds(command, "--help")
            for option in ("--model", "--device", "--precision", "--threads", "--json", "--quiet"):
                self.assertIn(option, text)
        text = self.succeeds("trace", "--help")
        for option in ("--prompt", "--prompt-file", "--prompt-ids", "--tokens-file", "--generate", "--lane", "--budget", "--what-if", "--prompt-mode", "--follow", "--temperature",
                       "--seed", "--session", "--out", "--detail"):
            self.assertIn(option, text)

    def test_what_people_read_calls_a_run_a_run(self):
        for command in ("", "info", "run", "trace", "share", "sweep", "needle", "ppl", "heads", "bench", "tokens", "models", "serve"):
            self.assertNotRegex(self.succeeds(*command.split(), "--help"), r"(?i)(?<!--)\blanes?\b", command)

    def test_the_examples_of_the_help_run(self):
        text = self.succeeds("run", "--help") + self.succeeds("--help")
        examples = [x.strip() for x in text.splitlines() if x.strip().startswith("kvscope-cli ") and "Examples" not in x and "question.txt" not in x]
        self.assertGreaterEqual(len(examples), 4)
        for example in examples:
            r = subprocess.run(example.replace("kvscope-cli", CLI, 1), shell=True, capture_output=True, text=True, cwd=self.folder)
            self.assertEqual((r.returncode, r.stderr), (0, ""), example)

    def test_version_is_one_line(self):
        self.assertRegex(self.succeeds("--version"), r"^kvscope-cli \d+\.\d+\.\d+\n$")


class Said(CliTest):
    def test_a_budget_that_is_no_share_says_what_came_of_it(self):
        run = ["run", "--prompt", "Once upon a time there was a king", "--generate", "2", "--lane", "h2o:ratio=30", "--lane", "h2o:ratio=0.0003",
               "--lane", "h2o:ratio=0.5"]
        lanes = json.loads(self.succeeds(*run, "--json"))["lanes"]
        self.assertEqual([lane["warnings"] for lane in lanes], [[], ["nothing was removed: 12 tokens, 300 slots"],
                                                                ["budget raised from 0 to 2 slots, to hold what is protected and what needs room beside it"], []])
        text = self.succeeds(*run)
        self.assertIn("h2o:ratio=30: nothing was removed: 12 tokens, 300 slots\n", text)
        self.assertIn("h2o:ratio=0.0003: budget raised from 0 to 2 slots", text)

    def test_scores_that_are_not_finite_are_counted_alike_whatever_is_recorded(self):
        spec = 'custom:score="1/(sum-sum)",ratio=0.2'
        run = ["--prompt", "Once upon a time there was a king who had three sons", "--generate", "4", "--lane", spec]
        said = [w for lane in json.loads(self.succeeds("run", *run, "--json"))["lanes"] for w in lane["warnings"] if "not finite" in w]
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], r"^\d+ scores or merge weights are not finite$")
        self.assertIn(f"{spec}: {said[0]}\n", self.succeeds("run", *run))
        for detail in ("summary", "events", "slots", "why"):
            self.succeeds("trace", *run, "--detail", detail, "--out", self.path("t.json"))
            self.assertIn(said[0], json.dumps(self.read_json("t.json")), detail)
        self.assertIn("not finite", self.succeeds("ppl", "--tokens", "100", "--window", "64", "--stride", "32", "--lane", spec))

    def test_a_text_ends_where_the_model_ends_it(self):
        shutil.copytree(TINY, self.path("ending"))
        config = self.read_json("ending/config.json")
        run = ["run", "--model", self.path("ending"), "--prompt-ids", "1,2,3,4,5", "--generate", "12", "--json"]
        whole = json.loads(self.succeeds(*run))["lanes"][0]
        said = whole["tokens"][5:]
        self.assertEqual((len(said), whole["ended_after"]), (12, None), "its config names no end")
        n = next(i for i in range(3, 12) if said[i] not in said[:i]) + 1  # a token that comes for the first time
        config["eos_token_id"] = said[n - 1]
        self.write("ending/config.json", json.dumps(config))
        result = json.loads(self.succeeds(*run, "--lane", "h2o:slots=64"))
        self.assertEqual(result["notice"], f"the text ended after {n} of 12 tokens")
        for lane in result["lanes"]:
            self.assertEqual((lane["tokens"][5:], lane["ended_after"]), (said[:n], n))
        on = json.loads(self.succeeds(*run, "--ignore-eos"))
        self.assertEqual((on["lanes"][0]["tokens"][5:], on["lanes"][0]["ended_after"], on.get("notice")), (said, n, None))
        steps = json.loads(self.succeeds("trace", *run[1:]))["lanes"][0]["steps"]
        self.assertEqual((len(steps), steps[-1]["next_token"]), (n, said[n - 1]))

    def test_all_logits_come_where_they_are_asked_for(self):
        def logits(*more):
            return [step["logits_top"] for step in json.loads(self.succeeds(*TRACE, "--json", "--generate", "2", *more))["lanes"][0]["steps"]]

        five, all_of_them = logits(), logits("--logits", "all")
        self.assertEqual({len(step) for step in five}, {5})
        for few, step in zip(five, all_of_them, strict=True):
            self.assertEqual((step[:5], sorted(i for i, _ in step)), (few, list(range(64))))
            self.assertEqual([x for _, x in step], sorted((x for _, x in step), reverse=True))
        self.assertEqual({len(step) for step in logits("--logits", "7")}, {7})
        self.refuses(2, [*TRACE, "--logits", "0"], "--logits", "all or a whole number from 1", "'0'")

    def test_a_trace_has_the_texts_of_its_tokens_at_every_detail(self):
        for detail in ("summary", "events", "slots", "why"):
            trace = json.loads(self.succeeds("trace", "--prompt", "Once upon", "--json", "--detail", detail))
            self.assertEqual(trace["token_texts"], [{"special": "<s>"}, " On", "ce", " upon"], detail)

    def test_the_list_of_policies_says_what_a_step_on_a_device_leaves_to_the_host(self):
        policies = json.loads(self.succeeds("info", "--policies", "--json"))["policies"]
        reads, kept = ({p["name"]: p[key] for p in policies} for key in ("device_step_reads", "device_keeps_slots"))
        for name, expected in {"full": [], "streaming": [], "snapkv": [], "knorm": [], "h2o": ["attention"], "tova": ["attention"],
                               "keepkv": ["attention", "logits"], "headkv": None}.items():
            self.assertEqual(reads[name], expected, name)
        for name, expected in {"h2o": True, "full": False, "tova": False, "keepkv": True, "zeromerge": True, "headkv": False}.items():
            self.assertEqual(kept[name], expected, name)
        text = self.succeeds("info", "--policies")
        self.assertEqual(text.count("on a device: "), len(reads))
        self.assertIn("on a device: a step brings attention of every slot to the host", text)
        self.assertIn("on a device: a full cache is ranked there", text)

    def test_what_a_trace_says_of_a_run_can_be_given_back(self):
        policies = json.loads(self.succeeds("info", "--policies", "--json"))["policies"]
        needs_file = {"headkv": ",scores=headkv.json", "duo": ":heads=duo.json", "qfilter": ",file=q_filters.safetensors", "less": ",maps=maps.safetensors"}
        policies = [p for p in policies if p["name"] != "given"]  # class Kept repeats its runs
        lanes = [word for p in policies for word in ("--lane", p["name"] + (":slots=20" if p["takes_budget"] and p["name"] != "duo" else "") +
                                                     needs_file.get(p["name"], ""))]
        trace = ["trace", "--model", TINY, "--prompt-ids", ",".join(str(i * 7 % 64) for i in range(40)), "--json", "--generate", "3"]
        first = json.loads(self.succeeds(*trace, *lanes))["lanes"]
        again = [f"{lane['policy']}:" + ",".join(f"{k}={v}" for k, v in lane["params"].items() if v != "") for lane in first[1:]]
        second = json.loads(self.succeeds(*trace, *(w for spec in again for w in ("--lane", spec))))["lanes"]
        for one, other in zip(first[1:], second[1:], strict=True):
            self.assertEqual(one["steps"], other["steps"], other["spec"])


class EditsByHand(CliTest):
    def trace(self, *more):
        out = os.path.join(self.folder, "t.json")
        self.succeeds(*TRACE, "--generate", "4", "--quiet", "--out", out, "--lane", "h2o:slots=6", *more)
        with open(out, encoding="utf-8") as f:
            return json.load(f)["lanes"]

    def test_a_what_if_is_a_fork_beside_its_lane(self):
        plain = self.trace()
        lanes = self.trace("--what-if", "lane=1,step=1,layers=0,heads=1,evict=9,10", "--what-if", "pin=3,step=1")
        self.assertEqual([x["spec"] for x in lanes], ["full", "h2o:slots=6", "h2o:slots=6@evict=9,10,step=1,layers=0,heads=1@pin=3,step=1"])
        self.assertEqual(lanes[:2], plain)
        events = lanes[2]["steps"][1]["heads"][1]["events"]
        self.assertEqual([e["pos"] for e in events if e.get("by") == "hand"], [9, 10])
        self.assertEqual([s["heads"][0].get("pinned") for s in lanes[2]["steps"]], [None, [3], [3], [3], [3]])
        self.assertEqual(self.trace("--what-if", "run=1,step=1,layers=0,heads=1,evict=9,10", "--what-if", "pin=3,step=1"), lanes)
        same = self.trace("--lane", "h2o:slots=6@evict=9,10,step=1,layers=0,heads=1@pin=3,step=1")
        self.assertEqual(same, lanes)

    def test_only_edits_that_changed_nothing_are_told(self):
        """Also where records are written to a file and let go while the run goes on."""
        for edits, said in (("@evict=9,step=1", []), ("@evict=9,step=1@evict=9,step=1", ["1 of 2 edits"]), ("@evict=9,step=1@evict=3,step=99", ["1 of 2 edits"]),
                            ("@evict=9,step=1@restore=9,step=2", []), ("@merge=9,into=10,step=1", [])):
            out = os.path.join(self.folder, "w.json")
            r = subprocess.run([CLI, *TRACE, "--generate", "4", "--quiet", "--out", out, "--lane", "full" + edits], capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stderr)
            with open(out, encoding="utf-8") as f:
                warnings = json.load(f).get("warnings", [])
            self.assertEqual([w.split(": ")[1][:len("1 of 2 edits")] for w in warnings if "changed nothing" in w], said, (edits, warnings))

    def test_a_budget_holds_for_the_heads_that_it_names(self):
        lanes = self.trace("--budget", "layer=1,head=0,slots=9")
        self.assertEqual(len(lanes), 2)
        heads = lanes[1]["steps"][0]["heads"]
        self.assertEqual([h["budget"] for h in heads], [6, 6, 9, 6])
        self.assertEqual([h.get("overridden", False) for h in heads], [False, False, True, False])

    def test_wrong_edits_say_what_is_wrong(self):
        for option, words, expected in (("--what-if", "lane=7,evict=1,step=0", "expected 0 (the full cache) to 1"), ("--what-if", "evict=1", "step=N"),
                                        ("--what-if", "slots=4", "--budget takes"), ("--budget", "evict=1,step=0", "--what-if takes"),
                                        ("--budget", "lane=0,slots=3", "the full cache"), ("--what-if", "evict=1,step=0,layers=9", "layers: expected 0 to 1")):
            r = subprocess.run([CLI, *TRACE, "--json", "--quiet", "--lane", "h2o:slots=6", option, words], capture_output=True, text=True)
            self.assertEqual(r.returncode, 2, words)
            self.assertIn(expected, r.stderr)


class SessionOfTheWindow(CliTest):
    def session(self, **changes):
        session = {"kvscope": "session", "version": 1, "model": {"folder": TINY}, "prompt": "", "prompt_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
                   "lanes": ["full", "h2o:slots=6@evict=4,step=1"], "prompt_mode": "stream", "follow": "reference", "generate": 3, "temperature": 0,
                   "seed": "7", "shadow": True, "page": "compare", "selection": {"lane": 1}, "bookmarks": []}
        session.update(changes)
        return self.write("s.kvscope", json.dumps(session))

    def trace(self, *words):
        out = os.path.join(self.folder, "heads.json")
        self.succeeds("trace", *words, "--quiet", "--out", out)
        with open(out, encoding="utf-8") as f:
            return f.read()

    def test_its_trace_is_that_of_the_same_words(self):
        by_session = self.trace("--session", self.session())
        by_words = self.trace("--model", TINY, "--prompt-ids", "1,2,3,4,5,6,7,8,9,10", "--prompt-mode", "stream", "--generate", "3", "--seed", "7",
                              "--lane", "h2o:slots=6@evict=4,step=1")
        self.assertEqual(by_session, by_words)
        self.assertGreater(len(json.loads(by_session)["lanes"][1]["steps"]), 3)

    def test_stored_results_of_another_model_are_not_computed_with_this_one(self):
        parts = hashlib.sha256()
        for name in sorted(os.listdir(TINY)):
            if name.endswith((".safetensors", "_heads.json")) or name in ("config.json", "tokenizer.json", "tokenizer.model"):
                with open(os.path.join(TINY, name), "rb") as f:
                    parts.update(f"{name}\n{hashlib.sha256(f.read()).hexdigest()}\n".encode())
        of = lambda digits: self.session(results={"schema": "x", "packed": "x", "bytes": 0, "data": "", "model_sha256": digits})
        self.trace("--session", of(parts.hexdigest()))
        self.trace("--session", of(""))
        other = of("0" * 64)
        self.refuses(1, ["trace", "--session", other, "--out", self.path("x.json")], "another model than the one that is in", f"--model {TINY}")
        self.trace("--session", other, "--model", TINY)

    def test_a_table_that_a_run_names_is_the_one_beside_the_session_and_the_same_as_before(self):
        tables = [json.dumps([[x, 1 - x]] * 2) for x in (0, 1)]
        with open(self.write("hd.json", tables[0]), "rb") as f:
            was = hashlib.sha256(f.read()).hexdigest()
        os.mkdir(self.path("elsewhere"))
        other = self.write("elsewhere/hd.json", tables[1])
        run = "duo:slots=3,heads="
        results = {"schema": "x", "packed": "x", "bytes": 0, "data": "", "files": [{"file": "hd.json", "sha256": was}]}
        path = self.session(lanes=["full", run + "hd.json"], prompt_mode="prefill", results=results)

        def kl(*words):
            r = cli("run", "--json", *words, cwd=self.path("elsewhere"))
            self.assertEqual(r.returncode, 0, r.stderr)
            return json.loads(r.stdout)["lanes"][1]["kl"]
        words = ["--model", TINY, "--prompt-ids", "1,2,3,4,5,6,7,8,9,10", "--generate", "3", "--seed", "7", "--follow", "reference", "--lane"]
        beside = kl(*words, run + self.path("hd.json"))
        self.assertNotEqual(beside, kl(*words, run + other))
        self.assertEqual(kl("--session", path), beside, "wherever the program is started")
        self.write("hd.json", tables[1])
        self.refuses(1, ["run", "--session", path], "s.kvscope: its results were computed with another", "hd.json", "than what is there now; --trust-files takes what is there")
        self.assertNotEqual(kl("--session", path, "--trust-files"), beside)

    def test_results_of_another_request_than_its_own_are_not_told_as_its_own(self):
        trace = self.trace("--session", self.session()).encode()
        results = {"schema": "kvscope.trace/1", "packed": "zlib, base64", "bytes": len(trace), "data": base64.b64encode(zlib.compress(trace)).decode()}
        self.succeeds("run", self.session(results=results))
        for change, word in (({"prompt_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]}, "of other prompt"), ({"lanes": ["full", "h2o:slots=5"]}, "of other runs"),
                             ({"prompt_mode": "prefill"}, "of other prompt mode"), ({"follow": "self"}, "of other fed tokens (follow)"),
                             ({"temperature": 0.5}, "of other temperature"), ({"seed": "8"}, "of other seed"), ({"generate": 1}, "of other length (generate)")):
            self.refuses(1, ["run", self.session(results=results, **change)], word, "--session")
        trace = trace.replace(b'"temperature":0.0,', b"", 1)  # as earlier versions wrote it
        results = {"schema": "kvscope.trace/1", "packed": "zlib, base64", "bytes": len(trace), "data": base64.b64encode(zlib.compress(trace)).decode()}
        self.succeeds("run", self.session(results=results))
        self.succeeds("run", self.session(results=results, temperature=0.5))

    def test_what_it_says_is_not_said_twice(self):
        path = self.session()
        for option in (["--lane", "full"], ["--question", "why?"], ["--chat"], ["--special-tokens"], ["--special-tokens", "--no-start-token"],
                       ["--chat", "--system", "be brief"], ["--follow", "self"], ["--prompt-mode", "stream"], ["--seed", "3"]):
            self.refuses(2, ["trace", "--session", path, *option, "--out", self.path("x.json")], option[0], f"beside {path}: a session says itself what is run")
        self.succeeds("run", "--session", path, "--generate", "1", "--model", TINY, "--quiet")
        self.refuses(2, ["trace", "--session", path, "--prompt", "a", "--out", self.path("x.json")], "exactly one")

    def test_what_is_wrong_in_it_is_named(self):
        for change, word in (({"lanes": ["h20:slots=4"]}, "h20"), ({"seed": "x"}, "s.kvscope: seed: expected digits"), ({"version": 99}, "newer"), ({"kvscope": "other"}, "no session"),
                             ({"prompt_ids": [-1]}, "s.kvscope: prompt_ids[0]: expected"), ({"follow": "me"}, "s.kvscope: follow: expected"),
                             ({"model": []}, "s.kvscope: model: expected an object"), ({"model": "text"}, "s.kvscope: model: expected an object"),
                             ({"model": {"folder": ""}}, '"built_in": true'), ({"lanes": ["full"] * 258}, "s.kvscope: lanes: expected at most 257 entries, got 258")):
            r = cli("trace", "--session", self.session(**change), "--out", self.path("x.json"))
            self.assertIn(r.returncode, (1, 2), change)
            self.assertIn(word, r.stderr)


class Info(CliTest):
    def test_tells_the_shape_and_the_memory_of_a_model(self):
        facts = json.loads(self.succeeds("info", "--model", TINY, "--json"))
        self.assertEqual(facts["schema"], "kvscope.info/1")
        self.assertEqual([facts["model"][k] for k in ("name", "n_layers", "n_heads", "n_kv_heads", "head_dim", "vocab_size")], ["tiny-gqa", 2, 4, 2, 8, 64])
        self.assertIsNone(facts["tokenizer"])
        self.assertEqual(facts["kv_bytes_per_token"], 2 * 2 * 2 * 8 * 4)                       # K and V, layers, KV heads, dimensions, float32
        self.assertEqual(facts["weight_bytes"], sum(facts["weight_bytes_by_dtype"].values()))
        f64 = json.loads(self.succeeds("info", "--model", TINY, "--json", "--precision", "f64"))
        self.assertEqual(f64["kv_bytes_per_token"], 2 * facts["kv_bytes_per_token"])
        text = self.succeeds("info", "--model", TINY)
        self.assertIn("4 query heads, 2 KV heads of 8 dimensions", text)
        self.assertIn("no tokenizer", text)

    def test_a_model_without_an_end_of_text_is_said_to_have_none(self):
        model = shutil.copytree(TINY, self.path("model"))
        with open(os.path.join(model, "config.json"), encoding="utf-8") as f:
            config = json.load(f)
        with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as f:
            json.dump({**config, "bos_token_id": None, "eos_token_id": None}, f)
        self.assertIn("64 tokens, BOS none, EOS none; no tokenizer", self.succeeds("info", "--model", model))

    def test_says_of_the_backends_what_the_configuration_says(self):
        announced = os.environ["KVSCOPE_BACKENDS"]
        facts = json.loads(self.succeeds("info", "--model", TINY, "--json"))
        self.assertEqual(facts["backends"], announced)
        self.assertRegex(self.succeeds("info", "--model", TINY), "backends +" + re.escape(announced))
        why_not = facts["cuda"].get("why_not", "")
        self.assertEqual(why_not == "this build has no CUDA backend", "cuda" not in announced)
        self.assertNotIn("missing", why_not)                # the module stands where the program looks for it
        self.assertNotIn("another build", why_not)

    def test_the_embedded_model_is_the_default(self):
        facts = json.loads(self.succeeds("info", "--json"))
        self.assertEqual((facts["model"]["name"], facts["tokenizer"]), ("kvmini", 2048))

    def test_lists_the_policies_with_their_keys(self):
        listed = json.loads(self.succeeds("info", "--policies", "--json"))
        self.assertEqual(listed["schema"], "kvscope.policies/1")
        self.assertEqual(listed["policies"][0]["name"], "full")
        text = self.succeeds("info", "--policies")
        for p in listed["policies"]:
            self.assertIn(f"\n{p['name']}  {p['title']}", text)
            for key in p["keys"]:
                self.assertTrue(key["help"], key)
                self.assertIn(key["help"], text)


class Run(CliTest):
    def test_prints_the_text_of_each_lane_and_a_table(self):
        text = self.succeeds("run", "--prompt", "Once upon a time", "--generate", "5", "--lane", "local:slots=4", "--follow", "reference")
        self.assertIn("--- full\nOnce upon a time", text)
        self.assertIn("--- local:slots=4\nOnce upon a time", text)
        self.assertEqual(text.splitlines()[-1], "means over the steps after the prompt")
        self.assertRegex(text.splitlines()[-5], r"^[0-9.\u2009]+ tokens/s in each run: all of them take a step together$", "once, it is not a policy's")
        rows = [x.split() for x in text.splitlines()[-4:-1]]
        self.assertEqual(rows[0], "policy run slots KV bytes mean KL top-1 same nll".split())
        self.assertEqual([r[0] for r in rows[1:]], ["full", "local"])
        self.assertEqual(rows[2][2], "4", "slots of the local lane")

    def test_json_is_one_object_with_the_documented_keys(self):
        r = json.loads(self.succeeds("run", "--json", "--prompt", "Once upon a time", "--generate", "5", "--lane", "local:slots=4"))
        self.assertEqual((r["schema"], r["prompt_tokens"]), ("kvscope.run/1", 6))
        self.assertEqual([x["spec"] for x in r["lanes"]], ["full", "local:slots=4"])
        for lane in r["lanes"]:
            self.assertEqual(list(lane), ["spec", "policy", "says", "text", "tokens", "nll", "kl", "top1_same", "bytes", "kv_bytes", "read_bytes", "slots", "tokens_per_s", "ended_after", "warnings"])
            self.assertEqual(len(lane["tokens"]), 11)
            self.assertEqual(lane["text"], "Once upon a time" + lane["says"], "fed is its own text")
        self.assertEqual(r["lanes"][0]["kl"], 0)
        self.assertEqual(r["lanes"][0]["slots"], 11)
        self.assertEqual(r["lanes"][1]["slots"], 4)

    def test_what_a_run_says_is_its_own_choice_whatever_it_was_fed(self):
        """Of a run that is fed the full cache's text, that text is no answer."""
        asked = ["--prompt-file", os.path.join(os.path.dirname(__file__), "../../assets/prompts/needle.txt"), "--generate", "4", "--lane", "keepkv:ratio=0.1", "--follow", "reference"]
        full, keepkv = json.loads(self.succeeds("run", *asked, "--json"))["lanes"]
        self.assertEqual(full["text"], keepkv["text"])
        self.assertTrue(full["text"].endswith(full["says"]))
        wrong = sum(a != b for a, b in zip(full["says"], keepkv["says"]))
        self.assertEqual(wrong, round(4 * (1 - keepkv["top1_same"])), "a token a letter here")
        self.assertGreater(wrong, 0)
        self.succeeds("trace", *asked, "--detail", "summary", "--out", self.path("t.json"))
        for text in (self.succeeds("run", *asked), self.succeeds("run", self.path("t.json"))):
            answer = text.split("--- keepkv")[1].split("\n\n")[0]
            self.assertTrue(answer.endswith(keepkv["says"]), answer)
            self.assertIn("fed was the full cache's text", text)
        self.assertRegex(text, r"keepkv:ratio=0.1 +17 +102", "a summary tells of no heads, and of what they hold all the same")
        with open(self.path("t.json")) as f:
            trace = json.load(f)
        for lane in trace["lanes"]:
            for key in ("slots", "bytes", "kv_bytes"):
                del lane[key]  # as earlier versions wrote it
        with open(self.path("t.json"), "w") as f:
            json.dump(trace, f)
        self.assertRegex(self.succeeds("run", self.path("t.json")), r"keepkv:ratio=0.1 +n/a +n/a", "none is not 0")

    def test_a_stored_run_has_its_warnings_whatever_the_detail(self):
        for detail in ("summary", "events", "slots", "why"):
            self.succeeds("trace", "--prompt", "Once upon a time there was a cat", "--generate", "3", "--lane", "h2o:slots=3,sinks=4", "--detail", detail, "--out", self.path("t.json"))
            lane = json.loads(self.succeeds("run", "--json", self.path("t.json")))["lanes"][1]
            self.assertIn("budget raised from 3 to ", " ".join(lane["warnings"]), detail)
            self.assertEqual(lane["text"][:5], "Once ", detail)

    def test_a_stored_run_has_the_figures_of_its_computation(self):
        computed = json.loads(self.succeeds("trace", "--json", "--prompt", "Once upon a time", "--generate", "5", "--lane", "local:slots=4", "--detail", "why", "--out", self.path("t.json")))
        stored = json.loads(self.succeeds("run", "--json", self.path("t.json")))
        for one in (computed, stored):
            for lane in one["lanes"]:
                del lane["ended_after"]  # a trace does not say it
                if one is stored:
                    self.assertIsNone(lane["tokens_per_s"], "nor how long it took")
                del lane["tokens_per_s"]
        self.assertEqual(stored, computed)
        self.assertIn("--- local:slots=4\nOnce upon a time", self.succeeds("run", self.path("t.json")))
        self.assertNotIn("tokens/s", self.succeeds("run", self.path("t.json")), "n/a of every run says nothing")
        stored = self.path("t.json")
        for option in (["--prompt", "x"], ["--lane", "h2o:slots=3"], ["--model", TINY], ["--seed", "5"], ["--temperature", "3"], ["--chat"], ["--precision", "f64"],
                       ["--generate", "2"], ["--follow", "self"], ["--prompt-mode", "stream"], ["--what-if", "evict=1,step=0"], ["--budget", "slots=3"],
                       ["--question", "x"], ["--session", "x"], ["--kept", "x"], ["--threads", "1"], ["--ignore-eos"], ["--memory", "1G"]):
            for command in (["run"], ["share", "--out", self.path("x.html")]):
                self.refuses(2, [*command, stored, *option], f"unexpected '{option[0]}' beside {stored}: a stored run is given alone")
        self.refuses(1, ["run", self.write("x.json", '{"schema":"kvscope.kept/1"}')], "kvscope.trace/1")

    def test_lanes_follow_themselves_unless_told_otherwise(self):
        def tokens(*more):
            r = self.succeeds("run", "--json", "--prompt", "Once upon a time, the king", "--generate", "24", "--lane", "local:slots=3", *more)
            return [x["tokens"] for x in json.loads(r)["lanes"]]
        own = tokens()
        self.assertNotEqual(own[0], own[1])
        self.assertEqual(own, tokens("--follow", "self"))
        self.assertIn("before a run's text parts", self.succeeds("run", "--prompt", "Once upon a time, the king", "--generate", "24", "--lane", "local:slots=3"))
        same = tokens("--follow", "reference")
        self.assertEqual(same[0], same[1])

    def test_a_model_without_tokenizer_runs_on_ids(self):
        text = self.succeeds("run", "--model", TINY, "--prompt-ids", "1,2,3", "--generate", "2")
        self.assertIn("\u27e81\u27e9\u27e82\u27e9\u27e83\u27e9", text)

    def test_text_comes_through_as_it_is(self):
        for prompt in ('say "hello" \\n', "'quoted'", "[a,b]", "--x=y", "$HOME %s {}", "caf\u00e9 \u65e5\u672c \U0001f600", "a  b\tc\n\nd"):
            r = json.loads(self.succeeds("run", "--json", "--generate", "0", "--prompt=" + prompt))
            self.assertEqual(r["lanes"][0]["text"], prompt)
        r = cli("run", "--json", "--generate", "0", "--prompt-file", self.write("p.txt", "one\ntwo\n"))
        self.assertEqual(json.loads(r.stdout)["lanes"][0]["text"], "one\ntwo\n")
        self.assertIn("p.txt: ends with a new line, which the model reads, too", r.stderr)  # editors end files so
        self.succeeds("run", "--generate", "0", "--prompt-file", self.write("p.txt", "one\ntwo"))

    def test_bytes_that_are_no_text_are_refused_with_their_place(self):
        """As the window does: a tokenizer would make another text of them, whose run would pass for theirs."""
        for name, text, where in (("latin-1", "one\ncaf\xe9 au lait".encode("latin-1"), "the byte 0xe9 at byte 7 (line 2)"), ("utf-16", "Tom".encode("utf-16"), "0xff at byte 0 (line 1)"),
                                  ("zero", b"Tom\0", "0x00 at byte 3"), ("cut", "Tom \u65e5".encode()[:-1], "0xe6 at byte 4"), ("any", bytes(range(1, 256)), "0x80 at byte 127 (line 2)")):
            path = self.write(name, text)
            for command in (["run", "--prompt-file", path], ["run", "--prompt", "Tom", "--follow", path], ["tokens", "--text-file", path], ["needle", "--text", path],
                            ["ppl", "--text", path], ["heads", "--text", path]):
                self.refuses(1, command, f"{path}: expected text in UTF-8, got", where)
        self.refuses(2, ["tokens", "--prompt", b"caf\xe9"], "--prompt: expected text in UTF-8, got the byte 0xe9 at byte 3")

    def test_an_empty_text_to_follow_is_refused(self):
        self.refuses(2, ["run", "--prompt", "Tom", "--follow", self.write("empty.txt", "")], "--follow: ", "empty.txt: expected at least one token, got none")

    def test_the_same_seed_gives_the_same_sample_and_another_seed_another(self):
        def tokens(seed):
            r = self.succeeds("run", "--json", "--prompt", "Once", "--generate", "20", "--temperature", "1.5", "--seed", seed)
            return json.loads(r)["lanes"][0]["tokens"]
        self.assertEqual(tokens("7"), tokens("7"))
        self.assertNotEqual(tokens("7"), tokens("8"))

    def test_quiet_leaves_only_the_text(self):
        self.assertEqual(self.succeeds("run", "--quiet", "--prompt", "Once", "--generate", "0"), "--- full\nOnce\n\n")

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            r = subprocess.run([CLI, "info"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(r.returncode, 1)
        self.assertIn("stdout", r.stderr)


class Kept(CliTest):
    """What runs kept is written, and repeated from the file beside other runs."""

    def written(self):
        self.succeeds(*TRACE, "--lane", "h2o:slots=5", "--lane", "snapkv:slots=4", "--generate", "3", "--out", self.path("t.json"), "--out-kept",
                      self.path("k.json"), "--quiet")
        return self.path("k.json")

    def test_a_file_brings_its_prompt_its_text_and_its_runs(self):
        kept = self.written()
        first = self.read_json("t.json")
        model = TRACE[TRACE.index("--model"):TRACE.index("--model") + 2]
        self.succeeds("trace", *model, "--precision", "f64", "--kept", kept, "--lane", "local:slots=3", "--out", self.path("again.json"), "--quiet")
        again = self.read_json("again.json")
        self.assertEqual((again["tokens"], again["n_prompt"], again["follow"]), (first["tokens"], first["n_prompt"], "file"))
        self.assertEqual([x["policy"] for x in again["lanes"]], ["full", "local", "given", "given"])
        self.assertEqual([x["params"]["run"] for x in again["lanes"][2:]], ["h2o:slots=5", "snapkv:slots=4"])
        for ours, given in zip(first["lanes"][1:], again["lanes"][2:]):
            for a, b in zip(ours["steps"], given["steps"]):
                self.assertEqual([[slot[0] for slot in h["slots"]] for h in a["heads"]], [[slot[0] for slot in h["slots"]] for h in b["heads"]])

    def test_what_a_file_keeps_first_is_its_budget_also_where_that_is_not_the_prompts_step(self):
        kept = self.read_json(os.path.basename(self.written()))
        run = kept["runs"][0]
        run["steps"] = [s for s in run["steps"] if s["step"] == 1]
        kept["runs"] = [run]
        with open(self.path("later.json"), "w", encoding="utf-8") as f:
            json.dump(kept, f)
        self.succeeds("trace", "--model", TINY, "--kept", self.path("later.json"), "--out", self.path("later-trace.json"), "--quiet")
        heads = self.read_json("later-trace.json")["lanes"][1]["steps"][1]["heads"]
        self.assertEqual([h["budget"] for h in heads], [len(h["slots"]) for h in heads])

    def test_that_merges_are_not_repeated_is_said_where_it_is_written_and_where_it_is_read(self):
        model = TRACE[TRACE.index("--model"):TRACE.index("--model") + 2]
        told = "does not have how, so what repeats it evicts them and has other figures"
        kept = self.path("k.json")
        write = [*TRACE, "--lane", "h2o:slots=5", "--generate", "3", "--out", self.path("t.json"), "--out-kept", kept, "--quiet"]
        for merging in (["--lane", "zeromerge:slots=6"], []):
            for command in ([*write, *merging], ["run", *model, "--kept", kept, "--quiet"]):
                lines = [line for line in cli(*command).stderr.splitlines() if told in line]
                self.assertEqual(len(lines), 1 if merging else 0, command)
                if merging:
                    self.assertIn(f"{kept}: zeromerge:slots=6 merged tokens", lines[0])

    def test_tokens_of_another_model_are_said_to_be(self):
        kept = self.read_json(os.path.basename(self.written()))
        model = TRACE[TRACE.index("--model"):TRACE.index("--model") + 2]
        said = lambda path: cli("run", *model, "--kept", path, "--quiet").stderr
        self.assertEqual(said(self.path("k.json")), "")
        mine = kept["model"]["name"] if isinstance(kept["model"], dict) else kept["model"]
        other = self.write("other.json", json.dumps(kept).replace(json.dumps(mine), '"Llama-3-8B"', 1))
        self.assertEqual(said(other), f"kvscope-cli: {other}: it holds tokens of Llama-3-8B; these are the figures of {mine}\n")

    def test_what_does_not_fit_is_refused_in_a_sentence(self):
        kept = self.written()
        model = TRACE[TRACE.index("--model"):TRACE.index("--model") + 2]
        self.refuses(2, ["run", *model, "--kept", kept, "--prompt-ids", "1"], "got 2")
        self.refuses(2, ["run", "--kept", kept], "expected kept tokens of")
        self.refuses(2, ["run", *model, "--prompt-ids", "1,2", "--lane", f"given:file={kept}"], "expected kept tokens of a prompt of 2 tokens, got 10")
        self.refuses(2, ["run", *model, "--kept", kept, "--prompt-mode", "stream"], "expected prompt mode prefill")
        self.refuses(1, ["run", *model, "--kept", self.write("x.json", "{}")], "kvscope.kept/1")
        self.refuses(2, [*TRACE, "--detail", "summary", "--out", self.path("t.json"), "--out-kept", self.path("k.json")], "expected --detail slots or why")
        self.refuses(2, [*TRACE, "--follow", "self", "--out", self.path("t.json"), "--out-kept", self.path("k.json")], "--out-kept: expected --follow reference")
        self.refuses(2, [*TRACE, "--out", self.path("t.json"), "--out-kept", "/nowhere/k.json"], "the folder /nowhere does not exist")

    def test_words_of_kvpress_are_understood_aloud(self):
        r = cli(*TRACE, "--lane", "KnormPress:compression_ratio=0.75", "--out", self.path("t.json"), "--quiet")
        self.assertEqual((r.returncode, r.stderr), (0, "kvscope-cli: KnormPress:compression_ratio=0.75 is read as knorm:ratio=0.25,round=down\n"))
        self.assertEqual(self.read_json("t.json")["lanes"][1]["spec"], "knorm:ratio=0.25,round=down")


class Trace(CliTest):
    def trace(self, *more):
        self.succeeds(*TRACE, "--out", self.path("trace.json"), "--quiet", *more)
        return self.read_json("trace.json")

    def test_the_full_cache_is_lane_0_in_any_case(self):
        self.assertEqual([x["spec"] for x in self.trace("--lane", "local:slots=4")["lanes"]], ["full", "local:slots=4"])
        self.assertEqual([x["spec"] for x in self.trace("--lane", "full", "--lane", "local:slots=4")["lanes"]], ["full", "local:slots=4"])
        self.assertEqual([x["spec"] for x in self.trace()["lanes"]], ["full"])

    def test_without_generate_a_trace_ends_with_the_prompt(self):
        t = self.trace()
        self.assertEqual((len(t["tokens"]), len(t["lanes"][0]["steps"])), (10, 1))
        self.assertEqual(len(self.trace("--prompt-mode", "stream")["lanes"][0]["steps"]), 10)
        self.assertEqual(len(self.trace("--generate", "3")["lanes"][0]["steps"]), 4)

    def test_a_followed_file_is_taken_whole_or_cut(self):
        ids = self.write("f.json", "[20,21,22]")
        self.assertEqual(self.trace("--follow", ids)["tokens"][10:], [20, 21, 22])
        t = self.trace("--follow", ids, "--generate", "2")
        self.assertEqual((t["tokens"][10:], t["follow"]), ([20, 21], "file"))
        self.assertEqual(self.trace("--follow", self.write("o.json", '{"tokens":[5]}'))["tokens"][10:], [5])

    def test_a_followed_text_becomes_tokens(self):
        self.succeeds("trace", "--prompt", "Once", "--follow", self.write("f.txt", "upon a time"), "--out", self.path("trace.json"), "--quiet")
        t = self.read_json("trace.json")
        self.assertGreater(len(t["tokens"]), t["n_prompt"])

    def test_a_trace_can_be_fed_back(self):
        first = self.trace("--generate", "4")
        self.succeeds("trace", "--model", TINY, "--tokens-file", self.path("trace.json"), "--out", self.path("second.json"), "--quiet")
        self.assertEqual(self.read_json("second.json")["tokens"], first["tokens"])

    def test_detail_says_how_much_is_written(self):
        sizes = []
        for detail in ("summary", "events", "slots", "why"):
            step = self.trace("--lane", "local:slots=4", "--detail", detail)["lanes"][1]["steps"][0]
            self.assertEqual("heads" in step, detail != "summary")
            sizes.append(os.path.getsize(self.path("trace.json")))
        self.assertEqual(sizes, sorted(sizes))

    def test_json_without_out_is_the_trace_on_stdout(self):
        self.trace("--lane", "local:slots=4")
        with open(self.path("trace.json"), encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(self.succeeds(*TRACE, "--json", "--lane", "local:slots=4"), text)
        self.assertEqual(self.succeeds(*TRACE, "--out", "-", "--lane", "local:slots=4"), text)

    def test_json_with_out_is_the_summary_on_stdout(self):
        r = json.loads(self.succeeds(*TRACE, "--json", "--out", self.path("trace.json")))
        self.assertEqual(r["schema"], "kvscope.run/1")

    def test_an_old_file_is_replaced_whole(self):
        self.write("trace.json", "old " * 100000)
        self.assertEqual(self.trace()["schema"], "kvscope.trace/1")
        self.assertEqual(os.listdir(self.folder), ["trace.json"])


class Program(CliTest):
    def test_links_neither_qt_nor_a_display_nor_a_gpu(self):
        if shutil.which("ldd") is None:
            self.skipTest("no ldd")
        libraries = subprocess.run(["ldd", CLI], capture_output=True, text=True, check=True).stdout
        self.assertIn("libc.so", libraries)
        for word in ("Qt", "libGL", "libX11", "wayland", "cuda", "cublas", "imgui"):
            self.assertNotIn(word.lower(), libraries.lower())


if __name__ == "__main__":
    unittest.main()
