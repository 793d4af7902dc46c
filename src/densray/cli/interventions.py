"""``densray intervene``, ``remove-preference`` and ``sweep``: what a model says, changed while it runs, and judged."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    Answer,
    Figure,
    Output,
    Overwrite,
    RandomState,
    grouped,
    split_decimals,
    split_numbers,
)
from densray.cli.states import Device, LabelColumns, Layers, Model, labelled_states, layers_read
from densray.cli.terminal import check_figure, check_output, note, print_json, progress_bar, show, write_figure

if TYPE_CHECKING:
    from densray.report import Table
    from densray.states import Intervention, InterventionTests, LoadedModel, SweepPoint

AnyModel: TypeAlias = Annotated[bool, typer.Option("--any-model", help="Use it on a model it was not made for.")]


@dataclass(frozen=True)
class Change:
    """What is done to the states, and where."""

    remove: Annotated[bool, typer.Option("--remove", help="Project the concept out.")] = False
    add: Annotated[bool, typer.Option("--add", help="Add its direction; strength 1 leads from class to class.")] = False
    scale: Annotated[bool, typer.Option("--scale", help="Multiply the coordinate by the strength.")] = False
    clamp: Annotated[bool, typer.Option("--clamp", help="Set the coordinate: 0.5 is the mean of the higher class.")] = (
        False
    )
    layers: Layers = None
    method: Annotated[
        str | None, typer.Option("--method", "-m", metavar="NAME", help="leace to remove, ridge otherwise, or another.")
    ] = None
    strength: Annotated[float | None, typer.Option(metavar="S", help="How much of it; 1.")] = None

    @property
    def operation(self) -> str | None:
        """The operation that was asked for; several are an error."""
        from densray.errors import TaskError

        meant = {"project": self.remove, "add": self.add, "scale": self.scale, "clamp": self.clamp}
        asked = [name for name, wanted in meant.items() if wanted]
        if len(asked) > 1:
            raise TaskError("several of --remove, --add, --scale and --clamp are given. Give one.")
        return asked[0] if asked else None


@dataclass(frozen=True)
class ContinuationWords:
    """The two continuations whose odds are taken after prompts."""

    high: Annotated[str, typer.Option(metavar="WORD", help="The continuation of prompts that counts up.")] = "he"
    low: Annotated[str, typer.Option(metavar="WORD", help="The one that counts down.")] = "she"

    @property
    def continuations(self) -> tuple[str, str]:
        """Both as they stand in a text, after a blank."""
        return f" {self.high}", f" {self.low}"


@dataclass(frozen=True)
class PromptColumns(LabelColumns):
    """Which columns of a file hold prompts, what is known of each and what they share."""

    text_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of prompts; text.")] = None


@dataclass(frozen=True)
class Judged(ContinuationWords):
    """Texts on which an intervention is judged."""

    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Held-out texts: perplexity and divergence of next tokens.")
    ] = None
    prompts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prompts, labelled with what is known of each (a number).")
    ] = None
    definitions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prompts with a right answer, which should stay: 1 high, 0 low.")
    ] = None
    probe: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled texts that probes read again after every change.")
    ] = None
    others: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled texts of another concept, which should stay.")
    ] = None

    def tests(self, columns: PromptColumns) -> InterventionTests | None:
        """Return the texts as tests; None where none are given. `columns` are those of prompts and definitions."""
        from densray.errors import TaskError
        from densray.states import Continuations, InterventionTests, LabelledTexts
        from densray.states._measures import check_probed

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
            probed = check_probed(LabelledTexts.read(self.probe), self.probe.name)
            made |= {"probe_texts": probed.texts, "probe_labels": probed.labels, "probe_groups": probed.groups}
        if self.others is not None:
            made["others"] = {self.others.stem: check_probed(LabelledTexts.read(self.others), self.others.name)}
        return InterventionTests(LabelledTexts.read(self.texts).texts, **made)


@grouped
def intervene(
    model: Model,
    source: Annotated[
        Path,
        typer.Argument(metavar="FOLDER|FILE", help="Labelled hidden states, or an intervention that was saved."),
    ],
    change: Change,
    judged: Judged,
    columns: PromptColumns,
    answer: Answer,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labels of the texts, where FOLDER holds none.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it: .safetensors, or .gguf where it adds.")
    ] = None,
    generate: Annotated[
        list[str] | None,
        typer.Option(metavar="PROMPT", help="Go on after a prompt, before and after; repeatable."),
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="Tokens that are generated.")] = 40,
    any_model: AnyModel = False,
    device: Device = None,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
) -> None:
    """Remove a concept from a model while it runs, or steer it; show what it says before and after, and what it costs.

    Example: densray intervene SmolLM2-135M.gguf states --remove --generate "The nurse said that"
    """
    from densray.errors import TaskError
    from densray.states import evaluate_intervention, generate_texts

    if save is None and not generate and judged.texts is None:
        raise TaskError("nothing is asked for. Give --generate a prompt, --texts a file of texts, or --save a file.")
    if save is not None:
        check_output(save, overwrite=overwrite)
    tests = judged.tests(columns)
    made = _make(source, change, labels, columns)
    if save is not None:
        made.check_path(save, made.operation)
    loaded = _load(model, device, answer)
    made = _meant_for(loaded, made, any_model=any_model)
    told: dict[str, Any] = {"operation": made.operation, "layers": made.layers, "strength": made.strength}
    told |= {"model": loaded.name, "path": save, "generated": [], "evaluation": None}
    if save is not None:
        made.save(save, overwrite=overwrite)
    if generate:
        with progress_bar("Generating", quiet=answer.quiet):
            plain, changed = (
                generate_texts(loaded.model, loaded.tokenizer, generate, each, max_new_tokens=max_new_tokens)
                for each in (None, made)
            )
        pairs = zip(generate, plain, changed, strict=True)
        told["generated"] = [{"prompt": one, "before": two, "after": three} for one, two, three in pairs]
    result = None
    if tests is not None:
        with progress_bar("Measuring", quiet=answer.quiet) as progress:
            result = evaluate_intervention(
                loaded.model, loaded.tokenizer, made, tests, random_state=random_state, progress=progress
            )
        told["evaluation"] = result.to_dict()
    if answer.as_json:
        print_json(told)
        return
    _show_intervention(told, loaded, made, answer)
    if result is not None:
        show(result, as_json=False, quiet=answer.quiet)


def _load(model: str, device: str | None, answer: Answer) -> LoadedModel:
    from densray.states import load_model

    with progress_bar(f"Loading {model}", quiet=answer.quiet):
        return load_model(model, device=device, sentence_encoder=False)


def _meant_for(loaded: LoadedModel, made: Intervention, *, any_model: bool) -> Intervention:
    """Return an intervention on this model; refuse, before anything is computed, one of another, unless any will do."""
    from densray.states import model_checksum

    with made.applied(loaded.model, any_model=any_model):
        pass
    return replace(made, model=loaded.name, checksum=model_checksum(loaded.model)) if any_model else made


def _make(source: Path, change: Change, labels: Path | None, columns: LabelColumns) -> Intervention:
    """Return the intervention that was saved, or fit one to labelled states."""
    from densray.errors import TaskError
    from densray.states import Intervention, States

    asked = change.operation
    if source.is_file():
        given = [f"--{name}" for name in ("remove", "add", "scale", "clamp", "method") if getattr(change, name)]
        given += ["--labels"] if labels is not None else []
        if given:
            raise TaskError(f"{', '.join(given)} given with {source.name}, which says what it does. Leave it out.")
        saved = Intervention.load(source)
        saved = saved.only(split_numbers(change.layers)) if change.layers else saved
        return saved if change.strength is None else saved.at(change.strength)
    if asked is None:
        raise TaskError("what is to be done is not said. Give --remove, --add, --scale or --clamp.")
    read = labelled_states(States.open(source), labels, columns)
    return Intervention.fit(
        read,
        operation=asked,
        layers=layers_read(change.layers, read),
        method=change.method,
        strength=1.0 if change.strength is None else change.strength,
        name=source.name,
    )


def _show_intervention(told: dict[str, Any], loaded: LoadedModel, made: Intervention, answer: Answer) -> None:
    if not answer.quiet:
        places = ", ".join(map(str, made.layers))
        layers = "layer" if len(made.layers) == 1 else "layers"
        typer.echo(f"{made.operation} after {layers} {places} of {Path(loaded.name).name}, strength {made.strength:g}")
    for row in told.get("generated", ()):
        typer.echo(f"\n{row['prompt']}")
        for key in ("before", "after"):
            typer.echo(f"  {key + ':':8}{' '.join(row[key].split())}")
    if told["path"] is not None and not answer.quiet:
        typer.echo(f"Written: {told['path']}")


@grouped
def remove_preference(
    model: Model,
    prompts: Annotated[
        Path,
        typer.Argument(metavar="PROMPTS", help="Prompts to learn from: one per line, or .csv, .tsv, .jsonl."),
    ],
    texts: Annotated[
        Path, typer.Argument(metavar="TEXTS", help="Ordinary text that is to stay as it is: hundreds of beginnings.")
    ],
    output: Output,
    asked: ContinuationWords,
    answer: Answer,
    text_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of PROMPTS; text.")] = None,
    template_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of what a prompt was made from; template.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Texts of two labels that stay as far apart as they are."),
    ] = None,
    layers: Layers = None,
    strength: Annotated[float, typer.Option(metavar="S", help="How much of it is removed.")] = 1.0,
    device: Device = None,
    overwrite: Overwrite = False,
) -> None:
    """Learn to remove what makes a model prefer one word to another after some prompts, and save that.

    It learns from the model's own odds, layer by layer, beside ordinary text, and needs no labels.

    Example: densray remove-preference SmolLM2-135M.gguf jobs.csv ordinary.txt --high he --low she -o gender.safetensors
    """
    check_output(output, overwrite=overwrite)
    from densray._text_files import TextTable
    from densray.errors import TaskError
    from densray.states import Continuations, Intervention, LabelledTexts
    from densray.states import remove_preference as learn
    from densray.states._measures import two_classes
    from densray.states._storage import texts_of

    Intervention.check_path(output, "project")
    table = TextTable(prompts, "text", error=TaskError)
    given = texts_of(table, text_column)
    templates = table.column("template", template_column, needed="template_column" if template_column else "") or None
    ordinary = LabelledTexts.read(texts).texts
    kept = None if keep is None else two_classes(LabelledTexts.read(keep), keep.name)
    preference = Continuations(given, *asked.continuations, [0.0] * len(given))
    note(f"Writing {output} at the end", quiet=answer.quiet)
    loaded = _load(model, device, answer)
    with progress_bar("Learning layer by layer", quiet=answer.quiet) as progress:
        made = learn(
            loaded.model,
            loaded.tokenizer,
            preference,
            ordinary,
            templates=templates,
            keep=kept,
            layers=split_numbers(layers) if layers is not None else None,
            strength=strength,
            name=f"{asked.high} or {asked.low}",
            progress=progress,
        )
    made = replace(made, model=loaded.name)
    made.save(output, overwrite=overwrite)
    told: dict[str, Any] = {"operation": made.operation, "layers": made.layers, "strength": made.strength}
    told |= {"model": made.model, "checksum": made.checksum, "path": output, "high": asked.high, "low": asked.low}
    told |= {"prompts": len(given), "templates": len(set(templates)) if templates else None, "texts": len(ordinary)}
    told["kept"] = None if kept is None else len(kept.texts)
    if answer.as_json:
        print_json(told)
        return
    _show_intervention(told, loaded, made, answer)
    if not answer.quiet:
        among = f" of {told['templates']:,} templates" if templates else ""
        typer.echo(f"Learned from {len(given):,} prompts{among}, beside {len(ordinary):,} texts")
        words = shlex.join([model, str(output), "--high", asked.high, "--low", asked.low])
        typer.echo(f"Judge it on others: densray intervene {words} --texts FILE --prompts FILE")


@grouped
def sweep(
    model: Model,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Interventions that were saved.")],
    judged: Judged,
    columns: PromptColumns,
    answer: Answer,
    layers: Annotated[
        list[str] | None, typer.Option(metavar="NUMBERS", help="A set of layers to try, with commas; repeatable.")
    ] = None,
    strengths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Strengths to try, with commas.")
    ] = "0.25,0.5,0.75,1",
    at_most: Annotated[
        float, typer.Option(metavar="R", help="The rank correlation with what is known that may be left.")
    ] = 0.05,
    keep_at_least: Annotated[
        float, typer.Option(metavar="AUC", help="What has to stay of --definitions, as an AUROC.")
    ] = 0.9,
    output: Figure = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the chosen one: .safetensors.")] = None,
    any_model: AnyModel = False,
    device: Device = None,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
) -> None:
    """Try layers and strengths of interventions: what each leaves and costs, and which to take.

    The tests are halved: one half chooses the cheapest point within the bounds, the other half reports it.

    Example: densray sweep SmolLM2-135M.gguf gender.safetensors --prompts jobs.csv --texts held-out.txt -o sweep.svg
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    if save is not None:
        check_output(save, overwrite=overwrite)
    from densray.errors import TaskError
    from densray.states import sweep_front, sweep_interventions

    tests, amounts = judged.tests(columns), split_decimals(strengths)
    if tests is None or tests.stereotypes is None:
        raise TaskError("prompts and held-out texts are needed to choose by: give them with --prompts and --texts.")
    tried = _to_try(files, layers or [])
    if save is not None:
        for each in tried.values():
            each.check_path(save, each.operation)
    loaded = _load(model, device, answer)
    tried = {name: _meant_for(loaded, each, any_model=any_model) for name, each in tried.items()}
    bounds = {"at_most": at_most, "keep_at_least": keep_at_least}
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
    show(_sweep_table(points, bounds), as_json=False, quiet=answer.quiet)
    show(result, as_json=False, quiet=answer.quiet)
    if save is not None and not answer.quiet:
        typer.echo(f"Written: {save}")


