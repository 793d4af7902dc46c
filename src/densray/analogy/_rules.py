"""Spelling rules: which letters change between the query and the answer of an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Literal, NamedTuple


class Rule(NamedTuple):
    """Replace letters at the start of a word, at its end, or inside it (their last occurrence)."""

    place: Literal["start", "end", "inside"]
    old: str
    new: str

    def apply(self, word: str) -> str | None:
        """Return the changed word; None if the rule does not fit, or would replace the whole word.

        >>> Rule("end", "y", "ies").apply("berry"), Rule("end", "y", "ies").apply("apple")
        ('berries', None)
        """
        start = {"start": 0, "end": len(word) - len(self.old), "inside": word.rfind(self.old, 1)}[self.place]
        if start < 0 or not word.startswith(self.old, start) or len(word) <= len(self.old):
            return None
        return word[:start] + self.new + word[start + len(self.old) :]


def rules_of(query: str, answer: str) -> list[Rule]:
    """Return the rules that turn a query into its answer; none if they share no letter at either end.

    >>> rules_of("happy", "happier")
    [Rule(place='end', old='y', new='ier')]
    >>> [f"{rule.old} > {rule.new}" for rule in rules_of("grandfather", "grandmother")]
    ['father > mother', 'grandfa > grandmo', 'fa > mo']
    """
    beginning = _common_beginning(query, answer)
    rest = query[len(beginning) :], answer[len(beginning) :]
    ending = _common_beginning(*(part[::-1] for part in rest))[::-1]
    old, new = (part[: len(part) - len(ending)] for part in rest)
    rules = []
    if beginning:
        rules.append(Rule("end", old + ending, new + ending))
    if ending:
        rules.append(Rule("start", beginning + old, beginning + new))
    if beginning and ending and old:
        rules.append(Rule("inside", old, new))
    return rules


def _common_beginning(first: str, second: str) -> str:
    same = takewhile(lambda letters: letters[0] == letters[1], zip(first, second, strict=False))
    return "".join(letter for letter, _ in same)


def forms_of(rules: Sequence[Rule], query: str) -> list[str]:
    """Return the distinct words that the rules of one example derive from a query.

    >>> forms_of(rules_of("grandfather", "grandmother"), "stepfather")
    ['stepmother']
    """
    return list(dict.fromkeys(form for rule in rules if (form := rule.apply(query)) is not None))


def count_votes(rules: Sequence[Sequence[Rule]], query: str) -> dict[str, float]:
    """Return the forms that the rules of examples derive from a query, with the share of examples for each.

    >>> examples = [rules_of("walk", "walked"), rules_of("jump", "jumped"), rules_of("dance", "danced")]
    >>> {form: round(share, 2) for form, share in count_votes(examples, "bake").items()}
    {'bakeed': 0.67, 'baked': 0.33}
    """
    votes: Counter[str] = Counter()
    for example in rules:
        votes.update(forms_of(example, query))
    return {form: count / len(rules) for form, count in votes.items()}
