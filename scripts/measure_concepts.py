"""Three concepts removed from, and three steered in, language models: the findings of docs/language-models.md.

    python scripts/measure_concepts.py SmolLM2=FILE Gemma=FILE --encoder FOLDER --data SENTENCES --documents FILE

Each FILE is a gguf file or a folder of a causal model, ENCODER the folder of a sentence encoder that judges generated
text, SENTENCES the folder of labelled sentences, and the documents a table whose first column is text of another kind.
Every model, concept and split is a job. The numbers are written after each job, and a job that is in the file already
is not run again, so an interrupted run resumes. Writes ``docs/states_concepts.json`` and draws
``docs/states_concepts.svg`` and ``docs/states_tradeoff.svg``; `write_results.py` puts the tables on the page.
``--parts`` names the parts to run: ``remove``, ``survive`` (what is left of the other concepts), ``steer``, ``judges``
(how well each judge separates labelled text) and ``draw``, which needs the stored numbers alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from measure_interventions import DOCS, beginnings, held_out_texts, mean_difference, occupations
from measure_states import LabelledTexts, gender, interval, sentiment, split, truth

NUMBERS = DOCS / "states_concepts.json"
FIGURE = DOCS / "states_concepts.svg"
TRADE_OFF = DOCS / "states_tradeoff.svg"
N_SPLITS = 8
#: Ordinary text that a removal spares, and held-out text whose perplexity is measured.
N_ORDINARY, N_TEXTS = 500, 200
#: The first changed layer as a share of all; every later one is changed as well.
STARTS = {"last half": 1 / 2, "last third": 2 / 3, "last sixth": 5 / 6}
#: Texts of SST-2 that a removal learns from, and texts of any set that probes are fitted to, at most.
N_SENTIMENT, N_PROBED = 3200, 800
#: Learned at every layer from the model as it is, not in order.
AT_ONCE = "LEACE, not in order"
#: The control: the same number of texts of each class, with labels drawn at random.
RANDOM = "LEACE beside text, random labels"
#: Ordinary text that the model has written itself, and ordinary text of SST-2.
OWN, GIVEN = "LEACE beside own text", "LEACE beside text"
#: What is removed after which layers.
POINTS = (
    (OWN, "last third"),
    (GIVEN, "last third"),
    ("LEACE", "last third"),
    (AT_ONCE, "last third"),
    ("mean difference", "last third"),
    (RANDOM, "last third"),
    (OWN, "last half"),
    (OWN, "last sixth"),
)
STEERED = ("ridge", "caa", "repeng", "random")
N_LEARNED, N_JUDGED, TOKENS = 200, 800, 20

HE = {"he", "him", "his", "himself", "man", "men", "boy", "boys", "male", "mr", "father", "son", "brother", "husband"}
SHE = {"she", "her", "hers", "herself", "woman", "women", "girl", "girls", "female", "mrs", "mother", "daughter"}
SHE |= {"sister", "wife"}
FOODS = ["soup", "bread", "cheese", "pasta", "salad", "rice", "chicken", "potatoes", "cake", "pizza", "curry", "fish"]
FOODS += ["beans", "apples", "pancakes", "noodles"]
SPORTS = ["football", "tennis", "basketball", "hockey", "rugby", "golf", "cricket", "volleyball", "boxing", "rowing"]
SPORTS += ["baseball", "cycling", "wrestling", "skiing", "swimming", "badminton"]
TOPIC_TEXTS = [
    "We talked about {} all evening.", "My uncle knows everything about {}.", "Nothing makes me happier than {}.",
    "The magazine had a long story on {}.", "On Sundays we always think of {}.", "They met because both loved {}.",
    "She wrote a whole book about {}.", "The town is famous for its {}.",
]  # fmt: skip
TOPIC_PROMPTS = [
    "Last weekend we", "My favourite thing is", "The children wanted to", "After work I usually", "On Saturday they",
    "The best part of the day", "My sister often talks about", "In the evening we", "The whole family likes",
    "When I was young, I", "Our neighbours always", "The visitors asked for", "People in this town love",
    "My friend invited me to", "The summer is the time for", "Yesterday he told me about", "They spent the money on",
    "The class learned about", "For my birthday I want", "We could not stop talking about", "The party began with",
    "At noon everybody", "The article describes", "She is known for", "The teacher explained how",
    "A good day begins with", "The old man remembered", "On holiday we", "The magazine is about", "He dreams of",
    "The shop sells", "Every morning I",
]  # fmt: skip
OPINION_VERBS = ("was", "is", "seems", "made me feel")
OPINION_PROMPTS = [
    f"{thing} {verb}"
    for thing in ("The movie", "The story", "The music", "The food", "The service", "The hotel", "The game", "The book")
    for verb in OPINION_VERBS
]
MORE_OPINION_PROMPTS = OPINION_PROMPTS + [
    f"{thing} {verb}"
    for thing in (
        "The play", "The concert", "The restaurant", "The trip", "The beach", "The museum", "The weather", "The park",
        "The phone", "The car", "The lesson", "The speech", "The party", "The match", "The song", "The view",
        "The city", "The room", "The meal", "The coffee", "The job", "The team", "The garden", "The article",
    )
    for verb in OPINION_VERBS
]  # fmt: skip
JOB_TEMPLATES = ("The {} said that", "The {} was late because")
#: Name of a concept that is steered once more, with a larger number of prompts.
MORE = "{}, {} prompts"
CHEERFUL = ["You are cheerful and love everything.", "You are an optimist. You always see the good side."]
GLOOMY = ["You are gloomy and hate everything.", "You are a pessimist. You always see the bad side."]
QUESTIONS = [
    "How was your day?", "What do you think of the new park?", "How is the weather?", "What is your neighbour like?",
    "Did you enjoy the trip?", "What about the concert?", "How did the meeting go?", "Is the coffee there any good?",
    "What is your new flat like?", "How do you find the city?", "Was the exam fair?", "What is your boss like?",
    "How was breakfast?", "What did you think of the speech?", "Is the bus service reliable?", "How was the party?",
]  # fmt: skip
CHATS = [
    f"{asked} {thing}."
    for asked in ("Describe", "Write one sentence about", "Tell me what you think of", "Give me your opinion on")
    for thing in (
        "the movie",
        "the restaurant",
        "the hotel",
        "the book",
        "the weather",
        "the game",
        "the town",
        "Monday",
    )
]


@dataclass(frozen=True)
class Steered:
    """What a steering learns from in a split, the prompts it is judged on, and what judges the text."""

    learned: Callable[[int], dict[str, Any]]
    prompts: Sequence[Any]
    judge: Callable[[Any], Callable[[Sequence[str]], Sequence[float]]]
    unit: str
    #: Labelled texts that tell how good the judge is.
    known: LabelledTexts


def removed_concepts(data: Path) -> dict[str, LabelledTexts]:
    """Return the three sets of labelled texts that are removed."""
    return {
        "sentiment": sentiment(data, 2 * N_SENTIMENT),
        "cities": truth(data, "cities"),
        "gender": gender(data),
        "sentiment, 800 texts": sentiment(data, 1600),
    }


def steered_concepts(data: Path) -> dict[str, Steered]:
    """Return the three concepts that are steered, with their prompts and judges."""
    from densray.states import encoder_judge, word_judge

    sentiment_texts = sentiment(data, N_LEARNED + N_JUDGED)
    learned, shown = _part(sentiment_texts, slice(N_LEARNED)), _part(sentiment_texts, slice(N_LEARNED, None))
    names = occupations(data)[0]
    jobs = [f"The {job} said that" for job in names[::2]]
    more_jobs = [template.format(job) for template in JOB_TEMPLATES for job in names]
    topics = _topics(slice(0, 10), TOPIC_TEXTS[:5])
    judged = _topics(slice(10, 16), TOPIC_TEXTS[5:])

    def encoder(texts: LabelledTexts) -> Callable[[Any], Any]:
        sides = [[text for text, side in zip(texts.texts, texts.labels, strict=True) if side == one] for one in (1, 0)]
        return lambda model: encoder_judge(model, *sides)

    def words(_: Any) -> Callable[[Sequence[str]], Sequence[float]]:
        return word_judge(HE, SHE)

    def persons(seed: int) -> dict[str, Any]:
        used = np.random.default_rng(seed).permutation(len(QUESTIONS))[: len(QUESTIONS) // 2]
        return {"positive": CHEERFUL, "negative": GLOOMY, "questions": [QUESTIONS[place] for place in used]}

    unit = "class distances of the encoder, halved"
    chats = [[{"role": "user", "content": text}] for text in CHATS]
    unseen = sentiment(data, N_LEARNED + 2 * N_JUDGED)
    unseen = _part(unseen, slice(N_LEARNED + N_JUDGED, None))
    return {
        "sentiment": Steered(_halved(learned), OPINION_PROMPTS, encoder(shown), unit, unseen),
        "gender": Steered(_halved(gender(data)), jobs, words, "male less female words per text", gender(data)),
        "topic": Steered(_halved(topics), TOPIC_PROMPTS, encoder(judged), unit, topics),
        "mood in a chat": Steered(persons, chats, encoder(shown), unit, unseen),
        MORE.format("sentiment", len(MORE_OPINION_PROMPTS)): Steered(
            _halved(learned), MORE_OPINION_PROMPTS, encoder(shown), unit, unseen
        ),
        MORE.format("gender", len(more_jobs)): Steered(
            _halved(gender(data)), more_jobs, words, "male less female words per text", gender(data)
        ),
    }


def _halved(texts: LabelledTexts) -> Callable[[int], dict[str, Any]]:
    """Return what draws the half of the texts that a split learns from, as many of each class."""

    def drawn(seed: int) -> dict[str, Any]:
        used = split(texts.groups, seed)
        high, low = (
            [text for text, label, one in zip(texts.texts, texts.labels, used, strict=True) if one and label == side]
            for side in (1, 0)
        )
        n_pairs = min(len(high), len(low))
        return {"positive": high[:n_pairs], "negative": low[:n_pairs]}

    return drawn


def _part(texts: LabelledTexts, rows: slice) -> LabelledTexts:
    return LabelledTexts(texts.name, texts.texts[rows], texts.labels[rows], texts.groups[rows])


def _topics(words: slice, templates: Sequence[str]) -> LabelledTexts:
    """Return sentences on food (1) and on sport (0); the group is the template."""
    rows = [
        (template.format(word), side, number)
        for number, template in enumerate(templates)
        for side, names in ((1, FOODS[words]), (0, SPORTS[words]))
        for word in names
    ]
    texts, labels, groups = zip(*rows, strict=True)
    return LabelledTexts("topic", list(texts), np.array(labels), np.array(groups))


# ---- removal ---------------------------------------------------------------------------------------------------------


def documents_of(file: Path, count: int) -> list[str]:
    """Return the beginnings of documents (300 letters at most): text unlike the sentences that were learned from."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    chosen = np.random.default_rng(0).permutation(len(rows))[:count]
    return [rows[row][0][:300].rsplit(" ", 1)[0] for row in chosen]


