"""Every kind of bad argument is one sentence on stderr: what, where, expected, got. Status 2: unusable arguments; 1: it failed."""
import json
import os
import pathlib
import pty
import shutil
import subprocess
import time
import unittest

from program import CLI, TINY, CliTest, cli, limits_addresses

RUN = ["run", "--model", TINY, "--prompt-ids", "1,2,3"]


class Commands(CliTest):
    def test_no_command_lists_the_commands(self):
        self.refuses(2, [], "expected a command (info, run, trace, share, sweep, needle, ppl, heads, bench, tokens, models, serve), got nothing")

    def test_an_unknown_command_lists_the_commands(self):
        self.refuses(2, ["explode"], "unknown command 'explode'", "info, run, trace")
        self.refuses(2, ["--json"], "unexpected '--json'", "--help")

    def test_an_unknown_option_lists_the_options(self):
        self.refuses(2, RUN + ["--lanes", "full"], "run: unexpected '--lanes'", "--lane,", "--prompt-file", "--quiet")
        self.refuses(2, ["info", "--lane", "full"], "info: unexpected '--lane'", "--policies")

    def test_a_stray_word_is_refused(self):
        self.refuses(2, RUN + ["word"], "beside word: a stored run is given alone")
        self.refuses(2, RUN + ["--lane", "full", "local:slots=2"], "beside local:slots=2: a stored run is given alone")

    def test_an_option_without_its_value_is_refused(self):
        self.refuses(2, ["run", "--prompt"], "--prompt")
        self.refuses(2, ["run", "--prompt", "", "--lane", "full"], "--prompt: expected a text, got an empty one")


class Values(CliTest):
    def test_choices_are_listed(self):
        self.refuses(2, RUN + ["--prompt-mode", "both"], "--prompt-mode: expected prefill or stream, got 'both'")
        self.refuses(2, RUN + ["--device", "tpu"], "--device: expected auto or cpu or cuda, got 'tpu'")
        self.refuses(2, RUN + ["--precision", "f8"], "--precision: expected f32 or f64 or f16 or bf16, got 'f8'")
        self.refuses(2, ["trace"] + RUN[1:] + ["--out", self.path("t.json"), "--detail", "all"], "--detail: expected summary or events or slots or why, got 'all'")

    def test_a_device_or_precision_this_build_lacks_is_a_sentence(self):
        self.refuses(2, RUN + ["--device", "cuda", "--precision", "f64"], "device cuda: computes in f32, f16 or bf16", "--device cpu")
        for precision in ("f16", "bf16"):
            self.refuses(2, RUN + ["--device", "cpu", "--precision", precision], f"precision {precision}: the CPU computes in f32 or f64", "use f32")
        cuda = json.loads(self.succeeds("info", "--model", TINY, "--json"))["cuda"]
        if cuda["usable"]:
            self.skipTest(f"there is a CUDA device: {cuda['device']}")
        self.refuses(1, RUN + ["--device", "cuda"], "device cuda: " + cuda["why_not"], "use --device cpu")
        self.refuses(2, RUN + ["--precision", "bf16"], "there is no CUDA device: " + cuda["why_not"])

    def test_numbers_are_checked(self):
        self.refuses(2, RUN + ["--threads", "many"], "--threads: expected 0..1024, got 'many'")
        self.refuses(2, RUN + ["--threads", "5000"], "--threads: expected 0..1024, got '5000'")
        self.refuses(2, RUN + ["--generate", "-3"], "--generate")
        self.refuses(2, RUN + ["--generate", "1.5"], "--generate: expected a whole number from 0, got '1.5'")
        for huge in ("99999999999999999999", "3000000000"):
            self.refuses(2, RUN + ["--generate", huge], f"--generate: expected a whole number from 0 to 16777216, got '{huge}'")
        self.refuses(2, RUN + ["--seed", "18446744073709551616"], "--seed: expected a whole number from 0 to 18446744073709551615")
        self.refuses(2, RUN + ["--temperature", "nan"], "--temperature: expected 0..100, got 'nan'")
        self.refuses(2, RUN + ["--temperature", "-1"], "--temperature")
        self.refuses(2, RUN + ["--seed", "x"], "--seed: expected a whole number from 0, got 'x'")


