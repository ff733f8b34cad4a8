// SPDX-License-Identifier: Apache-2.0
// The script of a replay page (format kvscope.page/1, engine/trace/TRACE.md section 7). Data come as kvscope wrote them: numbers as the
// texts that its window shows, fates and reasons in its words. Nothing is computed here but where things stand on the screen.
"use strict";

(() => {
// ---- unpacking

/** Bytes of base64. */
function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** Inflates zlib's format (RFC 1950, 1951), for browsers without DecompressionStream. */
function inflate(input) {
  let at = 2, hold = 0, held = 0, out = new Uint8Array(input.length * 6), n = 0;
  const bits = count => {
    while (held < count) hold |= input[at++] << held, held += 8;
    const value = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return value;
  };
  const room = more => {
    if (n + more <= out.length) return;
    const larger = new Uint8Array(Math.max(out.length * 2, n + more));
    larger.set(out);
    out = larger;
  };
  const tree = lengths => {  // counts of every length, and the symbols in order of their codes
    const count = new Uint16Array(16), offset = new Uint16Array(16), symbol = new Uint16Array(lengths.length);
    for (const l of lengths) ++count[l];
    count[0] = 0;
    for (let i = 1; i < 16; ++i) offset[i] = offset[i - 1] + count[i - 1];
    lengths.forEach((l, s) => { if (l) symbol[offset[l]++] = s; });
    return {count, symbol};
  };
  const decode = ({count, symbol}) => {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length < 16; ++length) {
      code |= bits(1);
      const c = count[length];
      if (code - c < first) return symbol[index + (code - first)];
      index += c;
      first = (first + c) << 1;
      code <<= 1;
    }
    throw new Error("damaged");
  };
  const base = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const extra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const far = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
  const fixed = () => [tree([...Array(288).keys()].map(s => s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8)), tree(Array(30).fill(5))];
  const dynamic = () => {
    const literals = bits(5) + 257, distances = bits(5) + 1, codes = bits(4) + 4, lengths = Array(19).fill(0);
    for (let i = 0; i < codes; ++i) lengths[[16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15][i]] = bits(3);
    const of = tree(lengths), all = [];
    while (all.length < literals + distances) {
      const s = decode(of);
      if (s < 16) all.push(s);
      else {
        const again = s === 16 ? all[all.length - 1] : 0;
        for (let k = s === 16 ? 3 + bits(2) : s === 17 ? 3 + bits(3) : 11 + bits(7); k > 0; --k) all.push(again);
      }
    }
    return [tree(all.slice(0, literals)), tree(all.slice(literals))];
  };
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      hold = held = 0;
      const length = input[at] | input[at + 1] << 8;
      room(length);
      out.set(input.subarray(at + 4, at + 4 + length), n);
      at += 4 + length;
      n += length;
      continue;
    }
    const [literal, distance] = kind === 1 ? fixed() : dynamic();
    for (let s = decode(literal); s !== 256; s = decode(literal)) {
      if (s < 256) {
        room(1);
        out[n++] = s;
        continue;
      }
      const length = base[s - 257] + bits(extra[s - 257]), d = decode(distance), back = far[d] + bits(d < 2 ? 0 : (d >> 1) - 1);
      room(length);
      for (let k = 0; k < length; ++k, ++n) out[n] = out[n - back];
    }
  }
  return out.subarray(0, n);
}

async function unpacked(packed) {
  if (typeof DecompressionStream !== "function") return inflate(packed);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A column as a function of a place. */
function columnOf(where, bytes, from) {
  if ("all" in where) return () => where.all;
  const {at, n} = where, out = where.bytes === 1 ? new Uint8Array(n) : where.bytes === 2 ? new Uint16Array(n) : new Uint32Array(n);
  for (let plane = 0; plane < where.bytes; ++plane) {
    const begin = from + at + plane * n;
    for (let i = 0; i < n; ++i) out[i] |= bytes[begin + i] << (8 * plane);
  }
  return i => out[i];
}

// ---- the page's data and what is chosen

const UNSEEN = 0, FRESH = 1, SINK = 2, MERGED = 4, EVICTED = 6;
const LEGEND = [SINK, 5, MERGED, 3, FRESH, EVICTED];
let page = null;          // the header
let nTokens = 0, nHeads = 0;
let lesson = null, scene = 0, emphasis = -1;          // that leads through the page; the category that a scene is about
const parts = [];                                     // promises of results by their place, as far as they are wanted
let chosen = {run: 0, step: 0, head: -1, token: -1};  // head -1: all
let view = {first: 0, count: 0};                      // tokens of the atlas
let timer = 0;
let onPaper = false;       // while the browser prints

const $ = id => document.getElementById(id);
const runOf = () => page.runs[chosen.run];
const stepsOf = run => run.steps.length;
const stepOf = run => run.steps[Math.min(chosen.step, stepsOf(run) - 1)];
const stepIndex = run => Math.min(chosen.step, stepsOf(run) - 1);
const cell = (run, head, token, step = stepIndex(run)) => (head * stepsOf(run) + step) * nTokens + token;
const fateOf = (run, head, token, step) => page.fates[run.fate(cell(run, head, token, step))];
const headName = head => `L${Math.floor(head / page.model.n_kv_heads)} · H${head % page.model.n_kv_heads}`;
const headKey = head => `L${Math.floor(head / page.model.n_kv_heads)}H${head % page.model.n_kv_heads}`;
/** The head that pictures of one head show: the chosen one, else that with the largest error. */
const shownHead = run => chosen.head >= 0 ? chosen.head : Math.max(0, stepOf(run).worst);
const tokenText = (run, token) => run.ownText.get(token) ?? page.tokens[token];
const stepName = (run, s) => page.prefill && s === 0 ? "0 (prefill)" : String(s);
const numberOf = (column, run, head) => {
  const place = run.heads[column][stepIndex(run) * nHeads + head];
  return {text: page.numbers[place], value: page.values[place]};
};
const quoted = text => `«${text}»`;
const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;

/** An element with properties and children; text goes in as text, never as markup. */
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "style") Object.assign(node.style, value);
    else if (key === "class") node.className = value;
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
/** The name of a run where room is scarce: cut there by the style, told in full by its specification. */
const runName = (run, shown = `${run.letter} ${run.title}`) =>
  el("span", {class: "name", title: run.policy.find(([name]) => name === "specification")?.[1] ?? run.title}, shown);
const fill = (node, ...children) => (node.replaceChildren(...children), node);

// ---- colours: the window's

const isDark = () => document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const theme = () => page.themes[isDark() ? "dark" : "light"];
const cssColour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
const mixed = (a, b, t) => {
  const x = channels(a), y = channels(b);
  return "#" + x.map((v, i) => Math.round(v + (y[i] - v) * t).toString(16).padStart(2, "0")).join("");
};
function rampColour(colours, t) {
  if (!(t > 0)) return colours[0];
  if (t >= 1) return colours[colours.length - 1];
  const x = t * (colours.length - 1), i = Math.min(Math.floor(x), colours.length - 2);
  return mixed(colours[i], colours[i + 1], x - i);
}
function inkOn(hex) {
  const [r, g, b] = channels(hex).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#14171c" : "#ffffff";
}

