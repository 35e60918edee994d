#!/usr/bin/env python3
"""Writes tests/golden/diffusion_gemma.json: what transformers' DiffusionGemma makes of a tiny checkpoint.

  python3 -m venv ~/golden && ~/golden/bin/pip install torch "transformers>=5.24"
  ~/golden/bin/python tools/make_canvas_golden.py

The checkpoint's numbers follow a rule of tensor name and place (see `numbers`), so that only logits are stored and the
test makes the same file. Every norm, factor and expert scale differs from 1.
"""

import json
import pathlib
import zlib

import numpy
import torch
from transformers import DynamicCache
from transformers.models.diffusion_gemma import configuration_diffusion_gemma as configuration
from transformers.models.diffusion_gemma import modeling_diffusion_gemma as modeling

OUT = pathlib.Path(__file__).resolve().parents[1] / "tests/golden/diffusion_gemma.json"
SIZES = {"vocabulary": 40, "hidden": 32, "layers": 3, "heads": 4, "kv_heads": [2, 2, 1], "narrow": 8, "wide": 16,
         "ffn": 24, "experts": 4, "used": 2, "expert_ffn": 12, "window": 5, "windows": [True, True, False]}
PROMPT = [3, 17, 5, 9, 33, 21, 8, 2]
CANVASES = [[7, 39, 0, 12, 25], [30, 1, 1, 19, 4]]
TEMPERATURE = 0.7

NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
         "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm_1": "post_ffw_norm_1",
         "pre_feedforward_layernorm_2": "pre_ffw_norm_2", "post_feedforward_layernorm_2": "post_ffw_norm_2",
         "post_feedforward_layernorm": "post_ffw_norm", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm"}
MATRICES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
            "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
            "mlp.down_proj": "ffn_down", "router.proj": "ffn_gate_inp"}
OTHERS = {"router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale",
          "experts.gate_up_proj": "ffn_gate_up_exps.weight", "experts.down_proj": "ffn_down_exps.weight"}


def numbers(name, shape):
    """Multiples of 1/512 from -1/4 to 1/4, around 1 for what multiplies."""
    places = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint64)
    mixed = (places * 2654435761 + zlib.crc32(name.encode())) % 2**32
    values = ((mixed >> 13) % 257).astype(numpy.float32) / 512 - 0.25
    multiplies = "norm" in name or name.endswith("scale") or "output_scale" in name
    return torch.from_numpy(values + (1 if multiplies else 0)).reshape(shape)


def gguf_name(name):
    """Of a tensor of the text encoder or of the decoder, without what stands in front."""
    whole = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight",
             "self_conditioning.pre_norm.weight": "self_cond_pre_norm.weight",
             **{f"self_conditioning.{part}_proj.weight": f"self_cond_{part}.weight" for part in ("gate", "up", "down")}}
    if name in whole:
        return whole[name]
    _, layer, rest = name.split(".", 2)
    if rest in OTHERS:
        return f"blk.{layer}.{OTHERS[rest]}"
    return f"blk.{layer}.{(NORMS | MATRICES)[rest.removesuffix('.weight')]}.weight"


@torch.no_grad()
def fill(network, scalar):
    for name, parameter in network.named_parameters():
        parameter.copy_(numbers(gguf_name(name), tuple(parameter.shape)))
    for index, layer in enumerate(network.layers):
        layer.layer_scalar.copy_(numbers(f"blk.{index}.{scalar}.weight", (1,)))


def networks():
    layer_types = ["sliding_attention" if is_local else "full_attention" for is_local in SIZES["windows"]]
    text = configuration.DiffusionGemmaTextConfig(
        vocab_size=SIZES["vocabulary"], hidden_size=SIZES["hidden"], intermediate_size=SIZES["ffn"],
        num_hidden_layers=SIZES["layers"], num_attention_heads=SIZES["heads"], num_key_value_heads=2,
        num_global_key_value_heads=1, head_dim=SIZES["narrow"], global_head_dim=SIZES["wide"],
        sliding_window=SIZES["window"], layer_types=layer_types, num_experts=SIZES["experts"],
        top_k_experts=SIZES["used"], moe_intermediate_size=SIZES["expert_ffn"], max_position_embeddings=64)
    text._attn_implementation = "eager"
    whole = configuration.DiffusionGemmaConfig(text_config=text)
    whole._attn_implementation = "eager"
    reader, refiner = modeling.DiffusionGemmaEncoderTextModel(text), modeling.DiffusionGemmaDecoderModel(whole)
    fill(reader, "enc_layer_output_scale")
    fill(refiner, "layer_output_scale")
    return text, reader.eval(), refiner.eval()


@torch.no_grad()
def main():
    text, reader, refiner = networks()

    def logits(canvas, cache, before=None):
        states = refiner(decoder_input_ids=torch.tensor([canvas]), cache=cache, self_conditioning_logits=before)
        raw = states.last_hidden_state @ refiner.embed_tokens.weight.T
        return torch.tanh(raw / text.final_logit_softcapping) * text.final_logit_softcapping

    cache, passes = DynamicCache(config=text), []
    read = PROMPT
    for canvas in CANVASES:
        reader(input_ids=torch.tensor([read]), cache=cache)
        first = logits(canvas, cache)
        second = logits(canvas, cache, first / TEMPERATURE)
        passes += [first, second]
        read = canvas
    rounded = [[float(f"{value:.6g}") for value in one.flatten().tolist()] for one in passes]
    OUT.write_text(json.dumps({"sizes": SIZES, "prompt": PROMPT, "canvases": CANVASES, "temperature": TEMPERATURE,
                               "logits": rounded}, separators=(",", ":")) + "\n")
    print(f"{OUT}: {OUT.stat().st_size} bytes; spread {max(map(max, rounded)):.3f} to {min(map(min, rounded)):.3f}")


if __name__ == "__main__":
    main()
