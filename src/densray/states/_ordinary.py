"""Ordinary text, written by the model itself: text that a removal should change as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from densray.errors import TaskError
from densray.states._chat import Text
from densray.states._generation import continue_tokens
from densray.states._models import encode_texts

#: Number of texts that a model writes by default, and the most tokens of each.
N_TEXTS, _TOKENS = 500, 20


def write_ordinary(
    model: Any, tokenizer: Any, texts: Sequence[Text], *, count: int = N_TEXTS, random_state: int = 0
) -> list[str]:
    """Return beginnings of texts that a causal model writes itself.

    The model continues the first two words of the given texts (of the last message, for a conversation). It samples
    from the most likely tokens that have a probability of 0.9 together. Each text then ends after a random number of
    words.

    Parameters
    ----------
    model, tokenizer
        A Hugging Face causal language model and its tokenizer.
    texts : sequence of texts or message lists
        Texts in the language of interest. Only their first two words are used.
    count : int, default=500
        Number of texts to write. Texts without a word are left out.
    random_state : int, default=0
        Seed for the words, the sampling and the lengths.
    """
    openings = [words for words in map(_first_words, texts) if words]
    if not openings:
        raise TaskError("none of the texts has a word that the model could continue. Give ordinary text of your own.")
    generator = np.random.default_rng(random_state)
    starts = [openings[place] for place in generator.integers(len(openings), size=count)]
    # Whole texts decide whether the model expects a first token (BOS): single words are too short for that.
    first_token = encode_texts(model, tokenizer, list(texts)).added_first_token
    rows = encode_texts(model, tokenizer, starts, first_token=first_token).tokens
    seed = int(generator.integers(2**31))
    written = []
    for start, new in continue_tokens(model, tokenizer, rows, max_new_tokens=_TOKENS, sampled=0.9, random_state=seed):
        text = str(tokenizer.decode([*start, *new], skip_special_tokens=True)).split()
        if len(text) > 1:
            written.append(" ".join(text[: generator.integers(2, len(text) + 1)]))
    return written


def _first_words(text: Text) -> str:
    """Return the first two words of a text, or of the last message of a conversation; "" if it has none.

    >>> _first_words("The film is fine."), _first_words([{"role": "user", "content": "Hello"}]), _first_words(" ")
    ('The film', 'Hello', '')
    """
    return " ".join((text if isinstance(text, str) else text[-1]["content"]).split()[:2])