// ---- the address keeps the selection

function readAddress() {
  const said = new URLSearchParams(location.hash.slice(1)), whole = (key, most) => {
    const v = Number(said.get(key));
    return said.has(key) && Number.isInteger(v) && v >= 0 && v <= most ? v : -1;
  };
  const run = whole("run", page.runs.length - 1);
  const next = run >= 0 ? {run, step: stepsOf(page.runs[run]) - 1, head: -1, token: -1} : lesson ? placeOfScene() : {...page.open};
  const step = whole("step", stepsOf(page.runs[next.run]) - 1);
  if (step >= 0) next.step = step;
  const head = /^L(\d+)H(\d+)$/.exec(said.get("head") ?? "");
  if (head && Number(head[1]) < page.model.n_layers && Number(head[2]) < page.model.n_kv_heads) next.head = Number(head[1]) * page.model.n_kv_heads + Number(head[2]);
  if (said.get("head") === "all") next.head = -1;
  const token = whole("token", nTokens - 1);
  if (token >= 0) next.token = token;
  return next;
}

function writeAddress() {
  const said = [`run=${chosen.run}`, `step=${chosen.step}`, `head=${chosen.head >= 0 ? headKey(chosen.head) : "all"}`];
  if (chosen.token >= 0) said.push(`token=${chosen.token}`);
  if (lesson) said.unshift(`scene=${scene + 1}`);
  try {
    history.replaceState(null, "", "#" + said.join("&"));
  } catch (e) { /* a frame without a history: the page works, its address stays */ }
}

/** Colour of a category's cells: pale where a scene is about another one, though never paler than what is gone. */
const cellColour = (colour, category) => emphasis < 0 || category === emphasis ? colour : mixed(colour, cssColour("panel"), emphasis === EVICTED ? .25 : .75);

function choose(change) {
  chosen = {...chosen, ...change};
  chosen.step = Math.max(0, Math.min(chosen.step, stepsOf(runOf()) - 1));
  writeAddress();
  show();
}

// ---- the scenes of a lesson

const placeOfScene = () => {
  const {run, step, head, token} = lesson.scenes[scene];
  return {run, step, head, token};
};
const atScene = () => lesson !== null && Object.entries(placeOfScene()).every(([key, value]) => chosen[key] === value);

/** The scene that the address names, counted from 1; the first one where it names none. */
function sceneOfAddress() {
  const n = Number(new URLSearchParams(location.hash.slice(1)).get("scene"));
  return Number.isInteger(n) && n >= 1 && n <= lesson.scenes.length ? n - 1 : 0;
}

async function enterScene(index, place) {
  play(false);
  const wanted = scene = Math.max(0, Math.min(lesson.scenes.length - 1, index));
  const results = await partOf(lesson.scenes[wanted].part);
  if (scene !== wanted) return;  // paged on meanwhile
  use(results);
  emphasis = lesson.scenes[scene].emphasis;
  $("main").classList.toggle("comparing", lesson.scenes[scene].compare);  // all runs first, right below what is said of them
  chosen = place ? place() : placeOfScene();
  writeAddress();
  paintTheme();
  if (!place) scrollTo(0, 0);
}

function showScene() {
  const {message, text, notes} = lesson.scenes[scene], here = atScene();
  $("scene").value = String(scene);
  $("scene-back").disabled = scene === 0;
  $("scene-next").disabled = scene + 1 === lesson.scenes.length;
  $("scene-again").hidden = here;
  $("scene-notes").hidden = !here || notes === "";
  $("scene-notes").lastElementChild.textContent = notes;
  if (!here) return;
  $("finding").classList.remove("changed");
  $("finding").textContent = message;
  $("lead").textContent = text;
}

function buildScenes() {
  $("scenes").hidden = false;
  $("lesson-name").textContent = lesson.name;
  $("scene").append(...lesson.scenes.map((s, i) => el("option", {value: String(i)}, `${i + 1} of ${lesson.scenes.length} · ${s.name}`)));
  $("scene").addEventListener("change", e => enterScene(Number(e.target.value)));
  $("scene-back").addEventListener("click", () => enterScene(scene - 1));
  $("scene-next").addEventListener("click", () => enterScene(scene + 1));
  $("scene-again").addEventListener("click", () => enterScene(scene));
  document.addEventListener("keydown", e => {
    if (e.key !== "PageDown" && e.key !== "PageUp") return;
    e.preventDefault();
    enterScene(scene + (e.key === "PageDown" ? 1 : -1));
  });
}

// ---- the story

function showStory(run, step) {
  const title = $("finding");
  title.classList.toggle("changed", step.finding !== "");
  title.textContent = step.finding !== "" ? step.finding.replace(/\.$/, "")
    : step.says === "" ? `Step ${stepIndex(run)}: ${run.title} reads token ${step.position} of the text`
    : chosen.run === 0 ? `The full cache says ${quoted(step.says)}` : `${run.title} says ${quoted(step.says)}, as the full cache does`;
  const head = shownHead(run), slots = numberOf("slots", run, head).text;
  const what = chosen.run === 0
    ? "Here the full cache: every token stays. It is the reference for the other runs."
    : `Here ${run.title}: after this step head ${headName(head)} holds ${slots} slots for the ${step.position + 1} tokens so far. The colours say what became of each token.`;
  $("lead").textContent = `A language model keeps a key and a value of every token that it has read, in each of its ${nHeads} heads: the KV cache. ${what}`;
}

function showControls(run) {
  for (const input of document.querySelectorAll("#runs input")) input.checked = Number(input.value) === chosen.run;
  const slider = $("step"), n = stepsOf(run);
  slider.max = String(n - 1);
  slider.value = String(chosen.step);
  const name = page.prefill && chosen.step === 0 ? "the prompt's own step" : `step ${chosen.step} of ${n - 1}`;
  slider.setAttribute("aria-valuetext", name);
  $("step-name").textContent = name;
  $("back").disabled = chosen.step === 0;
  $("forward").disabled = chosen.step === n - 1;
  $("next-change").disabled = !run.steps.some(s => s.finding !== "");
  $("head").value = String(chosen.head);
  $("token").value = chosen.token >= 0 ? String(chosen.token) : "";
}

// ---- the text

/** In how many heads a slot stands for every token; -1: not seen yet. */
function representedBy(run) {
  const out = new Int32Array(nTokens).fill(-1), s = stepIndex(run), seen = run.steps[s].position;
  for (let t = 0; t <= seen && t < nTokens; ++t) {
    out[t] = 0;
    for (let h = 0; h < nHeads; ++h) out[t] += run.slot(cell(run, h, t, s)) > 0 ? 1 : 0;
  }
  return out;
}

