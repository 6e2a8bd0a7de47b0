"""Bandits learn which arm is best, remember what has no reward yet, and are as they were after an error."""

import pickle

import numpy as np
import pytest
from rvi.bandit import Bandit, read_vw, replay, value
from rvi.sklearn import BayesianGLMRegressor, BayesianLinearRegression


def world(rng, n):
    """Contexts, and the chance of a click for each of three arms."""
    X = rng.normal(size=(n, 2))
    logits = np.column_stack([1.5 * X[:, 0], -1.5 * X[:, 0], np.zeros(n)])
    return X, 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize("policy", ["directed", "thompson", "ucb"])
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


def test_the_greedy_policy_takes_the_highest_mean():
    X, chance = world(np.random.default_rng(3), 400)
    arms = np.random.default_rng(4).integers(0, 3, 400)
    bandit = Bandit([0, 1, 2], policy="greedy", random_state=0).update(X, arms.tolist(), (chance[np.arange(400), arms] > 0.5).astype(float))
    assert bandit.pull(X[:50]) == bandit.pull(X[:50])
    assert np.mean(np.argmax(bandit.expected(X[:50]), axis=1) == bandit.pull(X[:50])) > 0.95


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
        Bandit(["a"], policy="random")


def test_replay_estimates_what_a_policy_earns():
    rng = np.random.default_rng(5)
    X, chance = world(rng, 3000)
    logged = rng.integers(0, 3, 3000)
    rewards = (rng.random(3000) < chance[np.arange(3000), logged]).astype(float)
    mean, error, count = replay(Bandit([0, 1, 2], random_state=0), X, logged.tolist(), rewards)
    assert 850 < count < 1150 and 0 < error < 0.03
    # Between what chance earns and what the best choice does, nearer to the latter.
    assert mean > 0.5 * (chance.mean() + chance.max(axis=1).mean())


@pytest.mark.parametrize("policy", ["directed", "thompson", "ucb"])
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


def logged(rng, n):
    """A log of choices by chance, a policy that is better, and its mean reward given the contexts."""
    X, chance = world(rng, n)
    probability = np.array([0.5, 0.3, 0.2])
    arms = rng.choice(3, size=n, p=probability)
    rewards = (rng.random(n) < chance[np.arange(n), arms]).astype(float)
    policy = np.where(X[:, :1] > 0, [[0.8, 0.1, 0.1]], [[0.1, 0.8, 0.1]])
    return X, arms, rewards, probability[arms], policy, chance, float((policy * chance).sum(axis=1).mean())


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_the_value_of_a_policy_is_found_from_the_log_of_another(estimator):
    _, arms, rewards, probabilities, policy, chance, true = logged(np.random.default_rng(8), 4000)
    within = (0.0, 1.0)
    own = value(arms, rewards, probabilities, policy, predicted=chance, estimator=estimator, level=0.999, within=within, least=0.2)
    assert own.interval[0] < true < own.interval[1] and 0 < own.error < 0.03 and 500 < own.effective < 4000
    lower, upper = own.anytime.T
    assert own.anytime.shape == (4000, 2) and (lower < true).all() and (true < upper).all() and upper[-1] - lower[-1] < 0.3
    # Later rounds change nothing of what was said before.
    part = value(arms[:50], rewards[:50], probabilities[:50], policy[:50], predicted=chance[:50], estimator=estimator, level=0.999, within=within, least=0.2)
    assert np.array_equal(part.anytime, own.anytime[:50])


def test_the_sequence_of_snips_knows_no_origin_of_rewards():
    _, arms, rewards, probabilities, policy, _, true = logged(np.random.default_rng(8), 4000)
    ends = [value(arms, 3 + rewards, probabilities, policy, estimator=own, within=(0.0, 4.0), least=0.2).anytime[-1] for own in ("ips", "snips")]
    assert all(lower < 3 + true < upper for lower, upper in ends)
    assert np.ptp(ends[1]) < 0.8 * np.ptp(ends[0])


def test_predictions_of_a_bandit_make_values_more_precise():
    X, arms, rewards, probabilities, policy, _, true = logged(np.random.default_rng(9), 4000)
    names = ["a", "b", "c"]
    bandit = Bandit(names, random_state=0).update(X[:1000], [names[arm] for arm in arms[:1000]], rewards[:1000])
    late = [own[1000:] for own in (arms, rewards, probabilities, policy)]
    plain, robust = value(*late), value(*late, predicted=bandit.expected(X[1000:]))
    assert robust.error < 0.8 * plain.error
    assert abs(robust.estimate - true) < 5 * robust.error


def test_logs_that_cannot_be_are_refused():
    good = {"arms": [0, 1], "rewards": [1.0, 0.0], "probabilities": [0.5, 0.5], "policy": [[0.5, 0.5]] * 2}
    assert value(**good).estimate == 0.5
    for bad, match in [
        ({"probabilities": [0.5, 0.0]}, r"probabilities\[1\] = 0 must be above 0"), ({"rewards": [np.nan, 1.0]}, r"rewards\[0\]"),
        ({"arms": [0, 2]}, "no entry 2"), ({"arms": [0, -1]}, "whole numbers from 0"), ({"arms": [0.5, 1.0]}, "whole numbers from 0"),
        ({"policy": [[0.5, 0.4]] * 2}, "sum to 0.9"), ({"policy": [[0.5, 0.5]]}, "expected 1"), ({"estimator": "dr"}, "needs predicted"),
        ({"estimator": "best"}, "estimator"), ({"predicted": [[0.0] * 3] * 2}, "shape"), ({"within": (0.0, 0.5)}, "range of the rewards"),
        ({"estimator": "snips", "within": (0.0, 1.0)}, "needs least"), ({"rewards": [[1.0], [0.0]]}, "n_rounds"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=match):
            value(**{**good, **bad})


def test_logs_of_vowpal_wabbit_are_read():
    log = read_vw(["1:2:0.4 | a c ", "\n", "3:-0.5:0.2 |n b:2 b:1 |m:3 d\n"])
    assert log.arms.tolist() == [0, 2] and log.rewards.tolist() == [-2.0, 0.5] and log.probabilities.tolist() == [0.4, 0.2]
    assert log.features == [{"a": 1.0, "c": 1.0}, {"n^b": 3.0, "m^d": 3.0}]
    assert len(read_vw([]).arms) == 0
    for bad in ("1:2 | a", "| a", "one:0:0.5 | a", "0:1:0.5 | a", "1:1:0 | a", "1:nan:0.5 | a", "1:1:0.5 | a:b"):
        with pytest.raises(ValueError, match="line 2"):
            read_vw(["1:0:1 | x", bad])
