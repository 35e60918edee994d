#!/usr/bin/env python3
"""Writes the encoders in tests/golden that no other oracle has: small random networks of transformers' own classes as
Hugging Face folders, and what transformers computes with them in float32.

    python tools/make_encoder_golden.py OUT

OUT/huggingface/NAME holds config.json and model.safetensors, OUT/oracle/NAME.golden.safetensors input_ids,
token_type_ids where the family knows types, the hidden state of every layer and of the last, the scores of a
classifier. nomic_bert is also written as GGUF, with the fused tensors of its makers. Needs torch, transformers, gguf
and safetensors.
"""
import json
import os
import sys

import gguf
import numpy
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

LENGTH = 24
COMMON = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_attention_heads=2, num_hidden_layers=2,
              max_position_embeddings=64, pad_token_id=0)
CASES = {
    "nomic_bert": dict(model_type="nomic_bert", seed=61, config=dict(type_vocab_size=2)),
    "bert_reranker": dict(model_type="bert", seed=62, labels=1, config=dict(type_vocab_size=2)),
    "modernbert_reranker": dict(model_type="modernbert", seed=63, labels=2,
                                config=dict(local_attention=8, num_hidden_layers=4, classifier_pooling="mean",
                                            bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)),
}
LAYER = {"self_attn.o_proj": "attn_output", "post_attention_layernorm": "attn_output_norm", "mlp.up_proj": "ffn_up",
         "mlp.gate_proj": "ffn_gate", "mlp.down_proj": "ffn_down", "post_mlp_layernorm": "layer_output_norm"}


def build(case):
    config = AutoConfig.for_model(case["model_type"], **{**COMMON, **case["config"]})
    config._attn_implementation = "eager"
    torch.manual_seed(case["seed"])
    if "labels" in case:
        config.num_labels = case["labels"]
        model = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    else:
        model = AutoModel.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            is_norm = "norm" in name.lower() and name.endswith("weight")
            fresh = torch.randn(weight.shape) * (0.1 if is_norm or weight.ndim == 1 else weight.shape[-1] ** -0.5)
            weight.copy_((fresh + (1 if is_norm else 0)).to(torch.bfloat16).float())
    return model.eval()


def golden(case, model, path):
    ids = torch.randint(5, COMMON["vocab_size"], (LENGTH,), generator=torch.Generator().manual_seed(case["seed"]))
    inputs = {"input_ids": ids[None], "output_hidden_states": True}
    if "type_vocab_size" in case["config"]:
        inputs["token_type_ids"] = (torch.arange(LENGTH) >= 10).long()[None]
    with torch.no_grad():
        out = model(**inputs)
        inner = model if "labels" not in case else getattr(model, model.base_model_prefix)
        last = inner(**inputs).last_hidden_state[0]
    kept = {"input_ids": ids.to(torch.int32), "last_hidden_state": last}
    if "token_type_ids" in inputs:
        kept["token_type_ids"] = inputs["token_type_ids"][0].to(torch.int32)
    for i, hidden in enumerate(out.hidden_states[1:-1]):  # the last one may have been normalised
        kept[f"hidden.layer.{i}.out"] = hidden[0]
    if "labels" in case:
        kept["scores"] = out.logits[0]
    save_file({name: value.contiguous().clone() for name, value in kept.items()}, path)


def write_folder(model, path):
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/config.json", "w") as file:
        json.dump({**model.config.to_dict(), "architectures": [type(model).__name__]}, file, indent=1, sort_keys=True)
    weights = {name: value.to(torch.bfloat16).contiguous() for name, value in model.state_dict().items()
               if value.is_floating_point()}
    save_file(weights, f"{path}/model.safetensors", metadata={"format": "pt"})


def write_nomic_gguf(model, path):
    config, arch = model.config, "nomic-bert"
    writer = gguf.GGUFWriter(path, arch)
    for key, value in {"block_count": config.num_hidden_layers, "context_length": config.max_position_embeddings,
                       "embedding_length": config.hidden_size, "feed_forward_length": config.intermediate_size,
                       "attention.head_count": config.num_attention_heads}.items():
        writer.add_uint32(f"{arch}.{key}", value)
    writer.add_float32(f"{arch}.attention.layer_norm_epsilon", config.layer_norm_eps)
    writer.add_float32(f"{arch}.rope.freq_base", config.rope_parameters["rope_theta"])
    writer.add_bool(f"{arch}.attention.causal", False)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}

    def add(name, numbers):
        if numbers.ndim == 1:
            return writer.add_tensor(name, numbers)
        kind = gguf.GGMLQuantizationType.BF16
        writer.add_tensor(name, gguf.quants.quantize(numpy.ascontiguousarray(numbers), kind), raw_dtype=kind)

    add("token_embd.weight", weights["embeddings.word_embeddings.weight"])
    add("token_types.weight", weights["embeddings.token_type_embeddings.weight"])
    for part in ("weight", "bias"):
        add(f"token_embd_norm.{part}", weights[f"embeddings.LayerNorm.{part}"])
    for i in range(config.num_hidden_layers):
        add(f"blk.{i}.attn_qkv.weight",
            numpy.concatenate([weights[f"layers.{i}.self_attn.{x}_proj.weight"] for x in "qkv"]))
        for name, short in LAYER.items():
            for part in ("weight", "bias"):
                if f"layers.{i}.{name}.{part}" in weights:
                    add(f"blk.{i}.{short}.{part}", weights[f"layers.{i}.{name}.{part}"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    out = sys.argv[1]
    torch.set_num_threads(1)
    os.makedirs(f"{out}/oracle", exist_ok=True)
    for name, case in CASES.items():
        model = build(case)
        write_folder(model, f"{out}/huggingface/{name}")
        golden(case, model, f"{out}/oracle/{name}.golden.safetensors")
        if name == "nomic_bert":
            write_nomic_gguf(model, f"{out}/oracle/nomic_bert-bf16.gguf")


main()
