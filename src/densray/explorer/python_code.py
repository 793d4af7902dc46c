"""Each view as a Python script that gives the same result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pprint import pformat
from typing import TYPE_CHECKING

from densray.explorer.settings import AxisChoice
from densray.explorer.table_bench import LabelChoice, RemovalChoice
from densray.lexicon import Lexicon

if TYPE_CHECKING:
    from densray.explorer.ratings import RatingFile

#: Line width of the Python code on pages.
_WIDTH = 100
#: Up to this many words of an uploaded file are written out; longer lists are read from the file.
_MOST_WRITTEN = 400


def _load(source: str, name: str = "space") -> str:
    return f"{name} = load_space({source!r})"


def _literal(value: object, name: str) -> str:
    """Return an assignment, with long lists over several lines."""
    return f"{name} = {pformat(value, width=_WIDTH, compact=True, sort_dicts=False)}"


def _lexicon(lexicon: Lexicon, wanted: AxisChoice | None, *, name: str = "lexicon", space: str = "space") -> list[str]:
    """Return the lines that create a lexicon: by its name, from two lists, or word by word."""
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
        read = f"{name} = Lexicon.read({f'{lexicon.name}.csv'!r})"
        return ["# The file you uploaded. If you changed “How the file is read”, add those options.", read]
    return [f"{_literal(labels, 'labels')}", f"{name} = Lexicon(labels, name={lexicon.name!r})"]


def _script(imports: Sequence[str], *blocks: Sequence[str]) -> str:
    return "\n\n".join("\n".join(block) for block in (imports, *blocks) if block) + "\n"


def axis_code(
    source: str, lexicon: Lexicon, wanted: AxisChoice, own: Sequence[str] = (), rated: RatingFile | None = None
) -> str:
    """Return the code of Axis: the verdict, the ranked vocabulary, the user's words, the chart, the ratings."""
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
        [] if rated is None else _ratings(rated, wanted.method),
    )


def _ratings(rated: RatingFile, method: str) -> list[str]:
    """Return the lines that compare an axis with the ratings of an upload."""
    columns = [rated.column(place) for place in rated.ratings]
    options = {
        "item_column": rated.column(rated.items),
        "rating_column": columns[0] if len(columns) == 1 else columns,
        **({} if rated.error is None else {"error_column": rated.column(rated.error)}),
        **({} if rated.rater is None else {"rater_column": rated.column(rated.rater)}),
        **({} if rated.encoding == "utf-8" else {"encoding": rated.encoding}),
    }
    named = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return [
        "from densray import Ratings, evaluate_ratings",
        "",
        f"ratings = Ratings.read({rated.name!r}, {named})  # the file you uploaded",
        f"agreement = evaluate_ratings(space, ratings, lexicon, method={method!r}, phrases={rated.phrases!r}, "
        "any_case=True)",
        "print(agreement.text())",
        'save(agreement.figure(), "ratings.html")',
    ]


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
            "from densray import Erasure, Lexicon, load_lexicon, load_space",
            "from densray.debiasing import preview_removal",
            "from densray.formats import write_space",
            "from densray.report import to_markdown",
        ],
        [_load(source), *_lexicon(lexicon, wanted)],
        [
            f"erasure = Erasure.fit(lexicon.align(space), {remover!r})",
            "print(erasure.remains().summary)",
            f"{_literal(list(neutral), 'neutral')}",
            f"keep = {list(keep)!r}",
            f"preview = preview_removal(space, erasure, neutral, {anchors!r}, keep=keep)",
            "print(to_markdown(preview.tables()[0]))",
            f"erased = erasure.apply(space, keep=keep).renamed({name!r})",
            'write_space(erased, "erased.densray", overwrite=True)',
        ],
    )


def ask_code(source: str, pairs: Sequence[tuple[str, str]], solver: str, rotation: str | None, query: str) -> str:
    """Return the code of Analogies: a single question."""
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
    """Return the code of Layers: the comparison and its chart, the texts at both ends, a text of the user."""
    opened = [f"states = States.open({folder!r})"]
    if labels_file:
        opened.append(f"states = states.read_labels({labels_file!r})  # the file you uploaded")
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
            "from densray.states import States, compare_layers, load_model, read_tokens",
        ],
        opened,
        [
            f"result = compare_layers(states, methods={list(methods)!r})",
            "for one in result.chosen:",
            "    print(one.method, one.layer, round(one.auc, 3))",
            'save(result.figure(), "layers.html")',
            f"texts = result.ranked_texts(states, {layer}, {method!r})",
            "for row in texts[:12] + texts[-12:]:",
            '    print(round(row["rank"], 2), row["label"], row["text"])',
        ],
        own if text else [],
    )


