#!/usr/bin/env python3
"""Writes the checkpoints in tests/golden/oracle that no other oracle has: small random networks of transformers' own
classes, saved as GGUF, and what transformers computes with them in float32.

    python tools/make_family_golden.py OUT [PHI3_LONGROPE_FOLDER]

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
}
NAMES = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
         "post_attention_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}


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
    for name, weight in model.state_dict().items():
        numbers = weight.numpy()
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if name.startswith("model.layers."):
            index, rest = name[len("model.layers."):].split(".", 1)
            short = NAMES[rest.removesuffix(".weight")]
            if short == "ffn_norm" and arch == "olmo2":
                short = "post_attention_norm"
            if case.get("paired") and short in ("attn_q", "attn_k"):
                heads = config.num_attention_heads if short == "attn_q" else config.num_key_value_heads
                numbers = paired(numbers, heads)
            to = f"blk.{index}.{short}.weight"
        else:
            to = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
                  "lm_head.weight": "output.weight"}[name]
        if numbers.ndim == 1:
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
    torch.set_num_threads(1)
    for name, case in CASES.items():
        model = build(case)
        ids = torch.randint(4, 320, (LENGTH,), generator=torch.Generator().manual_seed(case["seed"]))
        # transformers' dynamic base follows the length of the text, ours the configured context: LENGTH, here.
        margin = golden(model, f"{out}/{name}.golden.safetensors", ids, greedy=name != "llama_rope_dynamic")
        write_gguf(case, model, f"{out}/{name}-bf16.gguf")
        with open(f"{out}/{name}.golden.json", "w") as file:
            json.dump({"seed": case["seed"], "greedy_min_margin": margin if margin < float("inf") else None}, file)
        print(name, "margin", margin)
    if len(sys.argv) > 2:
        model = AutoModelForCausalLM.from_pretrained(sys.argv[2], dtype=torch.float32, attn_implementation="eager")
        ids = torch.randint(4, 320, (24,), generator=torch.Generator().manual_seed(96))
        print("phi3_longrope_short", golden(model.eval(), f"{out}/phi3_longrope_short.golden.safetensors", ids))


main()
