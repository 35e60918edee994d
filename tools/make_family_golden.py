#!/usr/bin/env python3
"""Writes the checkpoints in tests/golden/oracle that no other oracle has: small random networks of transformers' own
classes, saved as GGUF, and what transformers computes with them in float32.

    python tools/make_family_golden.py OUT [--only NAME,...] [PHI3_LONGROPE_FOLDER]

Needs torch, transformers, gguf and safetensors. The folder is a Hugging Face checkpoint with longrope whose original
context is at least 24 tokens; with it, phi3_longrope_short.golden.safetensors is written too.
"""
import json
import sys

import gguf
import numpy
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoConfig

LENGTH, PROMPT, GREEDY = 40, 14, 16
COMMON = dict(vocab_size=320, hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=512, bos_token_id=1, eos_token_id=2, pad_token_id=0)
CASES = {
    "smollm3": dict(arch="smollm3", paired=True, model_type="smollm3", seed=91,
                    config=dict(num_hidden_layers=5, no_rope_layer_interval=4, tie_word_embeddings=True)),
    "olmo2": dict(arch="olmo2", model_type="olmo2", seed=192, config=dict(num_hidden_layers=2)),
    "olmo3": dict(arch="olmo2", model_type="olmo3", seed=93,
                  config=dict(num_hidden_layers=4, sliding_window=8,
                              layer_types=["sliding_attention"] * 3 + ["full_attention"]),
                  keys={"attention.sliding_window": 8}),
    "phi3_partial": dict(arch="phi3", model_type="phi3", seed=94,
                         config=dict(num_hidden_layers=2, tie_word_embeddings=True, sliding_window=None,
                                     rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                                                      "partial_rotary_factor": 0.5}),
                         keys={"rope.dimension_count": 8}),
    "llama_rope_dynamic": dict(arch="llama", paired=True, model_type="llama", seed=95,
                               config=dict(num_hidden_layers=2, max_position_embeddings=32,
                                           rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0,
                                                            "factor": 4.0}),
                               keys={"rope.scaling.type": "dynamic", "rope.scaling.factor": 4.0}),
    "olmoe": dict(arch="olmoe", model_type="olmoe", seed=96,
                  config=dict(num_hidden_layers=2, num_experts=6, num_experts_per_tok=2, intermediate_size=24),
                  keys={"expert_count": 6, "expert_used_count": 2}),
    "qwen2_moe": dict(arch="qwen2moe", model_type="qwen2_moe", seed=97,
                      config=dict(num_hidden_layers=2, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24,
                                  shared_expert_intermediate_size=40),
                      keys={"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 24,
                            "expert_shared_feed_forward_length": 40}),
    # Keys and tensors as they were before keys and values had a tensor each; experts are chosen by group.
    "deepseek_v2_old": dict(arch="deepseek2", model_type="deepseek_v2", seed=98,
                            config=dict(num_hidden_layers=2, num_key_value_heads=4, q_lora_rank=None, kv_lora_rank=32,
                                        qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, n_routed_experts=8,
                                        n_shared_experts=1, num_experts_per_tok=3, moe_intermediate_size=16,
                                        first_k_dense_replace=1, n_group=4, topk_group=2,
                                        topk_method="group_limited_greedy", routed_scaling_factor=1.5),
                            keys={"attention.kv_lora_rank": 32, "attention.key_length": 24,
                                  "attention.value_length": 12, "rope.dimension_count": 8, "expert_count": 8,
                                  "expert_used_count": 3, "expert_shared_count": 1, "expert_feed_forward_length": 16,
                                  "expert_group_count": 4, "expert_group_used_count": 2, "expert_weights_scale": 1.5,
                                  "leading_dense_block_count": 1}),
}
NAMES = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
         "post_attention_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
         "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
         "self_attn.kv_b_proj": "attn_kv_b", "mlp.gate": "ffn_gate_inp", "mlp.experts.down_proj": "ffn_down_exps",
         "mlp.shared_expert_gate": "ffn_gate_inp_shexp"}
for part in ("gate", "up", "down"):
    for shared in ("mlp.shared_expert", "mlp.shared_experts"):
        NAMES[f"{shared}.{part}_proj"] = f"ffn_{part}_shexp"


def build(case):
    config = AutoConfig.for_model(case["model_type"], **{**COMMON, **case["config"]})
    config._attn_implementation = "eager"
    torch.manual_seed(case["seed"])
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            fresh = torch.randn(weight.shape) * (0.1 if "norm" in name else weight.shape[-1] ** -0.5)
            weight.copy_((fresh + (1 if "norm" in name else 0)).to(torch.bfloat16).float())
            if "embed" in name:
                weight.mul_(2 if config.tie_word_embeddings else 8)
    return model


