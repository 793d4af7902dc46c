"""``densray states`` and ``layers``: hidden states of language models, written and compared by layer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    Answer,
    Figure,
    Folds,
    Groups,
    Methods,
    Overwrite,
    RandomState,
    ReportFile,
    Scale,
    grouped,
    split_names,
    split_numbers,
)
from densray.cli.terminal import (
    InterruptedRun,
    check_figure,
    check_report,
    note,
    print_json,
    progress_bar,
    show,
    write_figure,
    write_report,
)

if TYPE_CHECKING:
    from densray.report import Figure as Picture
    from densray.states import LayerComparison, States

Model: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A folder or name that Hugging Face loads, a .gguf file, or a sentence encoder's folder."
    ),
]
Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Where densray states has written hidden states.")
]
Layers: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Blocks, counted from 0, with commas; -1 is the last one.")
]
Device: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where the model runs: cpu, cuda …; a GPU where there is one.")
]


@dataclass(frozen=True)
class LabelColumns:
    """Which columns of a file hold labels and groups."""

    label_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of labels; label.")] = None
    group_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of what texts share (a city, a pair); group.")
    ] = None


@dataclass(frozen=True)
class TextColumns(LabelColumns):
    """Which columns of a file hold texts, words, labels and groups."""

    text_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of texts; text.")] = None
    word_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of one word per text, for --pool word; word.")
    ] = None


@grouped
def states(
    model: Model,
    texts: Annotated[
        Path, typer.Argument(metavar="TEXTS", help="One text per line (.txt), or a table: .csv, .tsv, .jsonl.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write.")],
    columns: TextColumns,
    answer: Answer,
    layers: Layers = None,
    pool: Annotated[
        str | None,
        typer.Option(metavar="last|mean|word", help="What a row stands for: the last token, the mean, or one word."),
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="float32|float16|bfloat16", help="How the numbers are stored.")
    ] = "float32",
    tokens_per_batch: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens that are run at once, padding included.")
    ] = None,
    device: Device = None,
    first_token: Annotated[
        str,
        typer.Option(metavar="auto|yes|no", help="Whether to add a first token (BOS) that the tokenizer leaves out."),
    ] = "auto",
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut texts that are longer than the context.")] = False,
) -> None:
    """Read the hidden states of texts after every block of a model, into files that are opened memory-mapped.

    Labels and groups of a table are kept beside the states. An interrupted run goes on when the same command is given
    again. A sentence encoder has one layer; with --layers or --pool the blocks inside it are read.

    Example: densray states SmolLM2-135M.gguf sentences.csv -o states
    """
    _check_folder(output)
    from densray.states import LabelledTexts, load_model, read_states
    from densray.states._storage import count_finished

    given = LabelledTexts.read(texts, **asdict(columns))
    adding = _first_token(first_token)
    before = count_finished(output)
    note(f"Writing {output}", quiet=answer.quiet)
    with progress_bar(f"Loading {model}", quiet=answer.quiet):
        loaded = load_model(model, device=device, sentence_encoder=None if layers is pool is None else False)
    try:
        with progress_bar(f"Reading {len(given.texts):,} texts", quiet=answer.quiet) as progress:
            found = read_states(
                loaded.model,
                loaded.tokenizer,
                given.texts,
                layers=split_numbers(layers) if layers not in (None, "all") else "all",
                pool=pool or "last",
                words=given.words,
                out=output,
                dtype=dtype,
                first_token=adding,
                truncate=truncate,
                tokens_per_batch=tokens_per_batch,
                labels=given.labels,
                groups=given.groups,
                name=loaded.name,
                progress=progress,
            )
    except KeyboardInterrupt:
        kept = count_finished(output)
        raise InterruptedRun(
            f"interrupted; {kept:,} of {len(given.texts):,} texts are kept: the same command goes on from there"
        ) from None
    _show_states(found, before, answer)


def _check_folder(folder: Path) -> None:
    """Refuse, before a model is loaded, a folder that holds something else."""
    from densray.errors import OutputError
    from densray.states._storage import is_states_folder

    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file. Name the folder to write.")
    if not folder.parent.is_dir():
        raise OutputError(f"{folder}: the folder {folder.parent} does not exist. Create it, or write elsewhere.")
    if folder.is_dir() and not is_states_folder(folder) and any(folder.iterdir()):
        raise OutputError(f"{folder} holds other files. Name a new folder, or an empty one.")


def _first_token(said: str) -> str | bool:
    from densray.errors import TaskError

    meant: dict[str, str | bool] = {"auto": "auto", "yes": True, "no": False}
    if said not in meant:
        raise TaskError(f"--first-token {said} is given; auto, yes or no is needed.")
    return meant[said]


def _show_states(found: States, before: int, answer: Answer) -> None:
    kinds = None if found.labels is None else sorted({str(label) for label in found.labels})
    if answer.as_json:
        told: dict[str, Any] = {"path": found.folder, "model": found.model, "checksum": found.checksum}
        told |= {"texts": len(found), "layers": found.layers, "width": found.width}
        told |= {"dtype": found.dtype, "pool": found.pool}
        print_json({**told, "labels": kinds, "grouped": found.groups is not None, "texts_resumed": before})
    elif not answer.quiet:
        layers = "1 layer" if len(found.layers) == 1 else f"{len(found.layers)} layers"
        typer.echo(f"{found.folder}: {len(found):,} texts, {layers}, {found.width} dimensions ({found.dtype})")
        if before:
            typer.echo(f"{before:,} texts were there already")
        groups = f" in {len(set(found.groups)):,} groups" if found.groups else ""
        if kinds is not None:
            typer.echo(f"Labels: {', '.join(kinds[:10])}{' …' if len(kinds) > 10 else ''}{groups}")


@grouped
def layers(
    folder: Folder,
    columns: LabelColumns,
    answer: Answer,
    labels: Annotated[
        Path | None,
        typer.Argument(metavar="LABELS", help="Labels of the texts, where FOLDER holds none: a line each, or a table."),
    ] = None,
    methods: Methods = None,
    layers: Layers = None,
    scale: Scale = None,
    groups: Groups = None,
    folds: Folds = 5,
    n_permutations: Annotated[int, typer.Option(min=19, metavar="N", help="Permuted labels behind p.")] = 199,
    random_state: RandomState = 0,
    output: Figure = None,
    report: ReportFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Say at which layer, and by which method, a concept can be read on texts held out.

    Whole groups are held out. The layer of the first table is chosen inside the folds, by training texts alone.

    Example: densray layers states -o layers.html
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    from densray.states import States, compare_layers
    from densray.states._layers import DEFAULT_METHODS

    read = labelled_states(States.open(folder), labels, columns)
    with progress_bar("Comparing layers", quiet=answer.quiet) as progress:
        result = compare_layers(
            read,
            methods=split_names(methods) or DEFAULT_METHODS,
            layers=layers_read(layers, read),
            scale=scale,
            groups=groups,
            folds=folds,
            n_permutations=n_permutations,
            random_state=random_state,
            progress=progress,
        )
        write_figure(result.figure, output, overwrite=overwrite, quiet=answer.quiet)
        title = f"A concept in the layers of {Path(read.model).name}"
        write_report(report, title, result, _pictures, overwrite=overwrite, quiet=answer.quiet)
    if answer.as_json:
        print_json({**result.to_dict(), "path": output, "report": report})
    else:
        show(result, as_json=False, quiet=answer.quiet)


def labelled_states(read: States, labels: Path | None, columns: LabelColumns) -> States:
    """Return states with the labels of a file, or with those they hold."""
    from densray.errors import TaskError
    from densray.states import LabelledTexts

    if labels is not None:
        named = {"label_column": columns.label_column, "group_column": columns.group_column}
        return read.labelled(*LabelledTexts.read_labels(labels, **named))
    if read.labels is None:
        raise TaskError(f"{read.folder} holds no labels. Give a file of them, one line per text.")
    return read


def layers_read(said: str | None, read: States) -> tuple[int, ...] | None:
    """Return the layers that were asked for; negative ones count from the last that was read."""
    numbers = split_numbers(said)
    return tuple(read.layers[n] if -len(read.layers) <= n < 0 else n for n in numbers) or None


def _pictures(result: LayerComparison) -> list[Picture]:
    from densray.figures import figure

    return [figure(result.figure(), "AUROC on texts held out, layer by layer; bands: 95% intervals.")]
