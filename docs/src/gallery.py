# %% [markdown]
# # Gallery
#
# Twelve pictures, each with the code that draws it: copy one, put your table in its place. The tests of the Python package run all of them; they need the
# extras `plot`, `river` and `tables`.

# %%
import numpy as np
import pandas as pd
import rvi
from matplotlib import pyplot as plt
from river import datasets
from rvi import boost, plot
from sklearn.datasets import load_diabetes, make_moons

# 800 sales of houses, simulated; the price is in thousands.
houses = pd.read_csv("../../web/data/houses.csv", parse_dates=["sold"])
# 578 weights of 50 chicks on four diets (Crowder and Hand 1990).
weighings = datasets.ChickWeights()
chicks = pd.DataFrame([{**row, "weight": weight} for row, weight in weighings])

# %% [markdown]
# ## Coefficients with their intervals
#
# 442 patients with diabetes: which measurements go with the progress of a year? Each is drawn for one of its deviations. An interval that holds 0 leaves the sign open.

# %%
from rvi.sklearn import BayesianLinearRegression

patients = load_diabetes(as_frame=True)
model = BayesianLinearRegression().fit(patients.data, patients.target)
ax = plot.plot_coefficients(model)

# %% [markdown]
# ## Are probabilities frequencies?
#
# 1250 web pages, phishing or not, by cross-validation. Points on the diagonal: of the pages with a probability of 0.3, three in ten are phishing.

# %%
from rvi.sklearn import BayesianLogisticRegression
from sklearn.model_selection import cross_val_predict

pages = list(datasets.Phishing())
X = np.array([list(row.values()) for row, _ in pages], float)
y = np.array([label for _, label in pages])
said = cross_val_predict(BayesianLogisticRegression(), X, y, method="predict_proba")
ax = plot.plot_reliability(y, said[:, 1])

# %% [markdown]
# ## The loss along a stream
#
# The same pages as a stream, each predicted before it is learned. The curve that ends lowest is the model to take.

# %%
fig, ax = plt.subplots()
for label, inputs in {"nine inputs": X, "the age of the domain alone": X[:, 7:8]}.items():
    scores = plot.prequential(BayesianLogisticRegression(), inputs, y)
    plot.plot_prequential(scores[100:], ax=ax, label=label)

# %% [markdown]
# ## A curve for each number
#
# `rvi.fit` finds curves where lines do not do. Bands hold the curve with 50 and with 90 %.

# %%
model = rvi.fit(houses, "price")
curves = model.effects()
fig, axes = plt.subplots(1, 3, sharey=True)
for ax, curve in zip(axes, curves, strict=False):
    ax.plot(curve["at"], curve["mean"])
    for lower, upper in curve["bands"]:
        ax.fill_between(curve["at"], lower, upper, alpha=0.2, color="C0")
    ax.set_xlabel(curve["name"])
_ = axes[0].set_ylabel("effect on the log of the price")

# %% [markdown]
# ## Why this price?
#
# What each column makes of the price of the first house, beside the average house. The model is of the logarithm of the price, so that parts multiply.

# %%
told = model.explain(houses[:1])
order = np.argsort(np.abs(told["mean"][0]))[-6:]
fig, ax = plt.subplots()
mean, error = told["mean"][0, order], 1.64 * told["sd"][0, order]
ax.barh(
    [told["parts"][part] for part in order],
    100 * np.expm1(mean),
    xerr=100 * np.exp(mean) * error,
)
_ = ax.set_xlabel("% of the price, with 90 % intervals")

# %% [markdown]
# ## A spread that grows
#
# Young chicks weigh the same, old ones do not: the family `varying` learns how the spread follows age and diet. Chicks of diet 1, and quantiles at 5, 25, 50, 75 and 95 %.

# %%
model = rvi.fit(
    chicks.sample(frac=1, random_state=0),
    formula="weight ~ s(time) + diet",
    family="varying",
    text=["diet"],
)
grid = pd.DataFrame({"time": np.linspace(0, 21, 64), "diet": 1})
quantiles = model.predict_quantiles(grid)
fig, ax = plt.subplots()
for low, high in ((0, 4), (1, 3)):
    ax.fill_between(
        grid["time"], quantiles[:, low], quantiles[:, high], alpha=0.25, color="C0"
    )
ax.plot(grid["time"], quantiles[:, 2])
first = chicks[chicks["diet"] == 1]
ax.plot(first["time"], first["weight"], "k.", markersize=3)
_ = ax.set(xlabel="day", ylabel="weight, g")

# %% [markdown]
# ## Groups, pulled towards each other
#
# Reaction times of 18 subjects through nine nights of little sleep (Belenky et al. 2003): the effect of each on the slope, milliseconds a day, with 90 % intervals.

# %%
from rvi.grouped import GroupedRegressor

file = "../../crates/vi-terms/src/table/correlate/sleepstudy.csv"
nights = pd.read_csv(file, names=["reaction", "days", "subject"])
model = (
    GroupedRegressor(slopes=["days"])
    .fit(nights[["days"]], nights["reaction"], groups=nights["subject"])
    .refine()
)
subjects, mean, deviation = model.effects()
order = np.argsort(mean[:, 1])
fig, ax = plt.subplots(figsize=(6.4, 4))
ax.errorbar(mean[order, 1], range(len(order)), xerr=1.64 * deviation[order, 1], fmt="o")
ax.axvline(0, color="0.7")
ax.set_yticks(range(len(order)), np.array(subjects)[order])
_ = ax.set(xlabel="slope, apart from the common one", ylabel="subject")

