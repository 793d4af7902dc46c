"""A concept removed and steered in the forward pass of a language model, and how fast its states are read.

    python scripts/measure_interventions.py MODEL --data SENTENCES --parts speed,remove,steer

MODEL is a folder of Hugging Face or a gguf file of a causal model; SENTENCES the folder of labelled sentences. Writes
``docs/states_speed.json`` (which needs a GPU to mean anything), ``docs/states_removal.json`` (with ``--second``
``docs/states_removal_second.json``) and ``docs/states_steering.json``; `write_results.py` puts the tables on the page.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure_states import N_SPLITS, direction, gender, interval, sentiment, split

from densray._leace import leace, leace_beside
from densray.affine import AffineMap
from densray.datasets import load_word_list
from densray.metrics import auc, spearman
from densray.states import (
    Continuations,
    Intervention,
    InterventionTests,
    LabelledTexts,
    LayerChange,
    SweepPoint,
    choose_point,
    continuation_log_odds,
    log_perplexity,
    read_states,
    remove_preference,
)
from densray.states._evaluation import _interval as share_interval
from densray.states._next_tokens import token_costs, under
from densray.states._removal import learn_changes

DOCS = Path(__file__).resolve().parent.parent / "docs"

PAIRS = [
    ("man", "woman"), ("boy", "girl"), ("father", "mother"), ("son", "daughter"), ("brother", "sister"),
    ("uncle", "aunt"), ("grandfather", "grandmother"), ("husband", "wife"), ("nephew", "niece"), ("gentleman", "lady"),
    ("king", "queen"), ("prince", "princess"), ("duke", "duchess"), ("monk", "nun"), ("actor", "actress"),
    ("waiter", "waitress"), ("groom", "bride"), ("widower", "widow"), ("stepfather", "stepmother"), ("heir", "heiress"),
    ("businessman", "businesswoman"), ("policeman", "policewoman"), ("salesman", "saleswoman"),
    ("landlord", "landlady"), ("host", "hostess"), ("emperor", "empress"), ("godfather", "godmother"),
    ("boyfriend", "girlfriend"), ("grandson", "granddaughter"), ("schoolboy", "schoolgirl"),
    ("spokesman", "spokeswoman"), ("stepson", "stepdaughter"), ("dad", "mom"), ("chairman", "chairwoman"),
    ("wizard", "witch"), ("hero", "heroine"),
]  # fmt: skip
LEARNED, DEFINING = PAIRS[0::3], PAIRS[1::3] + PAIRS[2::3]
LEARNED_PROMPTS = ["The {} thought that", "The {} left because", "When the {} arrived,", "The {} knew that"]
LEARNED_PROMPTS += ["Yesterday the {} said", "If the {} comes,", "The {} asked whether", "I met the {} when"]
PROMPTS = ["The {} said that", "The {} was late because", "When the {} came home,"]
STRENGTHS = (0.5, 0.75, 1.0, 1.25)
N_HALVINGS = 8
#: Sets of layers that the page shows at full strength.
SHOWN = ("none", "all but the last", "middle, every second", "late, every second", "upper half, every fourth")


def occupations(folder: Path) -> tuple[list[str], np.ndarray]:
    """Return the sixty occupations of Winogender and the share of women in each."""
    with (folder / "winogender" / "occupations-stats.tsv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return [row["occupation"] for row in rows], np.array([float(row["bls_pct_female"]) / 100 for row in rows])


def held_out_texts(folder: Path, count: int) -> list[str]:
    """Return sentences of SST-2's test half."""
    lines = (folder / "sst2" / "test.tsv").read_text(encoding="utf-8").splitlines()
    return [lines[row].rsplit("\t", 1)[0] for row in np.random.default_rng(0).permutation(len(lines))[:count]]


