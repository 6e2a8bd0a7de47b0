"""Vowpal Wabbit's policies in a world of `bench policies`: policies.py METHOD FILE.

FILE holds float64: the numbers of arms, inputs, features of an arm and rounds; contexts, features, mean rewards, rewards. The last line is JSON: the
regret as a share of that of random choice.
"""

import json
import sys

import numpy
from vowpalwabbit import Workspace

OPTIONS = {"vw_epsilon": "", "vw_squarecb": "--squarecb", "vw_bag": "--bag 5", "vw_cover": "--cover 5"}


def main():
    method, path = sys.argv[1:]
    numbers = numpy.fromfile(path)
    arms, inputs, features, rounds = map(int, numbers[:4])
    ends = 4 + numpy.cumsum([rounds * inputs, arms * features, rounds * arms])
    contexts, of_arms, means, rewards = numpy.split(numbers[4:], ends - 4)
    contexts, of_arms = contexts.reshape(rounds, inputs), of_arms.reshape(arms, features)
    means, rewards = means.reshape(rounds, arms), rewards.reshape(rounds, arms)
    model = Workspace(f"--cb_explore_adf --quiet --noconstant -q ac --random_seed 1 {OPTIONS[method]}")
    random = numpy.random.default_rng(0)
    # Arms with features have no names, as in our models.
    names = ["" if features else f" arm={arm}" for arm in range(arms)]
    described = [f"|a{name} one " + " ".join(f"f{i}:{value:.6g}" for i, value in enumerate(own)) for name, own in zip(names, of_arms)]
    regret = by_chance = 0.0
    for context, mean, reward in zip(contexts, means, rewards):
        shared = "shared |c one " + " ".join(f"x{j}:{value:.6g}" for j, value in enumerate(context))
        chances = numpy.asarray(model.predict([shared, *described]))
        chances /= chances.sum()
        chosen = int(random.choice(arms, p=chances))
        lines = [shared, *described]
        lines[1 + chosen] = f"0:{-reward[chosen]}:{chances[chosen]} {described[chosen]}"
        model.learn(lines)
        regret += mean.max() - mean[chosen]
        by_chance += mean.max() - mean.mean()
    print(json.dumps({"share": regret / by_chance}))


main()