function buildPrompt() {
  fill($("prompt"), ...Array.from({length: nTokens}, (_, t) => el("span", {"data-token": String(t)})));
}

function watchPrompt() {
  const box = $("prompt");
  box.addEventListener("click", e => {
    const token = e.target.closest("span");
    if (token) choose({token: Number(token.dataset.token)});
  });
  hoverLines(box, e => {
    const token = e.target.closest("span");
    return token ? tokenLines(runOf(), chosen.head >= 0 ? chosen.head : -1, Number(token.dataset.token)) : null;
  });
}

function showPrompt(run) {
  const colours = theme(), panel = cssColour("panel"), counts = chosen.head < 0 ? representedBy(run) : null;
  const spans = $("prompt").children;
  for (let t = 0; t < nTokens; ++t) {
    const span = spans[t], text = tokenText(run, t), special = text.startsWith("⟨");
    const shown = special ? text : text.replace(/^·+/, dots => " ".repeat(dots.length)).replace(/↵/g, "↵\n");
    if (span.textContent !== shown) span.textContent = shown;
    let background = "", ink = "", state = "";
    if (counts) {
      if (counts[t] < 0) state = "unread";
      else if (counts[t] === 0) state = "gone";
      else {
        const share = counts[t] / nHeads;
        background = mixed(panel, rampColour(colours.sequential, share), Math.min(1, share / 0.25));
        ink = inkOn(background);
      }
    } else {
      const category = fateOf(run, chosen.head, t)[0];
      if (category === UNSEEN) state = "unread";
      else if (category === EVICTED) state = "gone";
      else background = mixed(panel, cellColour(colours.category[category], category), colours.tint);
    }
    span.style.background = background;
    span.style.color = ink;
    span.className = [state, t >= page.n_prompt ? "generated" : "", t === chosen.token ? "chosen" : ""].join(" ").trim();
  }
  if (chosen.token >= 0) keepInView($("prompt"), spans[chosen.token]);
  showLegend(colours, counts !== null);
}

