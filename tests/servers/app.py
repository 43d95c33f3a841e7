"""What gunicorn serves: embeddings of token ids. The master imports this module, so it loads the model and compiles the
encoder; the workers, which are forked from it, find both and answer from several threads."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "python"))
from minilm import Encoder, model_folder

import pymx as mx

encode = mx.compile(Encoder(model_folder()), shapeless=True)
ids = mx.array([[101, 7592, 102]], dtype=mx.int32)
mx.eval(encode(ids, mx.ones_like(ids)))
MASTER = os.getpid()


def application(environ, start_response):
    """The body is a JSON list of token ids; the answer has the vector, who answered, and how often that one traced."""
    tokens = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    ids = mx.array([tokens], dtype=mx.int32)
    vector = encode(ids, mx.ones_like(ids))[0].tolist()
    answer = {"vector": vector, "worker": os.getpid(), "forked": os.getppid() == MASTER}
    body = json.dumps(answer | {"traces": encode.cache_info().traces}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
