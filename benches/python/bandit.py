"""Other programs on the visitors of `bench bandit`: bandit.py METHOD FOLDER.

FOLDER holds the visits as the suite wrote them: `counts` (features of each candidate), `positions` (these features), `chances` (of a click on each
candidate), `clicks` (where that chance lies above it, the visitor clicks). The last line is JSON: the regret, that of random choice, and seconds of a
choice with its update.
"""

import json
import sys
import time
from pathlib import Path

import numpy

CANDIDATES = 50


def visits(folder):
    read = lambda name, kind: numpy.fromfile(folder / f"{name}.bin", dtype=kind)
    counts, positions = read("counts", "<u4"), read("positions", "<u4")
    chances, clicks = read("chances", "<f8").reshape(-1, CANDIDATES), read("clicks", "<f8")
    starts = numpy.concatenate([[0], numpy.cumsum(counts, dtype=numpy.int64)])
    for visit, (chance, click) in enumerate(zip(chances, clicks)):
        first = visit * CANDIDATES
        rows = [positions[starts[k] : starts[k + 1]] for k in range(first, first + CANDIDATES)]
        yield rows, chance, click


class VowpalWabbit:
    """Contextual bandits with action-dependent features, explored by inverse gaps (SquareCB)."""

    def __init__(self, options):
        from vowpalwabbit import Workspace

        self.model = Workspace(f"--cb_explore_adf --quiet -b 20 {options}")
        self.random = numpy.random.default_rng(0)

    def lines(self, rows):
        return ["| " + " ".join(map(str, row)) for row in rows]

    def choose(self, rows):
        self.seen = self.lines(rows)
        chances = numpy.asarray(self.model.predict(self.seen))
        self.shown = int(self.random.choice(len(rows), p=chances / chances.sum()))
        self.chance = chances[self.shown]
        return self.shown

    def update(self, row, label):
        self.seen[self.shown] = f"0:{-label}:{self.chance} {self.seen[self.shown]}"
        self.model.learn(self.seen)


class BayesianBandits:
    """Thompson sampling by a full covariance: features hashed into as many places as it can hold."""

    PLACES = 512

    def __init__(self):
        from bayesianbandits import BayesianGLM

        self.model = BayesianGLM(alpha=1 / 0.3**2, link="logit", random_state=0)

    def table(self, rows):
        x = numpy.zeros((len(rows), self.PLACES))
        for out, row in zip(x, rows):
            out[row % self.PLACES] = 1
        return x

    def choose(self, rows):
        return int(numpy.argmax(self.model.sample(self.table(rows), size=1)))

    def update(self, row, label):
        self.model.partial_fit(self.table([row]), numpy.array([label]))


METHODS = {
    "vw_squarecb": lambda: VowpalWabbit("--squarecb"),
    "vw_bag": lambda: VowpalWabbit("--bag 5"),
    "bayesianbandits_512": BayesianBandits,
}


def main():
    method, folder = sys.argv[1:]
    model = METHODS[method]()
    regret, at_random, latency = 0.0, 0.0, []
    for rows, chance, click in visits(Path(folder)):
        begun = time.perf_counter()
        shown = model.choose(rows)
        chosen = time.perf_counter() - begun
        label = int(click < chance[shown])
        begun = time.perf_counter()
        model.update(rows[shown], label)
        latency.append(chosen + time.perf_counter() - begun)
        regret += chance.max() - chance[shown]
        at_random += chance.max() - chance.mean()
    p50, p99 = numpy.quantile(latency, [0.5, 0.99])
    print(json.dumps({"regret": regret / at_random, "p50": p50, "p99": p99}))


main()
