"""The Python package beside the Rust front door and beside other packages: `cargo xtask bench python`.

bench.py BARE OUT: BARE is the program that learns the same rows without Python, OUT takes the numbers as JSON.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

RECORDS = []


def record(name, value, unit, against=""):
    RECORDS.append({"name": name, "value": value, "unit": unit, "against": against})
    print(f"{name:58} {value:12.5g} {unit:10} {against}", flush=True)


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def processor_seconds(work):
    """Of this thread: on a shared machine a clock tells what others do, too."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def in_turns(bare, n, d, repetitions, ours):
    """Processor seconds of Rust (batch, row by row) and of ours, the best of some turns."""
    X, y = rows(n, d)
    with tempfile.NamedTemporaryFile(suffix=".f64") as file:
        file.write(X.tobytes() + y.tobytes())
        file.flush()
        theirs, own = [], []
        for _ in range(repetitions):
            out = subprocess.run([bare, file.name, str(n), str(d)], capture_output=True, text=True, check=True).stdout
            theirs.append(json.loads(out))
            own.append(ours(X, y))
    return min(t["batch"] for t in theirs), min(t["rows"] for t in theirs), min(own), theirs[0]["evidence"]


def overhead(bare):
    from rvi.river import BayesianLinearRegression as Stream
    from rvi.sklearn import BayesianLinearRegression

    evidence = []

    def batch(X, y):
        model = BayesianLinearRegression()
        found = processor_seconds(lambda: model.partial_fit(X, y))
        evidence.append(model.evidence_)
        return found

    whole, _, own, expected = in_turns(bare, 100_000, 50, 7, batch)
    assert abs(evidence[0] / expected - 1) < 1e-12, (evidence[0], expected)
    record("overhead/partial_fit n=1e5 d=50, Rust", whole, "s")
    record("overhead/partial_fit n=1e5 d=50, Python", own, "s", f"{own / whole:.3f} of Rust")

    names = [f"x{j}" for j in range(10)]

    def direct(X, y):
        from rvi._rvi import Online

        settings = json.dumps(json.loads(BayesianLinearRegression().fit(X[:100], y[:100])._model.settings()))
        model = Online('{"Number":{"shape":0.01,"rate":0.0001}}', 10, settings)
        listed, labels = X.tolist(), y.tolist()
        return processor_seconds(lambda: [model.update_row(row, label) for row, label in zip(listed, labels, strict=True)])

    def stream(X, y):
        model = Stream(reserve=0)
        dicts, labels = [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()
        return processor_seconds(lambda: [model.learn_one(row, label) for row, label in zip(dicts, labels, strict=True)])

    n = 20_000
    for name, ours in (("update_row", direct), ("river's learn_one", stream)):
        _, loops, own, _ = in_turns(bare, n, 10, 7, ours)
        record(f"overhead/{name} d=10", (own - loops) / n * 1e6, "us a row", f"Rust {loops / n * 1e6:.2f} us")


def two_threads():
    from rvi.sklearn import BayesianLinearRegression

    X, y = rows(30_000, 50)

    def fit():
        BayesianLinearRegression().fit(X, y)

    def both():
        threads = [threading.Thread(target=fit) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    ratios = [2 * seconds(fit) / seconds(both) for _ in range(9)]
    record("threads/two fits on two threads", float(np.median(ratios)), "x", f"best {max(ratios):.2f}")


def log_loss_of_numbers(y, mean, std):
    return float(np.mean(0.5 * ((y - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2 * np.pi)))


def classifiers():
    from rvi.sklearn import ARDClassifier, BayesianLogisticRegression, RandomFeatureClassifier
    from sklearn import datasets
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def scaled(model):
        return lambda: make_pipeline(StandardScaler(), model())

    methods = {
        "ours: BayesianLogisticRegression": BayesianLogisticRegression,
        "ours: ARDClassifier": ARDClassifier,
        "ours: RandomFeatureClassifier": RandomFeatureClassifier,
        "scikit-learn LogisticRegression": scaled(LogisticRegression),
        "scikit-learn SGDClassifier": scaled(lambda: SGDClassifier(loss="log_loss", random_state=0)),
    }
    for name in ("breast_cancer", "iris", "wine"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        for method, make in methods.items():
            if "ARD" in method and len(np.unique(y)) > 2:
                continue
            losses, spent = [], 0.0
            for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
                model = make()
                spent += seconds(lambda m=model, t=train: m.fit(X[t], y[t]))
                losses.append(log_loss(y[test], model.predict_proba(X[test])))
            record(f"classes/{name}/{method}", float(np.mean(losses)), "nats", f"{spent / 5 * 1e3:.1f} ms a fit")


def regressors():
    from rvi.sklearn import ARDRegression as OurARD
    from rvi.sklearn import BayesianLinearRegression, RandomFeatureRegressor
    from sklearn import datasets
    from sklearn.linear_model import ARDRegression, BayesianRidge
    from sklearn.model_selection import KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    methods = {
        "ours: BayesianLinearRegression": BayesianLinearRegression,
        "ours: ARDRegression": OurARD,
        "ours: RandomFeatureRegressor": RandomFeatureRegressor,
        "scikit-learn BayesianRidge": lambda: make_pipeline(StandardScaler(), BayesianRidge()),
        "scikit-learn ARDRegression": lambda: make_pipeline(StandardScaler(), ARDRegression()),
    }
    X, y = datasets.load_diabetes(return_X_y=True)
    for method, make in methods.items():
        losses, held, spent = [], [], 0.0
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            model = make()
            spent += seconds(lambda m=model, t=train: m.fit(X[t], y[t]))
            mean, std = model.predict(X[test], return_std=True)
            losses.append(log_loss_of_numbers(y[test], mean, std))
            held.append(np.mean(np.abs(y[test] - mean) < 1.6449 * std))
        note = f"{spent / 5 * 1e3:.1f} ms a fit, 90 % holds {100 * np.mean(held):.1f} %"
        record(f"numbers/diabetes/{method}", float(np.mean(losses)), "nats", note)


def streams():
    from river import datasets, linear_model, preprocessing
    from rvi.river import BayesianLinearRegression, BayesianLogisticRegression

    for method, model in {
        "ours: BayesianLogisticRegression": BayesianLogisticRegression(),
        "river LogisticRegression, scaled": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    }.items():
        losses, spent = [], 0.0
        for x, y in datasets.Phishing():
            p = model.predict_proba_one(x).get(y, 0.0)
            losses.append(-np.log(max(p, 1e-15)))
            spent += seconds(lambda m=model, x=x, y=y: m.learn_one(x, y))
        record(f"streams/phishing/{method}", float(np.mean(losses)), "nats", f"{spent / len(losses) * 1e6:.1f} us a row")
    for method, model in {
        "ours: BayesianLinearRegression": BayesianLinearRegression(),
        "ours, memory learned": BayesianLinearRegression(memory="learned"),
        "river BayesianLinearRegression": linear_model.BayesianLinearRegression(),
        "river BayesianLinearRegression, scaled": preprocessing.StandardScaler() | linear_model.BayesianLinearRegression(),
    }.items():
        losses, held, spent = [], [], 0.0
        for t, (x, y) in enumerate(datasets.TrumpApproval()):
            if t >= 50:
                found = model.predict_one(x, with_dist=True)
                losses.append(log_loss_of_numbers(y, found.mu, found.sigma))
                held.append(abs(y - found.mu) < 1.6449 * found.sigma)
            spent += seconds(lambda m=model, x=x, y=y: m.learn_one(x, y))
        note = f"{spent / 1001 * 1e6:.1f} us a row, 90 % holds {100 * np.mean(held):.1f} %"
        record(f"streams/approval/{method}", float(np.mean(losses)), "nats", note)


def bandits():
    from bayesianbandits import Arm, BayesianGLM, ContextualAgent, ThompsonSampling
    from rvi.bandit import Bandit

    def play(pull, update):
        regrets, spent = [], 0.0
        for seed in range(5):
            rng = np.random.default_rng(seed)
            weights, own = rng.normal(size=(4, 5)), 0.0
            choose, learn = pull(seed), update
            for _ in range(1000):
                x = rng.normal(size=(1, 5))
                chance = 1 / (1 + np.exp(-x[0] @ weights.T))
                begun = time.perf_counter()
                arm = choose[1](choose[0], x)
                reward = float(rng.random() < chance[arm])
                learn(choose[0], x, arm, reward)
                spent += time.perf_counter() - begun
                own += chance.max() - chance[arm]
            regrets.append(own)
        return np.mean(regrets), np.std(regrets) / np.sqrt(5), spent / 5000

    def ours(seed):
        return Bandit(range(4), random_state=seed), lambda bandit, x: bandit.pull(x)[0]

    def theirs(seed):
        arms = [Arm(k, learner=BayesianGLM(alpha=1.0, link="logit")) for k in range(4)]
        agent = ContextualAgent(arms, ThompsonSampling(), random_seed=seed)
        return agent, lambda agent, x: agent.pull(x)[0]

    def teach(agent, x, arm, reward):
        agent.select_for_update(arm).update(x, np.array([reward]))

    for name, pull, update in (
        ("ours: Bandit, Thompson", ours, lambda bandit, x, arm, reward: bandit.update(x, [arm], [reward])),
        ("bayesianbandits, Thompson, alpha=1 (the truth)", theirs, teach),
    ):
        regret, error, each = play(pull, update)
        record(f"bandit/{name}", float(regret), "regret", f"± {error:.1f}, {each * 1e6:.0f} us a round")


def main():
    warnings.simplefilter("ignore")
    bare, out = sys.argv[1:]
    overhead(bare)
    for part in (two_threads, classifiers, regressors, streams, bandits):
        try:
            part()
        except ImportError as error:
            print(f"{part.__name__} skipped: {error}", flush=True)
    Path(out).write_text(json.dumps(RECORDS, indent=1), encoding="utf-8")
    print(f"written: {out}")


if __name__ == "__main__":
    main()
