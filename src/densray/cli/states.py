"""``densray embed``, ``model read`` and ``model layers``: vectors of texts, and hidden states compared by layer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import typer

from densray.cli.options import (
    Answer,
    FigureFile,
    Folds,
    Fresh,
    Output,
    Overwrite,
    RandomState,
    ReportFile,
    changed_options,
    split_names,
    split_numbers,
    with_option_groups,
)
from densray.cli.terminal import (
    InterruptedRun,
    check_figure,
    check_output,
    check_report,
    long_run,
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
        metavar="MODEL",
        help="A local folder, a Hugging Face name, a .gguf file, or the folder of a sentence encoder.",
    ),
]
Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A folder of hidden states, written by densray model read.")
]
Device: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Device for the model: cpu, cuda, … Default: a GPU if there is one.")
]


@dataclass(frozen=True)
class LabelColumns:
    """Columns of a file with labels and groups."""

    panel: ClassVar[str] = "Columns of the file"

    label_column: Annotated[str | None, typer.Option(metavar="NAME", help="Label column. Default: label.")] = None
    group_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Group column: texts with the same value (the same city, the same pair) are held out together. "
            "Default: group.",
        ),
    ] = None


@dataclass(frozen=True)
class TextColumns(LabelColumns):
    """Columns of a file with texts, words, labels and groups."""

    text_column: Annotated[str | None, typer.Option(metavar="NAME", help="Text column. Default: text.")] = None
    word_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column with one word per text, for --pool word. Default: word.")
    ] = None


@with_option_groups
def embed(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A sentence encoder or Hugging Face encoder on this machine: a folder or a name."
        ),
    ],
    texts: Annotated[
        str, typer.Argument(metavar="TABLE", help="Texts: CSV, TSV, JSON lines, parquet, Arrow, or a folder of them.")
    ],
    output: Output,
    text_column: Annotated[str, typer.Option("--text-column", metavar="NAME", help="Text column.")],
    answer: Answer,
    vector_column: Annotated[
        str, typer.Option("--vector-column", metavar="NAME", help="Name of the new column of vectors.")
    ] = "embedding",
    max_length: Annotated[
        int | None,
        typer.Option(
            "--max-length",
            min=1,
            metavar="N",
            help="Maximum number of tokens per text. Default: the limit of the encoder.",
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option("--batch-size", min=1, metavar="N", help="Number of texts per batch.")
    ] = 32,
    device: Device = None,
    bad_rows: Annotated[
        str, typer.Option("--bad-rows", metavar="error|skip", help="How to handle rows that have no text.")
    ] = "error",
    fresh: Fresh = False,
    overwrite: Overwrite = False,
) -> None:
    """Add a column of vectors to a table of texts. All other columns stay the same.

    Vectors are computed with the encoder's own settings (pooling and normalisation). Nothing is downloaded. To resume
    an interrupted run, give the same command again.

    Example: densray embed all-MiniLM-L6-v2 texts.csv -o docs.parquet --text-column text
    """
    check_output(output, overwrite=overwrite)
    from densray.embedding import embed_table
    from densray.errors import TableError
    from densray.report import show_share

    if bad_rows not in ("error", "skip"):
        raise TableError(f"--bad-rows {bad_rows} was given; error or skip is needed.")
    with long_run(fresh=fresh, quiet=answer.quiet) as run:
        note(f"Writing {output}", quiet=answer.quiet)
        with run.progress("Embedding", by_parts=False) as progress:
            written = embed_table(
                model,
                texts,
                output,
                text_column=text_column,
                vector_column=vector_column,
                bad_rows="skip" if bad_rows == "skip" else "error",
                device=device,
                batch_size=batch_size,
                max_length=max_length,
                overwrite=overwrite,
                journal=run.journal,
                progress=progress,
            )
        if answer.as_json:
            print_json(asdict(written))
        elif not answer.quiet:
            typer.echo(f"{written.path}: {written.rows:,} rows, {written.width} dimensions in '{vector_column}'")
            if written.skipped:
                typer.echo(f"{written.skipped:,} rows without a text were left out")
            if written.truncated:
                share = show_share(written.truncated)
                typer.echo(f"{share} of the first texts are longer than the limit of the encoder, which truncates them")


@with_option_groups
def read(
    model: Model,
    texts: Annotated[
        Path, typer.Argument(metavar="TEXTS", help="One text per line (.txt), or a table: .csv, .tsv, .jsonl, .json.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write.")],
    columns: TextColumns,
    answer: Answer,
    layers: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Layers (transformer blocks) to read, comma-separated (0: the first, -1: the last). Default: all; "
            "for a sentence encoder, only its final output.",
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            metavar="last|mean|word",
            help="State to read. last: last token; mean: mean over all tokens but the first; word: mean over the "
            "tokens of one word. Default: last; for a sentence encoder, its own output.",
        ),
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(metavar="NAME", help="Type of the stored numbers: float32, float16 or bfloat16."),
    ] = "float32",
    tokens_per_batch: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of tokens per batch, including padding.")
    ] = None,
    device: Device = None,
    first_token: Annotated[
        str,
        typer.Option(
            metavar="auto|yes|no",
            help="Whether to add a first token (BOS) if the tokenizer does not. auto: add it if the model predicts "
            "better with it.",
        ),
    ] = "auto",
    controls: Annotated[
        bool | None,
        typer.Option(
            "--controls/--no-controls",
            show_default=False,
            help="--controls: also read an untrained copy of the model (twice the time). --no-controls: read no "
            "controls. Default: read only the token embeddings as a control, which takes almost no extra time.",
        ),
    ] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Truncate texts that are longer than the context.")
    ] = False,
) -> None:
    """Read the hidden states of texts after every layer of a model, and write them to disk.

    The files may be larger than memory. Labels and groups of a table are stored with the states. To resume an
    interrupted run, give the same command again. For a sentence encoder, only its final output is read, unless --layers
    or --pool is given. The token embeddings, the input of the first layer, are stored as a control: they show how well
    labels can be detected from the words alone.

    Example: densray model read SmolLM2-135M.gguf sentences.csv -o states
    """
    _check_folder(output)
    from densray.errors import TaskError
    from densray.states import LabelledTexts, count_finished, load_model, read_controls, read_states

    given = LabelledTexts.read(texts, **asdict(columns))
    if columns.word_column is not None and pool != "word":
        raise TaskError("--word-column is given without --pool word, which reads the words. Add it, or leave it out.")
    words = given.words if pool == "word" else None
    adding = _first_token(first_token)
    before = count_finished(output)
    note(f"Writing {output}", quiet=answer.quiet)
    with progress_bar(f"Loading {model}", quiet=answer.quiet):
        loaded = load_model(model, device=device, sentence_encoder=None if layers is pool is None else False)
    if controls and loaded.tokenizer is None:
        raise TaskError(
            "--controls needs the layers of a model; the inner layers of a sentence encoder are read with --pool."
        )
    try:
        with progress_bar(f"Reading {len(given.texts):,} texts", quiet=answer.quiet) as progress:
            found = read_states(
                loaded.model,
                loaded.tokenizer,
                given.texts,
                layers=split_numbers(layers) if layers not in (None, "all") else "all",
                pool=pool or "last",
                words=words,
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
            f"interrupted; {kept:,} of {len(given.texts):,} texts are kept: the same command resumes from there"
        ) from None
    names = ("embeddings", "untrained") if controls else ("embeddings",)
    if controls is not False and loaded.tokenizer is not None:
        with progress_bar("Reading the controls", quiet=answer.quiet) as progress:
            try:
                read_controls(
                    loaded.model,
                    loaded.tokenizer,
                    given.texts,
                    names=names,
                    layers=found.layers,
                    out=output,
                    pool=found.pool,
                    words=words,
                    dtype=dtype,
                    first_token=found.first_token,
                    truncate=truncate,
                    tokens_per_batch=tokens_per_batch,
                    progress=progress,
                )
            except TaskError as error:
                if controls:
                    raise
                note(f"The token embeddings were not read: {error}", quiet=answer.quiet)
    _show_states(found, before, answer)


def _check_folder(folder: Path) -> None:
    """Raise before a model is loaded if the folder contains something else."""
    from densray.errors import OutputError
    from densray.states import is_states_folder

    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file. Name the folder to write.")
    if not folder.parent.is_dir():
        raise OutputError(f"{folder}: the folder {folder.parent} does not exist. Create it, or write elsewhere.")
    if folder.is_dir() and not is_states_folder(folder) and any(folder.iterdir()):
        raise OutputError(f"{folder} contains other files. Name a new folder, or an empty one.")


def _first_token(said: str) -> str | bool:
    from densray.errors import TaskError

    meant: dict[str, str | bool] = {"auto": "auto", "yes": True, "no": False}
    if said not in meant:
        raise TaskError(f"--first-token {said} is given; auto, yes or no is needed.")
    return meant[said]


def _show_states(found: States, before: int, answer: Answer) -> None:
    from densray.groups import number_groups

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
        groups = f" in {number_groups(found.groups).max() + 1:,} groups" if found.groups else ""
        if kinds is not None:
            typer.echo(f"Labels: {', '.join(kinds[:10])}{' …' if len(kinds) > 10 else ''}{groups}")


@with_option_groups
def layers(
    folder: Folder,
    columns: LabelColumns,
    answer: Answer,
    labels: Annotated[
        Path | None,
        typer.Argument(metavar="LABELS", help="Labels of the texts, if FOLDER has none: one per line, or a table."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="NAMES",
            help="Methods to compare, comma-separated (`densray methods` lists them). Default: "
            "ridge,mean-difference,densray-unit.",
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Layers (transformer blocks) to compare, comma-separated (0: the first, -1: the last). Default: all "
            "in FOLDER.",
        ),
    ] = None,
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize/--no-standardize",
            help="Divide each dimension by its standard deviation before fitting.",
        ),
    ] = True,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="proposed|none",
            help="Texts to hold out together. proposed: texts that repeat, and pairs of texts that differ in one "
            "word and have different labels. none: each text alone. Default: the groups of the file or of FOLDER, "
            "or else proposed.",
        ),
    ] = None,
    folds: Folds = 5,
    n_permutations: Annotated[
        int, typer.Option(min=19, metavar="N", help="Number of label permutations for the p-value.")
    ] = 199,
    random_state: RandomState = 0,
    output: FigureFile = None,
    report: ReportFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Compare layers and methods by how well they detect a concept on held-out texts.

    Whole groups are held out. The first table has one row per method. In each fold, the layer of the method is chosen
    on the training texts only. The controls in FOLDER (densray model read) show whether surface features alone reveal
    the concept.

    Example: densray model layers states -o layers.html
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    from densray.states import DEFAULT_METHODS, States, compare_layers, open_controls

    known = labelled_states(States.open(folder), labels, columns)
    with progress_bar("Comparing layers", quiet=answer.quiet) as progress:
        result = compare_layers(
            known,
            methods=split_names(methods) or DEFAULT_METHODS,
            layers=layers_read(layers, known),
            standardize=standardize,
            groups=groups,
            controls=open_controls(folder),
            folds=folds,
            n_permutations=n_permutations,
            random_state=random_state,
            progress=progress,
        )
        write_figure(result.figure, output, overwrite=overwrite, quiet=answer.quiet)
        title = f"A concept in the layers of {Path(known.model).name}"
        write_report(report, title, result, _pictures, overwrite=overwrite, quiet=answer.quiet)
    if answer.as_json:
        print_json({**result.to_dict(), "path": output, "report": report})
    else:
        show(result, as_json=False, quiet=answer.quiet)


def labelled_states(known: States, labels: Path | None, columns: LabelColumns) -> States:
    """Return states with the labels of a file, or with their own."""
    from densray.errors import TaskError

    if labels is not None:
        return known.read_labels(labels, label_column=columns.label_column, group_column=columns.group_column)
    if changed_options(columns):
        raise TaskError(
            f"{', '.join(changed_options(columns))} given without a file of labels. Give the file, or leave it out."
        )
    if known.labels is None:
        raise TaskError(f"{known.folder} has no labels. Give a file of labels, one line per text.")
    return known


def layers_read(said: str | None, known: States) -> tuple[int, ...] | None:
    """Return the requested layers; negative numbers count from the last layer that was read."""
    numbers = split_numbers(said)
    return tuple(known.layers[n] if -len(known.layers) <= n < 0 else n for n in numbers) or None


def _pictures(result: LayerComparison) -> list[Picture]:
    from densray.figures import figure

    return [figure(result.figure(), "AUC on held-out texts, layer by layer. Bands: 95% intervals.")]
