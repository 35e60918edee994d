"""A twin as a GGUF file that plm and llama.cpp read, and back. Needs numpy and gguf (the package of llama.cpp)."""

import gguf
import numpy
import torch

BOS, EOS, MASK, EOT, PAD = range(256, 261)
NAMED = ("bos", "eos", "mask", "eot", "pad", "expand", "delete", "insert")
AS_IT_IS = "{% for message in messages %}{{ message['content'] }}{% endfor %}"  # a template for programs that want one


def token_texts(vocabulary):
    """Bytes in the spelling of byte-level vocabularies, then the tokens that are no bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    bytes_ = [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]
    return bytes_ + [f"<{name}>" for name in NAMED] + [f"<reserved_{i}>" for i in range(vocabulary - 256 - len(NAMED))]


def interleaved(weight, heads):
    """Rows of pairs (i, i + half) of every head as pairs (2i, 2i + 1), as llama and llada turn them in GGUF."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def halves(weight, heads):
    return weight.reshape(heads, -1, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def turned_heads(name, shape):
    return {"attn_q": shape.heads, "attn_k": shape.kv_heads}.get(name.rsplit(".", 1)[-1])


def add_settings(writer, kind, shape):
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_rope_dimension_count(shape.head)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    if kind == "mdm":
        writer.add_causal_attention(False)
        writer.add_bool("diffusion.shift_logits", False)
    if kind == "tri":
        writer.add_string("diffusion.kind", "mask")
        writer.add_string("diffusion.attention", "causal_context")
        writer.add_uint32("diffusion.block_length", 8)
        writer.add_bool("diffusion.shift_logits", False)


def add_vocabulary(writer, kind, shape):
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(token_texts(shape.vocabulary))
    types = [gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * (shape.vocabulary - 256)
    writer.add_token_types([int(kind_) for kind_ in types])
    writer.add_token_merges(["<bos> <bos>"])  # applies nowhere; llama.cpp refuses an empty list
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_eot_token_id(EOT)
    writer.add_pad_token_id(PAD)
    if kind != "ar":
        writer.add_mask_token_id(MASK)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(AS_IT_IS)


def write(path, kind, shape, weights):
    writer = gguf.GGUFWriter(str(path), "llada" if kind == "mdm" else "llama")
    writer.add_name(f"twin-{kind}")
    add_settings(writer, kind, shape)
    add_vocabulary(writer, kind, shape)
    for name, weight in weights.items():
        numbers = weight.detach().numpy()
        if heads := turned_heads(name, shape):
            numbers = interleaved(numbers, heads)
        is_matrix = numbers.ndim == 2
        writer.add_tensor(f"{name}.weight",
                          numpy.ascontiguousarray(numbers, dtype=numpy.float16 if is_matrix else numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read(path, shape):
    """The weights of a file that `write` has written, for a network of that shape."""
    weights = {}
    for tensor in gguf.GGUFReader(str(path)).tensors:
        name = tensor.name.removesuffix(".weight")
        numbers = numpy.array(tensor.data, dtype=numpy.float32)
        if heads := turned_heads(name, shape):
            numbers = halves(numbers, heads)
        weights[name] = torch.from_numpy(numpy.ascontiguousarray(numbers))
    return weights