class Lanes(CliTest):
    def test_an_unknown_policy_lists_the_known_ones(self):
        self.refuses(2, RUN + ["--lane", "h20:slots=2"], "h20", "full", "local")

    def test_an_unknown_key_lists_the_known_ones(self):
        self.refuses(2, RUN + ["--lane", "local:slots=2,sink=1"], "sink", "sinks", "slots")

    def test_a_value_out_of_range_or_without_sense_is_refused(self):
        self.refuses(2, RUN + ["--lane", "local:slots=-2"], "slots")
        self.refuses(2, RUN + ["--lane", "local:slots=two"], "slots", "two")
        self.refuses(2, RUN + ["--lane", "local:slots"], "slots")

    def test_a_budget_is_needed_and_only_one(self):
        self.refuses(2, RUN + ["--lane", "local"], "local", "slots", "ratio")
        self.refuses(2, RUN + ["--lane", "local:slots=2,ratio=0.5"], "slots", "ratio")

    def test_a_hostile_specification_is_one_line_too(self):
        self.refuses(2, RUN + ["--lane", "a\nb\x1b[31m"])
        self.refuses(2, RUN + ["--lane", "local:" + "x" * 5000])
        self.refuses(2, RUN + ["--lane", ""])


class Prompts(CliTest):
    def test_exactly_one_prompt_is_needed(self):
        self.refuses(2, ["run"], "exactly one of --prompt, --prompt-file, --prompt-ids, --tokens-file, --session, --kept, RUN, got none")
        self.refuses(2, RUN + ["--prompt", "x"], "exactly one of", "got 2")

    def test_ids_that_are_none_are_named_with_their_place(self):
        ids = ["run", "--model", TINY, "--prompt-ids"]
        self.refuses(2, ids + ["1,two,3"], "--prompt-ids: token 2: expected a token id in 0..63, got 'two'")
        self.refuses(2, ids + ["1,,3"], "token 2", "got ''")
        self.refuses(2, ids + [""], "--prompt-ids: expected a value, got an empty one")
        self.refuses(2, ids + ["1,2,64"], "token 3: expected a token id in 0..63, got '64'")
        self.refuses(2, ids + ["1,99999999999999999999"], "token 2")
        self.refuses(2, ids + ["1;2"], "token 1", "got '1;2'")

    def test_files_of_ids_are_checked_like_ids(self):
        def file(text):
            return ["run", "--model", TINY, "--tokens-file", self.write("ids.json", text)]
        self.refuses(2, file("[1,2,64]"), "ids.json: token 3: expected a token id in 0..63, got '64'")
        self.refuses(2, file("[1,2.5]"), "token 2", "2.5")
        self.refuses(2, file("[1,-1]"), "token 2", "-1")
        self.refuses(2, file("[]"), "expected at least one token id, got none")
        self.refuses(2, file('{"ids":[1]}'), "expected a JSON list of token ids")
        self.refuses(1, file("[1,2"), "ids.json: expected JSON")
        self.refuses(1, file(b"\xff\xfe\x00"), "ids.json: expected JSON")
        self.refuses(1, file("[" * 100000), "ids.json")

    def test_missing_files_are_named(self):
        self.refuses(1, ["run", "--prompt-file", self.path("nothing.txt")], "nothing.txt")
        self.refuses(1, ["run", "--model", TINY, "--tokens-file", self.path("nothing.json")], "nothing.json")
        self.refuses(1, RUN + ["--follow", self.path("nothing.json")], "nothing.json")
        self.refuses(1, ["run", "--prompt-file", self.folder], self.folder)

    def test_text_needs_a_tokenizer(self):
        self.refuses(2, ["run", "--model", TINY, "--prompt", "x"], "no tokenizer.json or tokenizer.model", "--prompt-ids")
        self.refuses(2, RUN + ["--follow", self.write("f.txt", "x")], "no tokenizer.json or tokenizer.model", ".json")

    def test_a_prompt_longer_than_the_model_is_refused_with_both_lengths(self):
        ids = self.write("long.json", str([1] * 4097))
        self.refuses(1, ["run", "--model", TINY, "--tokens-file", ids], "4097", "4096")
        text = self.write("long.txt", "word " * 5000)
        self.refuses(1, ["run", "--prompt-file", text], "2048")


class Models(CliTest):
    def test_a_missing_model_is_named(self):
        self.refuses(1, ["info", "--model", self.path("nowhere")], "nowhere")
        self.refuses(1, ["run", "--model", self.path("nowhere"), "--prompt", "x"], "nowhere")

    def test_a_damaged_model_is_a_sentence(self):
        self.write("config.json", "{")
        self.refuses(1, ["info", "--model", self.folder], "config.json")
        for name in ("config.json", "model.safetensors"):
            with open(os.path.join(TINY, name), "rb") as f:
                self.write(name, f.read()[:-100] if name.startswith("model") else f.read())
        self.refuses(1, ["info", "--model", self.folder], "model.safetensors")


