#!/usr/bin/env python3
"""What the authors' published code decides, beside kvscope, both in float64 on the same random weights.

authors.py CLI SOURCES [--only TEXT] [--write AUTHORS.md]

SOURCES: a folder with checkouts of github.com/Zefan-Cai/R-KV, WeianMao/triattention, mit-han-lab/Quest, jy-yuan/KIVI and adamzweiger/compaction, each
in a folder of the repository's name; one that is missing is skipped, and that is said. Needs what kvpress.py needs; exit status 77 without it.

Their modules are imported as they are. The model around them is written here, because their own needs a device or another transformers:
a layer's attention is theirs (Quest, KIVI), or what they call after it (R-KV, TriAttention, compaction). Put in their place is only what a CPU has not:
- every cast to float32 stays a double;
- KIVI's two kernels are its own reference functions for the same values (quant_and_pack_vcache, unpack_and_dequant_vcache);
- Quest's evaluation code lets the page of the newest token compete; its kernels always read it (quest/utils/controller.py), and so does this.
compaction (Attention Matching) goes on with its gradient steps until nothing moves: it stops after two, where kvscope has the minimum.
What R-KV leaves in the order of its scores is put back into the order of the text before it compresses again, because it ranks by neighbours.
"""
import argparse
import ast
import importlib
import importlib.machinery
import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("beside_kvpress", os.path.join(HERE, "kvpress.py"))
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)                                        # ends with status 77 where a package is missing
torch = shared.torch

MORE = 16                                                              # further tokens
EVERY = 8                                                              # of them from one compression to the next
REFIT_TIE = 1e-9                                                       # of logits, carried from three ridges to none


# ---- their modules
def package(name, folder, **names):
    """An empty package whose modules lie in this folder: what its own __init__ would import is not asked for."""
    module = types.ModuleType(name)
    module.__path__, module.__spec__ = [folder] if folder else [], importlib.machinery.ModuleSpec(name, None, is_package=True)
    module.__dict__.update(names)
    sys.modules[name] = module
    return module


class Doubles:
    """torch as they see it."""
    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


def in_doubles(name):
    module = importlib.import_module(name)
    module.torch = Doubles()
    return module


class Sources:
    def __init__(self, folder):
        self.folder = folder

    def of(self, name):
        path = os.path.join(self.folder, name)
        return path if os.path.isdir(path) else None

    def rkv(self):
        package("rkv", os.path.join(self.of("R-KV"), "rkv"))
        utils = in_doubles("rkv.utils")
        package("rkv.compression", os.path.join(self.of("R-KV"), "rkv", "compression"), cal_similarity=utils.cal_similarity,
                compute_attention_scores=utils.compute_attention_scores)
        return in_doubles("rkv.compression.r1_kv").R1KV

    def tri(self):
        root = os.path.join(self.of("triattention"), "triattention")
        package("triattention", root)
        package("triattention.methods", os.path.join(root, "methods"))
        package("triattention.common", os.path.join(root, "common"))
        return in_doubles("triattention.methods.pruning_utils"), in_doubles("triattention.methods.triattention")

    def quest(self):
        package("quest_evaluation", os.path.join(self.of("Quest"), "evaluation"))
        module = in_doubles("quest_evaluation.quest_attention")
        alone, module.apply_rotary_pos_emb = module.local_heavy_hitter_mask, rotate

        def with_last_page(scores, budget, page):
            scores = scores.clone()
            scores[..., (scores.shape[-1] - 1) // page * page:] = torch.finfo(scores.dtype).max
            return alone(scores, budget, page)

        module.local_heavy_hitter_mask = with_last_page
        return module

    def kivi(self):
        root = self.of("KIVI")
        language = package("triton.language", None, constexpr=None)
        package("triton", None, jit=lambda f: f, language=language)
        package("quant", os.path.join(root, "quant"))
        pack = in_doubles("quant.new_pack")
        pack.triton_quantize_and_pack_along_last_dim = pack.quant_and_pack_vcache
        package("quant.matmul", None, cuda_bmm_fA_qB_outer=lambda group, a, code, scale, least, bits:
                a @ pack.unpack_and_dequant_vcache(code, scale, least, group, bits))
        # what follows this class is a model of an older transformers
        path = os.path.join(root, "models", "llama_kivi.py")
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read(), path)
        wanted = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) or getattr(node, "name", "") == "LlamaAttention_KIVI"]
        module = types.ModuleType("llama_kivi")
        exec(compile(ast.Module(wanted, []), path, "exec"), vars(module))
        module.torch, module.apply_rotary_pos_emb = Doubles(), rotate
        return module.LlamaAttention_KIVI

    def compaction(self):
        package("compaction", os.path.join(self.of("compaction"), "compaction"))
        package("compaction.algorithms", os.path.join(self.of("compaction"), "compaction", "algorithms"))
        in_doubles("compaction.algorithms.base")
        return in_doubles("compaction.algorithms.highest_attention_keys").HighestAttentionKeysCompaction


