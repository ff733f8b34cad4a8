"""Replay pages, opened in a real browser (Chromium without a window) where there is one."""
import base64
import html
import json
import os
import re
import shutil
import subprocess
import unittest
import zlib

from program import TINY, CliTest, cli

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "prompts", "needle.txt")
LESSONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "lessons")
LESSON = os.path.join(LESSONS, "1-small-cache.json")
TOLD = "will hold the text of the prompt"
SCENES_TOLD = "texts and results: anyone with the file can read it"


def lesson_of(page):
    """What leads through a page, as JSON."""
    packed = re.search(r'id="lesson">([^<]*)</script>', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed, validate=True)))


def data_of(page, part=0):
    """Header of a page's data, as JSON."""
    packed = re.search(rf'id="data{f"-{part}" if part else ""}">([^<]*)</script>', page)[1]
    raw = zlib.decompress(base64.b64decode(packed, validate=True))
    n = int.from_bytes(raw[:4], "little")
    return json.loads(raw[4:4 + n])


def value_of(text):
    """The number that people read: thin spaces, a true minus, a share."""
    text = text.replace("\u2009", "").replace("\u2212", "-")
    return float(text[:-2]) / 100 if text.endswith(" %") else float(text)


class Pages(CliTest):
    def says(self, text, value, share=0.006):
        """A number as people read it, of so many digits; what is next to nothing says no more than that."""
        if text.startswith(("<", ">-")):
            self.assertLess(abs(value), abs(value_of(text[1:])), text)
        else:
            self.assertAlmostEqual(value_of(text), value, delta=share * abs(value))

    def makes(self, *arguments, name="run.html", told=TOLD):
        r = cli("share", *arguments, "--out", self.path(name))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(told, r.stderr)
        return self.text(name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()


class Share(Pages):
    def same(self, one, other):
        """Both show the same; the keys of a policy come in another order from a file."""
        for page in (one, other):
            for run in page["runs"]:
                run["policy"] = [row if row[0] != "keys" else sorted(row[1].split(" · ")) for row in run["policy"]]
        for key in ("runs", "numbers", "fates", "figures", "tokens", "open"):
            self.assertTrue(one[key] == other[key], key)

    def test_a_run_and_its_trace_make_the_same_page(self):
        asked = ["--model", TINY, "--prompt-ids", "1,2,3,4,5,6,7,8,9,10", "--generate", "3", "--lane", "h2o:slots=4"]
        direct = data_of(self.makes(*asked))
        self.succeeds("trace", *asked, "--detail", "why", "--out", self.path("t.json"), "--quiet")
        stored = data_of(self.makes(self.path("t.json")))
        self.same(direct, stored)
        rows = dict(map(tuple, direct["made"]))
        self.assertRegex(rows["model.safetensors"], r"^SHA-256 [0-9a-f]{64}$")
        self.assertIn("--lane 'h2o:slots=4'", rows["computed again by"])
        self.assertEqual(rows["sampling"], "greedy, seed 0 (of policies that draw lots)")
        self.assertIn("n/a", dict(map(tuple, stored["made"]))["hash of the model"])

    def test_the_results_of_a_session_are_shared(self):
        asked = ["--model", TINY, "--prompt-ids", "1,2,3,4,5,6,7,8", "--generate", "2", "--lane", "h2o:slots=4"]
        text = self.succeeds("trace", *asked, "--detail", "why", "--json").encode()
        session = {"kvscope": "session", "version": 1, "temperature": 0,
                   "results": {"schema": "kvscope.trace/1", "packed": "zlib, base64", "bytes": len(text), "data": base64.b64encode(zlib.compress(text)).decode()}}
        self.same(data_of(self.makes(self.write("s.kvscope", json.dumps(session)))), data_of(self.makes(*asked)))
        for change, words in (({"data": "%%%="}, "base64"), ({"bytes": len(text) + 1}, "damaged"), ({"packed": "rot13"}, "packed")):
            broken = {**session, "results": {**session["results"], **change}}
            self.refuses(1, ["share", self.write("b.kvscope", json.dumps(broken)), "--out", self.path("b.html")], words)
        del session["results"]
        self.refuses(1, ["share", self.write("e.kvscope", json.dumps(session)), "--out", self.path("b.html")], "expected a session with results")
        self.assertFalse(os.path.exists(self.path("b.html")))

    def test_a_session_of_a_newer_version_is_said_to_be_one(self):
        asked = ["--model", TINY, "--prompt-ids", "1,2,3,4,5,6,7,8", "--generate", "2", "--lane", "h2o:slots=4"]
        text = self.succeeds("trace", *asked, "--detail", "why", "--json").encode()
        session = {"kvscope": "session", "results": {"schema": "kvscope.trace/1", "packed": "zlib, base64", "bytes": len(text), "data": base64.b64encode(zlib.compress(text)).decode()}}
        known, newer = (self.write(f"{version}.kvscope", json.dumps({**session, "version": version})) for version in (1, 99))
        told = "written by a newer kvscope (version 99 of the file, 1 is known here)"
        page = self.makes(newer, told=f"{newer}: {told}")
        self.assertEqual([n for n in data_of(page)["notes"] if "newer" in n], [told + ": what is known was read"])
        self.assertNotIn("newer", json.dumps(data_of(self.makes(known))["notes"]))
        self.assertIn(told, self.succeeds("run", newer))
        self.assertIn(told, json.loads(self.succeeds("run", newer, "--json"))["notice"])
        self.assertNotIn("notice", json.loads(self.succeeds("run", known, "--json")))

    def test_a_lesson_becomes_the_steps_of_a_page(self):
        page = self.makes("--scenes", LESSON, told="with notes, " + SCENES_TOLD)
        with open(LESSON, encoding="utf-8") as f:
            written = json.load(f)
        lesson = lesson_of(page)
        self.assertEqual([s["name"] for s in lesson["scenes"]], [s.get("name", s["id"]) for s in written["scenes"]], "each has its point on this model")
        self.assertEqual(lesson["left_out"], [])
        for scene, given in zip(lesson["scenes"], written["scenes"], strict=True):
            self.assertEqual(scene["notes"], given["notes"])
            self.assertNotIn("{", scene["message"] + scene["text"])
            self.assertNotIn("n/a", scene["message"] + scene["text"])
            data = data_of(page, scene["part"])
            self.assertLess(scene["run"], len(data["runs"]))
            if "run" in given:
                self.assertEqual(data["runs"][scene["run"]]["letter"], given["run"])
        stages = {json.dumps(s.get("stage"), sort_keys=True) for s in written["scenes"]}
        self.assertLessEqual(max(s["part"] for s in lesson["scenes"]) + 1, len(stages), "what is on stage twice is in the page once")

    def test_a_lesson_names_no_files_outside_of_its_folder(self):
        """As a session: who wrote it may want to have something published that its reader would not show anybody."""
        lessons = self.path("lessons")
        os.mkdir(lessons)
        secret = self.write("secret.json", "topsecretwords")
        lesson = self.write("lessons/l.json", "")

        def says(run):
            self.write("lessons/l.json", json.dumps({
                "kvscope": "scenes", "version": 1, "stage": {"prompt": "Tom is here.", "runs": [run]},
                "scenes": [{"id": "a", "variants": [{"message": "m"}]}]}))
        for run in (f"duo:ratio=0.3,heads={secret}", f"given:file={secret}", f"duo:ratio=0.3,heads={lessons}/../secret.json"):
            says(run)
            self.refuses(2, ["share", "--scenes", lesson, "--out", self.path("x.html")], "l.json: its runs name files outside of its folder", "--trust-files reads them")
            r = cli("share", "--scenes", lesson, "--out", self.path("x.html"), "--trust-files")
            self.assertEqual(r.returncode, 2, r.stderr)
            self.assertNotIn("outside of its folder", r.stderr)
            self.assertNotIn("topsecret", r.stderr)
        says(f"duo:ratio=0.3,heads={self.write('lessons/heads.json', '[]')}")
        self.refuses(2, ["share", "--scenes", lesson, "--out", self.path("x.html")], "expected numbers [")
        self.refuses(2, ["share", "--prompt", "a", "--trust-files", "--out", self.path("x.html")], "--trust-files: expected --session or --scenes")
        self.refuses(2, ["run", "--prompt", "a", "--trust-files"], "--trust-files: expected --session")

    def test_what_a_lesson_says_is_not_said_twice(self):
        for option in (["--prompt", "x"], ["--lane", "full"], ["--follow", "self"], ["--temperature", "2"], ["--prompt-mode", "stream"], ["--generate", "3"]):
            self.refuses(2, ["share", "--scenes", LESSON, *option, "--out", self.path("x.html")], f"unexpected '{option[0]}' beside", "the lesson says it itself")

    def test_a_lesson_about_any_text_takes_the_one_that_is_given(self):
        any_text = os.path.join(LESSONS, "0-this-text.json")
        asked = ["--prompt-file", NEEDLE, "--generate", "3", "--lane", "h2o:ratio=0.2"]
        page = self.makes(*asked, "--scenes", any_text, told=SCENES_TOLD)
        lesson = lesson_of(page)
        self.assertEqual({s["part"] for s in lesson["scenes"]}, {0})
        self.assertIn("Merged (H2O)", lesson["left_out"], "this run merges nothing")
        self.assertNotIn("Merged", [s["name"] for s in lesson["scenes"]])
        self.succeeds("trace", *asked, "--detail", "why", "--out", self.path("t.json"), "--quiet")
        stored = lesson_of(self.makes(self.path("t.json"), "--scenes", any_text, name="stored.html", told=SCENES_TOLD))
        words = lambda scenes: [(s["message"], s["text"]) for s in scenes]
        self.assertEqual(words(stored["scenes"]), words(lesson["scenes"]), "a trace says the same")
        self.refuses(2, ["share", "--scenes", any_text, "--out", self.path("a.html")], "a text of yours", "--prompt")
        self.refuses(2, ["share", self.path("t.json"), "--scenes", LESSON, "--out", self.path("a.html")], "brings text and runs of its own")
        self.refuses(1, ["share", "--scenes", NEEDLE, "--out", self.path("a.html")], "needle.txt")
        own = self.write("own.json", json.dumps({"kvscope": "scenes", "version": 1, "scenes": [{"id": "a", "variants": [{"message": "m"}]}]}))
        self.refuses(2, ["share", "--prompt", "x", "--scenes", own, "--out", own], "read for the result")

    def test_what_cannot_be_shared_is_refused_in_a_sentence(self):
        self.refuses(2, ["share", "--prompt", "x"], "--out FILE.html")
        self.refuses(2, ["share", "--out", self.path("a.html")], "RUN", "none")
        self.refuses(2, ["share", "t.json", "--prompt", "x", "--out", self.path("a.html")], "a stored run is given alone")
        trace = self.write("t.json", self.succeeds("trace", "--model", TINY, "--prompt-ids", "1,2,3", "--detail", "summary", "--json"))
        self.refuses(1, ["share", trace, "--out", self.path("a.html")], "--detail slots or why")
        self.refuses(1, ["share", self.write("x.json", '{"schema":"else"}'), "--out", self.path("a.html")], "kvscope.trace/1")
        self.refuses(2, ["share", trace, "--out", trace], "read for the result")

    def test_nothing_that_a_lesson_reads_is_written_over(self):
        text = self.write("mine.txt", "Tom is here.")
        table = self.write("heads.json", "[]")
        lesson = self.write("l.json", json.dumps({
            "kvscope": "scenes", "version": 1, "stage": {"text": "mine.txt", "runs": [f"duo:ratio=0.5,heads={table}"]},
            "scenes": [{"id": "a", "variants": [{"message": "m"}]}]}))
        for read in (lesson, text, table):
            self.refuses(2, ["share", "--scenes", lesson, "--out", read], "read for the result")
        self.assertEqual((self.text("mine.txt"), self.text("heads.json")), ("Tom is here.", "[]"))

    def test_a_lesson_does_not_drop_the_text_that_kept_tokens_follow(self):
        model = ["--model", TINY]
        self.succeeds("trace", *model, "--prompt-ids", "1,2,3,4", "--generate", "2", "--lane", "h2o:slots=3", "--out", self.path("t.json"), "--out-kept", self.path("k.json"), "--quiet")
        self.refuses(2, ["share", *model, "--kept", self.path("k.json"), "--scenes", os.path.join(LESSONS, "0-this-text.json"), "--out", self.path("a.html")],
                     "what the model itself goes on with", "--kept")

    def test_json_says_what_was_written(self):
        out = self.path("p.html")
        r = cli("share", "--model", TINY, "--prompt-ids", "1,2,3,4", "--generate", "1", "--out", out, "--json")
        self.assertEqual(json.loads(r.stdout), {"schema": "kvscope.share/1", "file": out, "bytes": os.path.getsize(out)}, r.stderr)

    def test_the_prompts_text_is_told_before_anything_is_written(self):
        asked = ["share", "--model", TINY, "--prompt-ids", "1,2,3,4", "--generate", "1", "--quiet", "--out"]
        r = cli(*asked, self.path("p.html"))
        self.assertEqual((r.returncode, r.stdout), (0, ""))
        self.assertEqual(r.stderr.count("\n"), 1)
        self.assertIn("(4 tokens)", r.stderr)


class Gallery(unittest.TestCase):
    FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "gallery")

    def test_it_has_eight_small_pages_that_open_on_a_failure_and_its_table_names_them(self):
        pages = sorted(name for name in os.listdir(self.FOLDER) if name.endswith(".html"))
        self.assertEqual(len(pages), 8)
        with open(os.path.join(self.FOLDER, "README.md"), encoding="utf-8") as f:
            self.assertEqual(sorted(re.findall(r"^\| \[([^]]+)\]", f.read(), re.M)), pages)
        for name in pages:
            with open(os.path.join(self.FOLDER, name), encoding="utf-8") as f:
                page = f.read()
            self.assertLessEqual(len(page.encode()), 512 << 10, name)
            data = data_of(page)
            opened = data["runs"][data["open"]["run"]]["steps"][data["open"]["step"]]
            self.assertFalse(opened["same"], name)
            self.assertIn("says «", opened["finding"], name)