/** Scrolls a box, and only the box, until a child is in it. */
function keepInView(box, child) {
  const top = child.offsetTop - box.offsetTop, end = top + child.offsetHeight;
  if (top < box.scrollTop || end > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
}

/** Scrolls a table with a column a step, and only that, until the chosen step stands beside its first column, which stays. */
function keepStepInView(table) {
  const now = table.querySelector("thead .now");
  if (!now) return;
  const box = table.parentElement, left = box.getBoundingClientRect().left + table.querySelector("thead th").offsetWidth, right = box.getBoundingClientRect().right;
  const {left: from, right: to} = now.getBoundingClientRect();
  if (from < left || to > right) box.scrollLeft += (from + to - left - right) / 2;
}

/** Fills a table with a column a step; on paper the style makes rows of as many cells. */
function fillSteps(table, head, rows) {
  fill(table, el("thead", {}, head), el("tbody", {}, ...rows));
  table.style.setProperty("--cells", head.children.length);
  keepStepInView(table);
}

function showLegend(colours, byHeads) {
  const list = $("legend");
  if (!byHeads) {
    return fill(list, ...LEGEND.map(c => el("li", {class: c === emphasis ? "lit" : ""}, el("i", {style: {background: c === EVICTED ? "none" : colours.category[c], borderColor: c === EVICTED ? cssColour("outline") : "transparent"}}),
      page.categories[c])));
  }
  const ramp = el("canvas", {width: 110, height: 10, style: {width: "110px"}, "aria-hidden": "true"}), pen = ramp.getContext("2d");
  for (let x = 0; x < 110; ++x) {
    pen.fillStyle = rampColour(colours.sequential, x / 109);
    pen.fillRect(x, 0, 1, 10);
  }
  fill(list, el("li", {}, "heads that still represent the token: 0"), el("li", {}, ramp), el("li", {}, String(nHeads)));
}

/** Whether a run chooses another token here than the full cache: null where it reads another text, and nothing is compared. */
const differs = step => step.same === false;
/** The same of what it says, which may be drawn. */
const saysAnother = step => step.says_same === false;

function showAnswers(run) {
  const from = page.prefill ? 0 : page.runs[0].steps.findIndex(s => s.says !== "");
  const rows = page.runs.length > 1 ? page.runs.slice(1) : [];
  const steps = page.runs[0].steps.map((s, i) => i).filter(i => i >= Math.max(0, from) && page.runs[0].steps[i].says !== "");
  const table = $("answers"), now = i => i === stepIndex(run) ? "now" : "";
  const head = el("tr", {}, el("th", {scope: "col"}, "step"), ...steps.map(i => el("th", {scope: "col", class: now(i)},
    el("button", {type: "button", onclick: () => choose({step: i}), "aria-label": `step ${i}`}, stepName(run, i)))));
  const full = page.runs[0], row = (name, token) => el("tr", {}, el("th", {scope: "row"}, name), ...steps.map(i => el("td", {class: `token ${now(i)}`}, token(full.steps[i]))));
  // a text that was given or drawn is not what the full cache would say, and with that the runs' choices are compared
  const given = page.follow !== "self" && steps.some(i => full.steps[i].choice !== full.steps[i].reference);
  const reference = given ? [row("the text that is read", s => s.reference), row(full.title, s => s.choice)] : [row(full.title, s => s.reference)];
  const said = rows.map(r => el("tr", {}, el("th", {scope: "row"}, runName(r)), ...steps.map(i => {
    const s = r.steps[i];
    if (!s) return el("td", {class: "na"}, "n/a");
    return el("td", {class: `token ${now(i)} ${saysAnother(s) ? "changed" : ""}`, title: `p of the ${given ? "text's" : "full cache's"} token: ${s.p}`}, s.says, ...(!saysAnother(s) ? [] : [el("span", {class: "hidden"}, " (differs)")]));
  })));
  $("answers-title").textContent = `What follows the text: ${page.goes_on_from}`;
  fillSteps(table, head, [...reference, ...said]);
}

// ---- lines about a token

/** Attention, score and votes of a token in a head: pairs of name and value. */
function tokenFacts(run, head, token) {
  const at = cell(run, head, token), attention = run.attention(at), paid = page.numbers[attention >> 1], score = run.score(at), votes = run.votes(at), facts = [];
  facts.push(attention & 1 ? ["attention of this query, every token in place", `${paid}, not in this cache`] : ["attention", paid]);
  if (score > 0) facts.push([votes > 0 ? "ranking score" : "ranking score at its removal", page.numbers[score]]);
  else if (votes > 0) facts.push(["ranking score", "n/a: not ranked in this step"]);
  if (votes > 0) facts.push([votes === 1 ? "vote" : "votes", String(votes)]);
  return facts;
}

/** What the page knows of a token: in one head, or in how many heads. The first line is its name. */
function tokenLines(run, head, token) {
  const name = `token ${token} ${quoted(tokenText(run, token))}`;
  if (head < 0) {
    const n = representedBy(run)[token];
    return [name, n < 0 ? "not seen yet" : `${n} of ${plural(nHeads, "head", "heads")} represent it`];
  }
  const [category, fate] = fateOf(run, head, token), lines = [`${name} · ${headName(head)}`, fate];
  return category === UNSEEN ? lines : [...lines, ...tokenFacts(run, head, token).map(([what, value]) => `${what} ${value}`)];
}

function showTip(lines, x, y) {
  const tip = $("tip");
  if (!lines) {
    tip.hidden = true;
    return;
  }
  fill(tip, el("b", {}, lines[0]), ...lines.slice(1).map(line => el("div", {}, line)));
  tip.hidden = false;
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - wide - 4))}px`;
  tip.style.top = `${y + 18 + high > innerHeight ? Math.max(4, y - high - 10) : y + 18}px`;
}

function hoverLines(node, linesAt) {
  node.addEventListener("pointermove", e => showTip(linesAt(e), e.clientX, e.clientY));
  node.addEventListener("pointerleave", () => showTip(null));
}

// ---- canvases

/** Of a picture in CSS pixels: on paper it is drawn as wide as a sheet of A4 leaves room for, whatever the screen shows. */
const widthOf = canvas => onPaper ? 660 : Math.max(1, canvas.clientWidth);

/** A pen on a canvas of a height in CSS pixels, sharp on every screen. */
function penOn(canvas, height) {
  const ratio = onPaper ? 3 : devicePixelRatio || 1, width = widthOf(canvas);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "11px system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif";
  return {pen, width, ratio};
}

const GUTTER = 50, TOP = 20, LAYER_GAP = 3;
const LEGIBLE = 2;  // device pixels of a token from which its fate has a colour of its own

/** Where everything of the atlas stands. */
function atlasLayout(width) {
  const perLayer = page.model.n_kv_heads, row = Math.max(1.5, Math.min(11, 320 / nHeads));
  const y = head => TOP + head * row + Math.floor(head / perLayer) * LAYER_GAP;
  const bottom = y(nHeads - 1) + row, px = (width - GUTTER) / view.count;
  return {row, y, bottom, px, x: token => GUTTER + (token - view.first) * px, height: bottom + 8 + 12 + 4};
}

function tokenAt(canvas, e) {
  const box = canvas.getBoundingClientRect(), layout = atlasLayout(widthOf(canvas)), x = e.clientX - box.left, y = e.clientY - box.top;
  const token = Math.floor(view.first + (x - GUTTER) / layout.px);
  let head = -1;
  for (let h = 0; h < nHeads; ++h) if (y >= layout.y(h) && y < layout.y(h) + layout.row) head = h;
  return {head, token: x >= GUTTER && token >= 0 && token < nTokens ? token : -1};
}

function drawAxis(pen, layout, width) {
  pen.fillStyle = cssColour("secondary");
  const most = Math.max(1, Math.floor((width - GUTTER) / 48)), step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000].find(s => view.count / s <= most) ?? 20000;
  for (let t = Math.ceil(view.first / step) * step; t < view.first + view.count; t += step) {
    const middle = layout.x(t) + layout.px / 2, half = pen.measureText(String(t)).width / 2;
    pen.textAlign = "center";
    pen.fillText(String(t), Math.min(middle, width - half), 11);  // the last number stays whole
    pen.fillRect(Math.round(middle), 15, 1, 3);
  }
}

/** Cells of one head: fates where a token has some pixels, below that the share of tokens that a slot stands for. */
function drawRow(pen, run, head, layout, y, height, ratio) {
  const colours = theme(), s = stepIndex(run), last = Math.min(nTokens, view.first + view.count) - 1;
  if (layout.px * ratio >= LEGIBLE) {
    for (let t = view.first; t <= last;) {
      const category = fateOf(run, head, t, s)[0];
      let end = t + 1;
      while (end <= last && fateOf(run, head, end, s)[0] === category) ++end;
      if (category !== UNSEEN) {
        pen.fillStyle = cellColour(colours.cell[category], category);
        const x = layout.x(t);
        pen.fillRect(x, y, layout.x(end) - x, height - (height > 4 ? 1 : 0));
      }
      t = end;
    }
    return;
  }
  const seen = run.steps[s].position, n = Math.floor((layout.x(last + 1) - GUTTER) * ratio);
  for (let i = 0; i < n; ++i) {
    const from = Math.floor(view.first + i / ratio / layout.px), to = Math.max(from + 1, Math.floor(view.first + (i + 1) / ratio / layout.px));
    if (from > seen) break;
    let here = 0;
    for (let t = from; t < to; ++t) here += run.slot(cell(run, head, t, s)) > 0 ? 1 : 0;
    pen.fillStyle = rampColour(colours.sequential, here / (to - from));
    pen.fillRect(GUTTER + i / ratio, y, 1 / ratio, height - (height > 4 ? 1 : 0));
  }
}

function drawHeadsRow(pen, run, layout) {
  const colours = theme().sequential, counts = representedBy(run), y = layout.bottom + 8;
  pen.fillStyle = cssColour("secondary");
  pen.textAlign = "right";
  pen.fillText("heads", GUTTER - 8, y + 10);
  for (let t = view.first; t < Math.min(nTokens, view.first + view.count); ++t) {
    if (counts[t] < 0) continue;
    pen.fillStyle = rampColour(colours, counts[t] / nHeads);
    pen.fillRect(layout.x(t), y, Math.max(layout.px, .5), 12);
  }
}

function drawAtlas(run) {
  const canvas = $("atlas"), layout = atlasLayout(widthOf(canvas)), {pen, width, ratio} = penOn(canvas, layout.height);
  drawAxis(pen, layout, width);
  const perLayer = page.model.n_kv_heads;
  for (let h = 0; h < nHeads; ++h) {
    drawRow(pen, run, h, layout, layout.y(h), layout.row, ratio);
    const isShown = h === chosen.head;
    pen.fillStyle = cssColour(isShown ? "text" : "secondary");
    if (h % perLayer === 0) {
      pen.textAlign = "left";
      pen.fillText(`L${h / perLayer}`, 2, layout.y(h) + perLayer * layout.row / 2 + 4);
    }
    if (layout.row >= 10) {
      pen.textAlign = "right";
      pen.fillText(`H${h % perLayer}`, GUTTER - 8, layout.y(h) + layout.row - 1.5);
    }
  }
  drawHeadsRow(pen, run, layout);
  if (page.n_prompt > view.first && page.n_prompt < view.first + view.count) {
    pen.strokeStyle = cssColour("text");
    pen.setLineDash([2, 2]);
    pen.strokeRect(layout.x(page.n_prompt), TOP - 2, 0, layout.bottom - TOP + 4);
    pen.setLineDash([]);
  }
  pen.strokeStyle = cssColour("accent");
  pen.lineWidth = 2;
  if (chosen.head >= 0) pen.strokeRect(GUTTER - 1, layout.y(chosen.head) - 1, Math.min(width, layout.x(nTokens)) - GUTTER + 1, layout.row + 1);
  if (chosen.token >= view.first && chosen.token < view.first + view.count) pen.strokeRect(layout.x(chosen.token) - 1, TOP - 2, layout.px + 2, layout.bottom - TOP + 4);
  pen.lineWidth = 1;
  const own = runOf(), step = stepOf(own);
  $("atlas-facts").textContent = `rows: ${plural(nHeads, "head", "heads")} · columns: ${plural(Math.min(nTokens, step.position + 1), "token", "tokens")}` +
    (layout.px * ratio < LEGIBLE ? " · share kept" : "");
  canvas.setAttribute("aria-label", `Fates of ${step.position + 1} tokens in ${nHeads} heads of ${own.title}. Rows are heads, columns tokens; arrows move, Enter chooses. The numbers are in the table below.`);
  $("zoom-all").disabled = $("zoom-out").disabled = view.count === nTokens;
}

/** Every run on one axis of tokens: fates in the chosen head, or in how many heads a slot stands for a token. */
function drawCompare() {
  const canvas = $("compare"), row = 15, {pen, width, ratio} = penOn(canvas, TOP + page.runs.length * row + 4), layout = atlasLayout(width), ramp = theme().sequential;
  drawAxis(pen, layout, width);
  for (const [i, run] of page.runs.entries()) {
    const y = TOP + i * row;
    pen.fillStyle = cssColour(i === chosen.run ? "text" : "secondary");
    pen.textAlign = "right";
    pen.fillText(run.letter, GUTTER - 8, y + 10);
    if (chosen.head >= 0) drawRow(pen, run, chosen.head, layout, y, row - 2, ratio);
    else representedBy(run).forEach((n, t) => {
      if (n < 0 || t < view.first || t >= view.first + view.count) return;
      pen.fillStyle = rampColour(ramp, n / nHeads);
      pen.fillRect(layout.x(t), y, Math.max(layout.px, .5), row - 3);
    });
  }
  const note = chosen.head >= 0 ? `What each run has made of the tokens in head ${headName(chosen.head)}` : "In how many heads a slot stands for a token, in each run";
  $("compare-note").textContent = note;
  canvas.setAttribute("aria-label", note + ". Choose a run and a head to read it as a table.");
}

/** Bars of the shown head's attention: hatched what the reference pays to a token that this cache has lost. */
function drawStrip(run) {
  const head = shownHead(run), canvas = $("strip"), high = 104, chart = 84, {pen, width, ratio} = penOn(canvas, high);
  const layout = atlasLayout(width), colours = theme(), s = stepIndex(run), seen = Math.min(nTokens - 1, run.steps[s].position);
  const value = t => page.values[run.attention(cell(run, head, t, s)) >> 1] ?? 0;
  const y = v => chart - Math.sqrt(Math.max(0, Math.min(1, v))) * (chart - 12);
  pen.textAlign = "right";
  for (const tick of [1, .5, .1, 0]) {
    pen.fillStyle = cssColour("secondary");
    pen.fillText(String(tick), GUTTER - 8, y(tick) + 4);
    pen.fillStyle = cssColour("line");
    pen.fillRect(GUTTER, Math.round(y(tick)), width - GUTTER, 1);
  }
  pen.fillStyle = cssColour("secondary");
  pen.fillText("fate", GUTTER - 8, high - 5);
  const hatch = hatching(pen);
  for (let t = view.first; t <= Math.min(seen, view.first + view.count - 1); ++t) {
    const v = value(t);
    if (!(v > 0)) continue;
    const lost = run.attention(cell(run, head, t, s)) & 1, top = y(v), x = layout.x(t), wide = Math.max(1, layout.px - (layout.px > 3 ? .6 : 0));
    pen.fillStyle = lost ? hatch : colours.category[fateOf(run, head, t, s)[0]];
    pen.fillRect(x, top, wide, chart - top);
    if (lost && v >= 0.002) {
      pen.strokeStyle = cssColour("text");
      pen.strokeRect(x + .5, top + .5, Math.max(1, wide - 1), Math.max(1, chart - top - 1));
    }
  }
  drawRow(pen, run, head, layout, high - 14, 12, ratio);
  if (chosen.token >= view.first && chosen.token < view.first + view.count) {
    pen.strokeStyle = cssColour("accent");
    pen.lineWidth = 2;
    pen.strokeRect(layout.x(chosen.token) - 1, 4, layout.px + 2, high - 5);
    pen.lineWidth = 1;
  }
  sayStrip(run, head, seen, value);
}

function hatching(pen) {
  const tile = el("canvas", {width: 6, height: 6}), ink = tile.getContext("2d");
  ink.fillStyle = cssColour("panel");
  ink.fillRect(0, 0, 6, 6);
  ink.strokeStyle = cssColour("text");
  for (const shift of [-6, 0, 6]) {
    ink.beginPath();
    ink.moveTo(shift, 6);
    ink.lineTo(shift + 6, 0);
    ink.stroke();
  }
  return pen.createPattern(tile, "repeat");
}

function sayStrip(run, head, seen, value) {
  const facts = ["loss", "local_error", "error", "compression"].map(name => numberOf(name, run, head).text);
  $("strip-title").textContent = `Where head ${headName(head)} looks${chosen.head >= 0 ? "" : " (largest error, none selected)"}`;
  let worst = -1;
  for (let t = 0; t <= seen; ++t) if (run.attention(cell(run, head, t)) & 1 && value(t) >= 0.01 && (worst < 0 || value(t) > value(worst))) worst = t;
  const lost = worst < 0 ? "" : `Hatched: token ${worst} ${quoted(tokenText(run, worst))}, ${fateOf(run, head, worst)[1]}, would get ${page.numbers[run.attention(cell(run, head, worst)) >> 1]} of the attention. `;
  const note = `${lost}Attention lost ${facts[0]} · local error ${facts[1]} · after Wₒ ${facts[2]} · compression ${facts[3]}`.replace(/ %/g, "\u00a0%");
  $("strip-note").textContent = note;
  $("strip").setAttribute("aria-label", note);
}

function zoom(factor, around) {
  const count = Math.max(Math.min(nTokens, 8), Math.min(nTokens, Math.round(view.count * factor)));
  const middle = around ?? (chosen.token >= 0 ? chosen.token : view.first + view.count / 2), share = (middle - view.first) / view.count;
  view = {count, first: Math.max(0, Math.min(nTokens - count, Math.round(middle - share * count)))};
  drawPictures();
}

/** All that stands on the axis of tokens. */
function drawPictures() {
  drawAtlas(runOf());
  drawStrip(runOf());
  drawCompare();
}

function watchAtlas() {
  const canvas = $("atlas");
  let pressed = null;
  hoverLines(canvas, e => {
    const {head, token} = tokenAt(canvas, e);
    return token < 0 || pressed?.moved ? null : tokenLines(runOf(), head, token);
  });
  canvas.addEventListener("pointerdown", e => { pressed = {x: e.clientX, first: view.first, moved: false}; });
  canvas.addEventListener("pointermove", e => {
    if (!pressed || !(e.buttons & 1) || view.count === nTokens) return;
    const by = Math.round((pressed.x - e.clientX) / atlasLayout(widthOf(canvas)).px);
    if (by === 0 && !pressed.moved) return;
    pressed.moved = true;
    view.first = Math.max(0, Math.min(nTokens - view.count, pressed.first + by));
    drawPictures();
  });
  canvas.addEventListener("click", e => {
    if (pressed?.moved) return;
    const {head, token} = tokenAt(canvas, e);
    if (head >= 0) choose(token >= 0 ? {head, token} : {head});
    else if (token >= 0) choose({token});
  });
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey) return;  // else the page scrolls
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.25 : 0.8, tokenAt(canvas, e).token);
  }, {passive: false});
  canvas.addEventListener("keydown", e => {
    const head = shownHead(runOf()), token = Math.max(0, chosen.token), last = Math.min(nTokens - 1, stepOf(runOf()).position);
    const to = {ArrowLeft: {head, token: Math.max(0, token - 1)}, ArrowRight: {head, token: Math.min(last, token + 1)}, ArrowUp: {head: Math.max(0, head - 1), token},
      ArrowDown: {head: Math.min(nHeads - 1, head + 1), token}, Home: {head, token: 0}, End: {head, token: last}, Enter: {head, token}, Escape: {head: -1, token: -1}}[e.key];
    if (e.key === "+" || e.key === "=") zoom(0.6);
    else if (e.key === "-") zoom(1 / 0.6);
    else if (e.key === "0") zoom(nTokens);
    else if (to) choose(to);
    else return;
    e.preventDefault();
    e.stopPropagation();
    if (to) $("said").textContent = chosen.token < 0 ? "nothing chosen" : tokenLines(runOf(), chosen.head, chosen.token).join(", ");
  });
  $("zoom-in").addEventListener("click", () => zoom(0.6));
  $("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  $("zoom-all").addEventListener("click", () => zoom(nTokens));
}

// ---- the next token

function showNext(run, step) {
  const isReference = chosen.run === 0;
  const bar = (share, colour) => el("i", {class: colour ? "bar" : "bar full", style: {width: `${Math.max(0.4, 100 * share)}%`, background: colour ?? ""}});
  const colour = theme().runs[run.colour], rows = [];
  for (const [token, rank, reference, own, change, pReference, p, choice] of step.top) {
    const cells = [el("td", {class: "text"}, el("span", {class: "token"}, token)), el("td", {}, rank)];
    if (!isReference) cells.push(el("td", {}, reference));
    cells.push(el("td", {class: !isReference && choice === 2 && differs(step) ? "changed" : ""}, own));
    if (!isReference) cells.push(el("td", {}, change));
    rows.push(el("tr", {class: choice ? "choice" : ""}, ...cells));
    rows.push(el("tr", {class: "bars", "aria-hidden": "true"}, el("td", {colSpan: cells.length}, ...(isReference ? [bar(p, colour)] : [bar(pReference), bar(p, colour)]))));
  }
  const names = isReference ? ["token", "rank", "probability"] : ["token", "rank", "full cache", runName(run, run.title), "Δp"];
  fill($("next"), el("thead", {}, el("tr", {}, ...names.map(n => el("th", {scope: "col"}, n)))), el("tbody", {}, ...rows));
  if (step.top.length === 0) fill($("next"), el("tbody", {}, el("tr", {}, el("td", {class: "na"}, "n/a: the results hold no candidates"))));
  $("next-facts").textContent = isReference ? `after position ${step.position}` : `KL ${step.kl} nats` + (step.next === "" ? "" : ` · −ln p of ${quoted(step.next)} ${step.nll}`);
}

// ---- why

/** The last that is known, by the step, of what removed a token's slot or merged into it; null: nothing. */
function reasonFor(run, head, token) {
  const events = run.events[head], last = stepIndex(run);
  let found = null;
  for (let i = 0; i < events.length; i += 5) {
    const [step, kind, pos, into, card] = events.slice(i, i + 5);
    if (step > last || (pos !== token && into !== token)) continue;
    found = kind === 2 ? null : run.cards[card];
  }
  return found;
}

function slotFacts(run, head, token) {
  const [category, fate] = fateOf(run, head, token), rows = [["fate", fate]];
  if (category !== UNSEEN) rows.push(...tokenFacts(run, head, token));
  const slotOf = t => {
    const kept = run.slot(cell(run, head, t));
    return kept === 0 ? -1 : kept === 1 ? t : kept - 2;
  };
  const slot = slotOf(token);
  if (slot >= 0) {
    const members = [];
    for (let t = 0; t < nTokens; ++t) if (slotOf(t) === slot) members.push(t);
    if (members.length > 1) rows.push([`slot ${slot} stands for`, members.slice(0, 12).map(t => quoted(tokenText(run, t))).join(" ") + (members.length > 12 ? ` + ${members.length - 12} more` : "")]);
  }
  return rows;
}

function showWhy(run) {
  const box = $("why"), head = shownHead(run), token = chosen.token;
  if (token < 0) return fill(box, el("p", {class: "note"}, "Choose a token in the text or in the picture: here stands what became of it in one head, and why."));
  const facts = el("dl", {}, ...slotFacts(run, head, token).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  const card = reasonFor(run, head, token), title = `${quoted(tokenText(run, token))} in head ${headName(head)}`;
  if (!card) {
    const gone = [MERGED, EVICTED].includes(fateOf(run, head, token)[0]);
    return fill(box, el("h3", {}, title), facts, ...(gone ? [el("p", {class: "note"}, "The page does not hold the reasons for this token.")] : []));
  }
  const reasons = card.slice(1).map(([name, lines, rows]) => el("li", {}, name, ...lines.map(line => el("p", {}, line)),
    ...(rows.length ? [el("div", {class: "wide"}, el("table", {}, el("tbody", {}, ...rows.map(cells => el("tr", {}, ...cells.map(c => el("td", {}, c)))))))] : [])));
  fill(box, el("h3", {}, title), facts, el("p", {}, el("b", {}, card[0])), el("ol", {}, ...reasons));
}

// ---- heads, steps, runs

function showGrid(run) {
  const grid = $("grid"), perLayer = page.model.n_kv_heads, colours = theme().damage;
  let most = 0;
  for (let h = 0; h < nHeads; ++h) most = Math.max(most, numberOf("error", run, h).value ?? 0);
  if (grid.childElementCount === 0) {
    grid.style.gridTemplateColumns = `2.2em repeat(${perLayer}, minmax(0, 1fr))`;
    grid.append(el("span"), ...Array.from({length: perLayer}, (_, k) => el("span", {}, `H${k}`)));
    for (let h = 0; h < nHeads; ++h) {
      if (h % perLayer === 0) grid.append(el("span", {}, `L${h / perLayer}`));
      grid.append(el("button", {type: "button", role: "radio", "data-head": String(h), onclick: () => choose({head: chosen.head === h ? -1 : h})}));
    }
  }
  for (const button of grid.querySelectorAll("button")) {
    const h = Number(button.dataset.head), {text, value} = numberOf("error", run, h), known = value !== null && value !== undefined;
    const colour = rampColour(colours, known && most > 0 ? Math.sqrt(value / most) : 0);
    if (button.textContent !== text) button.textContent = text;
    button.style.background = known ? colour : "";
    button.style.color = known ? inkOn(colour) : "";
    button.setAttribute("aria-checked", String(h === chosen.head));
    button.setAttribute("aria-label", `${headName(h)}: ${text}`);
    button.title = `${headName(h)} · attention lost ${numberOf("loss", run, h).text} · ${numberOf("slots", run, h).text} slots, budget ${numberOf("budget", run, h).text === "n/a" ? "unlimited" : numberOf("budget", run, h).text}`;
    button.tabIndex = h === shownHead(run) ? 0 : -1;
  }
}

function watchGrid() {
  const grid = $("grid");
  grid.addEventListener("keydown", e => {
    const perLayer = page.model.n_kv_heads, by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perLayer, ArrowDown: perLayer}[e.key];
    if (!by) return;
    e.preventDefault();
    e.stopPropagation();
    choose({head: Math.max(0, Math.min(nHeads - 1, shownHead(runOf()) + by))});
    grid.querySelector(`[data-head="${chosen.head}"]`).focus();
  });
}

/** A step's tokens by fate, stacked. */
function fateBars(counts) {
  const canvas = el("canvas", {width: 92, height: 80, "aria-hidden": "true"}), pen = canvas.getContext("2d"), colours = theme().cell;
  const all = counts.reduce((sum, n) => sum + n, 0) - counts[UNSEEN];
  let y = 0;
  for (const c of [EVICTED, FRESH, 3, MERGED, 5, SINK]) {
    const high = all > 0 ? 80 * counts[c] / all : 0;
    pen.fillStyle = colours[c];
    pen.fillRect(0, y, 92, high);
    y += high;
  }
  return canvas;
}

function showTime(run) {
  const steps = run.steps, now = i => i === stepIndex(run) ? "now" : "", most = Math.max(...steps.map(s => s.kl_value), 1e-12);
  const row = (name, cellOf) => el("tr", {}, el("th", {scope: "row"}, name), ...steps.map((s, i) => cellOf(s, i)));
  const from = Math.max(0, Math.min(steps.length - 60, stepIndex(run) - 30)), shown = i => i >= from && i < from + 60;
  const only = cells => cells.filter((_, i) => i === 0 || shown(i - 1));
  const rows = [
    row("fates", s => el("td", {}, fateBars(s.counts))),
    row("evicted", s => el("td", {}, s.evicted)),
    row("merged", s => el("td", {}, s.merged)),
    row("KL, nats", s => el("td", {class: differs(s) ? "changed" : ""}, s.kl, el("i", {class: "bar", "aria-hidden": "true", style: {width: `${100 * Math.sqrt(s.kl_value / most)}%`, background: cssColour(differs(s) ? "changed" : "secondary")}}))),
    row(page.follow === "self" ? "says" : "would say", s => el("td", {class: `token ${saysAnother(s) ? "changed" : ""}`}, s.says === "" ? "–" : s.says))];
  for (const tr of rows) {
    [...tr.children].slice(1).forEach((td, i) => td.className += ` ${now(i)}`);
    fill(tr, ...only([...tr.children]));
  }
  const head = el("tr", {}, ...only([el("th", {scope: "col"}, "step"), ...steps.map((s, i) => el("th", {scope: "col", class: now(i)},
    el("button", {type: "button", onclick: () => choose({step: i})}, stepName(run, i))))]));
  fillSteps($("time"), head, rows);
  const after = steps.filter((s, i) => !page.prefill || i > 0), counted = after.filter(s => s.same !== null);
  $("time-facts").textContent = `${run.letter} ${run.title} · top choice differs in ${counted.filter(differs).length} of ${plural(counted.length, "step", "steps")}${page.prefill ? " after the prompt" : ""}${counted.length < after.length ? ", while one text" : ""}` +
    (steps.length > 60 ? ` · steps ${from} to ${Math.min(steps.length, from + 60) - 1} of ${steps.length}` : "");
}

function showFigures() {
  const {columns, rows} = page.figures[Math.min(chosen.step, page.figures.length - 1)];
  const head = el("tr", {}, el("th", {scope: "col"}, "run"), ...columns.map(([name, unit]) => el("th", {scope: "col"}, name, el("small", {}, unit))));
  const body = rows.map((cells, i) => el("tr", {class: i === chosen.run ? "chosen" : ""}, el("th", {scope: "row"}, runName(page.runs[i])),
    ...cells.map((text, c) => el("td", {class: text === "n/a" ? "na" : c === 0 ? "token" : ""}, text))));
  fill($("figures"), el("thead", {}, head), el("tbody", {}, ...body));
  $("figures-facts").textContent = "* in an answer: the full cache chooses another token";
  fill($("warnings"), ...page.runs.flatMap(run => run.warnings.map(w => el("li", {}, `${run.letter} ${run.title}: ${w}`))));
}

function showNumbers(run) {
  const head = shownHead(run), most = 10000, seen = Math.min(nTokens, stepOf(run).position + 1);
  $("numbers-summary").textContent = `${seen} tokens in head ${headName(head)} of ${run.title}, after step ${stepIndex(run)}`;
  if (!$("numbers-details").open) return fill($("numbers"));
  const rows = [];
  for (let t = 0; t < Math.min(seen, most); ++t) {
    const at = cell(run, head, t), attention = run.attention(at), votes = run.votes(at), score = run.score(at), paid = page.numbers[attention >> 1];
    rows.push(el("tr", {class: t === chosen.token ? "chosen" : "", "data-token": String(t)}, el("td", {}, String(t)), el("td", {class: "text"}, el("span", {class: "token"}, tokenText(run, t))),
      el("td", {class: "text"}, page.fates[run.fate(at)][1]), el("td", {}, String(votes)), el("td", {}, attention & 1 ? "" : paid), el("td", {}, attention & 1 ? paid : ""), el("td", {}, page.numbers[score])));
  }
  const names = ["token", "text", "fate", "votes", "attention", "reference attention of a token without slot", "ranking score"];
  fill($("numbers"), el("caption", {}, seen > most ? `first ${most} of ${seen} tokens` : ""), el("thead", {}, el("tr", {}, ...names.map(n => el("th", {scope: "col"}, n)))), el("tbody", {}, ...rows));
}

// ---- all of it

function show() {
  const run = runOf(), step = stepOf(run);
  showStory(run, step);
  if (lesson) showScene();
  showControls(run);
  showPrompt(run);
  showAnswers(run);
  drawPictures();
  showNext(run, step);
  showWhy(run);
  showGrid(run);
  showTime(run);
  showFigures();
  showNumbers(run);
}

function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => {
    if (chosen.step + 1 < stepsOf(runOf())) choose({step: chosen.step + 1});
    if (chosen.step + 1 >= stepsOf(runOf())) play(false);
  }, 700) : 0;
  $("play").textContent = on ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", String(on));
}

function togglePlay() {
  if (!timer && chosen.step + 1 >= stepsOf(runOf())) choose({step: 0});
  play(!timer);
}

function nextChange() {
  const steps = runOf().steps, after = steps.findIndex((s, i) => i > chosen.step && s.finding !== ""), found = after >= 0 ? after : steps.findIndex(s => s.finding !== "");
  if (found < 0) return;
  const lost = steps[found].lost;
  choose(lost ? {step: found, head: lost[0], token: lost[1]} : {step: found});
}

function buildControls() {
  fill($("runs"), el("legend", {class: "hidden"}, "Run"));
  for (const [i, run] of page.runs.entries()) {
    const input = el("input", {type: "radio", name: "run", value: String(i), onchange: () => choose({run: i})});
    $("runs").append(el("label", {class: "run"}, input, el("i", {"data-run": String(i)}), runName(run), el("small", {}, run.policy.find(([name]) => name === "keys" || name === "budget")?.[1].split(" of ")[0] ?? "")));
  }
  fill($("head"), el("option", {value: "-1"}, "all heads"), ...Array.from({length: nHeads}, (_, h) => el("option", {value: String(h)}, headName(h))));
  $("token").max = String(nTokens - 1);
  fill($("grid"));
}

function watchControls() {
  $("head").addEventListener("change", e => choose({head: Number(e.target.value)}));
  $("token").addEventListener("change", e => choose({token: e.target.value === "" ? -1 : Math.max(0, Math.min(nTokens - 1, Math.round(Number(e.target.value))))}));
  $("step").addEventListener("input", e => choose({step: Number(e.target.value)}));
  $("back").addEventListener("click", () => choose({step: chosen.step - 1}));
  $("forward").addEventListener("click", () => choose({step: chosen.step + 1}));
  $("play").addEventListener("click", togglePlay);
  $("next-change").addEventListener("click", nextChange);
  $("numbers-details").addEventListener("toggle", () => showNumbers(runOf()));
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    paintTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintTheme);
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.altKey || e.metaKey || e.target.closest("input, select, button, summary, canvas, a")) return;
    if (e.key === " ") togglePlay();
    else if (e.key === "ArrowLeft" || e.key === "ArrowRight") choose({step: chosen.step + (e.key === "ArrowLeft" ? -1 : 1)});
    else return;
    e.preventDefault();
  });
}

function paintTheme() {
  $("theme").textContent = isDark() ? "Light" : "Dark";
  for (const mark of document.querySelectorAll("[data-run]")) mark.style.background = theme().runs[page.runs[Number(mark.dataset.run)].colour];
  show();
}

/** Paper is light and has a width of its own. */
function watchPrinting() {
  const root = document.documentElement;
  let onScreen;
  addEventListener("beforeprint", () => {
    onScreen = root.dataset.theme;
    root.dataset.theme = "light";
    onPaper = true;
    paintTheme();
  });
  addEventListener("afterprint", () => {
    if (onScreen) root.dataset.theme = onScreen;
    else delete root.dataset.theme;
    onPaper = false;
    paintTheme();
  });
}

function buildWords() {
  const table = rows => el("table", {}, el("tbody", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", {scope: "row"}, name), el("td", {class: "wrap"}, value)))));
  $("model").textContent = `${page.model.name} · ${plural(page.model.n_layers, "layer", "layers")} × ${plural(page.model.n_kv_heads, "KV head", "KV heads")}`;
  fill($("policies"), ...page.runs.map((run, i) => el("div", {}, el("h3", {}, el("i", {class: "swatch", "data-run": String(i)}), `${run.letter} ${run.title}`), table(run.policy))));
  fill($("made"), ...table(page.made).children);
  const leftOut = lesson?.left_out.length ? [`Scenes left out, there is nothing of them here: ${lesson.left_out.join(", ")}`] : [];
  fill($("notes"), ...[...page.notes, ...leftOut].map(note => el("li", {}, note)));
  document.title = lesson ? `${lesson.name} · kvscope` : `kvscope: ${page.runs.slice(1).map(run => run.title).join(", ") || "the full cache"} on ${page.n_prompt} tokens`;
}

const unpackedElement = id => unpacked(fromBase64($(id).textContent.trim()));

/** Results by their place, unpacked once. */
const partOf = index => parts[index] ??= readPart(index === 0 ? "data" : `data-${index}`);

/** Makes these results the ones that are shown. */
function use(results) {
  if (page === results) return;
  page = results;
  nTokens = page.tokens.length;
  nHeads = page.model.n_layers * page.model.n_kv_heads;
  view = {first: 0, count: nTokens};
  buildControls();
  buildWords();
  buildPrompt();
}

async function readPart(id) {
  const bytes = await unpackedElement(id), header = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const read = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + header)));
  for (const run of read.runs) {
    run.ownText = new Map(run.own);
    for (const name of ["fate", "attention", "score", "votes", "slot"]) run[name] = columnOf(run.columns[name], bytes, 4 + header);
  }
  return read;
}

async function start() {
  if ($("lesson")) lesson = JSON.parse(new TextDecoder().decode(await unpackedElement("lesson")));
  use(await partOf(lesson ? lesson.scenes[sceneOfAddress()].part : 0));
  $("main").hidden = false;
  $("problem").hidden = true;
  watchControls();
  watchPrompt();
  watchAtlas();
  watchGrid();
  watchPrinting();
  if (lesson) buildScenes();
  const follow = async () => {
    if (lesson) return enterScene(sceneOfAddress(), readAddress);
    chosen = readAddress();
    paintTheme();
    writeAddress();
  };
  await follow();
  addEventListener("hashchange", follow);
  new ResizeObserver(drawPictures).observe($("main"));
  document.documentElement.dataset.ready = "1";
}

start().catch(problem => {
  $("problem").hidden = false;
  $("problem").textContent = `This page could not be shown: ${problem.message}. It may have been cut on its way; ask for it again.`;
  throw problem;
});
})();
