"""The view as an address, to be shared and opened again, and as Python, to be run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pprint import pformat
from urllib.parse import parse_qs, urlencode

from densray.lexicon import Lexicon

#: Every setting with its value when nothing was chosen; the address names those that differ.
DEFAULTS: dict[str, str] = {
    # the space, and the one it is compared with: by the names they have in the sidebar
    "space": "",
    "other": "",
    "other_high": "",
    "other_low": "",
    "other_pairs": "",
    # the current axis; seeds of the first page: Turney & Littman (2003), table 1
    "source": "lists",
    "high": "good nice excellent positive fortunate correct superior",
    "low": "bad nasty poor negative unfortunate wrong inferior",
    "lexicon": "hu-liu",
    "method": "auto",
    "name": "",
    "without": "",
    "words": "",
    "word_column": "",
    "label_column": "",
    "encoding": "utf-8",
    # pinned axes, one per line, for the map
    "axes": "",
    # map
    "x": "current",
    "y": "gender",
    "color": "",
    "shown": "frequent",
    "points": "2000",
    "list": "",
    "mark": "",
    "card": "",
    # compare
    "methods": "",
    "first_method": "",
    "second_method": "",
    # remove
    "remover": "mean-difference",
    "n_axes": "1",
    "anchors": "",
    "neutral_from": "occupations",
    "neutral": "",
    "keep": "",
    # analogies: asked with pairs of one's own, and the benchmark
    "part": "ask",
    "pairs": "man woman\nfather mother\nbrother sister\nboy girl\nson daughter\nhusband wife",
    "query": "uncle",
    "expected": "",
    "solver": "intcos-original",
    "rotation": "densray-unit",
    "set": "google",
    "section": "family",
    "case": "set",
    "solvers": "intcos-original",
    "questions": "misses",
    # layers
    "layer_methods": "",
    "layer_method": "",
    "layer": "",
    "own_text": "",
}
#: Axes to start from, with the words of their high end and their low end.
EXAMPLES: dict[str, tuple[str, str]] = {
    "sentiment": (
        "good great excellent wonderful superb happy pleasant delightful lovely beautiful kind friendly "
        "honest generous brilliant perfect joyful successful charming admirable",
        "bad awful terrible horrible dreadful sad unpleasant nasty ugly disgusting cruel hostile dishonest "
        "greedy stupid flawed miserable failed rude shameful",
    ),
    "gender": (
        "he him his man men boy boys male father son brother uncle nephew grandfather husband king prince gentleman",
        "she her hers woman women girl girls female mother daughter sister aunt niece grandmother wife queen "
        "princess lady",
    ),
    "wealth": (
        "rich richer wealthy wealthier affluent prosperous luxurious luxury opulent lavish expensive costly "
        "millionaire wealth riches upscale posh mansion",
        "poor poorer impoverished needy destitute indigent homeless cheap inexpensive poverty slum shabby "
        "shack underprivileged disadvantaged",
    ),
    "age": (
        "old older elderly aged senior seniors retired retiree retirees pensioner pensioners grandfather "
        "grandmother grandparents aging geriatric dementia widow",
        "young younger youthful youngster youngsters youth youths teen teens teenage teenager teenagers "
        "adolescent adolescents juvenile kid kids boy girl schoolboy",
    ),
    "concreteness": (
        "table chair stone apple hammer bottle shoe bicycle tree dog bread window knife blanket bridge truck "
        "fish shirt pencil spoon",
        "idea theory justice freedom truth belief concept hope honor virtue logic wisdom morality tendency "
        "possibility assumption principle reason faith notion",
    ),
}
#: Characters; browsers and servers differ in what they take beyond.
MAX_ADDRESS_LENGTH = 6_000


class Settings(MutableMapping[str, str]):
    """Settings by name, with their defaults; unknown names are refused, and in an address ignored.

    >>> settings = Settings.from_query({"method": "ridge", "evil": "x"})
    >>> settings["method"], settings["source"], settings.to_query()
    ('ridge', 'lists', {'method': 'ridge'})
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = {**DEFAULTS, **(values or {})}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Settings:
        """Return the settings of an address."""
        return cls({name: str(value)[:MAX_ADDRESS_LENGTH] for name, value in query.items() if name in DEFAULTS})

    def to_query(self) -> dict[str, str]:
        """Return what differs from the defaults; settings too long for an address are left out, the longest first."""
        found = {name: value for name, value in self._values.items() if value != DEFAULTS[name]}
        while len(urlencode(found)) > MAX_ADDRESS_LENGTH:
            del found[max(found, key=lambda name: len(found[name]))]
        return found

    @property
    def unshared(self) -> list[str]:
        """The settings that are too long for the address."""
        shared = self.to_query()
        return [name for name, value in self.items() if value != DEFAULTS[name] and name not in shared]

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __setitem__(self, name: str, value: str) -> None:
        if name not in DEFAULTS:
            raise KeyError(name)
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        self._values[name] = DEFAULTS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True)
class AxisChoice:
    """An axis as it was asked for: word lists or a lexicon, a method, the seeds taken out, and its name.

    >>> choice = AxisChoice("gender", "lists", high="he man", low="she woman")
    >>> AxisChoice.from_text(choice.to_text()) == choice
    True
    """

    name: str
    source: str
    high: str = ""
    low: str = ""
    lexicon: str = ""
    method: str = "auto"
    without: str = ""

    def to_text(self) -> str:
        """Return one line that says it all."""
        return urlencode(vars(self))

    @classmethod
    def from_text(cls, text: str) -> AxisChoice | None:
        """Return the axis of a line; None where it is not one."""
        found = {
            key: values[0]
            for key, values in parse_qs(text, keep_blank_values=True).items()
            if key in cls.__dataclass_fields__
        }
        return cls(**found) if {"name", "source"} <= found.keys() else None


