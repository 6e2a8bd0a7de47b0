# %% [markdown]
# # Posteriors of three places, merged
#
# Three hospitals want one model of how diabetes progresses, and no row of a patient may leave a hospital. Each learns its own rows and sends its posterior; the posteriors are merged, and the
# result is today's prior for the patients who come tomorrow. What is lost beside a model of all rows? For linear models: nothing.
#
# The data: 442 patients with ten measurements and the progress of the disease within a year (Efron et al. 2004, in scikit-learn), dealt out to three hospitals and to tomorrow.

# %%
import json

import numpy as np
from matplotlib import pyplot as plt
from rvi.sklearn import BayesianLinearRegression
from sklearn.datasets import load_diabetes

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data, data.target
where = np.random.default_rng(0).choice(4, len(y), p=[0.45, 0.3, 0.15, 0.1])
PLACES, TOMORROW = range(3), 3

# %% [markdown]
# ## What must be agreed on beforehand
#
# - Centres and scales of the inputs, by knowledge or by a rule, not from anybody's rows.
# - The prior scales. (By default they are learned, and each place would learn its own.)
# - `start="one_pass"`: otherwise a model of few rows keeps these rows, to fit them together again, and its file would hold them. The assertion below checks that no row is in the file.

# %%
centres = [48, 1.5, 26, 95, 189, 115, 50, 4, 4.6, 91]
scales = [13, 0.5, 4.4, 14, 35, 30, 13, 1.3, 0.5, 11.5]


def new():
    return BayesianLinearRegression(
        prior_scale=[0.1, 0.3, 1.0], standardise=(centres, scales), start="one_pass"
    )


files = [new().fit(X[where == place], y[where == place]).to_json() for place in PLACES]
for place in PLACES:
    print(f"hospital {place + 1}: {np.sum(where == place)} patients, a file of {len(files[place])} bytes")
assert all(json.loads(file)["model"]["Number"]["rows"] == [] for file in files)

# %% [markdown]
# ## Merged, and learned from all rows at once

# %%
own = [BayesianLinearRegression.from_json(file) for file in files]
merged = BayesianLinearRegression.from_json(files[0]).merge(*own[1:])
whole = new().fit(X[where < TOMORROW], y[where < TOMORROW])
difference = np.abs(merged.coef_ - whole.coef_) / whole.coef_std_
print(f"coefficients differ by {difference.max():.0e} of their standard deviations at most,")
print(f"log evidences by {abs(merged.evidence_ - whole.evidence_):.0e}")
assert difference.max() < 1e-6 and abs(merged.evidence_ - whole.evidence_) < 1e-6

# %% [markdown]
# ## The usual shortcut
#
# A meta-analysis of each coefficient by itself, weighted by one over its variance, is what one does with a table of estimates. It loses the correlations between inputs, and counts the prior three times.

# %%
weights = np.array([1 / model.coef_std_**2 for model in own])
shortcut = (weights * [model.coef_ for model in own]).sum(axis=0) / weights.sum(axis=0)
off = (shortcut - whole.coef_) / whole.coef_std_
too_small = weights.sum(axis=0) ** -0.5 / whole.coef_std_
print(f"off by up to {np.abs(off).max():.2f} standard deviations,")
print(f"which are told as {too_small.min():.2f} of their size")
assert np.abs(off).max() > 0.5 and too_small.min() < 0.7

fig, ax = plt.subplots(figsize=(6.4, 4.2))
places = np.arange(X.shape[1])
told = [(f"hospital {k + 1}", model.coef_, model.coef_std_, "0.7") for k, model in enumerate(own)]
told += [("merged", merged.coef_, merged.coef_std_, "C0")]
told += [("shortcut", shortcut, weights.sum(axis=0) ** -0.5, "C1")]
for k, (label, mean, deviation, colour) in enumerate(told):
    mean, error = mean * scales, 1.64 * deviation * scales
    ax.errorbar(mean, places + 0.14 * (k - 2), xerr=error, fmt="o", markersize=3, color=colour, label=label)
ax.axvline(0, color="0.7", linewidth=0.8)
ax.set_yticks(places, X.columns)
ax.invert_yaxis()
ax.legend(fontsize=8)
_ = ax.set_xlabel("effect of one deviation of the input, 90 % interval")

# %% [markdown]
# `s1` to `s4` are measurements of the same blood, and strongly correlated: there the shortcut is off, and too sure of itself.
#
# ## Yesterday's posterior is today's prior
#
# Tomorrow's patients are learned on top, and the model is the one that had seen everybody.

# %%
before = merged.log_density(X[where == TOMORROW], y[where == TOMORROW]).mean()
alone = [model.log_density(X[where == TOMORROW], y[where == TOMORROW]).mean() for model in own]
merged.partial_fit(X[where == TOMORROW], y[where == TOMORROW])
everybody = new().fit(X, y)
print("log density of tomorrow's patients, a patient: merged", before.round(3), "alone", np.round(alone, 3))
assert np.allclose(merged.coef_, everybody.coef_, rtol=1e-6) and before > max(alone)
assert merged.info_["observations"] == len(y)

# %% [markdown]
# Classes and counts merge too, approximately; `rvi merge` does it with files, and SQL with a query ([Checkpoints, crashes and shards](../checkpoints.md), [SQL](../sql.md)). `to_json` writes the file of the
# command `rvi`.