@unittest.skipUnless(BROWSER, "no Chromium (apt-get install chromium): replay pages are not opened")
class InTheBrowser(Pages):
    def opens(self, name, fragment="", *flags):
        """The page's elements once its script is done; fails on any complaint of the browser about it."""
        done = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.path('profile')}", "--enable-logging=stderr",
                               "--virtual-time-budget=20000", "--window-size=1280,800", *flags, "--dump-dom", f"file://{self.path(name)}{fragment}"],
                              capture_output=True, text=True, timeout=200)
        complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(complaints, [])
        self.assertTrue('data-ready="1"' in done.stdout, done.stderr[-2000:])
        return done.stdout

    @staticmethod
    def shown(dom, node):
        """Text of the element with this id; what is hidden for eyes counts too."""
        found = re.search(rf'<(\w+)[^>]* id="{node}"[^>]*>(.*?)</\1>', dom, re.S)
        return re.sub(r"<[^>]+>", "", found[2]).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")

    @staticmethod
    def cells(dom, node):
        table = re.search(rf'<table id="{node}"[^>]*>(.*?)</table>', dom, re.S)[1]
        plain = lambda cell: re.sub(r"<[^>]+>", "", cell).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
        return [[plain(c) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)] for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)]

    def test_the_page_shows_the_numbers_of_the_trace_and_opens_on_the_failure(self):
        asked = ["--prompt-file", NEEDLE, "--generate", "8", "--lane", "keepkv:ratio=0.12", "--lane", "h2o:ratio=0.3"]
        self.succeeds("trace", *asked, "--detail", "why", "--out", self.path("t.json"), "--quiet")
        self.makes(self.path("t.json"))
        trace = self.read_json("t.json")
        dom = self.opens("run.html")
        run = trace["lanes"][1]
        failed = next(s for s in run["steps"] if not s["top1_same"])
        self.assertIn("says «", self.shown(dom, "finding"))
        self.assertEqual(self.shown(dom, "step-name"), f"step {failed['step']} of 8")
        kl = re.search(r"KL (\S+) nats", self.shown(dom, "next-facts"))[1]
        self.assertAlmostEqual(value_of(kl), failed["kl"], delta=0.006 * failed["kl"])
        heads = [text.replace("&lt;", "<").replace("\u2212", "-") for text in re.findall(r'<button[^>]*role="radio"[^>]*>([^<]*)</button>', dom)]
        self.assertEqual(len(heads), 24)
        for text, head in zip(heads, failed["heads"], strict=True):
            self.says(text, head["local_l1_wo"])
        candidates = [row for row in self.cells(dom, "next")[1:] if len(row) == 5]
        best = sorted(failed["top_tokens"], key=lambda t: -max(t["p"], t["p_reference"]))
        self.assertEqual(len(candidates), len(best))
        for row, token in zip(candidates, best, strict=True):
            for text, p in ((row[2], token["p_reference"]), (row[3], token["p"])):
                if text[0] not in "<>":
                    self.assertAlmostEqual(value_of(text), p, delta=0.0006)

    def test_the_address_brings_a_selection_back(self):
        self.makes("--prompt-file", NEEDLE, "--generate", "6", "--lane", "keepkv:ratio=0.12", "--lane", "h2o:ratio=0.3")
        dom = self.opens("run.html", "#run=2&step=3&head=L4H3&token=87")
        self.assertEqual(self.shown(dom, "step-name"), "step 3 of 6")
        self.assertRegex(dom, r'aria-checked="true"[^>]*aria-label="L4 · H3:|aria-label="L4 · H3:[^>]*aria-checked="true"')
        self.assertIn("L4 · H3", self.shown(dom, "strip-title"))
        self.assertIn("H2O", self.shown(dom, "time-facts"))
        self.assertIn("in head L4 · H3", self.shown(dom, "why"))
        self.assertRegex(dom, r'<span data-token="87"[^>]*class="[^"]*chosen')
        for bad in ("#run=9&step=99&head=L77H3&token=-4", "#run=x&head=%3Cscript%3E", "#"):
            self.assertRegex(self.shown(self.opens("run.html", bad), "step-name"), r"^step \d of 6$")

    def with_hands(self, page, name, deeds):
        """The page without its policy, and with a second script that does what a reader would."""
        hands = "<script>const look = setInterval(() => { if (document.documentElement.dataset.ready !== '1') return; clearInterval(look); " + deeds + " }, 20)</script>"
        self.write(name, re.sub(r"<meta http-equiv[^>]*>", hands, page))

    def test_the_table_and_the_hover_say_what_the_trace_holds(self):
        asked = ["--prompt-file", NEEDLE, "--generate", "3", "--lane", "keepkv:ratio=0.12"]
        self.succeeds("trace", *asked, "--detail", "why", "--out", self.path("t.json"), "--quiet")
        self.with_hands(self.makes(self.path("t.json")), "hands.html",
                        "document.getElementById('numbers-details').open = true;"
                        "document.querySelector('#prompt span[data-token=\"87\"]').dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 200, clientY: 300}));")
        dom = self.opens("hands.html", "#run=1&step=2&head=L4H3")
        head = self.read_json("t.json")["lanes"][1]["steps"][2]["heads"][4 * 4 + 3]
        slots = {slot[0]: slot for slot in head["slots"]}
        rows = [row for row in self.cells(dom, "numbers") if row and row[0].isdigit()]
        self.assertEqual([int(row[0]) for row in rows], list(range(169)))
        for token, _, fate, votes, attention, lost, score in rows:
            slot = slots.get(int(token))
            self.assertEqual(int(votes), slot[1] if slot else 0, token)
            self.assertEqual("evicted" in fate or "merged" in fate, slot is None, token)
            if slot and slot[2] is not None:
                self.says(score, slot[2])
            if lost not in ("", "n/a"):
                expected = head["reference_attention"][int(token)]
                self.says(lost, expected)
        self.assertGreater(sum(1 for row in rows if row[5] not in ("", "n/a")), 100)
        tip = re.sub(r"<[^>]+>", " ", dom[dom.index('id="tip"'):dom.index('id="said"')])
        for words in ("token 87 «8» · L4 · H3", "evicted at step 0", "attention of this query, every token in place 9", "ranking score at its removal"):
            self.assertIn(words, tip)

    def test_its_controls_choose(self):
        self.with_hands(self.makes("--prompt-file", NEEDLE, "--generate", "3", "--lane", "keepkv:ratio=0.12", "--lane", "h2o:ratio=0.2"), "hands.html",
                        "const $ = id => document.getElementById(id), key = (node, key) => node.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));"
                        "document.querySelectorAll('#runs input')[2].click(); $('back').click(); key(document.body, 'ArrowRight'); $('head').value = '5';"
                        "$('head').dispatchEvent(new Event('change')); document.querySelector('#prompt span[data-token=\"20\"]').click();"
                        "key($('atlas'), 'ArrowDown'); key($('atlas'), 'ArrowRight'); $('zoom-in').click(); $('theme').click();"
                        "document.body.dataset.address = location.hash;")
        dom = self.opens("hands.html", "#run=1&step=2&head=all")
        self.assertIn('data-address="#run=2&amp;step=2&amp;head=L1H2&amp;token=21"', dom)
        self.assertIn('data-theme="dark"', dom)
        self.assertIn("token 21", self.shown(dom, "said"))
        self.assertNotRegex(dom, r'id="zoom-all"[^>]* disabled')

    def test_the_last_number_of_the_axis_stays_whole(self):
        line = os.path.join(os.path.dirname(NEEDLE), "line.txt")  # 158 tokens and 3 more: 160 stands at the very end
        self.with_hands(self.makes("--prompt-file", line, "--generate", "3", "--lane", "h2o:ratio=0.15"), "hands.html",
                        "const drawn = [], draw = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {"
                        " if (this.canvas.id === 'atlas' && y === 11) drawn.push(`${text} ${Math.round(this.canvas.clientWidth - x - this.measureText(text).width / 2)}`);"
                        " return draw.call(this, text, x, y); };"
                        "document.getElementById('atlas').dispatchEvent(new KeyboardEvent('keydown', {key: '0', bubbles: true})); document.body.dataset.drawn = drawn.join();")
        drawn = dict(pair.split() for pair in re.search(r'data-drawn="([^"]*)"', self.opens("hands.html"))[1].split(","))
        self.assertIn("160", drawn)
        for number, room in drawn.items():
            self.assertGreaterEqual(int(room), 0, number)

    def test_the_tables_of_steps_show_the_chosen_one(self):
        self.with_hands(self.makes("--prompt-file", NEEDLE, "--generate", "20", "--lane", "h2o:ratio=0.2"), "hands.html",
                        "for (const id of ['time', 'answers']) { const table = document.getElementById(id), at = node => node.getBoundingClientRect(),"
                        " now = at(table.querySelector('thead .now')), box = at(table.parentElement), first = at(table.querySelector('thead th'));"
                        " document.body.setAttribute(`data-${id}`, `${now.left >= first.right - 1 && now.right <= box.right + 1} ${table.offsetWidth > table.parentElement.clientWidth}`); }")
        for step in (0, 10, 20):
            dom = self.opens("hands.html", f"#run=1&step={step}")
            for table in ("time", "answers"):
                self.assertIn(f'data-{table}="true true"', dom, f"{table}, step {step}: expected in view, of a table wider than its room")

    def in_a_frame(self, page, width, deeds, fragment=""):
        """What a reader's script says of the page in a frame of this width; a window of its own is never narrower than 500."""
        bare = re.sub(r"<meta http-equiv[^>]*>", f"<script>location.hash = '{fragment}'</script>", page)
        self.write("frame.html", f'<!DOCTYPE html><html><body><iframe width="{width}" height="800" style="border:0" srcdoc="{html.escape(bare)}"></iframe><script>'
                   "const look = setInterval(() => { const frame = document.querySelector('iframe').contentWindow, root = frame.document.documentElement;"
                   " if (root?.dataset.ready !== '1') return; clearInterval(look); const $ = id => frame.document.getElementById(id), at = node => node.getBoundingClientRect(), said = {};"
                   + deeds + " document.body.dataset.said = JSON.stringify(said); document.documentElement.dataset.ready = '1'; }, 20)</script></body></html>")
        return json.loads(html.unescape(re.search(r'data-said="([^"]*)"', self.opens("frame.html", "", "--window-size=1600,1000"))[1]))

    def test_on_a_telephone_only_tables_scroll_sideways(self):
        page = self.makes("--prompt-file", NEEDLE, "--generate", "20", "--lane", "local:ratio=0.1", "--lane", "streaming:ratio=0.1")
        said = self.in_a_frame(page, 360, "said.page = root.scrollWidth - root.clientWidth; const table = $('answers'); said.table = table.offsetWidth - table.parentElement.clientWidth;"
                               " said.later = table.querySelectorAll('.hidden').length;")
        self.assertGreater(said["table"], 0, "a table that is wider than its room, with")
        self.assertGreater(said["later"], 10, "words for screen readers in it")
        self.assertEqual(said["page"], 0)

    def test_what_a_table_says_of_itself_does_not_scroll_with_it(self):
        page = self.makes("--prompt-file", NEEDLE, "--generate", "20", "--lane", "h2o:ratio=0.2")
        for width in (360, 1400):
            said = self.in_a_frame(page, width, "$('answers').parentElement.scrollLeft = 60; const words = document.createRange();"
                                   " const shown = [...root.querySelectorAll('.prompt-panel *')].filter(e => e.children.length === 0 && e.textContent.startsWith('What follows the text:'));"
                                   " words.selectNodeContents(shown[0]); const room = at(frame.document.querySelector('.prompt-panel'));"
                                   " Object.assign(said, {n: shown.length, left: at(words).left - room.left, right: room.right - at(words).right});")
            self.assertEqual(said["n"], 1)
            self.assertGreater(said["left"], 0, width)
            self.assertGreater(said["right"], 0, width)

    def test_the_buttons_of_steps_stay_under_the_mouse(self):
        names = os.path.join(os.path.dirname(NEEDLE), "names.txt")
        page = self.makes("--prompt-file", names, "--generate", "8", "--lane", "keepkv:ratio=0.2")
        for width in (360, 1400):
            said = self.in_a_frame(page, width, "said.tops = []; said.lines = []; for (let i = 0; i < 9; ++i) { $('step').value = i; $('step').dispatchEvent(new Event('input'));"
                                   " said.tops.push(at($('next-change')).top + ' ' + at($('next-change')).left); said.lines.push(at($('finding')).height); }")
            self.assertGreater(len(set(said["lines"])), 1, "headlines of one line and of more")
            self.assertEqual(len(set(said["tops"])), 1, f"{width}: {said['tops']}")

    def test_a_long_name_of_a_run_pushes_no_number_out_of_sight(self):
        name = "Anameofarunthatsomebodymadeupforatalk"
        page = self.makes("--prompt-file", NEEDLE, "--generate", "8", "--lane", f"custom:ratio=0.2,name={name}")
        for width in (360, 1400):
            said = self.in_a_frame(page, width, "said.next = $('next').offsetWidth - $('next').parentElement.clientWidth; said.page = root.scrollWidth - root.clientWidth;"
                                   " const box = at($('answers').parentElement), rows = [...$('answers').querySelectorAll('tbody tr')];"
                                   " said.room = Math.min(...rows.map(r => box.right - at(r.children[0]).right)) / box.width;"
                                   " said.titles = ['runs', 'answers', 'next', 'figures'].map(id => [...$(id).querySelectorAll('[title]')].map(e => e.title).join());", "#run=1&step=1")
            self.assertLessEqual(said["next"], 0, width)
            self.assertEqual(said["page"], 0, width)
            self.assertGreater(said["room"], 0.5, f"{width}: answers have the greater part of their table")
            for titles in said["titles"]:
                self.assertIn(f"name={name}", titles)

    def test_paper_is_light_and_nothing_on_it_is_cut(self):
        page = self.makes("--prompt-file", NEEDLE, "--generate", "20", *(arg for p in ("keepkv", "h2o", "snapkv", "streaming") for arg in ("--lane", p + ":ratio=0.2")))
        said = self.in_a_frame(page, 1400, "$('theme').click(); said.screen = root.dataset.theme; $('numbers-details').open = true; frame.dispatchEvent(new Event('beforeprint'));"
                               " for (const rule of frame.document.styleSheets[0].cssRules) if (rule.media?.mediaText === 'print') rule.media.mediaText = 'all'; frame.frameElement.width = 717;"
                               " const style = (node, name) => frame.getComputedStyle(node)[name], hidden = node => node.closest('.hidden, [hidden]');"
                               " said.cut = [...root.querySelectorAll('.panel *')].filter(e => !hidden(e) && at(e).width && at(e).right > at(e.closest('.panel')).right + .5).map(e => e.outerHTML.slice(0, 80));"
                               " said.scrolled = [...root.querySelectorAll('.panel *')].filter(e => !hidden(e) && style(e, 'overflow') !== 'visible' && e.tagName !== 'CANVAS' && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1))"
                               ".map(e => e.outerHTML.slice(0, 80));"
                               " said.colours = ['#prompt span', '.legend i', '.bar', '#grid button'].map(s => style(frame.document.querySelector(s), 'printColorAdjust'));"
                               " said.window = style(root, 'colorScheme'); said.upright = [...$('answers').querySelectorAll('thead th')].every((c, i, all) => i === 0 || at(c).top > at(all[i - 1]).top);"
                               " const pictures = ['atlas', 'strip', 'compare'].map($);"
                               " said.shapes = pictures.map(c => c.width / c.height / (at(c).width / at(c).height)); said.sizes = pictures.map(c => at(c).height / parseFloat(c.style.height));"
                               " frame.dispatchEvent(new Event('afterprint')); said.after = root.dataset.theme;", "#run=1&step=1&head=L4H3&token=87")
        self.assertEqual((said["screen"], said["window"], said["after"]), ("dark", "light", "dark"))
        self.assertEqual(said["cut"], [])
        self.assertEqual(said["scrolled"], [])
        self.assertEqual(said["colours"], ["exact"] * 4, "with or without the browser's backgrounds")
        self.assertTrue(said["upright"], "a row a step")
        for shape, size in zip(said["shapes"], said["sizes"], strict=True):
            self.assertAlmostEqual(shape, 1, delta=0.005, msg="pictures keep their shape")
            self.assertAlmostEqual(size, 1, delta=0.1, msg="and are drawn for the sheet: their words are as large as on the screen")

    def test_a_browser_without_decompression_shows_the_same(self):
        page = self.makes("--prompt-file", NEEDLE, "--generate", "2", "--lane", "h2o:ratio=0.2")
        expected = self.cells(self.opens("run.html"), "figures")
        old = re.sub(r"<meta http-equiv[^>]*>", "<script>delete window.DecompressionStream</script>", page)
        self.write("old.html", old)
        self.assertEqual(self.cells(self.opens("old.html"), "figures"), expected)

    def test_scenes_lead_through_the_page(self):
        self.makes("--scenes", LESSON, told=SCENES_TOLD)
        scenes = lesson_of(self.text("run.html"))["scenes"]
        dom = self.opens("run.html")
        self.assertEqual(self.shown(dom, "finding"), scenes[0]["message"])
        self.assertEqual(self.shown(dom, "lead"), scenes[0]["text"])
        self.assertIn(scenes[0]["notes"], self.shown(dom, "scene-notes"))
        last = len(scenes)
        dom = self.opens("run.html", f"#scene={last}")
        self.assertEqual(self.shown(dom, "finding"), scenes[-1]["message"])
        parts = [data_of(self.text("run.html"), part) for part in range(1 + max(s["part"] for s in scenes))]
        at = scenes[-1]
        self.assertIn(parts[at["part"]]["runs"][at["run"]]["title"], self.shown(dom, "time-facts"))
        dom = self.opens("run.html", f"#scene={last}&run=0&step=0&head=all")
        self.assertNotEqual(self.shown(dom, "finding"), scenes[-1]["message"], "the reader looks elsewhere")
        self.assertNotRegex(dom, r'id="scene-again"[^>]* hidden')

    def test_keys_page_through_the_scenes_and_back(self):
        page = self.makes("--scenes", LESSON, told=SCENES_TOLD)
        scenes = lesson_of(page)["scenes"]
        turn = next(i for i, s in enumerate(scenes) if s["part"] != scenes[0]["part"])
        press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}));"
        self.with_hands(page, "hands.html", f"let n = 0; const go = setInterval(() => {{ if (n++ < {turn}) {press % 'PageDown'} else clearInterval(go); }}, 200);")
        dom = self.opens("hands.html")
        self.assertEqual(self.shown(dom, "finding"), scenes[turn]["message"], "in other results")
        titles = [run["title"] for run in data_of(page, scenes[turn]["part"])["runs"]]
        self.assertEqual(len(re.findall(r'<label class="run"', dom)), len(titles))
        self.with_hands(page, "back.html", press % "PageDown" + f"setTimeout(() => {{ {press % 'PageUp'} }}, 300);")
        self.assertEqual(self.shown(self.opens("back.html"), "finding"), scenes[0]["message"])

    def test_a_hostile_text_is_shown_and_runs_nothing(self):
        hostile = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> \u202Eesrever\u202C \u0000 \u2028 & &amp; <!-- "
        text = json.loads(self.succeeds("trace", "--prompt", "The house number is 4. " * 3, "--generate", "2", "--lane", "h2o:ratio=0.5", "--detail", "why", "--json"))
        text["token_texts"][3] = hostile
        text["token_texts"][4] = "x" * (10 << 20)
        text["token_texts"][5] = {"hex": "00ff0a0dc3"}
        text["prompt"] = hostile
        text["model"]["name"] = hostile
        text["lanes"][1]["title"] = hostile
        text.pop("token_ranges", None)
        page = self.makes(self.write("t.json", json.dumps(text)))
        self.assertFalse("owned" in page)
        self.assertLess(len(page), 1 << 20)
        dom = self.opens("run.html", "#run=1&step=1&head=L0H0&token=3")
        self.assertFalse("<img" in dom or "<title>owned" in dom)
        prompt = self.shown(dom, "prompt")
        for shown in ("</script><script>document.title='owned'", "⟨U+202E⟩esrever", "⟨U+0000⟩", "⟨U+2028⟩", "⟨FF⟩", "10\u2009485\u2009760 bytes"):
            self.assertIn(shown, prompt)
        self.assertEqual([c for c in "\u202e\u202c\u2028\u0000" if c in dom], [])


if __name__ == "__main__":
    unittest.main()
