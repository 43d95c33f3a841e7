"""Embeds the sentences of a text file with a real model and prints the most similar pairs.

    embed.py [--file sentences.txt | -] [--query TEXT] [--out vectors.npy]

One compiled function is shared by all threads. `--file -` reads stdin, one sentence a line. With --query, the sentences
nearest to it are printed instead of pairs.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from minilm import Encoder, model_folder
from tokenizers import Tokenizer  # type: ignore[import-not-found, import-untyped, unused-ignore]

import pymx as mx

SENTENCES = Path(__file__).parent.parent / "data" / "sentences.txt"


def batches(sentences: list[str], tokenizer: Any, size: int) -> list[tuple[list[int], list[Any]]]:
    """Sentences of like length together, so that little is padded: (their places, their encodings)."""
    tokenizer.no_padding()
    encodings = tokenizer.encode_batch(sentences)
    order = sorted(range(len(sentences)), key=lambda i: len(encodings[i].ids))
    groups = [order[i : i + size] for i in range(0, len(order), size)]
    return [(group, [encodings[i] for i in group]) for group in groups]


def pad(encodings: list[Any]) -> tuple[mx.array, mx.array]:
    """Token ids and mask of one batch, filled up with 0 to the longest."""
    length = max(len(e.ids) for e in encodings)
    ids = [e.ids + [0] * (length - len(e.ids)) for e in encodings]
    mask = [[1] * len(e.ids) + [0] * (length - len(e.ids)) for e in encodings]
    return mx.array(ids, dtype=mx.int32), mx.array(mask, dtype=mx.int32)


def embed(sentences: list[str], folder: Path, n_threads: int, batch_size: int) -> mx.array:
    """Unit vectors of the sentences, float32 of shape (sentences, width)."""
    encoder = Encoder(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    encode = mx.compile(encoder, shapeless=True)

    def run(batch: tuple[list[int], list[Any]]) -> tuple[list[int], mx.array]:
        vectors = encode(*pad(batch[1]))
        mx.eval(vectors)
        return batch[0], vectors

    work = batches(sentences, tokenizer, batch_size)
    rows: list[Any] = [None] * len(sentences)
    with ThreadPoolExecutor(n_threads) as pool:
        for places, vectors in progress(pool.map(run, work), len(work)):
            for row, place in enumerate(places):
                rows[place] = vectors[row]
    result = mx.stack(rows)
    mx.eval(result)
    return result


def progress(results: Any, n: int) -> Any:
    """A progress bar where tqdm is there and somebody watches a long run."""
    if n < 16 or not sys.stderr.isatty():
        return results
    try:
        from tqdm import tqdm  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return results
    return tqdm(results, total=n, unit="batch")


def nearest_pairs(vectors: mx.array, n: int) -> list[tuple[float, int, int]]:
    """The n most similar pairs: (cosine, i, j) with i < j."""
    count = vectors.shape[0]
    similarity = mx.tril(vectors @ vectors.T, -1) - mx.triu(mx.ones((count, count)))
    order = mx.argsort(-similarity.reshape(-1))[:n].tolist()
    values = similarity.reshape(-1)
    return [(values[place].item(), place % count, place // count) for place in order if place // count > place % count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", default=str(SENTENCES), help="one sentence a line; - is stdin")
    parser.add_argument("--query", help="print the sentences nearest to this text")
    parser.add_argument("--out", help="save the vectors as .npy")
    parser.add_argument("--model", type=Path, default=None, help="a folder with config.json and model.safetensors")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--top", type=int, default=5)
    options = parser.parse_args()

    text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
    sentences = [line.strip() for line in text.splitlines() if line.strip()]
    if not sentences:
        raise SystemExit(f"{options.file}: no sentences")
    inputs = sentences + ([options.query] if options.query else [])

    start = time.perf_counter()
    vectors = embed(inputs, options.model or model_folder(), options.threads, options.batch)
    seconds = time.perf_counter() - start

    if options.query:
        scores = vectors[:-1] @ vectors[-1]
        for place in mx.argsort(-scores)[: options.top].tolist():
            print(f"{scores[place].item():.4f}  {sentences[place]}")
    else:
        for value, i, j in nearest_pairs(vectors, options.top):
            print(f"{value:.4f}  {sentences[i]}  |  {sentences[j]}")
    print(f"{len(inputs)} sentences in {seconds:.2f} s, {len(inputs) / seconds:.0f} per second, with loading")
    if options.out:
        mx.save(options.out, vectors[: len(sentences)])
        print(f"saved {options.out}")


if __name__ == "__main__":
    main()
