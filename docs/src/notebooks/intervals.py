# %% [markdown]
# # Intervals beside conformal ones
#
# Split conformal prediction puts an interval around any model: it takes the errors on rows that were held back, and gives every new row the 90 % quantile of them. Such intervals hold
# 90 % of new rows on two conditions: you count over all rows together, and new rows are like the old. What do they hold for the rows that matter to you, and
# after the world has changed?

# %%
import numpy as np
import pandas as pd
import rvi
from matplotlib import pyplot as plt
from river import datasets
from sklearn.ensemble import GradientBoostingRegressor

# %% [markdown]
# ## Over all rows, or over yours
#
# 578 weights of 50 chicks on four diets, from the day of hatching to day 21 (Crowder and Hand 1990, in the package river). Ten chicks at a time are predicted from the other
# forty: boosted trees learn thirty of them and ten give the conformal quantile; `rvi.fit` learns the forty, with nothing set.

# %%
chicks = pd.DataFrame([{**row, "weight": weight} for row, weight in datasets.ChickWeights()])
fold = (np.random.default_rng(0).permutation(50) % 5)[chicks["chick"] - 1]
inputs = ["time", "diet"]
tests = []
for k in range(5):
    test, held_back = chicks[fold == k].copy(), chicks[fold == (k + 1) % 5]
    rest = chicks[(fold != k) & (fold != (k + 1) % 5)]
    trees = GradientBoostingRegressor(n_estimators=50, max_depth=2, random_state=0)
    trees.fit(rest[inputs], rest["weight"])
    errors = np.abs(held_back["weight"] - trees.predict(held_back[inputs]))
    half = np.sort(errors)[int(np.ceil(0.9 * (len(errors) + 1))) - 1]
    test["conformal"] = np.abs(test["weight"] - trees.predict(test[inputs])) <= half
    test["width, conformal"] = 2 * half

    model = rvi.fit(
        chicks[fold != k].sample(frac=1, random_state=0), "weight", text=["diet"], ignore=["chick"]
    )
    low, high = model.predict_interval(test, 0.9).T
    test["rvi"] = (low <= test["weight"]) & (test["weight"] <= high)
    test["width, rvi"] = high - low
    tests.append(test)
tests = pd.concat(tests)
columns = ["conformal", "rvi", "width, conformal", "width, rvi"]
age = pd.cut(tests["time"], [-1, 7, 14, 21], labels=["days 0 to 7", "8 to 14", "15 to 21"])
by_age = tests.groupby(age.rename("age"), observed=True)[columns].mean()
by_age.loc["all"] = tests[columns].mean()
by_age.round(2)

# %% [markdown]
# Both hold close to 90 % of all weights. But every conformal interval is as wide as any other: 124 grams, for chicks that weigh 40 and for chicks that weigh 200. It holds all chicks in their first
# week and three in four in their third. `rvi.fit` has found by itself that the spread grows with age (the family `log-varying`, of the logarithm of a weight): its intervals are 12 grams wide in the first week, and hold
# 82 to 92 % at every age. The 82 % of the second week are too few, and nothing but such a table would have told.

# %%
assert by_age.loc["days 0 to 7", "conformal"] == 1 and by_age.loc["15 to 21", "conformal"] < 0.8
assert by_age["rvi"].min() > 0.8 and by_age.loc["days 0 to 7", "width, rvi"] < 13
assert model.info()["family"]["family"] == "log-varying"

fig, ax = plt.subplots()
days = pd.DataFrame({"time": np.arange(22), "diet": 1})
ax.fill_between(days["time"], *model.predict_interval(days, 0.9).T, alpha=0.3, label="rvi")
centre = trees.predict(days[inputs])
ax.plot(days["time"], centre - half, "C1--", label="conformal")
ax.plot(days["time"], centre + half, "C1--")
first = chicks[chicks["diet"] == 1]
ax.plot(first["time"], first["weight"], "k.", markersize=3)
ax.legend(loc="upper left")
_ = ax.set(xlabel="day", ylabel="weight of chicks of diet 1, g")

# %% [markdown]
# ## When new rows are not like the old
#
# Returns of the S&P 500 on 1256 days from 2013 to 2018, in percent, from those of ten stocks on the day before (river again). Nobody predicts them; the question is how far
# they will go. The first 251 days calibrate the conformal interval. The model predicts each later day, then learns it, and `certified=True` re-maps its intervals by
# the record of its own predictions. That is a promise for all rows together and any data; for windows of a year it is a hope.

# %%
days = list(datasets.SP500Stocks())
returns = pd.DataFrame([row for row, _ in days]).shift(1)
returns["index"] = [value for _, value in days]
returns = returns[1:].reset_index(drop=True)
START, y = 251, returns["index"].to_numpy()

model = rvi.fit(returns[:START], "index", shape="line", family="gaussian", forget="learned")
ends = []
for day in range(START, len(y)):
    row = returns[day : day + 1]
    ends.append(model.predict_interval(row, 0.9, certified=True)[0])
    model.update(row)
low, high = np.transpose(ends)
centre = y[:START].mean()
half = np.quantile(np.abs(y[:START] - centre), 0.9)

# Each of the four years of 251 days, counted from the first that is predicted.
year = np.minimum(np.arange(len(y) - START) // 251, 3) + 2
held = pd.DataFrame(
    {
        "conformal": np.abs(y[START:] - centre) <= half,
        "certified": (low <= y[START:]) & (y[START:] <= high),
        "width, certified": high - low,
    }
)
by_year = held.groupby(year).mean().rename_axis("year")
by_year.loc["all"] = held.mean()
by_year.round(3)

# %% [markdown]
# The third year was a rough one, with movements half as large again as in the first. The interval of the first year held 77 % of its days, at a promise of 90 %, and 96 % of the calm fifth
# year. The certified intervals widened and shrank with the market: 90 % in each of these two years, 91 % of all days. They lag behind it: 86 % of the second year, 98 % of the year after the rough one.

# %%
assert by_year.loc[3, "conformal"] < 0.78 and abs(by_year.loc["all", "certified"] - 0.9) < 0.02
assert by_year["certified"].between(0.85, 0.98).all() and abs(by_year.loc[3, "certified"] - 0.9) < 0.02

fig, ax = plt.subplots()
ax.fill_between(np.arange(START, len(y)), low, high, alpha=0.3, label="certified")
ax.axhline(centre - half, color="C1", linestyle="--", label="conformal")
ax.axhline(centre + half, color="C1", linestyle="--")
ax.plot(np.arange(START, len(y)), y[START:], "k.", markersize=2)
ax.legend(loc="upper left")
_ = ax.set(xlabel="trading day", ylabel="return, %")

# %% [markdown]
# Conformal methods for such streams exist too ([adaptive conformal inference](https://arxiv.org/abs/2106.00170)); certified intervals are one of them, around a model that learns as it goes. More:
# [The uncertainty](../uncertainty.md#intervals-that-hold-whatever-the-data-do).