# %% [markdown]
# ## Where classes part
#
# Two half moons, simulated: the probability of the second class by random features, and the rows.

# %%
from rvi.sklearn import RandomFeatureClassifier

X, y = make_moons(400, noise=0.25, random_state=0)
model = RandomFeatureClassifier().fit(X, y)
across, up = np.meshgrid(np.linspace(-2, 3, 80), np.linspace(-1.5, 2, 60))
points = np.column_stack([across.ravel(), up.ravel()])
probability = model.predict_proba(points)[:, 1].reshape(across.shape)
fig, ax = plt.subplots()
levels = ax.contourf(across, up, probability, levels=np.linspace(0, 1, 11), cmap="RdBu_r")
ax.scatter(*X.T, c=y, cmap="RdBu_r", edgecolors="k", linewidths=0.5, s=18)
_ = fig.colorbar(levels, label="probability")

# %% [markdown]
# ## A test that may be looked at
#
# An A/B test, simulated: 10 % more revenue a visitor. The interval holds the truth at all looks together, so that you may stop at the first that leaves 0 out.

# %%
from rvi.experiment import Experiment

rng = np.random.default_rng(1)
experiment, looks = Experiment(1), []
for _ in range(60):
    treated = rng.integers(0, 2, 50).astype(float)
    revenue = 1 + 0.1 * treated + 0.5 * rng.normal(size=50)
    effect = experiment.update(treated[:, None], revenue).effect(size=0.2)
    looks.append((experiment.rows, effect.estimate, *effect.interval))
rows, estimate, low, high = np.array(looks).T
fig, ax = plt.subplots()
ax.plot(rows, estimate)
ax.fill_between(rows, low, high, alpha=0.25)
ax.axhline(0, color="0.7")
_ = ax.set(xlabel="visitors", ylabel="difference", ylim=(-0.2, 0.4))

# %% [markdown]
# ## Regret of a bandit
#
# Four offers, visitors of five features, simulated: clicks lost beside always choosing the best offer.

# %%
from rvi.bandit import Bandit

rng = np.random.default_rng(0)
worth, visitors, chance = (
    rng.normal(size=(4, 5)),
    rng.normal(size=(800, 5)),
    rng.random(800),
)
rates = 1 / (1 + np.exp(-visitors @ worth.T))
fig, ax = plt.subplots()
for policy in ("directed", "thompson", "greedy"):
    bandit, lost = Bandit(range(4), policy=policy, random_state=0), []
    for visitor, rate, luck in zip(visitors, rates, chance, strict=True):
        arm = bandit.pull(visitor[None])[0]
        bandit.update(visitor[None], [arm], [float(luck < rate[arm])])
        lost.append(rate.max() - rate[arm])
    ax.plot(np.cumsum(lost), label=policy)
ax.legend()
_ = ax.set(xlabel="visitors", ylabel="clicks lost")

# %% [markdown]
# ## Any log-density
#
# A banana: the density with its gradient, and draws from the mixture of Gaussians that `rvi.boost` puts in its place.


# %%
def log_density(x):
    return -0.5 * (x[..., 0] / 2) ** 2 - 2 * (x[..., 1] - 0.4 * x[..., 0] ** 2 + 2) ** 2


def gradient(x):
    bend = x[..., 1] - 0.4 * x[..., 0] ** 2 + 2
    return np.stack([3.2 * x[..., 0] * bend - x[..., 0] / 4, -4 * bend], axis=-1)


draws = boost.fit(log_density, gradient, dim=2).sample(1000)
across, up = np.meshgrid(np.linspace(-6, 6, 120), np.linspace(-4, 12, 120))
fig, ax = plt.subplots()
density = np.exp(log_density(np.stack([across, up], axis=-1)))
ax.contour(across, up, density, levels=[0.02, 0.1, 0.3, 0.6, 0.9], cmap="Greys")
_ = ax.plot(*draws.T, ".", markersize=2)

# %% [markdown]
# ## A rate along time
#
# Counts of 60 days, simulated, and the rate beneath them: a Gaussian process whose length and amplitude are averaged over.

# %%
from rvi.nested import squared_exponential

days = np.arange(60.0)
truth = np.exp(1 + np.sin(days / 6))
counts = np.random.default_rng(3).poisson(truth)
posterior = rvi.latent(
    counts,
    "poisson",
    {"amplitude": "positive", "length": "positive"},
    lambda h: -h["amplitude"] - 0.5 * (np.log(h["length"]) - 2) ** 2,
    covariance=squared_exponential(days, jitter=1e-6),
    draws=1000,
)
fig, ax = plt.subplots()
ax.fill_between(
    days, *np.exp(posterior.mean + np.outer([-1.64, 1.64], posterior.sd)), alpha=0.25
)
ax.plot(days, np.exp(posterior.mean))
ax.plot(days, truth, "--", color="0.5")
ax.plot(days, counts, "k.", markersize=4)
_ = ax.set(xlabel="day", ylabel="count")