def _to_try(files: Sequence[Path], layers: Sequence[str]) -> dict[str, Intervention]:
    """Return saved interventions by name, each after all of its layers, or after every set of layers."""
    from densray.states import Intervention

    stems, found = [path.stem for path in files], {}
    for path in files:
        whole, name = Intervention.load(path), path.stem if stems.count(path.stem) == 1 else str(path)
        for some in layers:
            found[f"{name}: {some}"] = whole.only(split_numbers(some))
        if not layers:
            found[name] = whole
    return found


def _sweep_table(points: Sequence[SweepPoint], bounds: Mapping[str, float]) -> Table:
    """Return a sweep as a table, with the Pareto front and the point that was chosen."""
    from math import isfinite, isnan

    from densray.report import Column, Table

    rows = [
        {"intervention": one.name, "layers": ", ".join(map(str, one.layers)), "strength": one.strength}
        | {"left": one.left, "cost": one.perplexity_added, "kept": one.kept}
        | {"place": ", ".join(["front"] * one.on_front + ["chosen"] * one.chosen)}
        for one in points
    ]
    numbers = [Column("left", "correlation left", decimals=3), Column("cost", "perplexity added (%)", decimals=1)]
    if not all(isnan(one.kept) for one in points):
        numbers.append(Column("kept", "definitions kept", decimals=3))
    notes = ["On the half of the tests that chooses; the other half reports the point that was chosen."]
    if not all(isfinite(one.left) for one in points):
        notes.append("Where no number stands, the model gives none that is finite; such a point is not chosen.")
    if all(one.missed(**bounds) for one in points):
        notes.append("No point keeps to the bounds: the one that misses them by least was chosen.")
    title = "Layers and strengths: what is left of the concept, and what it costs"
    return Table(title, ["intervention", "layers", "strength", *numbers, "place"], rows, notes)
