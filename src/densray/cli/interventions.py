"""``densray model remove``, ``steer`` and ``sweep``: a model changed while it runs, and the change judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import typer

from densray.cli.options import (
    Answer,
    FigureFile,
    Overwrite,
    RandomState,
    split_decimals,
    split_names,
    split_numbers,
    with_option_groups,
    words_of,
)
from densray.cli.states import Device, LabelColumns
from densray.cli.terminal import check_figure, check_output, note, print_json, progress_bar, show, write_figure

if TYPE_CHECKING:
    from densray.report import Table
    from densray.states import Intervention, InterventionTests, LoadedModel, SteeringResult, SweepPoint

CausalModel: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A causal language model: a local folder, a Hugging Face name, or a .gguf file."
    ),
]
Generate: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PROMPT", help="Show how the model continues this prompt before and after the change (repeatable)."
    ),
]
AnyModel: TypeAlias = Annotated[
    bool, typer.Option("--any-model", help="Accept a saved file that was made for another model of the same width.")
]
NoChat: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-chat",
        help="With --generate: continue the prompts as plain text. Default: if the tokenizer has a chat template, "
        "prompts are sent as user messages.",
    ),
]


@dataclass(frozen=True)
class ContinuationWords:
    """The two sides whose odds are measured after prompts: one word or several each."""

    panel: ClassVar[str] = "Continuations"

    high: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Continuations whose log odds are measured: a word (he), a list (he,his), or a file, one per line.",
        ),
    ] = None
    low: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Continuations they are compared with, such as she,her.")
    ] = None

    @property
    def asked(self) -> bool:
        """Whether both sides are given; one alone is an error."""
        from densray.errors import TaskError

        if (self.high is None) != (self.low is None):
            raise TaskError("one of --high and --low is given. Give both words, such as --high he --low she.")
        return self.high is not None

    @property
    def continuations(self) -> tuple[list[str], list[str]]:
        """The words of both sides, each with a leading space."""
        from densray.errors import TaskError

        if not self.asked:
            raise TaskError("the odds of which two words? Give them, such as --high he --low she.")
        high, low = words_of(str(self.high), "--high"), words_of(str(self.low), "--low")
        return [f" {word}" for word in high], [f" {word}" for word in low]


@dataclass(frozen=True)
class PromptColumns(LabelColumns):
    """Columns of a file of prompts: prompts, known numbers and groups."""

    text_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of texts or prompts. Default: text.")
    ] = None


@dataclass(frozen=True)
class Learned:
    """How a removal is learned."""

    panel: ClassVar[str] = "How the removal is learned"

    layers: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Layers (transformer blocks) to change, comma-separated (0: the first, -1: the last). Default: the "
            "last third; with --high and --low every fourth layer of the upper half; for a saved removal its layers.",
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Method that removes the concept: leace, or a method that finds an axis (`densray methods` lists "
            "them), which is projected out. Default: leace.",
        ),
    ] = None
    strength: Annotated[
        float | None,
        typer.Option(metavar="S", help="Strength of the removal (0: none, 1: full). Default: 1, or as saved."),
    ] = None
    ordinary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ordinary text whose hidden states should change as little as possible: a few hundred sentence "
            "beginnings, one per line. Required with --high and --low. Without them, the default is 500 short texts "
            "that the model writes.",
        ),
    ] = None
    preserve: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --high and --low, for learning: prompts with a correct answer that should stay correct (label "
            "1: the --high word, 0: the --low word).",
        ),
    ] = None
    template_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column with the template of each prompt. Default: template.")
    ] = None

    def refuse(self, source: Path) -> None:
        """Refuse options that a saved removal does not need."""
        from densray.errors import TaskError

        given = [f"--{name}" for name in ("method", "ordinary", "preserve") if getattr(self, name) is not None]
        if given:
            raise TaskError(f"{', '.join(given)} given with {source.name}, which is learned already. Leave it out.")

    def concept(self, source: Path, _words: ContinuationWords, columns: PromptColumns) -> Callable[..., Any]:
        """Return a function that learns to remove the concept of some labels from a model; files are read at once."""
        from densray.errors import TaskError
        from densray.states import LabelledTexts, check_classes, remove_concept

        if self.preserve is not None:
            raise TaskError(
                "--preserve needs --high and --low (the removal of a preference). Add them, or leave out --preserve."
            )
        texts = check_classes(LabelledTexts.read(source, **asdict(columns)), source.name)
        options = self._options(source.stem) | ({} if self.method is None else {"method": self.method})
        ordinary = None if self.ordinary is None else LabelledTexts.read(self.ordinary).texts
        return lambda loaded, **more: remove_concept(
            loaded.model, loaded.tokenizer, texts, ordinary=ordinary, **options, **more
        )

    def preference(self, source: Path, words: ContinuationWords, columns: PromptColumns) -> Callable[..., Any]:
        """Return a function that learns to remove a preference from a model; files are read at once."""
        from densray.errors import TaskError
        from densray.states import Continuations, LabelledTexts, read_prompts, remove_preference, two_classes

        if self.method is not None:
            raise TaskError("--method is given, but a preference is always removed by leace. Leave it out.")
        if self.ordinary is None:
            raise TaskError(
                "the removal of a preference needs ordinary text that should change little. Give it with --ordinary."
            )
        prompts, templates, groups = read_prompts(
            source,
            text_column=columns.text_column,
            template_column=self.template_column,
            group_column=columns.group_column,
        )
        ordinary = LabelledTexts.read(self.ordinary).texts
        preserved = (
            None if self.preserve is None else two_classes(LabelledTexts.read(self.preserve), self.preserve.name)
        )
        preference = Continuations(prompts, *words.continuations, [0.0] * len(prompts), groups)
        options = self._options(f"{words.high} or {words.low}")
        return lambda loaded, **more: remove_preference(
            loaded.model,
            loaded.tokenizer,
            preference,
            ordinary,
            templates=templates,
            preserve=preserved,
            **options,
            **more,
        )

    def _options(self, name: str) -> dict[str, Any]:
        layers = None if self.layers is None else split_numbers(self.layers)
        return {"layers": layers, "strength": 1.0 if self.strength is None else self.strength, "name": name}


@dataclass(frozen=True)
class Judged(ContinuationWords):
    """Texts on which an intervention is judged."""

    panel: ClassVar[str] = "Measures"

    texts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Held-out texts, to measure perplexity and how much the predicted next tokens change (divergence).",
        ),
    ] = None
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prompts to test on, each labelled with a known number, such as the share of women in an occupation. "
            "The command reports the correlation of this number with the log odds of --high over --low.",
        ),
    ] = None
    definitions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For testing only: prompts with a correct answer that should stay correct (label 1: the --high word, "
            "0: the --low word).",
        ),
    ] = None
    probe: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="More labelled texts, to test whether newly fitted probes still detect the concept."
        ),
    ] = None
    others: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled texts of another concept that should be preserved.")
    ] = None

    def tests(self, columns: PromptColumns) -> InterventionTests | None:
        """Return the texts as tests, or None if none are given. `columns` are those of prompts and definitions."""
        from densray.errors import TaskError
        from densray.states import Continuations, InterventionTests, LabelledTexts, check_probed

        if self.texts is None:
            if any(each is not None for each in (self.prompts, self.definitions, self.probe, self.others)):
                raise TaskError(
                    "--prompts, --definitions, --probe and --others need held-out texts too: give them with --texts."
                )
            return None
        made: dict[str, Any] = {}
        named = asdict(columns)
        if self.prompts is not None:
            made["stereotypes"] = Continuations.read(self.prompts, *self.continuations, **named)
        if self.definitions is not None:
            made["definitions"] = Continuations.read(self.definitions, *self.continuations, **named)
            if (kinds := len(set(made["definitions"].known))) != 2:
                raise TaskError(
                    f"{self.definitions.name} has {kinds} kinds of labels; two are needed: 1 where '{self.high}' is "
                    f"right and 0 where '{self.low}' is."
                )
        if self.probe is not None:
            made["probe"] = check_probed(LabelledTexts.read(self.probe), self.probe.name)
        if self.others is not None:
            made["others"] = {self.others.stem: check_probed(LabelledTexts.read(self.others), self.others.name)}
        return InterventionTests(LabelledTexts.read(self.texts).texts, **made)


@dataclass(frozen=True)
class SteeringJudge:
    """Judge of generated text."""

    panel: ClassVar[str] = "How the text is judged"

    high: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Words that raise the score: a file, one per line, or a list.")
    ] = None
    low: Annotated[str | None, typer.Option(metavar="WORDS", help="Words that lower the score: a file or a list.")] = (
        None
    )
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A sentence encoder (a folder or a name) as judge. An axis fitted to the contrastive texts gives the "
            "score.",
        ),
    ] = None

    def read(self, texts: Sequence[tuple[Any, float]], device: str | None) -> Callable[..., Any]:
        """Return the requested judge; exactly one kind must be given."""
        from densray.errors import TaskError
        from densray.states import encoder_judge, load_model, word_judge

        if (self.high is None) != (self.low is None) or (self.high is None) == (self.encoder is None):
            raise TaskError("who judges the generated text? Give two word lists (--high, --low), or an --encoder.")
        if self.high is not None and self.low is not None:
            return word_judge(words_of(self.high, "--high"), words_of(self.low, "--low"))
        loaded = load_model(str(self.encoder), device=device)
        if not hasattr(loaded.model, "encode"):
            raise TaskError(f"{self.encoder} is not a sentence encoder. Give the folder of one (with a modules.json).")
        said = [(text if isinstance(text, str) else text[0]["content"], label) for text, label in texts]
        return encoder_judge(loaded.model, *([text for text, label in said if label == side] for side in (1.0, 0.0)))


@with_option_groups
def remove(
    model: CausalModel,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="TEXTS|FILE",
            help="Labelled texts (removes the concept), prompts together with --high and --low (removes the preference "
            "for one word), or a saved removal.",
        ),
    ],
    learned: Learned,
    judged: Judged,
    columns: PromptColumns,
    answer: Answer,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Save the removal: .safetensors.")
    ] = None,
    generate: Generate = None,
    max_new_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="Number of tokens to generate.")] = 40,
    no_chat: NoChat = False,
    any_model: AnyModel = False,
    device: Device = None,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
) -> None:
    """Remove a concept, or a preference for one word over another, from a model while it runs, and test the removal.

    The removal is learned layer by layer: at each layer, the removals at all earlier layers are already applied. About
    a quarter of the texts is held out; texts of one group stay together. On the held-out texts, the command reports the
    perplexity, and how well newly fitted classifiers (probes) still detect the concept. A saved removal is tested on
    the files that you give (--texts, --prompts …).

    Example: densray model remove SmolLM2-135M.gguf sentences.csv -o gender.safetensors
    """
    from densray.errors import TaskError
    from densray.states import Intervention, evaluate_intervention

    saved = source.suffix in (".safetensors", ".gguf")
    tests = judged.tests(columns)
    if saved:
        learned.refuse(source)
        if output is None and not generate and tests is None:
            raise TaskError(
                "nothing is asked for. Give a file of texts (--texts), a prompt (--generate) or a file to write (-o)."
            )
    if output is not None:
        check_output(output, overwrite=overwrite)
        Intervention.check_path(output, "project")
        note(f"Writing {output} at the end", quiet=answer.quiet)
    if saved:
        removal = Intervention.load(source)
        if removal.operation != "project":
            raise TaskError(f"{source.name} does not remove: it says '{removal.operation}'. Use densray model steer.")
        removal = removal.only(split_numbers(learned.layers)) if learned.layers else removal
        removal = removal if learned.strength is None else removal.at(learned.strength)
        loaded = load(model, device, answer)
        removal, result = meant_for(loaded, removal, any_model=any_model), None
        if tests is not None:
            with progress_bar("Measuring", quiet=answer.quiet) as progress:
                result = evaluate_intervention(
                    loaded.model, loaded.tokenizer, removal, tests, random_state=random_state, progress=progress
                )
    else:
        learn = learned.preference if judged.asked else learned.concept
        run = learn(source, judged, columns)
        loaded = load(model, device, answer)
        with progress_bar("Learning layer by layer", quiet=answer.quiet) as progress:
            removal, result = run(loaded, tests=tests, random_state=random_state, progress=progress)
        removal = replace(removal, model=loaded.name)
    if output is not None:
        removal.save(output, overwrite=overwrite)
    answered = {"operation": removal.operation, "layers": removal.layers, "strength": removal.strength}
    answered |= {"model": loaded.name, "checksum": removal.checksum, "path": output}
    answered["generated"] = generated(loaded, removal, generate or (), max_new_tokens, answer, chat=not no_chat)
    answered["evaluation"] = None if result is None else result.to_dict()
    if answer.as_json:
        print_json(answered)
        return
    if result is not None:
        show(result, as_json=False, quiet=answer.quiet)
    show_intervention(answered, loaded, removal, answer)


@with_option_groups
def steer(
    model: CausalModel,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="TEXTS|FILE",
            help="A table of contrastive texts, or a saved steering vector. The table has the columns positive and "
            "negative, or text and label. If the texts are system messages that describe personas, the table also "
            "needs a column named question. Each persona answers these questions.",
        ),
    ],
    judged: SteeringJudge,
    answer: Answer,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Save the steering vector: .safetensors or .gguf."),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prompts to continue: half to choose the setting, half to report it. About 120 are best, and at least "
            "four are needed. Default: the questions in the table.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="NAMES",
            help="Methods to compare, comma-separated: caa, repeng, or names listed by `densray methods`. Default: "
            "ridge,caa,repeng.",
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Layers (transformer blocks) to try, comma-separated (0: the first, -1: the last). Default: at a "
            "half, two thirds and five sixths of the model; for a saved steering vector its layer.",
        ),
    ] = None,
    positions: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Tokens to change: all (except the first), last (the last token of the prompt) or generated. Default: "
            "all, or as saved.",
        ),
    ] = None,
    strengths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Strengths to try (1: the distance between the two class means).")
    ] = "1,2,4,8",
    strength: Annotated[
        float | None, typer.Option(metavar="S", help="Strength of a saved steering vector. Default: as saved.")
    ] = None,
    generate: Generate = None,
    max_new_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="Number of tokens to generate.")] = 30,
    no_chat: NoChat = False,
    any_model: AnyModel = False,
    device: Device = None,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
) -> None:
    """Steer a model towards one of two kinds of text.

    The command scores the text that the model generates, and chooses method, layer and strength on half of the prompts.
    On the other prompts, it reports the effect of this setting, of the other methods, and of a random direction. If the
    effect is not clear there, the choice is discarded and no file is written. The judge that scores the text either
    counts words (--high, --low) or is a sentence encoder (--encoder). A saved steering vector is applied to the prompts
    that you give with --generate.

    Example: densray model steer SmolLM2-135M.gguf moods.csv --prompts openings.txt --encoder MiniLM -o mood.safetensors
    """
    from densray.errors import TaskError
    from densray.states import STEERING_METHODS, Intervention
    from densray.states import steer as choose

    saved = source.suffix in (".safetensors", ".gguf")
    if output is not None:
        check_output(output, overwrite=overwrite)
        Intervention.check_path(output, "add", positions=positions or "all")
    steering: Intervention | None
    if saved:
        if output is None and not generate:
            raise TaskError("nothing is asked for. Give a prompt (--generate) or a file to write (-o).")
        stored = _stored_steering(source, layers, strength, positions)
        if output is not None:
            stored.check_path(output, stored.operation, stored.layers, stored.positions)
        loaded = load(model, device, answer)
        steering, result = meant_for(loaded, stored, any_model=any_model), None
    else:
        texts, continued = _contrasts(source, prompts)
        if strength is not None:
            raise TaskError("--strength is for a saved steering vector. Give the strengths to try with --strengths.")
        amounts, judge = split_decimals(strengths), judged.read(texts, device)
        loaded = load(model, device, answer)
        sides = [[text for text, label in texts if label == side] for side in (1.0, 0.0)]
        with progress_bar("Generating and judging", quiet=answer.quiet) as progress:
            result = choose(
                loaded.model,
                loaded.tokenizer,
                *sides,
                prompts=continued,
                judge=judge,
                methods=split_names(methods) or STEERING_METHODS,
                layers=None if layers is None else split_numbers(layers),
                strengths=amounts,
                positions=positions or "all",
                max_new_tokens=max_new_tokens,
                name=source.stem,
                random_state=random_state,
                progress=progress,
            )
        steering = None if result.intervention is None else replace(result.intervention, model=loaded.name)
    written = output if steering is not None else None
    if steering is not None and written is not None:
        steering.save(written, overwrite=overwrite)
    answered: dict[str, Any] = {"model": loaded.name, "path": written, "generated": []}
    answered["evaluation"] = None if result is None else result.to_dict()
    if steering is not None:
        answered |= {"operation": steering.operation, "layers": steering.layers, "strength": steering.strength}
        answered["generated"] = generated(loaded, steering, generate or (), max_new_tokens, answer, chat=not no_chat)
    if answer.as_json:
        print_json(answered)
        return
    if result is not None:
        _show_choice(result, answer)
    if output is not None and written is None:
        note(f"{output} was not written: nothing was chosen", quiet=answer.quiet)
    if steering is not None:
        show_intervention(answered, loaded, steering, answer)


def _show_choice(result: SteeringResult, answer: Answer) -> None:
    """Print the report on a choice, and some texts before and after."""
    show(result, as_json=False, quiet=answer.quiet)
    for prompt, before, after in result.examples[:3]:
        show_example({"prompt": prompt, "before": before, "after": after})


def _stored_steering(source: Path, layers: str | None, strength: float | None, positions: str | None) -> Intervention:
    """Return a saved steering vector with the options that are given."""
    from densray.errors import TaskError
    from densray.states import Intervention

    stored = Intervention.load(source)
    if stored.operation == "project":
        raise TaskError(f"{source.name} does not steer: it removes. Use densray model remove.")
    stored = stored.only(split_numbers(layers)) if layers else stored
    stored = stored if strength is None else stored.at(strength)
    return stored if positions is None else replace(stored, positions=positions)


def _contrasts(source: Path, prompts: Path | None) -> tuple[list[tuple[Any, float]], list[Any]]:
    """Return contrastive texts with 1 or 0 each, pairs in order, and the prompts to continue."""
    from densray.errors import TaskError
    from densray.states import LabelledTexts, read_contrast

    texts = read_contrast(source)
    labels = texts.labels or ()
    high = sorted(set(labels), key=lambda label: (isinstance(label, str), label))[-1]
    groups = texts.groups or (None,) * len(labels)
    order = sorted(range(len(labels)), key=lambda row: str(groups[row]))  # so that pairs stand in the same order
    rows = [(texts.texts[row], float(labels[row] == high)) for row in order]
    if prompts is not None:
        return rows, list(LabelledTexts.read(prompts).texts)
    questions = dict.fromkeys(text[-1]["content"] for text, _ in rows if not isinstance(text, str))
    if not questions:
        raise TaskError(
            "no prompts are given for the model to continue. Give a file with one prompt per line: --prompts."
        )
    return rows, [[{"role": "user", "content": question}] for question in questions]


def generated(
    loaded: LoadedModel,
    change: Intervention,
    prompts: Sequence[str],
    max_new_tokens: int,
    answer: Answer,
    *,
    chat: bool,
) -> list[dict[str, str]]:
    """Return the continuation of each prompt, before and after; with `chat`, the answer if there is a chat template."""
    from densray.states import generate_texts

    if not prompts:
        return []
    asked: Sequence[Any] = prompts
    if chat and getattr(loaded.tokenizer, "chat_template", None) is not None:
        asked = [[{"role": "user", "content": prompt}] for prompt in prompts]
    with progress_bar("Generating", quiet=answer.quiet):
        plain, changed = (
            generate_texts(loaded.model, loaded.tokenizer, asked, each, max_new_tokens=max_new_tokens)
            for each in (None, change)
        )
    return [
        {"prompt": prompt, "before": before, "after": after}
        for prompt, before, after in zip(prompts, plain, changed, strict=True)
    ]


def load(model: str, device: str | None, answer: Answer) -> LoadedModel:
    from densray.states import load_model

    with progress_bar(f"Loading {model}", quiet=answer.quiet):
        return load_model(model, device=device, sentence_encoder=False)


def meant_for(loaded: LoadedModel, made: Intervention, *, any_model: bool) -> Intervention:
    """Return the intervention for this model; raise at once if it was made for another one, unless `any_model`.

    Another width is refused in any case.
    """
    from densray.states import model_checksum

    with made.applied(loaded.model, any_model=any_model):
        pass
    made.check_width(loaded.model)
    return replace(made, model=loaded.name, checksum=model_checksum(loaded.model)) if any_model else made


def show_intervention(told: dict[str, Any], loaded: LoadedModel, made: Intervention, answer: Answer) -> None:
    """Print the intervention, the generated text before and after, and the file that was written."""
    if not answer.quiet:
        places = ", ".join(map(str, made.layers))
        layers = "layer" if len(made.layers) == 1 else "layers"
        typer.echo(f"{made.operation} after {layers} {places} of {Path(loaded.name).name}, strength {made.strength:g}")
    for row in told["generated"]:
        show_example(row)
    if told["path"] is not None and not answer.quiet:
        typer.echo(f"Written: {told['path']}")


def show_example(row: Mapping[str, str]) -> None:
    """Print a prompt with the text before and after."""
    typer.echo(f"\n{row['prompt']}")
    for key in ("before", "after"):
        typer.echo(f"  {key + ':':8}{' '.join(row[key].split()) or '(no text)'}")


@with_option_groups
def sweep(
    model: CausalModel,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Saved removals.")],
    judged: Judged,
    columns: PromptColumns,
    answer: Answer,
    layers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="Layers to change together, comma-separated. Repeat it to try several sets. Default: all layers of "
            "each removal.",
        ),
    ] = None,
    strengths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Strengths to try, comma-separated (1: the full removal).")
    ] = "0.25,0.5,0.75,1",
    at_most: Annotated[
        float,
        typer.Option(
            metavar="R",
            help="Largest rank correlation that may remain between the log odds of --high over --low and the known "
            "number of each prompt (see --prompts).",
        ),
    ] = 0.05,
    preserve_at_least: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Minimum share of the correct answers to --definitions that must stay correct."
        ),
    ] = 0.9,
    perplexity_at_most: Annotated[
        float, typer.Option(metavar="SHARE", help="Maximum increase of the perplexity of --texts, as a share.")
    ] = 0.1,
    output: FigureFile = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the chosen removal: .safetensors.")] = None,
    any_model: AnyModel = False,
    device: Device = None,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
) -> None:
    """Try layers and strengths of saved removals, and choose one setting.

    For each setting, the command reports two things: the rank correlation that remains between the log odds of --high
    over --low and the known number of each prompt (--prompts), and the rise of perplexity. The test data are split in
    half. On one half, the command looks at the settings that meet --at-most, --preserve-at-least and
    --perplexity-at-most, and chooses the one with the smallest rise of perplexity. It reports this setting on the
    other half.

    Example: densray model sweep SmolLM2-135M.gguf he.safetensors --high he --low she --prompts jobs.csv --texts t.txt
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    if save is not None:
        check_output(save, overwrite=overwrite)
    from densray.errors import TaskError
    from densray.states import sweep_front, sweep_interventions

    tests, amounts = judged.tests(columns), split_decimals(strengths)
    if tests is None or tests.stereotypes is None:
        raise TaskError("prompts and held-out texts are needed for the choice. Give them with --prompts and --texts.")
    tried = _to_try(files, layers or [])
    if save is not None:
        for each in tried.values():
            each.check_path(save, each.operation, each.layers)
    loaded = load(model, device, answer)
    tried = {name: meant_for(loaded, each, any_model=any_model) for name, each in tried.items()}
    bounds = {
        "at_most": at_most,
        "preserve_at_least": preserve_at_least,
        "perplexity_at_most": perplexity_at_most,
    }
    with progress_bar(f"Trying {len(tried) * len(amounts)} points", quiet=answer.quiet) as progress:
        points, result = sweep_interventions(
            loaded.model,
            loaded.tokenizer,
            tried,
            tests,
            strengths=amounts,
            random_state=random_state,
            progress=progress,
            **bounds,
        )
    chosen = next(point for point in points if point.chosen)
    if save is not None:
        tried[chosen.name].at(chosen.strength).save(save, overwrite=overwrite)
    write_figure(partial(sweep_front, points), output, overwrite=overwrite, quiet=answer.quiet)
    if answer.as_json:
        told = {"model": loaded.name, "points": points, "chosen": chosen, "within_bounds": not chosen.missed(**bounds)}
        print_json({**told, **bounds, "evaluation": result.to_dict(), "path": save, "figure": output})
        return
    show(result, as_json=False, quiet=answer.quiet)
    show(_sweep_table(points), as_json=False, quiet=answer.quiet)
    if save is not None and not answer.quiet:
        typer.echo(f"Written: {save}")


