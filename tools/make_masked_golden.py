#!/usr/bin/env python3
"""Writes the checkpoints of families that fill masks which no other oracle has: small random networks as Hugging Face
folders under the published names, and what an independent forward in float32 computes with them.

    python tools/make_masked_golden.py TESTS_GOLDEN

Needs torch, transformers, numpy and safetensors. RND1 and Fast-dLLM v2 are Qwen3-MoE and Qwen2 of transformers with
another attention mask; LLaDA 2 is written out here from its equations. Logits and the state after every layer; of
Fast-dLLM v2 also a page as its loop writes it, before the first pass that proposes something and after every one.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

LENGTH, VOCAB, MASK, BLOCK = 20, 48, 3, 8
COMMON = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
              max_position_embeddings=128, rms_norm_eps=1e-6, tie_word_embeddings=False, hidden_act="silu")
MIXTURE = dict(intermediate_size=24, head_dim=8, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=4)
THRESHOLD, PROMPT, PAGE, SUB_BLOCK = 0.1, 11, 13, 4


def tokenizer():
    """Four markers and some bytes, nothing is merged."""
    markers = ["<pad>", "<bos>", "<eos>", "<mask>"]
    tokens = markers + [chr(c) for c in range(33, 33 + VOCAB - len(markers))]
    added = [dict(id=i, content=text, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
             for i, text in enumerate(markers)]
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    return dict(version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=None, pre_tokenizer=level,
                post_processor=None, decoder=level,
                model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None,
                           end_of_word_suffix=None, fuse_unk=False, byte_fallback=False,
                           vocab={text: i for i, text in enumerate(tokens)}, merges=[]))


def fill(named, seed):
    """Random weights that bfloat16 holds exactly."""
    generator = torch.Generator().manual_seed(seed)
    for name, weight in named:
        scale = 0.1 if "norm" in name or "bias" in name else weight.shape[-1] ** -0.5
        scale = 4 if "embed" in name else scale
        fresh = torch.randn(weight.shape, generator=generator) * scale + (1 if "norm" in name else 0)
        weight.copy_(fresh.to(torch.bfloat16).float())


def may_see(length, block):
    """[length, length], true where a row sees another: all of its block and of those before."""
    place = torch.arange(length) // block
    return place[:, None] >= place[None, :]


def of_transformers(model_type, seed, **settings):
    config = AutoConfig.for_model(model_type, **{**COMMON, **settings})
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        fill(model.named_parameters(), seed)

    def forward(ids, block):
        states = []

        def keep(_, __, out):
            states.append(out[0] if isinstance(out, tuple) else out)

        hooks = [layer.register_forward_hook(keep) for layer in model.model.layers]
        mask = torch.zeros(len(ids), len(ids)).masked_fill(~may_see(len(ids), block), torch.finfo(torch.float32).min)
        with torch.no_grad():
            logits = model(ids[None], attention_mask=mask[None, None], use_cache=False).logits[0]
        for hook in hooks:
            hook.remove()
        return logits, [state.reshape(len(ids), -1) for state in states]

    tensors = {}
    for name, weight in model.state_dict().items():
        if name.endswith("experts.gate_up_proj"):
            for expert, both in enumerate(weight):
                for part, half in zip(("gate_proj", "up_proj"), both.chunk(2)):
                    tensors[name.replace("gate_up_proj", f"{expert}.{part}.weight")] = half
        elif name.endswith("experts.down_proj"):
            for expert, matrix in enumerate(weight):
                tensors[name.replace("down_proj", f"{expert}.down_proj.weight")] = matrix
        else:
            tensors[name] = weight
    return tensors, forward


class Llada2:
    """LLaDA 2, equation by equation."""

    HEADS, KV_HEADS, DIM, ROTATED, BASE = 2, 1, 8, 4, 10000.0
    GROUPS, USED_GROUPS, USED, SCALE, DENSE_LAYERS = 4, 2, 3, 2.5, 1
    SETTINGS = {**MIXTURE, "num_experts_per_tok": USED, "num_shared_experts": 1, "first_k_dense_replace": DENSE_LAYERS,
                "n_group": GROUPS, "topk_group": USED_GROUPS, "routed_scaling_factor": SCALE, "rope_theta": BASE,
                "partial_rotary_factor": 0.5, "use_qkv_bias": False, "use_bias": False, "use_qk_norm": True,
                "norm_head": False, "norm_topk_prob": True, "score_function": "sigmoid",
                "moe_router_enable_expert_bias": True}

    def __init__(self, seed):
        hidden, count = COMMON["hidden_size"], COMMON["num_hidden_layers"]
        shapes = {"model.word_embeddings.weight": (VOCAB, hidden)}
        for i in range(count):
            layer = f"model.layers.{i}."
            shapes[layer + "input_layernorm.weight"] = (hidden,)
            shapes[layer + "attention.query_key_value.weight"] = ((self.HEADS + 2 * self.KV_HEADS) * self.DIM, hidden)
            shapes[layer + "attention.query_layernorm.weight"] = (self.DIM,)
            shapes[layer + "attention.key_layernorm.weight"] = (self.DIM,)
            shapes[layer + "attention.dense.weight"] = (hidden, self.HEADS * self.DIM)
            shapes[layer + "post_attention_layernorm.weight"] = (hidden,)
            if i < self.DENSE_LAYERS:
                self.add_network(shapes, layer + "mlp.", MIXTURE["intermediate_size"])
                continue
            shapes[layer + "mlp.gate.weight"] = (MIXTURE["num_experts"], hidden)
            shapes[layer + "mlp.gate.expert_bias"] = (MIXTURE["num_experts"],)
            self.add_network(shapes, layer + "mlp.shared_experts.", MIXTURE["moe_intermediate_size"])
            for expert in range(MIXTURE["num_experts"]):
                self.add_network(shapes, f"{layer}mlp.experts.{expert}.", MIXTURE["moe_intermediate_size"])
        shapes["model.norm.weight"] = (hidden,)
        shapes["lm_head.weight"] = (VOCAB, hidden)
        self.tensors = {name: torch.zeros(shape) for name, shape in shapes.items()}
        fill(self.tensors.items(), seed)

    @staticmethod
    def add_network(shapes, prefix, size):
        hidden = COMMON["hidden_size"]
        shapes[prefix + "gate_proj.weight"] = shapes[prefix + "up_proj.weight"] = (size, hidden)
        shapes[prefix + "down_proj.weight"] = (hidden, size)

    def norm(self, x, name):
        mean_square = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(mean_square + COMMON["rms_norm_eps"]) * self.tensors[name + ".weight"]

    def rotate(self, x):  # [rows, heads, DIM]: the first half of a head, pairs (i, i + ROTATED / 2)
        half = self.ROTATED // 2
        speed = self.BASE ** (-torch.arange(half, dtype=torch.float64) / half)
        angle = (torch.arange(len(x), dtype=torch.float64)[:, None] * speed)[:, None, :]
        cos, sin = angle.cos().float(), angle.sin().float()
        a, b, rest = x[..., :half], x[..., half:self.ROTATED], x[..., self.ROTATED:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)

    def attention(self, x, prefix, seen):
        rows = len(x)
        heads = (x @ self.tensors[prefix + "query_key_value.weight"].T).reshape(rows, -1, self.DIM)
        q, k, v = heads.split([self.HEADS, self.KV_HEADS, self.KV_HEADS], 1)
        q = self.rotate(self.norm(q, prefix + "query_layernorm"))
        k = self.rotate(self.norm(k, prefix + "key_layernorm"))
        mixed = torch.zeros(rows, self.HEADS, self.DIM)
        for head in range(self.HEADS):
            of = head // (self.HEADS // self.KV_HEADS)
            scores = (q[:, head] @ k[:, of].T / self.DIM ** 0.5).masked_fill(~seen, float("-inf"))
            mixed[:, head] = scores.softmax(-1) @ v[:, of]
        return mixed.reshape(rows, -1) @ self.tensors[prefix + "dense.weight"].T

    def network(self, x, prefix):
        gate, up, down = (self.tensors[f"{prefix}{part}_proj.weight"] for part in ("gate", "up", "down"))
        return (torch.nn.functional.silu(x @ gate.T) * (x @ up.T)) @ down.T

    def experts(self, x, prefix):
        scores = torch.sigmoid(x @ self.tensors[prefix + "gate.weight"].T)
        choice = scores + self.tensors[prefix + "gate.expert_bias"]
        out = self.network(x, prefix + "shared_experts.")
        size = MIXTURE["num_experts"] // self.GROUPS
        for row in range(len(x)):
            best_two = [float(group.topk(2).values.sum()) for group in choice[row].split(size)]
            groups = sorted(range(self.GROUPS), key=lambda g: -best_two[g])[:self.USED_GROUPS]
            allowed = [e for e in range(MIXTURE["num_experts"]) if e // size in groups]
            chosen = sorted(allowed, key=lambda e: -float(choice[row, e]))[:self.USED]
            total = sum(float(scores[row, e]) for e in chosen) + 1e-20
            for expert in chosen:
                weight = float(scores[row, expert]) / total * self.SCALE
                out[row] += weight * self.network(x[row], f"{prefix}experts.{expert}.")
        return out

    def __call__(self, ids, block):
        seen, states = may_see(len(ids), block), []
        x = self.tensors["model.word_embeddings.weight"][ids]
        for i in range(COMMON["num_hidden_layers"]):
            layer = f"model.layers.{i}."
            x = x + self.attention(self.norm(x, layer + "input_layernorm"), layer + "attention.", seen)
            y = self.norm(x, layer + "post_attention_layernorm")
            x = x + (self.network if i < self.DENSE_LAYERS else self.experts)(y, layer + "mlp.")
            states.append(x)
        return self.norm(x, "model.norm") @ self.tensors["lm_head.weight"].T, states


def decided(logits):
    """The likeliest token but the mask, and its probability."""
    logits = logits.double().clone()
    logits[MASK] = float("-inf")
    top = logits.softmax(-1).max(-1)
    return int(top.indices), float(top.values)


def write_page(forward, prompt, part):
    """Fast-dLLM v2: a block's first position is what the last row before it says, the others are decided where the row
    before them is sure, at least one a pass, in parts of the block one after another. The page before each proposal and
    at the end; the closest decision."""
    page, pages, margin = list(prompt) + [MASK] * PAGE, [], 1.0
    for start in range(len(prompt) // BLOCK * BLOCK, len(page), BLOCK):
        end = min(start + BLOCK, len(page))
        if page[start] == MASK:
            pages.append(list(page))
            page[start], _ = decided(forward(torch.tensor(page[:start]), BLOCK)[0][-1])
        while MASK in page[start:end]:
            pages.append(list(page))
            logits = forward(torch.tensor(page[:end]), BLOCK)[0]
            first = page.index(MASK, start)
            stop = min(end, first - (first - start) % part + part)
            found = {at: decided(logits[at - 1]) for at in range(first, stop) if page[at] == MASK}
            sure = [at for at in found if found[at][1] > THRESHOLD]
            ranked = sorted(found, key=lambda at: (-found[at][1], at))
            margin = min([margin] + [abs(p - THRESHOLD) for _, p in found.values()])
            if not sure and len(ranked) > 1:
                margin = min(margin, found[ranked[0]][1] - found[ranked[1]][1])
            for at in sure or ranked[:1]:
                page[at] = found[at][0]
    return pages + [page], margin


def golden(forward, block, seed):
    ids = torch.randint(4, VOCAB, (LENGTH,), generator=torch.Generator().manual_seed(seed))
    ids[-5:-1] = MASK
    logits, states = forward(ids, block)
    kept = {"input_ids": ids.to(torch.int32), "logits": logits}
    for i, state in enumerate(states):
        kept[f"hidden.layer.{i}.out"] = state
    return kept


def main():
    root = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    llada2 = Llada2(seed=203)
    rnd1_settings = dict(MIXTURE, num_hidden_layers=1, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[])
    fast_settings = dict(intermediate_size=24, use_sliding_window=False)
    cases = {
        "rnd1": (*of_transformers("qwen3_moe", 201, **rnd1_settings), LENGTH, "RND1LM", "rnd1",
                 {**rnd1_settings, "rope_theta": 10000.0, "mask_token_id": MASK}),
        "fast_dllm_v2": (*of_transformers("qwen2", 202, **fast_settings), BLOCK, "Fast_dLLM_QwenForCausalLM",
                         "Fast_dLLM_Qwen", {**fast_settings, "rope_theta": 10000.0, "bd_size": BLOCK,
                                            "mask_token_id": MASK}),
        "llada2": (llada2.tensors, llada2, BLOCK, "LLaDA2MoeModelLM", "llada2_moe",
                   {**Llada2.SETTINGS, "block_length": BLOCK, "mask_token_id": MASK}),
    }
    for name, (tensors, forward, block, kind, model_type, settings) in cases.items():
        folder = root / "huggingface" / name
        folder.mkdir(parents=True, exist_ok=True)
        config = {"architectures": [kind], "model_type": model_type, **COMMON, **settings, "torch_dtype": "bfloat16"}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer(), ensure_ascii=False, separators=(",", ":")))
        save_file({key: value.to(torch.bfloat16).contiguous() for key, value in tensors.items()},
                  folder / "model.safetensors", metadata={"format": "pt"})
        kept = golden(forward, block, 301)
        if name == "fast_dllm_v2":
            best = None
            for seed in range(400, 430):
                prompt = torch.randint(4, VOCAB, (PROMPT,), generator=torch.Generator().manual_seed(seed))
                whole, margin = write_page(forward, prompt.tolist(), BLOCK)
                parts, other_margin = write_page(forward, prompt.tolist(), SUB_BLOCK)
                margin = min(margin, other_margin) if whole != parts and len(whole) <= PAGE else 0
                if best is None or margin > best[-1]:
                    best = (prompt, whole, parts, margin)
            kept["gen_prompt"] = best[0].to(torch.int32)
            kept["gen_trace"] = torch.tensor(best[1], dtype=torch.int32)
            kept["gen_trace.sub_blocks"] = torch.tensor(best[2], dtype=torch.int32)
            print("pages of", len(best[1]) - 1, len(best[2]) - 1, "passes, closest decision", best[-1])
        save_file({key: value.contiguous().clone() for key, value in kept.items()},
                  root / "oracle" / f"{name}.golden.safetensors")
        print(name, "logits deviate by", float(kept["logits"].std()))


main()