# ---- the model around them
def rotate(query, key, cos, sin, position_ids):
    return shared.llama.apply_rotary_pos_emb(query, key, cos, sin)


class Layer:
    """The attention of a layer by the names that their code asks for. Queries and keys of Qwen 3 come normed."""

    def __init__(self, model, index):
        own = model.model.layers[index].self_attn
        config = model.config
        self.config = types.SimpleNamespace(pretraining_tp=1)
        self.layer_idx = self.layer_id = index
        self.num_heads, self.num_key_value_heads = config.num_attention_heads, config.num_key_value_heads
        self.num_key_value_groups = self.num_heads // self.num_key_value_heads
        self.head_dim = own.head_dim
        self.hidden_size = self.num_heads * self.head_dim               # what o_proj takes
        self.rotary_emb = model.model.rotary_emb
        normed = lambda x, norm: x if norm is None else norm(x.unflatten(-1, (-1, self.head_dim))).flatten(-2)
        self.q_proj = lambda x: normed(own.q_proj(x), getattr(own, "q_norm", None))
        self.k_proj = lambda x: normed(own.k_proj(x), getattr(own, "k_norm", None))
        self.v_proj, self.o_proj = own.v_proj, own.o_proj

    def rows(self, x, position_ids):
        """Queries, keys (both rotated) and values [1, heads, tokens, head_dim]."""
        of = lambda y: y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        value = of(self.v_proj(x))
        return *rotate(of(self.q_proj(x)), of(self.k_proj(x)), *self.rotary_emb(value, position_ids), None), value

    def attend(self, query, key, value, bias=None):
        """bias: [1, n_kv_heads, rows], added to the logits, where each has one."""
        if bias is not None:                                           # as a channel more that every query has at 1
            one = torch.full_like(query[..., :1], self.head_dim**0.5)
            query, key = torch.cat((query, one), -1), torch.cat((key, bias[..., None]), -1)
        out, _ = shared.attention64(self, query, key, value, None, self.head_dim**-0.5)
        return self.o_proj(out.flatten(-2))


def says(model, tokens, more, attend, after=lambda n_tokens: None):
    """[1 + more, vocab] logits. attend(layer, x, position_ids): output of its attention; after: called when a prompt or a token is through."""
    out = []
    batches = [list(range(len(tokens))), *([p] for p in range(len(tokens), len(tokens) + len(more)))]
    words = [*tokens, *more]
    with torch.no_grad():
        for places in batches:
            at = torch.tensor([places])
            x = model.model.embed_tokens(torch.tensor([[words[p] for p in places]]))
            for index, layer in enumerate(model.model.layers):
                x = x + attend(index, layer.input_layernorm(x), at)
                x = x + layer.mlp(layer.post_attention_layernorm(x))
            after(places[-1] + 1)
            out.append(model.lm_head(model.model.norm(x))[0, -1])
    return torch.stack(out)


class Kept:
    """Rows of all layers, of which every head keeps its own, and all queries."""

    def __init__(self, model):
        self.layers = [Layer(model, i) for i in range(model.config.num_hidden_layers)]
        self.keys, self.values, self.queries, self.places, self.bias = ([None] * len(self.layers) for _ in range(5))

    def attend(self, index, x, position_ids):
        layer = self.layers[index]
        query, key, value = layer.rows(x, position_ids)
        places = position_ids.expand(layer.num_key_value_heads, -1)
        if self.keys[index] is None:
            self.queries[index], self.keys[index], self.values[index], self.places[index] = query, key, value, places
        else:
            join = lambda a, b: torch.cat((a, b), -2)
            self.queries[index] = join(self.queries[index], query)
            self.keys[index], self.values[index] = join(self.keys[index], key), join(self.values[index], value)
            self.places[index] = torch.cat((self.places[index], places), -1)
            if self.bias[index] is not None:
                self.bias[index] = torch.cat((self.bias[index], torch.zeros(1, layer.num_key_value_heads, 1)), -1)
        return layer.attend(query, self.keys[index], self.values[index], self.bias[index])

    def keep(self, index, rows):
        """rows [n_kv_heads, kept] of this layer, in any order."""
        rows = rows.sort(-1).values
        take = lambda x: x.gather(2, rows[None, ..., None].expand(-1, -1, -1, x.shape[-1]))
        self.keys[index], self.values[index] = take(self.keys[index]), take(self.values[index])
        self.places[index] = self.places[index].gather(1, rows)

    def sets(self):
        return [[set(head) for head in layer.tolist()] for layer in self.places]