#: Columns of the Python that pages offer.
_WIDTH = 100
#: Words of a file that was uploaded which are written out; longer ones are read from it.
_MOST_WRITTEN = 400


def _load(source: str, name: str = "space") -> str:
    return f"{name} = load_space({source!r})"


def _literal(value: object, name: str) -> str:
    """Return an assignment, its lists over several lines."""
    return f"{name} = {pformat(value, width=_WIDTH, compact=True, sort_dicts=False)}"


def _lexicon(lexicon: Lexicon, wanted: AxisChoice | None, *, name: str = "lexicon", space: str = "space") -> list[str]:
    """Return the lines that make a lexicon: by its name, of two lists, or word by word."""
    if wanted is not None and wanted.source == "lexicon":
        without = list(dict.fromkeys(word for word in wanted.without.splitlines() if word.strip()))
        out = f".without({without!r})" if without else ""
        return [f"{name} = load_lexicon({wanted.lexicon!r}){out}.spelled_as({space})"]
    labels = dict(lexicon.items())
    if len(labels) <= _MOST_WRITTEN and set(labels.values()) == {1.0, -1.0}:
        signs = {"high": 1.0, "low": -1.0}
        lists = [_literal([word for word in labels if labels[word] == sign], end) for end, sign in signs.items()]
        return [*lists, f"{name} = Lexicon.from_word_lists(high, low, name={lexicon.name!r})"]
    if len(labels) > _MOST_WRITTEN:
        return [f"{name} = Lexicon.read({f'{lexicon.name}.csv'!r})  # the file you uploaded"]
    return [f"{_literal(labels, 'labels')}", f"{name} = Lexicon(labels, name={lexicon.name!r})"]


def _script(imports: Sequence[str], *blocks: Sequence[str]) -> str:
    return "\n\n".join("\n".join(block) for block in (imports, *blocks) if block) + "\n"


def axis_code(source: str, lexicon: Lexicon, wanted: AxisChoice, own: Sequence[str] = ()) -> str:
    """Return the code of Axis: the verdict, the ranked vocabulary, one's own words, the chart."""
    return _script(
        [
            "from densray import Lexicon, diagnose, induce, load_lexicon, load_space",
            "from densray.figures import ranked_words, save",
        ],
        [_load(source), *_lexicon(lexicon, wanted)],
        [
            f"diagnosis = diagnose(space, lexicon, method={wanted.method!r})",
            "print(diagnosis.verdict.sentence)",
            f"induced = induce(space, lexicon, method={wanted.method!r})",
            "print(induced.to_polars().head(15))",
            *([f"print(induced.lookup({list(own)!r}))"] if own else []),
            'save(ranked_words(induced), "axis.html")',
        ],
    )


def map_code(
    source: str, lexicons: Mapping[str, tuple[Lexicon, AxisChoice]], words: Sequence[str] | int, color: str | None
) -> str:
    """Return the code of Map: the coordinates of words on each axis, and the chart."""
    lines: list[str] = ["axes = {}"]
    for name, (lexicon, wanted) in lexicons.items():
        lines += [*_lexicon(lexicon, wanted), f"axes[{name!r}] = induce(space, lexicon, method={wanted.method!r})"]
    chosen = (
        f"rows = range({words})  # the most frequent words"
        if isinstance(words, int)
        else f"{_literal(list(words), 'words')}\nrows = space.locate(words)"
    )
    names = list(lexicons)
    across, up = names[0], names[min(1, len(names) - 1)]
    return _script(
        [
            "from densray import Lexicon, induce, load_lexicon, load_space",
            "from densray.axes import map_rows",
            "from densray.figures import axis_scatter, save",
        ],
        [_load(source), *lines],
        [
            chosen,
            f"chart = axis_scatter(map_rows(axes, rows), axes=({across!r}, {up!r}), color={color!r})",
            'save(chart, "map.html")',
        ],
    )


def compare_code(source: str, lexicon: Lexicon, wanted: AxisChoice, methods: Sequence[str]) -> str:
    """Return the code of Compare methods."""
    return _script(
        [
            "from densray import Lexicon, compare_methods, load_lexicon, load_space",
            "from densray.report import to_markdown",
        ],
        [_load(source), *_lexicon(lexicon, wanted)],
        [
            f"comparison = compare_methods(space, lexicon, methods={list(methods)!r})",
            "print(to_markdown(comparison))",
        ],
    )


