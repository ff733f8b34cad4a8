#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small random checkpoints that transformers writes itself, with its own logits in float64: ../golden/transformers is made so.

    checkpoints.py OUT      writes OUT/FAMILY: config.json, model.safetensors (bfloat16), reference.json

Needs torch and transformers (5.24 wrote what is here). Families that shared archives of checkpoints do not have: Ministral, whose layer_types say
which layers have the window, and SmolVLM, a model of pictures whose text part is a Llama within text_config.
"""
import json
import pathlib
import sys

import torch
from transformers import MinistralConfig, MinistralForCausalLM, SmolVLMConfig, SmolVLMForConditionalGeneration

SMALL = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
         "vocab_size": 32, "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
         "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
WINDOW = {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"], "tie_word_embeddings": False}
PICTURES = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 32, "patch_size": 16}


def models():
    eager = {"attn_implementation": "eager"}
    yield "ministral", MinistralForCausalLM._from_config(MinistralConfig(**SMALL, **WINDOW), **eager)
    both = SmolVLMConfig(text_config={"model_type": "llama", **SMALL}, vision_config=PICTURES, image_token_id=31, scale_factor=1)
    yield "smolvlm", SmolVLMForConditionalGeneration._from_config(both, **eager)


def widen():
    """Norms, softmax and angles are computed in float32 whatever the model is in; here in float64, too."""
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double


def fill(model, seed):
    """Numbers that a bfloat16 holds, so that the file has the same as what is computed from."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            norm = "norm" in name
            weights.copy_((norm + (0.2 if norm else 0.4) * torch.randn(weights.shape, generator=random)).bfloat16())


def reference(model, seed):
    """Two texts, the second longer than the window; None where a step is nearly a tie."""
    random = torch.Generator().manual_seed(seed)

    def logits(ids):
        with torch.no_grad():
            return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].double()

    prompts = []
    for n in (8, 40):
        ids = torch.randint(3, 31, (n,), generator=random).tolist()
        rows, greedy = logits(ids), []
        for _ in range(16):
            z = logits(ids + greedy)[-1]
            best = z.topk(2).values
            if best[0] - best[1] < 1e-2:
                return None
            greedy.append(int(z.argmax()))
        prompts.append({"ids": ids, "greedy16": greedy, "last_logits": rows[-1].tolist()})
        if n == 8:
            prompts[0] |= {"positions": [0, 5], "logits_at": [rows[at].tolist() for at in (0, 5)]}
    return {"prompts": prompts}


def main(out):
    torch.set_default_dtype(torch.float64)
    widen()
    for name, model in models():
        folder, seed, found = out / name, 0, None
        model.eval()
        while found is None:
            seed += 1
            fill(model, seed)
            found = reference(model, seed)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "reference.json").write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
        model.bfloat16().save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