# ---- what they decide
def rkv_keeps(author, model, tokens, more, n, **keys):
    kept = Kept(model)

    def after(n_tokens):
        if (n_tokens - len(tokens)) % EVERY:
            return
        for i in range(len(kept.layers)):
            had, queries = kept.keys[i], kept.queries[i][:, :, -8:]
            left, _ = author(budget=n, window_size=8, **keys).update_kv(had.clone(), queries, kept.values[i])
            distance = (left[0][:, :, None] - had[0][:, None]).abs().amax(-1)
            assert float(distance.amin(-1).max()) == 0, "a key of R-KV is none that it was given"
            kept.keep(i, distance.argmin(-1))

    says(model, tokens, more, kept.attend, after)
    return kept.sets()


def tri_keeps(author, model, tokens, more, n, **keys):
    """Centers of the queries from the prompt, as scripts/calibrate.py takes them from a text."""
    utils, module = author
    kept = Kept(model)
    config = model.config
    it = module.TriAttention.__new__(module.TriAttention)
    it.config = types.SimpleNamespace(device=torch.device("cpu"), dtype=torch.float64, layer_perhead_aggregation="max")
    it.budget, it.allow_prefill_compression, it.normalize_scores = n, True, keys.get("zscore", True)
    it.generator, it.per_layer_perhead_pruning, it.disable_mlr, it.disable_trig, it.score_aggregation = None, True, False, False, "mean"
    it.num_attention_heads, it.num_key_value_heads = config.num_attention_heads, config.num_key_value_heads
    it.num_key_value_groups = it.num_attention_heads // it.num_key_value_heads
    it.head_dim, it.rotary, it.rope_style, it.attention_scale = kept.layers[0].head_dim, model.model.rotary_emb, "half", 1.0
    it.omega = shared.frequencies64(config)
    it.freq_scale_sq = torch.ones(it.head_dim // 2)
    it.offsets = utils.build_geometric_offsets(65536, torch.device("cpu"))
    it.sampled_heads = [(l, h) for l in range(config.num_hidden_layers) for h in range(config.num_attention_heads)]
    it.cache_positions_per_head, it.head_stats = None, {}

    def after(n_tokens):
        if n_tokens == len(tokens):
            cos, sin = it.rotary(torch.zeros(1, n_tokens, it.head_dim), torch.arange(n_tokens)[None])
            for l, h in it.sampled_heads:
                q = utils.to_complex_pairs(utils.invert_rope(kept.queries[l][0, h], cos[0], sin[0], 1.0))
                it.head_stats[l, h] = utils.HeadFrequencyStats(q.mean(0), q.abs().mean(0))
        if (n_tokens - len(tokens)) % EVERY:
            return
        it.absolute_position = n_tokens
        it.cache_positions = kept.places[0][0].tolist()
        it.cache_positions_per_layer_perhead = {(l, h): places for l, layer in enumerate(kept.places) for h, places in enumerate(layer.tolist())}
        for l, rows in enumerate(it.compute_keep_indices([(k, v) for k, v in zip(kept.keys, kept.values)])):
            kept.keep(l, rows)

    says(model, tokens, more, kept.attend, after)
    return kept.sets()


def refit_keeps_and_says(author, model, tokens, more, n, method):
    """The sets right after the prompt, and [1 + more, vocab] logits."""
    kept = Kept(model)
    bound = math.exp(3)
    it = author(score_method=method, nnls_iters=200000, nnls_lower_bound=1 / bound, nnls_upper_bound=bound)
    sets = []

    def after(n_tokens):
        if n_tokens != len(tokens):
            return
        for l, layer in enumerate(kept.layers):
            keys, values, bias, rows = [], [], [], []
            for h in range(layer.num_key_value_heads):
                queries = kept.queries[l][0].unflatten(0, (layer.num_key_value_heads, -1))[h].flatten(0, 1)
                k, b, v, at = it.compute_compacted_cache(kept.keys[l][0, h], kept.values[l][0, h], queries, n)
                for into, x in zip((keys, values, bias, rows), (k, v, b, torch.tensor(at))):
                    into.append(x)
            kept.keys[l], kept.values[l], kept.bias[l] = (torch.stack(x)[None] for x in (keys, values, bias))
            kept.places[l] = kept.places[l].gather(1, torch.stack(rows))
        sets.extend(kept.sets())

    return says(model, tokens, more, kept.attend, after), sets


def quest_says(author, model, tokens, more, page, pages):
    layers = [Layer(model, i) for i in range(model.config.num_hidden_layers)]
    cached = [None] * len(layers)

    def attend(index, x, position_ids):
        layer = layers[index]
        layer.token_budget, layer.chunk_size = page * pages, page

        def whole(x, mask, position_ids, had, *_, **__):
            query, key, value = layer.rows(x, position_ids)
            rows = (key, value) if had is None else tuple(torch.cat((a, b), 2) for a, b in zip(had, (key, value)))
            return layer.attend(query, *rows), None, rows

        layer.flash_forward = whole
        out, _, cached[index] = author.forward(layer, x, None, position_ids, cached[index], False, True)
        return out

    narrow, torch.Tensor.float = torch.Tensor.float, torch.Tensor.double
    try:
        return says(model, tokens, more, attend)
    finally:
        torch.Tensor.float = narrow


def kivi_says(author, model, tokens, more, bits, group, residual):
    layers = [Layer(model, i) for i in range(model.config.num_hidden_layers)]
    cached = [None] * len(layers)

    def attend(index, x, position_ids):
        layer = layers[index]
        layer.k_bits = layer.v_bits = bits
        layer.group_size, layer.residual_length = group, residual
        n = x.shape[1]
        mask = None if n == 1 else torch.full((1, 1, n, n), torch.finfo(torch.float64).min).triu(1)
        out, _, cached[index] = author.forward(layer, x, mask, position_ids, cached[index], False, True)
        return out

    return says(model, tokens, more, attend)


def set_cases():
    for ratio in shared.RATIOS:
        yield "R-KV", f"ratio {ratio}", rkv_keeps, ratio, f"rkv:every={EVERY}", {}
        yield "R-KV", f"mix_lambda 0.5, kernel_size 3, ratio {ratio}", rkv_keeps, ratio, f"rkv:every={EVERY},lambda=0.5,kernel=3", dict(mix_lambda=0.5, kernel_size=3)
        yield "triattention", f"ratio {ratio}", tri_keeps, ratio, f"tri:every={EVERY}", {}
        yield "triattention", f"normalize_scores=False, ratio {ratio}", tri_keeps, ratio, f"tri:every={EVERY},zscore=0", dict(zscore=False)


def logit_cases():
    for page, pages in ((16, 4), (8, 5)):
        yield "Quest", f"chunk_size {page}, token_budget {page * pages}", quest_says, f"quest:page={page},pages={pages},whole=2", dict(page=page, pages=pages)
    for bits, group, residual in ((4, 16, 16), (2, 16, 32), (2, 16, 16)):
        yield ("KIVI", f"{bits} bits, group_size {group}, residual_length {residual}", kivi_says,
               f"kivi:bits={bits},group_size={group},residual={residual}", dict(bits=bits, group=group, residual=residual))


def compare_refit(o, author, model, words, folder, method, ratio):
    """What kvscope says without its ridge, which is 1e-9 at least, from the parabola through three small ones."""
    count, worst = shared.Count(), 0.0
    for prompt, tokens in shared.prompts_of(o, words, model.config.vocab_size):
        n, more = int(len(tokens) * ratio), tokens[:MORE]
        theirs, sets = refit_keeps_and_says(author, model, tokens, more, n, method)
        lane = refit_lane(method) + f",slots={n}"
        count_sets(count, shared.kvscope_keeps(o.cli, folder, tokens, [], lane), sets, f"{lane} {prompt}")
        at = [shared.kvscope_says(o.cli, folder, tokens, more, f"{lane},ridge={ridge}") for ridge in (1e-9, 2e-9, 4e-9)]
        worst = max(worst, farthest((8 * at[0] - 6 * at[1] + at[2]) / 3, theirs))
    return count, worst


def refit_lane(method):
    return f"refit:queries=whole,alloc=uniform,sinks=0,recent=0,strength={method}"


def count_sets(count, ours, theirs, said):
    for l, layer in enumerate(theirs):
        for h, b in enumerate(layer):
            if ours[l][h] == b:
                count.equal += 1
                continue
            count.different += 1
            print(f"{said} layer {l} head {h}: only kvscope {sorted(ours[l][h] - b)}, only they {sorted(b - ours[l][h])}")


def farthest(ours, theirs):
    """Largest difference over the largest logit."""
    return float((theirs - ours).abs().max() / theirs.abs().max())


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("cli")
    ap.add_argument("sources")
    ap.add_argument("--only", default="", help="cases whose name contains this")
    ap.add_argument("--write", default="")
    o = ap.parse_args()
    sources, rows, bad, missing = Sources(o.sources), {}, 0, set()
    loaded = {}
    of = {"compaction": sources.compaction, "R-KV": sources.rkv, "triattention": sources.tri, "Quest": sources.quest, "KIVI": sources.kivi}
    work = tempfile.TemporaryDirectory()
    # a query head of Quest reads pages of its own, and KIVI's class asks for as many KV heads as heads
    models = {shape: (shared.random_model(shape, work.name), shared.random_model(shape, work.name, num_key_value_heads=8, num_hidden_layers=4))
              for shape in shared.SHAPES}
    torch.set_default_dtype(torch.float64)                             # from here on: the models' files are of float32

    def author(name):
        if not sources.of(name):
            missing.add(name)
            return None
        if name not in loaded:
            loaded[name] = of[name]()
        return loaded[name]

    def note(name, said, lane, came_out):
        rows.setdefault((name, said, lane), []).append(came_out)
        print(f"{name}, {said}: {came_out}", flush=True)

    for shape, (grouped, alone) in models.items():
        model, words = shared.load(grouped), shared.Words(o.cli, grouped)
        for name, said, keeps, ratio, lane, keys in set_cases():
            if o.only not in f"{name} {said}" or not author(name):
                continue
            count = shared.Count()
            for prompt, tokens in shared.prompts_of(o, words, model.config.vocab_size):
                n, more = int(len(tokens) * ratio), tokens[:MORE]
                theirs = keeps(author(name), model, tokens, more, n, **keys)
                ours = shared.kvscope_keeps(o.cli, grouped, tokens, more, f"{lane},slots={n}")
                count_sets(count, ours, theirs, f"{shape} {lane} {prompt}")
            bad += count.different
            note(name, said, lane, str(count))
        for method in ("rms", "max"):
            for ratio in shared.RATIOS:
                if o.only in f"compaction {method}" and author("compaction"):
                    count, worst = compare_refit(o, author("compaction"), model, words, grouped, method, ratio)
                    bad += count.different + (worst > REFIT_TIE)
                    note("compaction", f"highest_attention_keys, {method}, ratio {ratio}", refit_lane(method), f"{count}; {worst:.1e}")
        model = shared.load(alone)
        for name, said, of_model, lane, keys in logit_cases():
            if o.only not in f"{name} {said}" or not author(name):
                continue
            worst = 0.0
            for _, tokens in shared.prompts_of(o, words, model.config.vocab_size):
                more = tokens[:MORE]
                theirs, ours = of_model(author(name), model, tokens, more, **keys), shared.kvscope_says(o.cli, alone, tokens, more, lane)
                assert farthest(shared.kvscope_says(o.cli, alone, tokens, more, "full"), ours) > 1e-3, f"{lane} changes nothing here"
                worst = max(worst, farthest(ours, theirs))
            bad += worst > shared.TIE
            note(name, said, lane, f"{worst:.1e}")
    for name in sorted(missing):
        print(f"skipped: {name} is not in {o.sources}")
    if o.write:
        write_results(o.write, rows, [(name, revision(sources.of(name))) for name in of if sources.of(name)], missing)
    return 1 if bad else 0 if rows else 77


def revision(folder):
    done = subprocess.run(["git", "-C", folder, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "revision unknown"


def write_results(path, rows, revisions, missing):
    with open(path, "w", encoding="utf-8") as f:
        f.write("# kvscope beside the authors' own code\n\nWritten by authors.py, which says what of their code runs and what stands in its place: "
                f"{', '.join(f'{name} ({at})' for name, at in revisions)}.\nRandom weights in the shape of Llama 3 (scaled RoPE) and Qwen 3, both sides in float64, two prompts of 180 random ids and "
                f"{MORE} further tokens.\nR-KV and TriAttention: (layer, KV head) pairs whose kept set is equal after compressions at the prompt and every {EVERY} tokens. Quest and KIVI:\n"
                "largest difference of logits over all tokens, over the largest logit; the same run without either differs by more than 1e-3. compaction: both, the sets right after the prompt;\n"
                "the logits carried from ridges of 1e-9, 2e-9 and 4e-9, with which kvscope holds what no query tells, to none.\n\n"
                f"| authors' code | kvscope | {' | '.join(shared.SHAPES)} |\n|---|---|{'---|' * len(shared.SHAPES)}\n")
        for (name, said, lane), cells in rows.items():
            f.write(f"| {name}: {said} | `{lane}` | {' | '.join(cells)} |\n")
        if missing:
            f.write(f"\nNot compared, because it was not there: {', '.join(sorted(missing))}.\n")


if __name__ == "__main__":
    sys.exit(main())