def remove_code(
    source: str,
    lexicon: Lexicon,
    wanted: AxisChoice,
    remover: str,
    anchors: tuple[str, str],
    neutral: Sequence[str],
    keep: Sequence[str],
    name: str,
) -> str:
    """Return the code of Remove: before and after, and the erased space as a file."""
    return _script(
        [
            "from densray import Lexicon, load_lexicon, load_space",
            "from densray.debiasing import find_erasure, preview_removal",
            "from densray.formats import write_space",
            "from densray.report import to_markdown",
        ],
        [_load(source), *_lexicon(lexicon, wanted)],
        [
            f"erasure = find_erasure(space, lexicon, {remover!r}).erasure",
            f"{_literal(list(neutral), 'neutral')}",
            f"keep = {list(keep)!r}",
            f"preview = preview_removal(space, erasure, neutral, {anchors!r}, keep=keep)",
            "print(to_markdown(preview.tables()[0]))",
            f"erased = space.erased(erasure, keep=keep).renamed({name!r})",
            'write_space(erased, "erased.densray", overwrite=True)',
        ],
    )


def ask_code(source: str, pairs: Sequence[tuple[str, str]], solver: str, rotation: str | None, query: str) -> str:
    """Return the code of Analogies, a question of one's own."""
    found = f", rotation={rotation!r}" if rotation else ""
    return _script(
        [
            "from densray import load_space",
            "from densray.analogies import AnalogySet",
            "from densray.analogy import make_solver",
        ],
        [
            _load(source),
            _literal(list(pairs), "pairs"),
            f"solver = make_solver({solver!r}, space{found}).fit(AnalogySet.from_pairs(pairs).categories[0])",
            f"for answer in solver.predict({query!r}, k=10):",
            "    print(answer.rank, answer.word, round(answer.score, 3))",
        ],
    )


def benchmark_code(source: str, name: str, section: str | None, solvers: Sequence[str], any_case: bool) -> str:
    """Return the code of Analogies, a benchmark."""
    part = "" if section is None else f".subset([{section!r}])"
    return _script(
        ["from densray import load_space", "from densray.analogy import compare_solvers",
         "from densray.datasets import load_analogies"],
        [
            _load(source),
            f"questions = load_analogies({name!r}){part}",
            f"for result in compare_solvers(space, questions, {list(solvers)!r}, any_case={any_case}):",
            "    print(result.solver, round(result.micro, 3))",
        ],
    )  # fmt: skip


def spaces_code(
    source: str,
    other: str,
    lexicon: Lexicon,
    wanted: AxisChoice,
    theirs: Lexicon | None,
    pairs: Sequence[tuple[str, str]] | None,
) -> str:
    """Return the code of one axis in two spaces."""
    options = [f"method={wanted.method!r}"]
    lines = _lexicon(lexicon, wanted, space="first")
    if theirs is not None:
        lines += _lexicon(theirs, None, name="other_lexicon")
        options.append("other_lexicon=other_lexicon")
    if pairs is not None:
        lines.append(_literal(list(pairs), "pairs"))
        options.append("pairs=pairs")
    return _script(
        [
            "from densray import Lexicon, load_lexicon, load_space",
            "from densray.axes import compare_spaces",
            "from densray.figures import moved_words, save",
            "from densray.report import to_markdown",
        ],
        [_load(source, "first"), _load(other, "second"), *lines],
        [
            f"found = compare_spaces(first, second, lexicon, {', '.join(options)})",
            "print(found.text())",
            "print(to_markdown(found))",
            'save(moved_words(found), "moved.html")',
        ],
    )


def layers_code(folder: str, labels_file: str, methods: Sequence[str], layer: int, method: str, text: str) -> str:
    """Return the code of Layers: the comparison and its chart, the texts at both ends, a text of one's own."""
    opened = [f"states = States.open({folder!r})"]
    if labels_file:
        read = f"LabelledTexts.read_labels({labels_file!r})"
        opened.append(f"states = states.labelled(*{read})  # the file you uploaded")
    own = [
        "loaded = load_model(states.model, sentence_encoder=False)",
        f"found = read_tokens(loaded.model, loaded.tokenizer, {text!r},",
        f"                    layers=[{layer}], first_token=states.first_token)",
        f"scores = found.scores(result.axes[{layer}, {method!r}], states, {layer})",
        "for token, score in list(zip(found.tokens, scores))[1:]:",
        "    print(token, round(float(score), 2))",
    ]
    return _script(
        [
            "from densray.figures import save",
            "from densray.states import LabelledTexts, States, compare_layers, load_model, read_tokens",
        ],
        opened,
        [
            f"result = compare_layers(states, methods={list(methods)!r})",
            "for one in result.chosen:",
            "    print(one.method, one.layer, round(one.auc, 3))",
            'save(result.figure(), "layers.html")',
            f"texts = result.ranked_texts(states, {layer}, {method!r})",
            "for row in texts[:12] + texts[-12:]:",
            '    print(round(row["held_out"], 2), row["label"], row["text"])',
        ],
        own if text else [],
    )