class Windows(CliTest):
    def test_ppl_beyond_the_model_says_so_and_its_defaults_fit(self):
        text = self.write("t.txt", "Once upon a time there was a little house by the sea, and in it a light. " * 60)
        self.refuses(2, ["ppl", "--text", text, "--window", "2049"], "--window 2049", "was made for 2048 positions")
        self.refuses(2, ["ppl", "--text", text, "--window", "64", "--stride", "64"], "stride below the window")
        short = self.write("s.txt", "Once upon a time.")
        self.refuses(2, ["ppl", "--text", short], "at least one window of 1024 tokens", "--window")
        lanes = json.loads(self.succeeds("ppl", "--text", text, "--tokens", "96", "--window", "64", "--quiet", "--json"))["lanes"]
        self.assertIsInstance(lanes[0]["tokens"], int)
        self.assertEqual(lanes[0]["tokens"] % 32, 0)
        self.assertIsNotNone(lanes[0]["nll"])

    def test_a_run_that_does_not_fit_the_memory_is_refused_before_it_starts(self):
        shutil.copytree(TINY, self.path("endless"))
        config = self.read_json("endless/config.json")
        config["max_position_embeddings"] = 2**30 - 1
        self.write("endless/config.json", json.dumps(config))
        n_tokens = 1 << 24
        a_lane = 256 * n_tokens  # bytes of keys and values
        n_lanes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // a_lane + 1
        lanes = [word for seed in range(n_lanes) for word in ("--lane", f"random:slots={n_tokens},seed={seed}")]
        self.refuses(1, ["run", "--model", self.path("endless"), "--prompt-ids", "1,2", "--generate", str(n_tokens - 2), "--device", "cpu", *lanes],
                     "expected a run that fits into the", f"{n_tokens} tokens", "take a shorter text, fewer runs or smaller budgets")

    def test_ids_as_python_prints_them(self):
        given = [json.loads(self.succeeds("run", "--model", TINY, "--prompt-ids", ids, "--generate", "2", "--quiet", "--json"))
                 for ids in ("1,2,3", "1, 2, 3", "[1, 2, 3]", " [1,2,3] ")]
        for one in given:
            self.assertEqual(one["lanes"][0]["tokens"], given[0]["lanes"][0]["tokens"])
            for count in ("bytes", "slots"):
                self.assertIsInstance(one["lanes"][0][count], int)
        self.refuses(2, ["run", "--model", TINY, "--prompt-ids", "[1,2"], "token 1: expected a token id")

    def test_a_text_that_is_cut_is_said_as_json_too(self):
        short = self.path("short")
        shutil.copytree(TINY, short)
        with open(os.path.join(TINY, "config.json"), encoding="utf-8") as f:
            self.write("short/config.json", json.dumps({**json.load(f), "max_position_embeddings": 16}))
        cut = json.loads(self.succeeds("run", "--model", short, "--prompt-ids", "1,2,3", "--generate", "90", "--quiet", "--json"))
        self.assertIn("generation ends after", cut["notice"])
        sweep = ["sweep", "--model", short, "--prompt-ids", "1,2,3", "--generate", "90", "--policies", "h2o", "--ratios", "0.5"]
        for more in ([], ["--table"], ["--json"], ["--store", self.path("store")]):
            r = cli(*sweep, *more)
            self.assertEqual((r.returncode, r.stderr), (0, f"kvscope-cli: {cut['notice']}\n"))
        self.assertEqual(json.loads(self.succeeds(*sweep, "--json", "--quiet"))["notice"], cut["notice"])
        whole = [word if word != "90" else "13" for word in sweep]
        self.assertNotIn("notice", json.loads(self.succeeds(*whole, "--json")))


