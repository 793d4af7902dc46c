"""Which method is best where: every method on every lexicon at hand, whole and in small samples.

Prints the tables of docs/lexicon_induction.md. Needs DENSRAY_DATA for all lexicons but Hu & Liu.

    python benchmarks/lexicon_induction.py whole
    python benchmarks/lexicon_induction.py samples --sizes 20,50,100,300,1000 --samples 40
"""

from __future__ import annotations

import argparse

from threadpoolctl import threadpool_limits

from densray import load_space
from densray.axes._lexicon_evaluation import evaluate_induction
from densray.axes._stability import evaluate_stability
from densray.datasets import load_lexicon
from densray.report import Column, Table, best_cells, to_markdown

LEXICONS = ("hu-liu", "mpqa", "nrc", "whm", "bwk")
METHODS = ("densray-unit", "densifier", "mean-difference", "lda", "svm", "svr", "ridge", "densray-whitened")


def whole(lexicons: list[str]) -> None:
    """Print τ of every method on 25 % held-out words, ridge's paired lead over each, and times as ratios to ridge's."""
    space = load_space("googlenews-26k")
    for name in lexicons:
        result = evaluate_induction(space, load_lexicon(name), methods=METHODS)
        rows = []
        for score in result.scores:
            lead, low, high = result.difference("ridge", score.method)
            ratio = score.seconds / result.score("ridge").seconds
            rows.append(
                {"method": score.method, "tau": score.tau, "low": score.tau_low, "high": score.tau_high}
                | {"lead": lead, "lead_low": low, "lead_high": high, "time": ratio}
            )
        keys = ("tau", "low", "high", "lead", "lead_low", "lead_high")
        columns = ["method", *(Column(key, decimals=4) for key in keys), Column("time", decimals=1)]
        title = f"{name}: {result.n_training} training and {result.n_test} test words"
        print(to_markdown(Table(title, columns, rows, best=best_cells(rows, ["tau"], within="column"))), flush=True)


def samples(lexicons: list[str], sizes: list[int], n_samples: int) -> None:
    """Print the mean τ of every method over samples of the training words, with the standard error of its lead."""
    space = load_space("googlenews-26k")
    for name in lexicons:
        methods = [method for method in METHODS if method != "svr" or name == "bwk"]
        result = evaluate_stability(space, load_lexicon(name), methods=methods, sizes=sizes, n_samples=n_samples)
        print(f"{name}: {n_samples} samples a size")
        print(to_markdown(result.tables()[0]))
        print(to_markdown(result.tables()[1]), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("whole", "samples"))
    parser.add_argument("--lexicons", default=",".join(LEXICONS))
    parser.add_argument("--sizes", default="20,50,100,300,1000")
    parser.add_argument("--samples", type=int, default=40)
    given = parser.parse_args()
    chosen = given.lexicons.split(",")
    with threadpool_limits(1, user_api="blas"):  # one core: ratios of times that other work disturbs least
        if given.what == "whole":
            whole(chosen)
        else:
            samples(chosen, [int(size) for size in given.sizes.split(",")], given.samples)
