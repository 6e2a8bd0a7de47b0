# %% [markdown]
# # A bandit
#
# Seven kinds of patches of outdoor photographs (brick, sky, grass…), 18 numbers for each patch, and a machine that may name one kind and is told only "right" or "wrong"
# (`ImageSegments` of the package river, 2310 patches). Which policy makes the fewest errors while it learns? And, from a log of choices made at random, what would another policy have earned?

# %%
import numpy as np
from matplotlib import pyplot as plt
from river import datasets
from rvi.bandit import Bandit, value

patches = list(datasets.ImageSegments())
kinds = sorted({kind for _, kind in patches})
order = np.random.default_rng(0).permutation(len(patches))
X = np.array([list(patches[k][0].values()) for k in order], float)
X = (X - X.mean(axis=0)) / X.std(axis=0)
truth = np.array([kinds.index(patches[k][1]) for k in order])
ROUNDS = 1200

# %% [markdown]
# ## While it learns
#
# The same patches in the same order for four policies; each kind is an arm, with a logistic model of "right".

# %%
errors, bandits = {}, {}
for policy in ("directed", "thompson", "ucb", "greedy"):
    bandits[policy] = bandit = Bandit(range(len(kinds)), policy=policy, random_state=0)
    wrong = np.zeros(ROUNDS)
    for t in range(ROUNDS):
        arm = bandit.pull(X[t : t + 1])[0]
        wrong[t] = arm != truth[t]
        bandit.update(X[t : t + 1], [arm], [1 - wrong[t]])
    errors[policy] = wrong

fig, ax = plt.subplots()
for policy, wrong in errors.items():
    ax.plot(np.cumsum(wrong), label=f"{policy}: {wrong.sum():.0f}")
ax.legend(title="errors")
_ = ax.set(xlabel="patches", ylabel="errors so far")

# %% [markdown]
# Guessing makes some 1030 errors. The greedy policy, which always takes the arm with the largest mean, makes 339, and still errs on one patch in four at the end: it stopped asking too early. Thompson
# sampling asks until the end (262). The default, information-directed sampling, asks where an answer tells which arm is best, and makes 170.

# %%
total = {policy: wrong.sum() for policy, wrong in errors.items()}
assert total["directed"] < 0.75 * total["thompson"] and total["directed"] < 0.6 * total["greedy"]
assert errors["greedy"][-200:].mean() > 2 * errors["directed"][-200:].mean()

# %% [markdown]
# ## From a log of random choices
#
# For the other 1110 patches there is a log: a kind named at random, each with probability 1/7, and whether it was right. What share would the first bandit have right, if it
# named its best guess? Here the truth is known, to check the answer; the estimates do not see it.

# %%
rest, labels = X[ROUNDS:], truth[ROUNDS:]
rng = np.random.default_rng(1)
named = rng.integers(0, 7, len(rest))
right = (named == labels).astype(float)
chance = np.full(len(rest), 1 / 7)

expected = bandits["directed"].expected(rest)
policy = np.eye(7)[expected.argmax(axis=1)]
would = (expected.argmax(axis=1) == labels).mean()
plain = value(named, right, chance, policy, within=(0, 1))
robust = value(named, right, chance, policy, predicted=expected, within=(0, 1), least=1 / 7)
for name, found in (("by weights", plain), ("doubly robust", robust)):
    low, high = found.interval
    print(f"{name}: {found.estimate:.3f}, 95 % interval {low:.3f} to {high:.3f}; the truth is {would:.3f}")

fig, ax = plt.subplots()
for name, found, colour in (("by weights", plain, "C0"), ("doubly robust", robust, "C1")):
    ax.fill_between(np.arange(len(rest)), *found.anytime.T, alpha=0.3, color=colour, label=name)
ax.axhline(would, color="k", linewidth=0.8)
ax.axhline(right.mean(), color="0.6", linewidth=0.8)
ax.legend(loc="lower right")
_ = ax.set(xlabel="rows of the log", ylabel="share that the policy has right", ylim=(0, 1.02))

# %% [markdown]
# The log has one answer in seven right, and yet it tells that another policy has more than nine in ten right, before that policy has made a single choice. With the rewards that the bandit expects, the interval
# is a fifth as wide as by weights alone, and remains right if they are wrong. The bands hold at all rows together: the policy may be switched on at the first row where its band leaves the
# log's own share (the grey line) below it.

# %%
assert np.diff(robust.interval) < 0.3 * np.diff(plain.interval)
assert robust.interval[0] < would < robust.interval[1] and would > 0.9
first = int(np.argmax(robust.anytime[:, 0] > right.mean()))
print("the band is above the log's share from row", first)
assert 0 < first < 150 and (robust.anytime[-1, 0] < would < robust.anytime[-1, 1])