class Hostile(CliTest):
    """Files and arguments that nobody who means well would make."""

    def test_a_pipe_is_refused_without_waiting(self):
        for name in ("config.json", "heads.json", "session.kvscope"):
            folder = self.path("of-" + name)
            shutil.copytree(TINY, folder)
            path = os.path.join(folder, name)
            if os.path.exists(path):
                os.remove(path)
            os.mkfifo(path)
            started = time.monotonic()
            if name == "config.json":
                self.refuses(1, ["info", "--model", folder], "config.json", "expected a regular file, got a pipe")
            elif name == "heads.json":
                self.succeeds("run", "--model", folder, "--prompt-ids", "1,2", "--generate", "0", "--quiet")
            else:
                self.refuses(1, ["run", "--session", path], "expected a regular file, got a pipe")
            self.assertLess(time.monotonic() - started, 20)

    def test_a_pipe_that_nobody_reads_is_not_written_to(self):
        os.mkfifo(self.path("pipe"))
        self.refuses(1, ["trace"] + RUN[1:] + ["--generate", "1", "--out", self.path("pipe")], "nobody reads this pipe")

    def test_devices_and_pipes_are_written_to_as_they_are(self):
        trace = [CLI, "trace"] + RUN[1:] + ["--generate", "1", "--quiet", "--out"]
        written = cli(*trace[1:], self.path("t.json"))
        self.assertEqual(written.returncode, 0, written.stderr)
        with open(self.path("t.json"), encoding="utf-8") as f:
            expected = json.load(f)
        for script in ('"$@" /dev/stdout | cat', '"$@" >(cat) | cat', '"$@" /dev/fd/3 3>&1 | cat'):
            r = subprocess.run(["bash", "-c", "set -o pipefail; " + script, "bash", *trace], capture_output=True, text=True, timeout=60)
            self.assertEqual((r.returncode, r.stderr), (0, ""), script)
            got = json.loads(r.stdout)
            self.assertEqual((got["tokens"], len(got["lanes"])), (expected["tokens"], len(expected["lanes"])), script)
        nobody = {"user": 65534, "cwd": "/"} if os.geteuid() == 0 else {}
        r = subprocess.run(["bash", "-c", '"$@" /dev/null', "bash", *trace], capture_output=True, text=True, timeout=60, **nobody)
        self.assertEqual((r.returncode, r.stderr), (0, ""), "the folder /dev is root's")

    def test_two_results_never_go_into_one_file(self):
        trace = ["trace"] + RUN[1:] + ["--generate", "1"]
        os.symlink(self.folder, self.path("link"))
        for other in (os.path.join(self.folder, ".", "t.json"), self.path("link/t.json"), os.path.relpath(self.path("t.json"))):
            self.refuses(2, trace + ["--out", self.path("t.json"), "--out-kept", other], "--out-kept", "--out writes this file, too")
        self.assertEqual(self.succeeds(*trace, "--quiet", "--out", "/dev/null", "--out-kept", "/dev/null"), "")

    def test_no_result_goes_over_a_file_of_any_model(self):
        trace = ["trace"] + RUN[1:] + ["--generate", "1"]
        for name in ("model.safetensors", "config.json", "tokenizer.model", "x.gguf"):
            other = self.write(name, b"not to be lost")
            os.symlink(other, self.path(name + ".json"))
            for out in (["--out", other], ["--out", "/dev/null", "--out-kept", other], ["--out", self.path(name + ".json")]):
                self.refuses(1, trace + out, "a file of a model by its name")
            with open(other, "rb") as f:
                self.assertEqual(f.read(), b"not to be lost")

    def test_no_result_goes_over_a_table_of_heads_that_a_run_reads(self):
        table = shutil.copy(os.path.join(TINY, "headkv.json"), self.path("table.json"))
        self.refuses(2, ["trace"] + RUN[1:] + ["--generate", "1", "--lane", "headkv:slots=4,scores=" + table, "--out", table], "this file is read for the result")

    def test_what_is_closed_is_no_text(self):
        r = subprocess.run(["bash", "-c", '"$0" ppl --tokens 100 --window 64 --stride 32 --text /dev/stdin <&-', CLI], capture_output=True, text=True, timeout=120)
        self.assertNotEqual(r.returncode, 0, r)
        self.assertEqual(r.stdout, "")

    def test_a_result_that_nobody_takes_is_an_error(self):
        r = subprocess.run(["bash", "-c", '"$0" run --model "$1" --prompt-ids 1,2,3 --generate 1 --quiet --json >&-', CLI, TINY], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 1, r)
        self.assertIn("stdout", r.stderr)
        for asked in ("--version", "--help"):
            for nowhere in (">&-", ">/dev/full"):
                r = subprocess.run(["bash", "-c", f'"$0" {asked} {nowhere}', CLI], capture_output=True, text=True, timeout=60)
                self.assertEqual(r.returncode, 1, r)
                self.assertIn("kvscope-cli: stdout: expected to write the whole result", r.stderr)

    def test_nothing_that_a_session_reads_is_written_over(self):
        table = shutil.copy(os.path.join(TINY, "headkv.json"), self.path("table.json"))
        session = self.write("s.kvscope", json.dumps({"kvscope": "session", "version": 1, "model": {"folder": TINY}, "prompt": "", "prompt_ids": [1, 2, 3],
                                                      "lanes": ["full", "headkv:slots=4,scores=" + table], "generate": 1}))
        self.refuses(2, ["trace", "--session", session, "--out", table], "this file is read for the result")
        follow = self.write("follow.json", "[1, 2]")
        self.refuses(2, ["trace"] + RUN[1:] + ["--follow", follow, "--generate", "1", "--out", follow], "this file is read for the result")

    def test_an_empty_value_is_not_an_option_that_was_not_given(self):
        for args in (["run", "--prompt", "x", "--model", ""], ["ppl", "--text", ""], ["heads", "--out-retrieval", ""], ["run", "--prompt", "x", "--follow", ""],
                     ["trace", "--prompt", "x", "--out", "t.json", "--out-kept", ""], ["sweep", "--prompt", "x", "--policies", ""]):
            self.refuses(2, args, args[-2] + ": expected a value, got an empty one")

    def test_an_empty_value_of_a_list_is_not_passed_over(self):
        for args in (["--policies", "h2o,,snapkv"], ["--policies", "h2o:recent=1,,sinks=1"], ["--policies", "h2o", "--ratios", "0.2,,0.3"],
                     ["--policies", "h2o", "--ratios", "0.2", ",0.3"], ["--policies", "h2o", "--ratios=0.5,"]):
            got = args[-1].removeprefix("--ratios=")
            self.refuses(2, ["sweep", "--prompt", "x"] + args, ": expected a value beside every comma, got '%s'" % got)
        self.refuses(2, ["bench", "--context", "128,,5"], "--context: expected a value beside every comma, got '128,,5'")

    def test_a_sweep_has_every_run_once(self):
        self.refuses(2, ["sweep", "--prompt", "x", "--policies", "h2o", "--ratios", "0.2,0.2"], "--policies, --ratios: expected every run once, got h2o:ratio=0.2 twice")
        self.refuses(2, ["sweep", "--prompt", "x", "--policies", "h2o,h2o", "--bytes", "0.5"], "expected every run once, got h2o:bytes=0.5 twice")

    def test_more_runs_than_a_file_keeps_are_refused(self):
        self.refuses(2, RUN + [word for i in range(257) for word in ("--lane", "local:slots=%d" % (i + 5))], "expected at most 256 runs, got 257")

    def test_a_file_of_a_run_that_is_no_file_says_so(self):
        self.refuses(2, RUN + ["--lane", "given:file=" + self.path(".")], "is a folder")

    def test_a_prompt_may_come_through_a_pipe(self):
        r = subprocess.run(["bash", "-c", '"$0" run --prompt-file <(printf "Once upon a time") --generate 1 --json', CLI], capture_output=True, text=True, timeout=120)
        self.assertEqual((r.returncode, r.stderr), (0, ""), r)
        self.assertGreater(json.loads(r.stdout)["prompt_tokens"], 2)

    @limits_addresses
    def test_a_session_of_hostile_size_or_depth_takes_little(self):
        for name, text in (("many", b"[" + b"[]," * (20 << 20) + b"1]"), ("deep", b"[" * 1000000), ("objects", b'{"kvscope":"session","x":[' + b'{"":0},' * (8 << 20) + b"0]}")):
            path = self.write(name + ".kvscope", text)
            limited = ["bash", "-c", 'ulimit -v 700000; exec "$0" "$@"', CLI, "run", "--session", path]
            r = subprocess.run(limited, capture_output=True, text=True, timeout=120)
            self.assertEqual(r.returncode, 1, (name, r))
            self.assertRegex(r.stderr, "at most .* values|nested deeper", name)

    def test_control_characters_never_reach_a_terminal(self):
        bell = "\x1b]0;owned\x07\x9b31m"
        r = subprocess.run([CLI, "run", "--model", TINY, "--prompt-ids", "1,2", "--lane", bell], capture_output=True, timeout=120)
        self.assertEqual(r.returncode, 2)
        self.assertNotIn(b"\x1b", r.stderr)
        self.assertNotIn(b"\x07", r.stderr)
        self.assertIn(b"\\xc2\\x9b31m", r.stderr)
        model = self.path("named")
        shutil.copytree(TINY, model)
        with open(os.path.join(TINY, "config.json"), encoding="utf-8") as f:
            config = json.load(f)
        config["name"] = "nice\x1b[31m name\x07"
        self.write("named/config.json", json.dumps(config))
        ours, theirs = pty.openpty()
        r = subprocess.run([CLI, "run", "--model", model, "--prompt-ids", "1,2", "--generate", "1"], stdout=theirs, stderr=subprocess.PIPE, timeout=120)
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 65536):
                shown += block
        except OSError:
            pass
        self.assertEqual(r.returncode, 0)
        self.assertNotIn(b"\x1b", shown)
        self.assertIn(b"nice\\x1b[31m name", shown)

    @limits_addresses
    def test_a_prompt_of_ten_megabytes_is_refused_soon(self):
        path = self.write("long.txt", "the quick brown fox jumps over the lazy dog " * (10 * (1 << 20) // 44))
        started = time.monotonic()
        limited = ["bash", "-c", 'ulimit -v 1500000; exec "$0" "$@"', CLI, "run", "--prompt-file", path]
        r = subprocess.run(limited, capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, 1, r)
        self.assertIn("more than 2048 tokens", r.stderr)
        self.assertLess(time.monotonic() - started, 20)


class Outputs(CliTest):
    def test_trace_needs_a_place_for_the_trace(self):
        self.refuses(2, ["trace"] + RUN[1:], "expected --out FILE")

    def test_a_file_that_cannot_be_written_is_known_before_the_work(self):
        trace = ["trace"] + RUN[1:]
        self.refuses(2, trace + ["--out", self.path("no/such/folder/t.json")], "no/such/folder", "does not exist")
        self.refuses(2, trace + ["--out", self.folder], "expected a file, got a folder")
        if os.geteuid() != 0:
            os.chmod(self.folder, 0o500)
            self.refuses(2, trace + ["--out", self.path("t.json")], "cannot be written")
        if os.path.isdir("/proc/1"):
            self.refuses(1 if os.geteuid() == 0 else 2, trace + ["--out", "/proc/kvscope-trace.json"], "/proc")

    def test_what_is_read_is_not_written_over(self):
        model = self.path("model")
        shutil.copytree(TINY, model)
        weights = pathlib.Path(model, "model.safetensors")
        before = weights.read_bytes()
        trace = ["trace", "--model", model, "--prompt-ids", "1,2,3"]
        self.refuses(2, trace + ["--out", os.path.join(model, "model.safetensors")], "this file is read for the result")
        os.symlink(os.path.join(model, "config.json"), self.path("link"))
        self.refuses(2, trace + ["--out", self.path("link")], "this file is read for the result")
        self.assertEqual(weights.read_bytes(), before)
        os.symlink(self.path("nowhere"), self.path("dangling"))
        self.refuses(2, trace + ["--out", self.path("dangling")], "a link that leads nowhere")
        self.assertFalse(os.path.exists(self.path("nowhere")))

    def test_standard_output_is_no_place_for_what_is_written_beside_the_result(self):
        for command, option in ((["trace"] + RUN[1:] + ["--out", self.path("t.json")], "--out-kept"), (["heads"], "--out-retrieval"), (["heads"], "--out-distant"),
                                (["heads"], "--out-characters"), (["heads"], "--out-texts"), (["needle"], "--out-texts")):
            r = cli(*command, option, "-", cwd=self.folder)
            self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (2, "", 1), r)
            self.assertIn(f"kvscope-cli: {option}: expected a file, got -: standard output", r.stderr)
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_limit_on_the_size_of_files_is_a_sentence(self):
        limited = ["bash", "-c", 'ulimit -f 1; exec "$0" "$@"', CLI, "trace", "--model", TINY, "--prompt-ids", ",".join(["1", "2", "3"] * 15), "--detail", "why",
                   "--out", self.path("t.json")]
        r = subprocess.run(limited, capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, 1, r)
        self.assertIn("File too large", r.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_nothing_is_left_behind(self):
        self.refuses(2, ["trace"] + RUN[1:] + ["--out", self.path("trace.json"), "--lane", "nonsense"])
        self.leaves_nothing()


if __name__ == "__main__":
    unittest.main()
