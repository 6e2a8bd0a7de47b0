"""Seconds per iteration of scikit-learn's evidence approximations, set-up included.

    python vb_sklearn.py bayesian_ridge --n 10000 --d 100 --iterations 20
    python vb_sklearn.py ard --n 1000 --d 1000 --iterations 20
"""
import argparse, json, math, time, warnings
import numpy as np
from sklearn.linear_model import ARDRegression, BayesianRidge

q = argparse.ArgumentParser()
q.add_argument("what", choices=["bayesian_ridge", "ard"])
for name, default in dict(d=100, n=10000, iterations=20, seed=0).items():
    q.add_argument("--" + name, type=int, default=default)
o = q.parse_args()
warnings.simplefilter("ignore")

rng = np.random.default_rng(o.seed)
x = rng.standard_normal((o.n, o.d)) / math.sqrt(o.d)
t = 3 * x @ rng.standard_normal(o.d)
y = t + (rng.random(o.n) < 0.5 * (1 + np.tanh(0.5 * t))) - 0.5
# A tolerance that is never met, and no column thrown away: every iteration does the same work on both sides.
settings = dict(max_iter=o.iterations, tol=1e-300, fit_intercept=False, copy_X=False)
model = BayesianRidge(**settings) if o.what == "bayesian_ridge" else ARDRegression(**settings, threshold_lambda=1e300)
times = []
# Up to three fits; one is enough where it takes its time.
while len(times) < 3 and sum(times) * o.iterations < 3:
    start = time.perf_counter()
    model.fit(x, y)
    times.append((time.perf_counter() - start) / model.n_iter_)
print(json.dumps({"what": o.what, "seconds": float(np.median(times)), "iterations": int(model.n_iter_), "options": vars(o)}))