def table_map_code(
    source: str, text_column: str | None, wanted: LabelChoice | None, sides: Sequence[str], color: str | None
) -> str:
    """Return the code of the map of a table: principal components or the axis of a column, and the chart."""
    components = [side for side in sides if side.startswith("pc")]
    lines = ["X = table.vectors()", "X = X / np.linalg.norm(X, axis=1, keepdims=True)"]
    imports = ["import numpy as np", "from densray import open_table", "from densray.figures import document_map, save"]
    if components:
        imports.insert(1, "from sklearn.decomposition import PCA")
        count = max(int(side.removeprefix("pc")) for side in components)
        lines.append(f"components = PCA({max(2, count)}, random_state=0).fit_transform(X)")
    if wanted is not None:
        imports[-2] = "from densray import Axis, open_table"
        lines += [*_rows_of_labels(wanted), "scores = axis.coordinates(X)"]
    at = [f"components[:, {int(side[2:]) - 1}]" if side.startswith("pc") else "scores" for side in sides]
    texts = (
        "[str(row) for row in range(len(X))]" if text_column is None else f"table.column({text_column!r}).to_pylist()"
    )
    shade = "" if color is None else f", table.column({color!r}).to_pylist()"
    keys = ["text", "across", "up", *([] if color is None else ["shade"])]
    return _script(
        sorted(imports),
        [f"table = open_table({source!r})", *lines],
        [
            f"texts = {texts}",
            f"values = zip(texts, {at[0]}, {at[1]}{shade})",
            f"rows = [dict(zip({keys!r}, row)) for row in values]",
            f"chart = document_map(rows, titles={tuple(sides)!r}, color={color!r})",
            'save(chart, "map.html")',
        ],
    )


def _rows_of_labels(wanted: LabelChoice) -> list[str]:
    """Return the lines that find the axis of a label column."""
    options = [repr(wanted.column)]
    options += [f"groups={wanted.groups!r}"] if wanted.groups else []
    options += ["classes=True"] if wanted.as_classes else []
    rest = f".against_rest({wanted.class_name!r})" if wanted.class_name else ""
    return [
        f"rows = table.rows({', '.join(options)}){rest}",
        f"axis = Axis.fit(rows, {wanted.method!r}, groups=None)  # the rows have their groups already",
    ]


def table_axis_code(source: str, text_column: str | None, wanted: LabelChoice, by: str) -> str:
    """Return the code of the axis of a label column: the verdict, the scored table, mean scores."""
    averaged = [] if not by else [
        f"print(to_markdown(mean_scores(axis, table, [{by!r}], groups={wanted.groups or None!r})))"
    ]  # fmt: skip
    return _script(
        [
            "from densray import Axis, open_table",
            f"from densray.axes import {'mean_scores, ' if by else ''}write_scores",
            *(["from densray.report import to_markdown"] if by else []),
        ],
        [f"table = open_table({source!r})", *_rows_of_labels(wanted)],
        [
            "print(axis.diagnose().verdict.sentence)",
            *averaged,
            'write_scores(axis, table, "scored.parquet", overwrite=True)',
        ],
    )


def table_remove_code(source: str, wanted: RemovalChoice) -> str:
    """Return the code of a removal from a table: the remaining concept, and the erased table as a file."""
    groups = f", groups={wanted.groups!r}" if wanted.groups else ""
    count = len(wanted.removed)
    return _script(
        ["from densray import Erasure, open_table"],
        [
            f"table = open_table({source!r})",
            f"sets = table.label_sets({[*wanted.removed, *wanted.kept]!r}{groups})",
            f"erasure = Erasure.fit(sets[:{count}], {wanted.remover!r}, keep=sets[{count}:])",
            "print(erasure.remains().summary)",
            'erasure.apply(table, output="erased.parquet", overwrite=True)',
        ],
    )