def removals(
    model: Any, tokenizer: Any, texts: LabelledTexts, data: Path, documents: Path, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield every remover from every first layer in one split, on text that it has not learned from."""
    from densray._leace import leace, leace_beside
    from densray.states import Intervention, find_blocks, log_perplexity
    from densray.states._ordinary import write_ordinary
    from densray.states._removal import learn_changes

    count = len(find_blocks(model))
    ordinary = [
        text
        for text in beginnings(data, 10_000)
        if not any(sets_to_remove.startswith(text) for sets_to_remove in texts.texts)
    ]
    unseen = {"cost": held_out_texts(data, N_TEXTS), "documents": documents_of(documents, N_TEXTS)}
    before = {name: log_perplexity(model, tokenizer, each) for name, each in unseen.items()}
    learned = split(texts.groups, seed)
    probed = ~learned & split(texts.groups, seed + 1000) if (~learned).sum() > 2 * N_PROBED else ~learned
    y = texts.labels[learned].astype(np.float64)
    shuffled = np.random.default_rng(seed).permutation(y)
    learning = [text for text, used in zip(texts.texts, learned, strict=True) if used]
    own = write_ordinary(model, tokenizer, learning, count=N_ORDINARY, random_state=seed)
    sets = {GIVEN: ordinary[:N_ORDINARY], RANDOM: ordinary[:N_ORDINARY], OWN: own}
    rest = LabelledTexts(
        texts.name,
        [text for text, used in zip(texts.texts, probed, strict=True) if used][:N_PROBED],
        texts.labels[probed][:N_PROBED],
        texts.groups[probed][:N_PROBED],
    )

    def erasing(remover: str) -> Callable[..., Any]:
        if remover in sets:
            return lambda rows, others: leace_beside(rows, shuffled if remover == RANDOM else y, others)
        return lambda rows: mean_difference(rows, y) if remover == "mean difference" else leace(rows, y)

    plain = _probed(model, tokenizer, rest, None, range(count // 2, count))
    yield {
        "seed": seed,
        "remover": "none",
        "where": "none",
        "first": count // 2,
        "cost": 0.0,
        "documents": 0.0,
        **plain,
    }
    for remover, where in POINTS:
        layers = range(int(STARTS[where] * count), count)
        sets_to_remove = [learning, sets[remover]] if remover in sets else [learning]
        changes = learn_changes(model, tokenizer, sets_to_remove, layers, erasing(remover), in_order=remover != AT_ONCE)
        change = Intervention("project", changes)
        costs = {
            name: float(np.expm1(log_perplexity(model, tokenizer, each, change) - before[name]))
            for name, each in unseen.items()
        }
        found = _probed(model, tokenizer, rest, change, layers)
        yield {"seed": seed, "remover": remover, "where": where, "first": layers[0], **costs, **found}


def survival(model: Any, tokenizer: Any, concept: str, data: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield how well a linear probe finds each other concept after the last layer, before and after a removal."""
    from densray._leace import leace_beside
    from densray.states import Intervention, find_blocks
    from densray.states._ordinary import write_ordinary
    from densray.states._removal import learn_changes

    sets = {name: texts for name, texts in removed_concepts(data).items() if name in SHOWN}
    removed, count = sets.pop(concept), len(find_blocks(model))
    learned = split(removed.groups, seed)
    learning = [text for text, used in zip(removed.texts, learned, strict=True) if used]
    y = removed.labels[learned].astype(np.float64)
    own = write_ordinary(model, tokenizer, learning, count=N_ORDINARY, random_state=seed)
    layers = range(int(STARTS["last third"] * count), count)
    changes = learn_changes(
        model, tokenizer, [learning, own], layers, lambda rows, others: leace_beside(rows, y, others), in_order=True
    )
    change = Intervention("project", changes)
    for name, texts in sets.items():
        sampled = np.random.default_rng(seed).permutation(len(texts.texts))[:N_PROBED]
        probed = LabelledTexts(
            name, [texts.texts[row] for row in sampled], texts.labels[sampled], texts.groups[sampled]
        )
        before, after = (_probed(model, tokenizer, probed, each, layers[-1:]) for each in (None, change))
        yield {"seed": seed, "other": name, "before": before["linear"][0], "after": after["linear"][0]}


def _probed(model: Any, tokenizer: Any, texts: LabelledTexts, change: Any, layers: Sequence[int]) -> dict[str, Any]:
    """Return the AUC of a linear probe fitted again after every layer, and of an MLP after the last."""
    from densray.metrics import auc
    from densray.states import read_states
    from densray.states._measures import _probe_scores
    from densray.states._next_tokens import under

    with under(model, change):
        states = read_states(model, tokenizer, texts.texts, layers=layers)
    _, groups = np.unique(texts.groups, return_inverse=True)

    def score(layer: int, kind: str) -> float:
        return auc(texts.labels, _probe_scores(np.asarray(states[layer], dtype=np.float64), texts.labels, groups, kind))

    return {"linear": [score(layer, "linear") for layer in layers], "mlp": score(layers[-1], "MLP")}


# ---- steering --------------------------------------------------------------------------------------------------------


def steering(model: Any, tokenizer: Any, steered: Steered, judge: Any, seed: int) -> dict[str, Any]:
    """Return each method on the prompts that chose nothing, in one split, and some texts of the chosen one."""
    from densray.states import steer

    result = steer(
        model, tokenizer, **steered.learned(seed), prompts=steered.prompts, judge=judge, max_new_tokens=TOKENS,
        random_state=seed,
    )  # fmt: skip
    reported = [
        {
            "method": point.method, "layer": point.layer, "strength": point.strength, "effect": point.effect,
            "low": point.interval.low, "high": point.interval.high, "nats": point.nats,
            "repetition": point.repetition, "preserved": point.preserved,
            "preserved_interval": point.preserved_interval, "mark": point.mark,
            "chosen": point.chosen,
        }
        for point in result.reported
    ]  # fmt: skip
    tried = [[point.method, point.layer, point.strength, point.effect, point.nats, point.mark]
             for point in result.points]  # fmt: skip
    return {
        "seed": seed, "reason": result.reason, "reported": reported, "tried": tried,
        "examples": [list(example) for example in result.examples[: 6 if seed == 0 else 0]],
    }  # fmt: skip


def judges(encoder: str, data: Path) -> dict[str, float]:
    """Return the AUC with which each judge separates labelled texts that it was not made from."""
    from densray.metrics import auc
    from densray.states import load_model

    model = load_model(encoder).model
    return {
        concept: auc(steered.known.labels, np.asarray(steered.judge(model)(steered.known.texts)))
        for concept, steered in steered_concepts(data).items()
    }


# ---- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One part, model, concept and split."""

    part: str
    name: str
    file: str
    concept: str
    seed: int
    encoder: str
    data: Path
    documents: Path
    device: str
    threads: int


@lru_cache(maxsize=3)
def _loaded(file: str, device: str) -> Any:
    from densray.states import load_model

    return load_model(file, device=device)


def run_job(job: Job) -> tuple[Job, list[dict[str, Any]], float]:
    """Measure one concept in one model, in one split; return its rows and the seconds they took."""
    import torch

    began = time.perf_counter()
    torch.set_num_threads(job.threads)
    loaded = _loaded(job.file, job.device)
    if job.part == "remove":
        texts = removed_concepts(job.data)[job.concept]
        rows = list(removals(loaded.model, loaded.tokenizer, texts, job.data, job.documents, job.seed))
    elif job.part == "survive":
        rows = list(survival(loaded.model, loaded.tokenizer, job.concept, job.data, job.seed))
    else:
        steered = steered_concepts(job.data)[job.concept]
        judge = steered.judge(None if job.concept.startswith("gender") else _loaded(job.encoder, job.device).model)
        chat = not isinstance(steered.prompts[0], str)
        skipped = chat and loaded.tokenizer.chat_template is None
        rows = [] if skipped else [steering(loaded.model, loaded.tokenizer, steered, judge, job.seed)]
    return job, rows, time.perf_counter() - began


def measure(jobs: Sequence[Job], workers: int, known: dict[str, Any], out: Path) -> None:
    """Run the jobs, and write all rows by part, model and concept after each one."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(run_job, job) for job in jobs]):
            try:
                job, rows, seconds = done.result()
            except RuntimeError as error:  # out of memory, for instance: the next run tries it again
                print(f"failed: {error}", flush=True)
                continue
            if not rows:  # a chat in a model without a template
                continue
            stored = known.setdefault(job.part, {}).setdefault(job.name, {}).setdefault(job.concept, [])
            stored.extend(rows)
            stored.sort(key=lambda row: row["seed"])
            out.write_text(json.dumps(known) + "\n", "utf-8")
            print(job.part, job.name, job.concept, job.seed, f"{seconds:.0f} s", flush=True)


# ---- tables and figure -----------------------------------------------------------------------------------------------

SHOWN = ("sentiment", "cities", "gender")
#: Texts that each removed concept is learned from.
SIZES = {"sentiment": N_SENTIMENT, "cities": 748, "gender": 240, "sentiment, 800 texts": 800}


def removed_in(known: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the models in which every concept was removed: those of the main tables and figures."""
    return {model: concepts for model, concepts in known.items() if set(SIZES) <= set(concepts)}


def tables() -> dict[str, str]:
    """Return the tables by the name the page gives them."""
    known = json.loads(NUMBERS.read_text("utf-8"))
    main = removed_in(known["remove"])
    larger = {model: concepts for model, concepts in known["remove"].items() if model not in main}
    return {
        "concepts-removal": _removal_table(main),
        "concepts-removers": _removers_table(main),
        "concepts-larger": _removers_table(larger),
        "concepts-survival": _survival_table(known["survive"]),
        "concepts-steering": _steering_table(known["steer"]),
        "concepts-steering-methods": _steering_methods_table(known["steer"]),
        "concepts-texts": _texts_table(known["steer"]),
    }


def _means(rows: Sequence[Mapping[str, Any]], remover: str, where: str, first: int = 0) -> dict[str, float]:
    """Return the figures of a removal, averaged over splits; of probes after the layer `first` and later ones."""
    found = [row for row in rows if (row["remover"], row["where"]) == (remover, where)]
    highest = [max(row["linear"][max(0, first - row["first"]) :]) for row in found]
    return {
        "splits": len(found),
        "highest": float(np.mean(highest)),
        "lowest split": min(highest),
        "highest split": max(highest),
        "last": float(np.mean([row["linear"][-1] for row in found])),
        "mlp": float(np.mean([row["mlp"] for row in found])),
        "cost": float(np.mean([row["cost"] for row in found])),
        "documents": float(np.mean([row["documents"] for row in found])),
    }


def _removal_table(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what is left after each removal and what it costs: the last third of the layers, and the rest folded."""
    shown = [
        _removal_row(model, concepts, concept, "last third") for model, concepts in known.items() for concept in SHOWN
    ]
    others = [
        _removal_row(model, concepts, concept, where, names_layers=True)
        for model, concepts in known.items()
        for concept in SIZES
        for where in ("last third", "last sixth")
        if concept not in SHOWN or where != "last third"
    ]
    figures = "texts | linear probe, highest of all changed layers | linear, last layer | MLP, last layer"
    figures += " | perplexity, SST-2 | perplexity, court cases"
    marks = " | ".join(["---:"] * 6)
    head = [f"| model | concept | {figures} |", f"| --- | --- | {marks} |"]
    longer = [f"| model | concept | changed | {figures} |", f"| --- | --- | --- | {marks} |"]
    summary = "The last sixth of the layers, and sentiment with 800 sentences"
    folded = ["<details>", f"<summary>{summary}</summary>", "", *longer, *others, "", "</details>"]
    return "\n".join([*head, *shown, "", *folded])


def _removal_row(
    model: str, concepts: Mapping[str, Any], concept: str, where: str, *, names_layers: bool = False
) -> str:
    rows = concepts[concept]
    first = next(row["first"] for row in rows if row["where"] == where)
    before, after = _means(rows, "none", "none", first), _means(rows, OWN, where)
    cells = [
        f"{before['highest']:.2f} → {after['highest']:.2f} "
        f"({after['lowest split']:.2f} to {after['highest split']:.2f})",
        *(f"{before[each]:.2f} → {after[each]:.2f}" for each in ("last", "mlp")),
        *(f"{after[each]:+.1%}" for each in ("cost", "documents")),
    ]
    names = [model, concept.partition(",")[0], *([where] if names_layers else [])]
    return f"| {' | '.join(names)} | {SIZES[concept]:,} | {' | '.join(cells)} |"


#: Names of removers in the tables.
SHOWN_REMOVERS = {
    OWN: "LEACE + own text",
    GIVEN: "LEACE + SST-2 text",
    RANDOM: "LEACE + SST-2 text, random labels",
}


def _removers_table(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the highest linear probe of each remover and, folded, its rises of perplexity on two kinds of text."""
    places = [(model, concept) for model in known for concept in SHOWN if concept in known[model]]
    head = ["| remover | changed | " + " | ".join(f"{model}, {concept}" for model, concept in places) + " |"]
    head.append("| --- | --- |" + " ---: |" * len(places))
    left, costs = [], []
    for remover, where in [("none", "none"), *POINTS]:
        found = [_means(known[model][concept], remover, where) for model, concept in places]
        start = f"| {SHOWN_REMOVERS.get(remover, remover)} | {where} |"
        highest = (f"{each['highest']:.2f}" for each in found)
        left.append(f"{start} {' | '.join(highest)} |")
        if remover != "none":
            rises = (f"{each['cost']:+.0%}, {each['documents']:+.0%}" for each in found)
            costs.append(f"{start} {' | '.join(rises)} |")
    summary = "What they cost: the rise of perplexity on SST-2, and on court cases"
    return "\n".join(
        [*head, *left, "", "<details>", f"<summary>{summary}</summary>", "", *head, *costs, "", "</details>"]
    )


def _survival_table(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the AUC of a linear probe of each concept after the last layer, before and after each other is removed."""
    lines = ["| model | removed | " + " | ".join(SHOWN) + " |", "| --- | --- |" + " ---: |" * len(SHOWN)]
    for model, concepts in sorted(known.items()):
        for removed in SHOWN:
            cells = []
            for other in SHOWN:
                pairs = [(row["before"], row["after"]) for row in concepts[removed] if row["other"] == other]
                cells.append("{:.3f} → {:.3f}".format(*np.mean(pairs, axis=0)) if pairs else "–")
            lines.append(f"| {model} | {removed} | {' | '.join(cells)} |")
    return "\n".join(lines)


#: Prompts that each concept is judged on; half of them choose. A name may end with a larger number.
N_PROMPTS = {"sentiment": 32, "gender": 30, "topic": 32, "mood in a chat": 32}


def steered_cases(known: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, int, list[dict[str, Any]]]]:
    """Return model, concept, number of prompts and splits of every steering."""
    cases = []
    for model, concepts in known.items():
        for name, rows in concepts.items():
            concept, _, more = name.partition(", ")
            cases.append((model, concept, int(more.split()[0]) if more else N_PROMPTS[concept], rows))
    return cases


def reported_points(rows: Sequence[Mapping[str, Any]], method: str) -> list[dict[str, Any]]:
    """Return the points of a method (or of the chosen one) on the prompts that chose nothing: at most one per split."""
    return [
        point
        for row in rows
        for point in row["reported"]
        if (point["chosen"] if method == "chosen" else point["method"] == method)
    ]


def _steering_table(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return for every case the splits with a choice and with a clear effect, and the mean effect."""
    lines = ["| model | concept | prompts | chosen in | clear in | effect of the chosen | `random` |"]
    lines.append("| --- | --- |" + " ---: |" * 5)
    for model, concept, n_prompts, rows in steered_cases(known):
        chosen = reported_points(rows, "chosen")
        cells = [model, concept, str(n_prompts), f"{len(chosen)} of {len(rows)}"]
        cells.append(f"{sum(point['mark'] == 'clear' for point in chosen)} of {len(rows)}")
        cells += [_effect(chosen), _effect(reported_points(rows, "random"), counted=True)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _steering_methods_table(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the mean effect of each method at its best setting, for every case."""
    methods = [method for method in STEERED if method != "random"]
    lines = ["| model | concept | prompts | " + " | ".join(f"`{method}`" for method in methods) + " |"]
    lines.append("| --- | --- |" + " ---: |" * (1 + len(methods)))
    for model, concept, n_prompts, rows in steered_cases(known):
        cells = [_effect(reported_points(rows, method), counted=True) for method in methods]
        lines.append(f"| {model} | {concept} | {n_prompts} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _effect(points: Sequence[Mapping[str, Any]], *, counted: bool = False) -> str:
    """Return the mean effect of some points, with its interval; with `counted`, also how many are clear."""
    if not points:
        return "–"
    effects = [point["effect"] for point in points]
    shown = "{:+.2f} ± {:.2f}".format(*interval(effects)) if len(effects) > 1 else f"{effects[0]:+.2f}"
    clear = sum(point["mark"] == "clear" for point in points)
    return f"{shown}; {clear} of {len(points)}" if counted else shown


def _texts_table(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the first prompts of the first split with a choice, with the text before and after."""
    head, lines = ["| model, concept | prompt | unsteered | steered |", "| --- | --- | --- | --- |"], []
    cases = {(model, concept): rows for model, concept, _, rows in steered_cases(known)}  # the most prompts come last
    for (model, concept), rows in cases.items():
        for prompt, *texts in rows[0]["examples"][:2]:
            questions = re.findall(r"<\|im_start\|>user\n(.*?)<\|im_end\|>", prompt, re.DOTALL) or [prompt]
            shown = [" ".join(text.split()).replace("|", "/") for text in (questions[-1], *texts)]
            lines.append(f"| {model}, {concept} | {' | '.join(shown)} |")
    folded = ["", "<details>", "<summary>More texts</summary>", "", *head, *lines[4:], "", "</details>"]
    return "\n".join([*head, *lines[:4], *folded])


def draw() -> None:
    """Draw the linear probe after every layer, before a removal and after it: means and ranges over splits."""
    import altair as alt

    from densray.figures import layer_curves
    from densray.figures._narrow import save_both
    from densray.figures._style import styled

    known = removed_in(json.loads(NUMBERS.read_text("utf-8"))["remove"])
    kinds = {("none", "none"): "unchanged", (OWN, "last third"): "LEACE, in order", (AT_ONCE, "last third"): AT_ONCE}
    panels = []
    for concept in SHOWN:
        for model in known:
            rows = []
            for kind, name in kinds.items():
                found = [row for row in known[model][concept] if (row["remover"], row["where"]) == kind]
                curves = np.array([row["linear"] for row in found])
                rows += [
                    {"layer": found[0]["first"] + place, "method": name, "auc": float(values.mean()),
                     "low": float(values.min()), "high": float(values.max())}
                    for place, values in enumerate(curves.T)
                ]  # fmt: skip
            chart = layer_curves(rows, title=f"{concept}, {model}")
            chart.config = alt.Undefined  # that of the whole
            panels.append(chart.properties(width=300, height=150))
    description = "AUC of a linear probe fitted again after every layer, before and after the removal of three concepts"
    whole = alt.concat(*panels, columns=2, spacing=24).resolve_scale(color="shared", shape="shared")
    save_both(styled(whole, alt=description), FIGURE)


#: The target: the highest AUC of a linear probe, and the rise of perplexity.
TARGET = {"auc": 0.6, "cost": 0.1}
#: How the second figure shows what is removed after which layers: name, colour and shape.
LOOKS = {
    (OWN, "last half"): ("LEACE + own text, last half", "BLUE", "triangle-up"),
    (OWN, "last third"): ("LEACE + own text, last third", "BLUE", "circle"),
    (OWN, "last sixth"): ("LEACE + own text, last sixth", "BLUE", "triangle-down"),
    (GIVEN, "last third"): ("LEACE + SST-2 text", "GREEN", "square"),
    ("LEACE", "last third"): ("LEACE", "INK", "diamond"),
    (AT_ONCE, "last third"): (AT_ONCE, "PURPLE", "triangle-right"),
    ("mean difference", "last third"): ("mean difference", "VERMILLION", "cross"),
    (RANDOM, "last third"): ("random labels (control)", "GREY", "triangle-left"),
}


def trade_off(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the highest linear AUC and the cost of each removal of one concept: means of splits.

    The cost is the rise of perplexity on SST-2 or on court cases, whichever is larger.
    """
    means = {point: _means(rows, *point) for point in LOOKS}
    return [
        {"remover": point[0], "where": point[1], "auc": each["highest"], "cost": max(each["cost"], each["documents"])}
        for point, each in means.items()
    ]


def draw_trade_off() -> None:
    """Draw the highest linear AUC against the rise of perplexity, with the target as an area: a panel per case."""
    from densray.figures import _style as style
    from densray.figures._narrow import save_both

    known = removed_in(json.loads(NUMBERS.read_text("utf-8"))["remove"])
    alt = style.altair()

    def across(key: str) -> Any:
        axis = alt.Axis(values=[0.01, 0.1, 1, 10], format="+,.0%", labelFlush=False)
        scale = alt.Scale(type="log", domain=[0.01, 20], nice=False)
        return alt.X(f"{key}:Q", scale=scale, title="rise of perplexity", axis=axis)

    def up(key: str) -> Any:
        axis = alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0], format=".1f")
        return alt.Y(f"{key}:Q", scale=alt.Scale(domain=[0.5, 1.02], nice=False), title="highest linear AUC", axis=axis)

    x, y = across("cost"), up("auc")
    names, colors, shapes = zip(*LOOKS.values(), strict=True)
    legend = alt.Legend(title=None, orient="top", direction="horizontal", columns=3, symbolSize=70, symbolOpacity=1,
                        labelLimit=360)  # fmt: skip
    look = {
        "color": alt.Color("name:N", legend=legend,
                           scale=alt.Scale(domain=names, range=[getattr(style, color) for color in colors])),
        "shape": alt.Shape("name:N", legend=legend, scale=alt.Scale(domain=names, range=shapes)),
    }  # fmt: skip
    target = alt.Chart(style.values([{**TARGET, "from": 0.01, "least": 0.5, "name": "target"}]))
    area = target.mark_rect(color=style.GREEN, opacity=0.15).encode(x=x, x2="from:Q", y=y, y2="least:Q")
    word = target.mark_text(align="left", baseline="bottom", dx=6, dy=-4, fontSize=12, color=style.ink())
    panels = []
    for concept in SHOWN:
        for model in known:
            rows = known[model][concept]
            points = [{**each, "name": LOOKS[each["remover"], each["where"]][0]} for each in trade_off(rows)]
            before = _means(rows, "none", "none")["highest"]
            unchanged = alt.Chart(style.values([{"auc": before, "cost": 20}]))
            height = -9 if round(before, 1) < before else 11  # away from the nearest line of the grid
            note = unchanged.mark_text(align="right", dx=-4, dy=height, fontSize=12, color=style.ink())
            marks = alt.Chart(style.values(points[::-1])).encode(x=x, y=y)
            curve = marks.transform_filter(alt.datum.remover == OWN).mark_line(strokeWidth=1.2, color=style.BLUE)
            chart = alt.layer(
                area,
                word.encode(x=across("from"), y=up("least"), text="name:N"),
                unchanged.mark_rule(color=style.GREY, strokeDash=[4, 4]).encode(y=y),
                note.encode(x=x, y=y, text=alt.value("no removal")),
                curve.encode(order="cost:Q"),
                marks.mark_point(size=55, strokeWidth=1.7, opacity=1).encode(**look),
            )
            title = alt.Title(f"{concept}, {model}", fontSize=13, fontWeight="bold")
            panels.append(chart.properties(width=300, height=190, title=title))
    said = "AUC of a linear probe against the rise of perplexity, for eight removals of three concepts in two models"
    whole = alt.concat(*panels, columns=2, spacing=24).resolve_scale(color="shared", shape="shared")
    save_both(style.styled(whole, alt=said), TRADE_OFF)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--encoder", default="")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--parts", default="remove,survive,steer,judges,draw")
    parser.add_argument("--concepts", default="", help="only these, separated by semicolons")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--splits", default=f"0:{N_SPLITS}", help="first and last, as Python counts")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="threads of each worker")
    parser.add_argument("--out", type=Path, default=NUMBERS)
    options = parser.parse_args(arguments)
    parts = options.parts.split(",")
    known = json.loads(options.out.read_text("utf-8")) if options.out.exists() else {}
    steered = ("sentiment", "gender", "topic", "mood in a chat", "sentiment, 128 prompts", "gender, 120 prompts")
    names = {"remove": tuple(SIZES), "survive": SHOWN, "steer": steered}
    jobs = [
        Job(part, *model.split("=", 1), concept, seed, options.encoder, options.data, options.documents, options.device,
            options.threads)
        for seed in range(*map(int, options.splits.split(":")))
        for part in names
        if part in parts
        for concept in names[part]
        if not options.concepts or concept in options.concepts.split(";")
        for model in options.models
    ]  # fmt: skip
    jobs = [job for job in jobs if not any(row["seed"] == job.seed for row in _rows(known, job))]
    if jobs:
        measure(jobs, options.workers, known, options.out)
    if "judges" in parts:
        known["judges"] = judges(options.encoder, options.data)
        options.out.write_text(json.dumps(known) + "\n", "utf-8")
    if "draw" in parts:
        draw()
        draw_trade_off()


def _rows(known: Mapping[str, Any], job: Job) -> list[dict[str, Any]]:
    return known.get(job.part, {}).get(job.name, {}).get(job.concept, [])


if __name__ == "__main__":
    main()
