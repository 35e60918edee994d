"""The body of the twins, and the optimiser that teaches it.

RMSNorm, rotary positions, grouped queries, SwiGLU, one matrix for embedding and head: what GGUF calls llama, and llada
where every row sees all. Which rows a row sees is said with every call, so one body serves all three twins.
"""

import dataclasses
import math

import torch
import torch.nn.functional as functional


@dataclasses.dataclass(frozen=True)
class Shape:
    vocabulary: int = 288
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    ffn: int = 352
    context: int = 256
    rope_base: float = 1e4
    epsilon: float = 1e-5

    @property
    def head(self):
        return self.hidden // self.heads


def matrix(rows, columns, scale=0.02):
    return torch.nn.Parameter(torch.randn(rows, columns) * scale)


def turned(x, cosine, sine):
    """Pairs (i, i + half) of each head, turned by the angles of its position."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class Layer(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        into_sum = 0.02 / math.sqrt(2 * shape.layers)  # what is added to the sum of the layers begins smaller
        self.attn_norm = torch.nn.Parameter(torch.ones(shape.hidden))
        self.attn_q = matrix(shape.hidden, shape.hidden)
        self.attn_k = matrix(shape.kv_heads * shape.head, shape.hidden)
        self.attn_v = matrix(shape.kv_heads * shape.head, shape.hidden)
        self.attn_output = matrix(shape.hidden, shape.hidden, into_sum)
        self.ffn_norm = torch.nn.Parameter(torch.ones(shape.hidden))
        self.ffn_gate = matrix(shape.ffn, shape.hidden)
        self.ffn_up = matrix(shape.ffn, shape.hidden)
        self.ffn_down = matrix(shape.hidden, shape.ffn, into_sum)

    def attention(self, x, angles, sees):
        shape, (texts, rows, _) = self.shape, x.shape

        def heads(weight, count):
            return functional.linear(x, weight).view(texts, rows, count, shape.head).transpose(1, 2)

        queries = turned(heads(self.attn_q, shape.heads), *angles)
        keys = turned(heads(self.attn_k, shape.kv_heads), *angles)
        shared = shape.heads // shape.kv_heads
        keys, values = (part.repeat_interleave(shared, dim=1) for part in (keys, heads(self.attn_v, shape.kv_heads)))
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=sees)
        return functional.linear(mixed.transpose(1, 2).reshape(texts, rows, shape.hidden), self.attn_output)

    def forward(self, x, angles, sees):
        size = (self.shape.hidden,)
        x = x + self.attention(functional.rms_norm(x, size, self.attn_norm, self.shape.epsilon), angles, sees)
        normed = functional.rms_norm(x, size, self.ffn_norm, self.shape.epsilon)
        gate, up = functional.linear(normed, self.ffn_gate), functional.linear(normed, self.ffn_up)
        return x + functional.linear(functional.silu(gate) * up, self.ffn_down)


class Network(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.token_embd = matrix(shape.vocabulary, shape.hidden)
        self.blk = torch.nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.output_norm = torch.nn.Parameter(torch.ones(shape.hidden))
        speeds = shape.rope_base ** -(torch.arange(0, shape.head, 2, dtype=torch.float64) / shape.head)
        angles = torch.arange(shape.context, dtype=torch.float64)[:, None] * speeds
        self.cosine, self.sine = angles.cos().float(), angles.sin().float()

    def forward(self, tokens, sees, asked, positions=None):
        """Logits of the rows that are true in `asked`, both [texts, rows]; `sees` [rows, rows], null: all."""
        places = torch.arange(tokens.shape[1]) if positions is None else positions
        angles = self.cosine[places], self.sine[places]
        x = functional.embedding(tokens, self.token_embd)
        for layer in self.blk:
            x = layer(x, angles, sees)
        x = functional.rms_norm(x[asked], (self.shape.hidden,), self.output_norm, self.shape.epsilon)
        return functional.linear(x, self.token_embd)


class Muon:
    """Momentum whose steps are made orthogonal (Jordan et al., 2024), for the matrices inside the layers; those of one
    shape go through the iteration together."""

    COEFFICIENTS = (3.4445, -4.7750, 2.0315)

    def __init__(self, matrices, momentum=0.95, decay=0.01):
        self.momentum, self.decay = momentum, decay
        self.by_shape = {}
        for weight in matrices:
            self.by_shape.setdefault(tuple(weight.shape), []).append(weight)
        self.sums = {size: torch.zeros(len(weights), *size) for size, weights in self.by_shape.items()}

    def orthogonal(self, x):
        is_tall = x.shape[1] > x.shape[2]
        x = x.transpose(1, 2) if is_tall else x
        x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
        a, b, c = self.COEFFICIENTS
        for _ in range(5):
            square = x @ x.transpose(1, 2)
            x = a * x + (b * square + c * square @ square) @ x
        return x.transpose(1, 2) if is_tall else x

    @torch.no_grad()
    def step(self, rate):
        for size, weights in self.by_shape.items():
            gradients = torch.stack([weight.grad for weight in weights])
            sums = self.sums[size].mul_(self.momentum).add_(gradients)
            steps = self.orthogonal(gradients + self.momentum * sums) * max(1.0, size[0] / size[1]) ** 0.5
            for weight, step in zip(weights, steps):
                weight.mul_(1 - rate * self.decay).sub_(step, alpha=rate)
