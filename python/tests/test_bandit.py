"""Bandits learn which arm is best, remember what has no reward yet, and are as they were after an error."""

import pickle

import numpy as np
import pytest
from rvi.bandit import Bandit, replay
from rvi.sklearn import BayesianGLMRegressor, BayesianLinearRegression


def world(rng, n):
    """Contexts, and the chance of a click for each of three arms."""
    X = rng.normal(size=(n, 2))
    logits = np.column_stack([1.5 * X[:, 0], -1.5 * X[:, 0], np.zeros(n)])
    return X, 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize("policy", ["thompson", "ucb"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_regret_of_later_rounds_is_a_fraction_of_chance(policy, shared):
    rng = np.random.default_rng(1)
    arms = {"up": [1.0, 0.0], "down": [-1.0, 0.0], "even": [0.0, 0.0]} if shared else ["up", "down", "even"]
    bandit = Bandit(arms, policy=policy, random_state=0)
    X, chance = world(rng, 800)
    regret = np.zeros(800)
    for t in range(800):
        arm = bandit.pull(X[t : t + 1])
        place = bandit.arms.index(arm[0])
        regret[t] = chance[t].max() - chance[t, place]
        bandit.update(X[t : t + 1], arm, [float(rng.random() < chance[t, place])])
    by_chance = (chance.max(axis=1) - chance.mean(axis=1))[400:].mean()
    assert regret[400:].mean() < 0.3 * by_chance
    assert np.mean(np.abs(bandit.expected(X[:50]) - chance[:50])) < 0.2


def test_rewards_may_come_late():
    rng = np.random.default_rng(2)
    X, _ = world(rng, 30)
    late, soon = (Bandit(["a", "b"], BayesianLinearRegression(), random_state=3) for _ in range(2))
    chosen = late.pull(X, keys=range(30))
    assert soon.pull(X) == chosen and late.waiting == list(range(30))
    late = pickle.loads(pickle.dumps(late))
    for key in rng.permutation(30):
        late.reward(int(key), X[key, 0])
        soon.update(X[key : key + 1], [chosen[key]], [X[key, 0]])
    assert late.waiting == []
    assert np.array_equal(late.expected(X), soon.expected(X))
    with pytest.raises(KeyError):
        late.reward(7, 1.0)
    with pytest.raises(ValueError, match="keys must be"):
        late.pull(X[:2], keys=["x", "x"])


def test_an_update_that_fails_moves_nothing():
    X, _ = world(np.random.default_rng(4), 20)
    bandit = Bandit(["a", "b"], random_state=0).update(X, ["a", "b"] * 10, [0.0, 1.0, 1.0, 0.0] * 5)
    before = bandit.expected(X)
    for rows, arms, rewards in [
        (X, ["a", "c"] * 10, np.zeros(20)), (X[:2], ["a", "b"], [1.0, 0.5]), (X, ["a"] * 19, np.zeros(20)), (X, ["a"] * 20, np.zeros(3)),
        (X * np.nan, ["a"] * 20, np.zeros(20)), (X[:, :1], ["a"] * 20, np.zeros(20)), (X[:2], ["a", "b"], [1.0, np.nan]),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            bandit.update(rows, arms, rewards)
        assert np.array_equal(bandit.expected(X), before)
    with pytest.raises(ValueError, match="distinct"):
        Bandit(["a", "a"])
    with pytest.raises(ValueError, match="policy"):
        Bandit(["a"], policy="greedy")


def test_replay_estimates_what_a_policy_earns():
    rng = np.random.default_rng(5)
    X, chance = world(rng, 3000)
    logged = rng.integers(0, 3, 3000)
    rewards = (rng.random(3000) < chance[np.arange(3000), logged]).astype(float)
    mean, error, count = replay(Bandit([0, 1, 2], random_state=0), X, logged.tolist(), rewards)
    assert 850 < count < 1150 and 0 < error < 0.03
    # Between what chance earns and what the best choice does, nearer to the latter.
    assert mean > 0.5 * (chance.mean() + chance.max(axis=1).mean())


@pytest.mark.parametrize("policy", ["thompson", "ucb"])
def test_counts_are_rewards_from_the_first_round_on(policy):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 2))
    rate = np.exp(np.column_stack([0.5 + X[:, 0], 0.5 - X[:, 0]]))
    bandit, earned = Bandit(["up", "down"], BayesianGLMRegressor("poisson"), policy=policy, random_state=0), []
    for x, own in zip(X, rate, strict=True):
        # Inputs far from all others: the mean of a count there has no float, what is believed of its logarithm has.
        assert bandit.pull(1e4 * x[None])[0] in bandit.arms
        place = bandit.arms.index(bandit.pull(x[None])[0])
        bandit.update(x[None], [bandit.arms[place]], [rng.poisson(own[place])])
        earned.append(own[place])
    # Nearer to the best choice than to chance.
    assert np.mean(earned[100:]) > 0.5 * (rate[100:].max(axis=1).mean() + rate[100:].mean())