def golden(model, path, ids, greedy=True):
    kept = {}
    hooks = []

    def keep(module, name):
        def take(_, __, out):
            kept[name] = (out[0] if isinstance(out, tuple) else out)[0].detach().clone()
        hooks.append(module.register_forward_hook(take))

    keep(model.model.embed_tokens, "hidden.embed.out")
    keep(model.model.norm, "hidden.final_norm.out")
    for i, layer in enumerate(model.model.layers):
        keep(layer, f"hidden.layer.{i}.out")
        keep(layer.self_attn, f"hidden.layer.{i}.self_attn.out")
        keep(layer.mlp, f"hidden.layer.{i}.mlp.out")
    with torch.no_grad():
        logits = model(ids[None], use_cache=False).logits[0]
    for hook in hooks:
        hook.remove()
    kept["logits"] = logits
    kept["input_ids"] = ids.to(torch.int32)
    text, margin = ids[:PROMPT].clone(), float("inf")
    for _ in range(GREEDY if greedy else 0):
        with torch.no_grad():
            top = torch.topk(model(text[None], use_cache=False).logits[0, -1], 2)
        margin = min(margin, float(top.values[0] - top.values[1]))
        text = torch.cat([text, top.indices[:1]])
    if greedy:
        kept["greedy_prompt"], kept["greedy_ids"] = text[:PROMPT].to(torch.int32), text[PROMPT:].to(torch.int32)
    save_file({name: value.contiguous().clone() for name, value in kept.items()}, path)
    return margin


def paired(weight, heads):
    """Rows of each head, stored in halves, as pairs."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def split_experts(tensors):
    """Gate and up of all experts, which transformers joins, each by itself."""
    for name, weight in tensors.items():
        if name.endswith("mlp.experts.gate_up_proj"):
            for part, half in zip(("ffn_gate_exps", "ffn_up_exps"), weight.chunk(2, dim=1)):
                yield name.replace("mlp.experts.gate_up_proj", part), half.contiguous()
        else:
            yield name, weight


def write_gguf(case, model, path):
    config = model.config
    writer = gguf.GGUFWriter(path, case["arch"])
    arch = case["arch"]
    for key, value in {"block_count": config.num_hidden_layers, "context_length": config.max_position_embeddings,
                       "embedding_length": config.hidden_size, "feed_forward_length": config.intermediate_size,
                       "attention.head_count": config.num_attention_heads,
                       "attention.head_count_kv": config.num_key_value_heads, **case.get("keys", {})}.items():
        add = {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}[type(value)]
        add(f"{arch}.{key}", value)
    writer.add_float32(f"{arch}.attention.layer_norm_rms_epsilon", config.rms_norm_eps)
    rope = config.rope_parameters
    writer.add_float32(f"{arch}.rope.freq_base", rope.get("full_attention", rope)["rope_theta"])
    for name, weight in split_experts(model.state_dict()):
        numbers = weight.numpy()
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if name.startswith("model.layers."):
            index, rest = name[len("model.layers."):].split(".", 1)
            kind = "bias" if rest.endswith(".bias") else "weight"
            short = NAMES.get(rest.removesuffix(f".{kind}"), rest)
            if short == "ffn_gate_inp_shexp":
                numbers = numbers[0]
            if short == "ffn_norm" and arch == "olmo2":
                short = "post_attention_norm"
            if case.get("paired") and short in ("attn_q", "attn_k"):
                heads = config.num_attention_heads if short == "attn_q" else config.num_key_value_heads
                numbers = paired(numbers, heads)
            to = f"blk.{index}.{short}.{kind}"
        else:
            to = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
                  "lm_head.weight": "output.weight"}[name]
        if numbers.ndim == 1 or "ffn_gate_inp" in to:
            writer.add_tensor(to, numbers)
        else:
            kind = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(to, gguf.quants.quantize(numpy.ascontiguousarray(numbers), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    out = sys.argv[1]
    only = sys.argv[3].split(",") if sys.argv[2:3] == ["--only"] else []
    rest = sys.argv[4:] if only else sys.argv[2:]
    torch.set_num_threads(1)
    for name, case in CASES.items():
        if only and name not in only:
            continue
        model = build(case)
        ids = torch.randint(4, 320, (LENGTH,), generator=torch.Generator().manual_seed(case["seed"]))
        # transformers' dynamic base follows the length of the text, ours the configured context: LENGTH, here.
        margin = golden(model, f"{out}/{name}.golden.safetensors", ids, greedy=name != "llama_rope_dynamic")
        write_gguf(case, model, f"{out}/{name}-bf16.gguf")
        with open(f"{out}/{name}.golden.json", "w") as file:
            json.dump({"seed": case["seed"], "greedy_min_margin": margin if margin < float("inf") else None}, file)
        print(name, "margin", margin)
    if rest:
        model = AutoModelForCausalLM.from_pretrained(rest[0], dtype=torch.float32, attn_implementation="eager")
        ids = torch.randint(4, 320, (24,), generator=torch.Generator().manual_seed(96))
        print("phi3_longrope_short", golden(model.eval(), f"{out}/phi3_longrope_short.golden.safetensors", ids))


main()