def beginnings(folder: Path, count: int) -> list[str]:
    """Return sentences of SST-2's learning half, each cut after a random word."""
    lines = (folder / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()
    random = np.random.default_rng(0)
    chosen = [lines[row].rsplit("\t", 1)[0].split() for row in random.permutation(len(lines))]
    return [" ".join(words[: random.integers(2, len(words) + 1)]) for words in chosen if len(words) > 2][:count]


def filled(templates: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return every word in every template."""
    return [template.format(word) for template in templates for word in words]


def mean_difference(X: np.ndarray, y: np.ndarray) -> AffineMap:
    """Return the projection along the mean difference, about the mean."""
    axis = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    axis = axis / np.linalg.norm(axis)
    return AffineMap("mean difference", axis[:, None], axis[None], X.mean(axis=0), np.zeros(len(axis)))


@dataclass(frozen=True)
class Seen:
    """What a remover learns from after one layer: the states of occupations, of pairs and of ordinary text."""

    jobs: np.ndarray
    pairs: np.ndarray
    texts: np.ndarray


Maker = Callable[[Seen], AffineMap]


class Learning:
    """What removers learn from, none of it in a test: pairs, occupations with the model's own odds, ordinary text."""

    def __init__(self, model: Any, tokenizer: Any, folder: Path) -> None:
        self.model, self.tokenizer = model, tokenizer
        pairs = filled(LEARNED_PROMPTS, [word for pair in LEARNED for word in pair])
        self.sides = np.tile([1.0, 0.0], len(LEARNED_PROMPTS) * len(LEARNED))
        gendered = set(load_word_list("gender-specific")) | {word for pair in PAIRS for word in pair}
        tested = set(occupations(folder)[0])
        words = [word for word in load_word_list("occupations") if word not in gendered | tested and "_" not in word]
        jobs = filled(LEARNED_PROMPTS, words)
        odds = continuation_log_odds(model, tokenizer, Continuations(jobs, " he", " she", [0.0] * len(jobs)))
        parts = np.split(odds, len(LEARNED_PROMPTS))
        self.odds = np.concatenate([part - part.mean() for part in parts])  # of each template
        self.given = (jobs, pairs, beginnings(folder, 1000))

    def removal(self, make: Maker, layers: Sequence[int], *, in_order: bool) -> Intervention:
        """Return the removal after some layers, each learned from states that the earlier ones have changed, or not."""
        learned = learn_changes(
            self.model, self.tokenizer, self.given, layers, lambda *rows: make(Seen(*rows)), in_order=in_order
        )
        return Intervention("project", learned)

    def at_once(self) -> dict[str, Maker]:
        """Return what makes the erasure of every layer from the states of the model as it is, by name."""
        return {
            "LEACE, pairs": lambda seen: leace(seen.pairs, self.sides),
            "mean difference, pairs": lambda seen: mean_difference(seen.pairs, self.sides),
        }

    def layer_by_layer(self) -> dict[str, Maker]:
        """Return what makes the erasure of a layer from states that earlier layers have changed, by name."""
        return {
            "pairs beside text, in order": lambda seen: leace_beside(seen.pairs, self.sides, seen.texts),
            "occupations beside text, in order": lambda seen: leace_beside(seen.jobs, self.odds, seen.texts),
            "occupations beside text, pairs kept, in order": lambda seen: leace_beside(
                seen.jobs, self.odds, seen.texts, preserve=(seen.pairs, self.sides)
            ),
        }


def layer_sets(n_blocks: int) -> dict[str, list[int]]:
    """Return the sets of blocks that are tried, by name; for thirty blocks those of the review among them."""
    last = n_blocks - 1
    third = n_blocks // 3
    return {
        "all but the last": list(range(last)),
        "middle, every second": list(range(third, 2 * third + 1, 2)),
        "late, every second": list(range(2 * third, last, 2)),
        "late, odd": list(range(2 * third - 1, last, 2)),
        "upper half, every fourth": list(range(n_blocks // 2 + 1, last, 4)),
        "last five but one": list(range(last - 4, last)),
        "three late": [last - 5, last - 3, last - 1],
        "two late": [last - 3, last - 1],
        "last but one": [last - 1],
        "last two": [last - 1, last],
        "one at two thirds": [2 * third],
    }


def measure_removal(model: Any, tokenizer: Any, folder: Path, raw: Path, *, shown: bool = False) -> None:
    """Measure every remover, set of layers and strength once, and keep the answer to every prompt and text.

    With `shown` only what a table shows: few sets of layers, at full strength.
    """
    names, share = occupations(folder)
    words = [word for pair in DEFINING for word in pair]
    prompts = filled(PROMPTS, names) + filled(PROMPTS, words)
    pronouns = Continuations(prompts, " he", " she", [0.0] * len(prompts))
    texts = held_out_texts(folder, 256)

    def measured(change: Intervention | None) -> tuple[np.ndarray, np.ndarray]:
        odds = continuation_log_odds(model, tokenizer, pronouns, change)
        return odds, token_costs(model, tokenizer, texts, change, divergence=False)[0]

    found, keys = [measured(None)], [("nothing", "none", [], 0.0)]
    learning, count = Learning(model, tokenizer, folder), model.config.num_hidden_layers
    places = {name: layers for name, layers in layer_sets(count).items() if name in SHOWN or not shown}

    def kept(remover: str, where: str, change: Intervention) -> None:
        for strength in (1.0,) if shown else STRENGTHS:
            found.append(measured(change.at(strength)))
            keys.append((remover, where, list(change.layers), strength))

    for remover, make in learning.at_once().items():
        whole = learning.removal(make, range(count), in_order=False)
        for where, layers in places.items():
            kept(remover, where, whole.only(layers))
    for remover, make in learning.layer_by_layer().items():
        for where, layers in places.items():
            if len(layers) < count // 2:  # more of them take long to learn one after the other
                kept(remover, where, learning.removal(make, layers, in_order=True))
    arrays = {"odds": np.array([odds for odds, _ in found]), "losses": np.array([losses for _, losses in found])}
    np.savez_compressed(raw, keys=json.dumps(keys), share=share, **arrays)


def measure_preference(model: Any, tokenizer: Any, folder: Path, raw: Path) -> None:
    """Measure `remove_preference` as users call it, at its default layers, with and without preserved pairs."""
    names, share = occupations(folder)
    words = [word for pair in DEFINING for word in pair]
    prompts = filled(PROMPTS, names) + filled(PROMPTS, words)
    asked = Continuations(prompts, " he", " she", [0.0] * len(prompts))
    texts = held_out_texts(folder, 256)
    learning = Learning(model, tokenizer, folder)
    jobs, pairs, ordinary = learning.given
    preference = Continuations(jobs, " he", " she", [0.0] * len(jobs))
    templates = [template for template in LEARNED_PROMPTS for _ in range(len(jobs) // len(LEARNED_PROMPTS))]
    preserved = LabelledTexts(tuple(pairs), tuple(learning.sides))
    changes: dict[str, Intervention | None] = {"nothing": None}
    for name, preserve in (("remove_preference", None), ("remove_preference, pairs preserved", preserved)):
        changes[name], _ = remove_preference(
            model, tokenizer, preference, ordinary, templates=templates, preserve=preserve,
            tests=InterventionTests(texts[:2], probe_layers=()),
        )  # fmt: skip
    odds = np.array([continuation_log_odds(model, tokenizer, asked, change) for change in changes.values()])
    losses = np.array(
        [token_costs(model, tokenizer, texts, change, divergence=False)[0] for change in changes.values()]
    )
    places = [
        ("none", [], 0.0),
        *[("upper half, every fourth", list(each.layers), 1.0) for each in changes.values() if each],
    ]
    keys = [(name, *place) for name, place in zip(changes, places, strict=True)]
    np.savez_compressed(raw, keys=json.dumps(keys), share=share, odds=odds, losses=losses)


class Measured:
    """What was measured of every point, and its figures on some of the tests."""

    def __init__(self, raw: Path) -> None:
        with np.load(raw) as file:
            self.keys = json.loads(str(file["keys"]))
            self.share, self.losses = file["share"], file["losses"]
            count = len(PROMPTS) * len(self.share)
            self.odds = file["odds"][:, :count].reshape(len(self.keys), len(PROMPTS), -1)
            self.defining = file["odds"][:, count:].reshape(len(self.keys), len(PROMPTS), -1, 2)
            self.correct = (self.defining > 0.0) == np.array([True, False])

    def figures(self, point: int, jobs: np.ndarray, pairs: np.ndarray, lines: np.ndarray) -> dict[str, float]:
        """Return the figures on some occupations, pairs and texts; of an occupation its mean over templates counts."""
        odds = self.odds[point][:, jobs].mean(axis=0)
        kept = self.defining[point][:, pairs].reshape(-1, 2)
        stayed = self.correct[point][:, pairs][self.correct[0][:, pairs]]
        loss, base = (self.losses[row][lines].sum(axis=0) for row in (point, 0))
        return {
            "rho": float(spearman(self.share[jobs], odds)),
            "spread": float(odds.std()),
            "level": float(odds.mean()),
            "correct": float(stayed.mean()) if len(stayed) else float("nan"),
            "kept": float(auc(np.tile([1, 0], len(kept)), kept.ravel())),
            "gap": float((kept[:, 0] - kept[:, 1]).mean()),
            "cost": float(np.expm1(loss[0] / loss[1] - base[0] / base[1])),
            "perplexity": float(np.exp(loss[0] / loss[1])),
        }

    def all_of(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers of every occupation, pair and text."""
        return np.arange(len(self.share)), np.arange(self.defining.shape[2]), np.arange(self.losses.shape[1])

    def intervals(self, point: int, draws: int = 500) -> dict[str, list[float]]:
        """Return 95% intervals of the figures: occupations, pairs and texts resampled."""
        random = np.random.default_rng(0)
        found = [self.figures(point, *(random.choice(one, len(one)) for one in self.all_of())) for _ in range(draws)]
        names = ("rho", "level", "kept", "cost")
        ends = {name: np.quantile([each[name] for each in found], [0.025, 0.975]).tolist() for name in names}
        shares = share_interval([each["correct"] for each in found], self.defining.shape[2])
        return ends | {"correct": list(shares or ())}


def removal_figures(raw: Path, *, choose: bool = True) -> dict[str, Any]:
    """Return the figures of every point, and what halving the tests chooses and finds, where there is a choice."""
    known = Measured(raw)
    points = []
    for number, (remover, name, layers, strength) in enumerate(known.keys):
        row = {"remover": remover, "where": name, "layers": layers, "strength": strength}
        points.append(row | known.figures(number, *known.all_of()))
    chosen = {}
    for allowed in ({"LEACE, pairs"}, {key[0] for key in known.keys[1:]}) if choose else ():
        rows = [number for number, key in enumerate(known.keys) if key[0] in allowed]
        chosen["any remover" if len(allowed) > 1 else "LEACE, pairs"] = list(_halvings(known, rows))
    shown = [number for number, row in enumerate(points) if row["where"] in SHOWN and row["strength"] in (0.0, 1.0)]
    shown += [one["point"] for found in chosen.values() for one in found]
    for number in sorted(set(shown)):
        points[number]["intervals"] = known.intervals(number)
    return {"points": points, "chosen": chosen}


def _halvings(known: Measured, rows: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield what is chosen on one half of occupations, pairs and texts, and its figures on the other."""
    for seed in range(N_HALVINGS):
        random = np.random.default_rng(seed)
        orders = [random.permutation(one) for one in known.all_of()]
        for part in (0, 1):
            choosing, reporting = ([order[start::2] for order in orders] for start in (part, 1 - part))
            found = [known.figures(row, *choosing) for row in rows]
            points = [SweepPoint((), 0.0, abs(each["rho"]), np.log1p(each["cost"]), each["correct"]) for each in found]
            best = choose_point(points)
            yield {"seed": seed, "part": part, "point": rows[best], "chosen_on": found[best]} | {
                "reported_on": known.figures(rows[best], *reporting)
            }


PRAISE = (
    " good",
    " great",
    " wonderful",
    " beautiful",
    " excellent",
    " brilliant",
    " fun",
    " amazing",
    " perfect",
    " best",
)
BLAME = " bad", " terrible", " awful", " boring", " poor", " stupid", " dull", " horrible", " worst", " ugly"
OPINIONS = [
    "The movie was", "I thought the film was", "Overall, the acting is", "The story is", "This book was",
    "The food was",
    "My experience with the hotel was", "The music sounded", "In my opinion the show is", "The whole evening was",
    "The service here is", "Her new album is", "The game is", "To be honest, the ending was", "The weather today is",
    "The plot seems", "His performance was", "The trip was", "The restaurant is", "This phone is",
]  # fmt: skip
STEERERS = ("mean-difference", "densray-unit", "ridge", "logistic scaled", "random")
STEER_SPLITS = N_SPLITS
#: Multiples of the mean difference's length, and the effect in nats of log odds at which costs are compared.
STEER_STRENGTHS = {"sentiment": (0.5, 1.0, 2.0, 4.0), "gender": (1.0, 2.0, 4.0, 8.0)}
STEER_EFFECT = {"sentiment": 1.0, "gender": 0.25}


def steering(model: Any, tokenizer: Any, folder: Path) -> list[dict[str, Any]]:
    """Add an axis after one block, as long as the mean difference times a strength: its effect, and its cost."""
    names, _ = occupations(folder)
    jobs = filled(PROMPTS[:1], names)
    tests = {
        "sentiment": (sentiment(folder), OPINIONS, PRAISE, BLAME, gender(folder).texts[::5]),
        "gender": (gender(folder), jobs, (" he",), (" she",), held_out_texts(folder, 96)),
    }
    found = []
    for concept, (training, prompts, high, low, texts) in tests.items():
        ask = _Asked(model, tokenizer, prompts, high, low, texts)
        base = ask.measured(None)
        n_blocks = model.config.num_hidden_layers
        layers = [round(n_blocks * share) - 1 for share in (0.4, 0.53, 0.67)]
        states = read_states(model, tokenizer, training.texts, layers=layers)
        for layer in layers:
            X = np.asarray(states[layer], dtype=np.float64)
            norms = np.linalg.norm(X, axis=1)
            ordinary = norms < 5.0 * np.median(norms)  # one sentence of SST-2 has a hundred times the usual norm
            for seed in range(STEER_SPLITS):
                train = split(training.groups, seed) & ordinary
                rows, y = X[train], training.labels[train]
                length = float(np.linalg.norm(rows[y == 1].mean(axis=0) - rows[y == 0].mean(axis=0)))
                for method in STEERERS:
                    axis = np.random.default_rng(seed).normal(size=X.shape[1])
                    if method != "random":
                        axis = direction(method, rows, y, training.groups[train])
                    change = LayerChange.along(axis / np.linalg.norm(axis) * length)
                    for strength in STEER_STRENGTHS[concept]:
                        effect, loss = ask.measured(Intervention("add", {layer: change}, strength))
                        key = {"concept": concept, "layer": layer, "seed": seed, "method": method}
                        value = {"effect": effect - base[0], "cost": loss - base[1]}
                        found.append(key | {"strength": strength} | value)
    return found


class _Asked:
    """Prompts, two sets of next words and ordinary texts: what a model says of them under a change."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        prompts: Sequence[str],
        high: Sequence[str],
        low: Sequence[str],
        texts: Sequence[str],
    ) -> None:
        self.model, self.tokenizer, self.prompts, self.texts = model, tokenizer, prompts, texts
        self.sides = [
            [tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in side] for side in (high, low)
        ]

    def measured(self, change: Intervention | None) -> tuple[float, float]:
        """Return the mean log odds of the two sets of words, and the loss per token of the texts."""
        import torch

        from densray.states._next_tokens import _logits

        odds = []
        with under(self.model, change), torch.inference_mode():
            for logits, mask in _logits(self.model, self.tokenizer, list(self.prompts)):
                last = mask.sum(dim=1) - 1
                rows = torch.log_softmax(logits[torch.arange(len(last), device=last.device), last].float(), dim=-1)
                high, low = (torch.logsumexp(rows[:, side], dim=1) for side in self.sides)
                odds.append((high - low).double().cpu().numpy())
        return float(np.concatenate(odds).mean()), log_perplexity(self.model, self.tokenizer, self.texts, change)


def throughput(model: Any, tokenizer: Any, folder: Path, out: Path, count: int = 100_000) -> dict[str, Any]:
    """Return the seconds of the bare backbone and of reading, for one layer and for all to disk, and the memory.

    The bare backbone of one layer is cut after it. Reading tokenizes, the bare backbone is given tokens: the seconds of
    tokenizing are stated apart.
    """
    import torch

    from densray.states._models import encode_texts
    from densray.states._padding import filler_of, padded
    from densray.states._reading import TOKENS_PER_BATCH

    lines = (folder / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()
    base = [line.rsplit("\t", 1)[0] for line in lines if line.strip()]
    texts = [f"{base[number % len(base)]} {number // len(base)}" for number in range(count)]
    inner, device = model.model, next(model.parameters()).device
    encoded: list[list[int]] = []
    tokenizing = _seconds(lambda: encoded.extend(encode_texts(inner, tokenizer, texts, first_token=False).tokens))
    rows = sorted(encoded, key=len)
    budget = TOKENS_PER_BATCH["cpu" if device.type == "cpu" else "device"]

    def forward(rows: list[list[int]]) -> None:
        batch: list[list[int]] = []
        with torch.inference_mode():
            for row in [*rows, None]:
                if batch and (row is None or (len(batch) + 1) * len(row) > budget):
                    ids, mask = padded(batch, filler_of(tokenizer), device)
                    inner(input_ids=ids, attention_mask=mask)
                    batch = []
                if row is not None:
                    batch.append(row)
        if device.type == "cuda":
            torch.cuda.synchronize()

    memory: list[float] = []

    def watch(_done: int, _total: int) -> None:
        memory.append(resident_bytes())

    forward(rows[:: max(1, count // 8000)])  # warms up
    read_states(inner, tokenizer, texts[:4000], out=out / "warm", dtype="float16", first_token=False)
    blocks, middle = inner.layers, len(inner.layers) // 2
    inner.layers = blocks[: middle + 1]
    bare_one = [_seconds(lambda: forward(rows)) for _ in range(2)]
    inner.layers = blocks
    one = [
        _seconds(lambda: read_states(inner, tokenizer, texts, layers=[middle], first_token=False, progress=watch))
        for _ in range(2)
    ]
    one_memory = list(memory)
    memory.clear()
    bare = _seconds(lambda: forward(rows))
    whole = _seconds(
        lambda: read_states(
            inner, tokenizer, texts, out=out / "all", dtype="float16", first_token=False, progress=watch
        )
    )
    size = sum(path.stat().st_size for path in (out / "all").iterdir())
    shutil.rmtree(out)
    return {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        "texts": count,
        "tokens": sum(map(len, rows)),
        "tokenizing_seconds": tokenizing,
        "layer": middle,
        "bare_layer_seconds": min(bare_one),
        "layer_seconds": min(one),
        "layer_share": min(bare_one) / min(one),
        "layer_resident_bytes": one_memory,
        "bare_seconds": bare,
        "read_seconds": whole,
        "share": bare / whole,
        "bytes": size,
        "resident_bytes": memory,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def resident_bytes() -> float:
    """Return the memory of this process, without pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(float(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def equal_effect(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int, str], np.ndarray]:
    """Return the cost of each method in nats per token at the effect compared, one per split; NaN if not reached."""
    curves: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for row in rows:
        key = row["concept"], row["layer"], row["method"], row["seed"]
        curves.setdefault(key, [(0.0, 0.0)]).append((row["effect"], row["cost"]))
    found: dict[tuple[str, int, str], list[float]] = {}
    for (concept, layer, method, _), points in curves.items():
        effects, costs = np.array(points).T
        target = STEER_EFFECT[concept]
        reached = np.flatnonzero(effects >= target)
        end = reached[0] + 1 if len(reached) else 0  # the first strength that reaches it, and the one before
        cost = float(np.interp(target, effects[end - 2 : end], costs[end - 2 : end])) if end else np.nan
        found.setdefault((concept, layer, method), []).append(cost)
    return {key: np.array(values) for key, values in found.items()}


def tables() -> dict[str, str]:
    """Return the tables by the name the page gives them, from the numbers at hand."""
    makers = {"speed": _speed_table, "removal": _removal_tables, "steering": _steering_table}
    makers["removal_second"] = lambda found: {"states-removal-second": _removal_table(found)}
    makers["preference"] = lambda rows: {"states-preference": _preference_table(rows)}
    makers["preference_second"] = lambda rows: {"states-preference-second": _preference_table(rows)}
    found = {}
    for name, make in makers.items():
        path = DOCS / f"states_{name}.json"
        if path.exists():
            found |= make(json.loads(path.read_text("utf-8")))
    return found


def _speed_table(found: Mapping[str, Any]) -> dict[str, str]:
    lines = [f"| {found['texts']:,} texts, {found['device']} | backbone alone | `read_states` | share of the speed |"]
    lines.append("| --- | ---: | ---: | ---: |")
    parts = {"all layers, to disk": ("bare_seconds", "read_seconds", "share")}
    if "layer" in found:
        parts[f"layer {found['layer']}, in memory"] = ("bare_layer_seconds", "layer_seconds", "layer_share")
    for name, (bare, ours, share) in parts.items():
        shown = " | ".join(f"{found['texts'] / found[each]:,.0f} texts per second" for each in (bare, ours))
        lines.append(f"| {name} | {shown} | {found[share]:.0%} |")
    return {"states-speed": "\n".join(lines)}


def _spanned(value: float, ends: Sequence[float], form: str) -> str:
    return f"{value:{form}} ({ends[0]:{form}} to {ends[1]:{form}})"


#: Names of removers on the page, by their names in the numbers.
REMOVERS = {
    "pairs beside text, in order": "pairs + ordinary text",
    "occupations beside text, in order": "occupations + ordinary text",
    "occupations beside text, pairs kept, in order": "occupations + ordinary text, pairs preserved",
}


def _remover(row: Mapping[str, Any]) -> str:
    return REMOVERS.get(row["remover"], row["remover"])


def _stayed(row: Mapping[str, Any]) -> str:
    """Return the share of correct answers that stay correct, with its interval; nothing where nothing is removed."""
    return _spanned(row["correct"], row["intervals"]["correct"], ".0%") if row["strength"] else "–"


def _removal_table(found: Mapping[str, Any]) -> str:
    lines = ["| changed layers | remover | ρ | spread | level | correct answers that stay | AUC | gap | perplexity |"]
    lines.append("| --- | --- |" + " ---: |" * 7)
    for row in sorted(found["points"], key=lambda row: SHOWN.index(row["where"]) if row["where"] in SHOWN else 9):
        if row["where"] in SHOWN and row["strength"] in (0.0, 1.0):
            cells = [row["where"], _remover(row), _spanned(row["rho"], row["intervals"]["rho"], "+.2f")]
            cells += [f"{row['spread']:.2f}", f"{row['level']:+.2f}"]
            cells += [_stayed(row), f"{row['kept']:.2f}"]
            cells.append(f"{row['gap']:.2f}")
            cells.append(f"{row['perplexity']:.1f} ({row['cost']:+.1%})")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _preference_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the figures of `remove_preference` as users call it."""
    lines = ["| removal | ρ | spread | level | correct answers that stay | AUC | gap | perplexity |"]
    lines.append("| --- |" + " ---: |" * 7)
    names = {
        "nothing": "none",
        "remove_preference": "without `preserve=`",
        "remove_preference, pairs preserved": "with `preserve=`",
    }
    for row in rows:
        cells = [names[row["remover"]], _spanned(row["rho"], row["intervals"]["rho"], "+.2f"), f"{row['spread']:.2f}"]
        cells += [f"{row['level']:+.2f}", _stayed(row), f"{row['kept']:.2f}", f"{row['gap']:.2f}"]
        cells.append(f"{row['perplexity']:.1f} ({row['cost']:+.1%})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _removal_tables(found: Mapping[str, Any]) -> dict[str, str]:
    tables_by_name = {"states-removal": _removal_table(found)}
    lines = ["| candidates | ρ | correct answers that stay | perplexity | within all bounds | chosen most often |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | --- |")
    for among, halves in found["chosen"].items():
        names = ("rho", "correct", "cost")
        figures = {name: np.array([half["reported_on"][name] for half in halves]) for name in names}
        within = (np.abs(figures["rho"]) <= 0.05) & (figures["correct"] >= 0.9) & (figures["cost"] < 0.03)
        numbers = [half["point"] for half in halves]
        best = found["points"][max(set(numbers), key=numbers.count)]
        forms = {"rho": "+.2f", "correct": ".0%", "cost": "+.1%"}
        cells = [
            _spanned(figures[name].mean(), np.quantile(figures[name], [0.1, 0.9]), form) for name, form in forms.items()
        ]
        places = ", ".join(map(str, best["layers"]))
        setting = f"{_remover(best)}; layers {places}; strength {best['strength']:g}"
        cells += [f"{int(within.sum())} of {len(halves)}", setting]
        lines.append(f"| {among} | {' | '.join(cells)} |")
    return tables_by_name | {"states-removal-chosen": "\n".join(lines)}


def _steering_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the rise of perplexity at the effect compared, bold if it clearly differs from the mean difference."""
    costs = equal_effect(rows)
    places = list(dict.fromkeys((concept, layer) for concept, layer, _ in costs))
    lines = ["| direction | " + " | ".join(f"{concept}, layer {layer}" for concept, layer in places) + " |"]
    lines.append("| --- |" + " ---: |" * len(places))
    for method in STEERERS:
        cells = []
        for place in places:
            values, others = costs[(*place, method)], costs[(*place, "mean-difference")]
            missing = int(np.isnan(values).sum())
            if missing:
                cells.append(f"not reached in {missing} of {len(values)}")
                continue
            middle, half = interval(values - others)
            shown = f"{np.expm1(np.mean(values)):+.1%}"
            cells.append(f"**{shown}**" if abs(middle) > half else shown)
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return {"states-steering": "\n".join(lines)}


def written(path: Path, found: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write one file of numbers, a row per line."""
    if isinstance(found, Mapping):
        parts = [f"{json.dumps(key)}: {_lines(value)}" for key, value in found.items()]
        text = "{\n" + ",\n".join(parts) + "\n}"
    else:
        text = _lines(found)
    path.write_text(text + "\n", "utf-8")


def _lines(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
    return json.dumps(value)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the numbers part by part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--parts", default="remove,figures,steer")
    parser.add_argument("--raw", type=Path, default=Path("removal.npz"), help="what every point of a removal answered")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--second", action="store_true", help="a second model: of a removal only what a table shows")
    options = parser.parse_args(arguments)
    parts = set(options.parts.split(","))
    if parts - {"figures", "preference-figures"}:
        from densray.states import load_model

        loaded = load_model(options.model, device=options.device)
        model, tokenizer = loaded.model, loaded.tokenizer
    if "speed" in parts:
        written(
            options.out / "states_speed.json", throughput(model, tokenizer, options.data, options.out / "states-speed")
        )
    if "remove" in parts:
        measure_removal(model, tokenizer, options.data, options.raw, shown=options.second)
    if "figures" in parts:
        path = options.out / ("states_removal_second.json" if options.second else "states_removal.json")
        written(path, removal_figures(options.raw, choose=not options.second))
    if "preference" in parts:
        measure_preference(model, tokenizer, options.data, options.raw)
    if {"preference", "preference-figures"} & parts:
        path = options.out / f"states_preference{'_second' if options.second else ''}.json"
        written(path, removal_figures(options.raw, choose=False)["points"])
    if "steer" in parts:
        written(options.out / "states_steering.json", steering(model, tokenizer, options.data))


if __name__ == "__main__":
    main()