def _to_try(files: Sequence[Path], layers: Sequence[str]) -> dict[str, Intervention]:
    """Return saved interventions by name, each with all of its layers, or one for each set of layers."""
    from densray.states import Intervention

    stems, found = [path.stem for path in files], {}
    for path in files:
        whole, name = Intervention.load(path), path.stem if stems.count(path.stem) == 1 else str(path)
        for some in layers:
            found[f"{name}: {some}"] = whole.only(split_numbers(some))
        if not layers:
            found[name] = whole
    return found


def _sweep_table(points: Sequence[SweepPoint]) -> Table:
    """Return a sweep as a table, with the Pareto front and the point that was chosen."""
    from math import isfinite, isnan

    from densray.report import Column, Table

    rows = [
        {"intervention": one.name, "layers": ", ".join(map(str, one.layers)), "strength": one.strength}
        | {"left": one.left, "cost": one.perplexity_added, "preserved": one.preserved}
        | {"place": ", ".join(["front"] * one.on_front + ["chosen"] * one.chosen)}
        for one in points
    ]
    numbers = [Column("left", "correlation left", decimals=3), Column("cost", "perplexity added (%)", decimals=1)]
    if not all(isnan(one.preserved) for one in points):
        numbers.append(Column("preserved", "correct answers preserved", decimals=3))
    notes = ["Measured on the half of the tests used to choose. The chosen point is reported on the other half."]
    if not all(isfinite(one.left) for one in points):
        notes.append("An empty cell means that the model gives no finite number. Such a point is not chosen.")
    title = "Layers and strengths: remaining correlation and cost"
    return Table(title, ["intervention", "layers", "strength", *numbers, "place"], rows, notes)
