"""The Python package beside the Rust front door and beside other packages: `cargo xtask bench python`.

bench.py BARE OUT: BARE is the program that learns the same rows without Python, OUT takes the numbers as JSON.
"""

import json
import multiprocessing
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
        model = Online("Number", 10, settings)
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


def running_or_ready():
    """Seconds that this thread has run or would have run if a core had been free, as Linux counts them."""
    try:
        run, waited = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[:2]
    except OSError:
        return float("nan")
    return (int(run) + int(waited)) * 1e-9


def fit_of_threads():
    """A fit of some tenths of a second, for threads and processes."""
    from rvi.sklearn import BayesianLinearRegression

    X, y = rows(60_000, 50)
    BayesianLinearRegression().fit(X[:100], y[:100])
    return lambda: BayesianLinearRegression().fit(X, y)


def fits_when_told(told):
    """A process that fits once for each word it is sent."""
    fit = fit_of_threads()
    told.send("ready")
    while told.recv() == "fit":
        fit()
        told.send("done")


def two_threads():
    """Two fits on two threads against one, and on two processes at the same moment: more than these reach the machine does not give."""
    fit, wanted = fit_of_threads(), []

    def fit_that_tells():
        before = running_or_ready()
        fit()
        wanted.append(running_or_ready() - before)

    def threads():
        own = [threading.Thread(target=fit_that_tells) for _ in range(2)]
        for thread in own:
            thread.start()
        for thread in own:
            thread.join()

    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    workers = [context.Process(target=fits_when_told, args=(theirs,), daemon=True) for _, theirs in pipes]
    for worker in workers:
        worker.start()
    for own, _ in pipes:
        own.recv()

    def processes():
        for own, _ in pipes:
            own.send("fit")
        for own, _ in pipes:
            own.recv()

    # On a shared machine the other core is not always free: turns go on until it was, or for so long.
    one, two, apart, cores, begun = [], [], [], [], time.perf_counter()
    while time.perf_counter() - begun < 120 and (len(one) < 9 or 2 * min(one) / min(two) < 1.9):
        one.append(seconds(fit))
        wanted.clear()
        two.append(seconds(threads))
        cores.append(sum(wanted) / two[-1])
        apart.append(seconds(processes))
    for own, _ in pipes:
        own.send("end")
    note = f"the best of {len(one)} turns each, one fit {min(one):.3f} s; median {np.median(2 * np.array(one) / two):.2f}"
    record("threads/two fits on two threads", 2 * min(one) / min(two), "x", note)
    note = f"median {np.median(2 * np.array(one) / apart):.2f}"
    record("threads/two fits on two processes", 2 * min(one) / min(apart), "x", note)
    note = "processor time and waiting for a core, of both threads over the clock's; waiting for each other is in neither"
    record("threads/cores that two threads ask for", float(np.median(cores)), "cores", note)


class VowpalWabbit:
    """One pass of Vowpal Wabbit with its defaults over rows of numbers, as an estimator; writing its text is not counted."""

    def __init__(self, names, options):
        from vowpalwabbit import Workspace

        self.names, self.learner = names, Workspace(f"--quiet {options}")

    def texts(self, X, y=None):
        rows = [" ".join(f"{name}:{value!r}" for name, value in zip(self.names, row, strict=True)) for row in X.tolist()]
        return [f"| {row}" for row in rows] if y is None else [f"{label} | {row}" for label, row in zip(y, rows, strict=True)]

    def predict_all(self, X):
        return np.array([self.learner.predict(text) for text in self.texts(X)])


class VowpalClasses(VowpalWabbit):
    """Logistic regression of two classes; of more one against all."""

    def __init__(self, names, classes):
        own = "--loss_function logistic"
        super().__init__(names, f"{own} --link logistic" if classes == 2 else f"{own} --oaa {classes} --probabilities")
        self.classes = classes

    def fit(self, X, y):
        labels = 2 * y - 1 if self.classes == 2 else y + 1
        texts = self.texts(X, labels.tolist())
        self.spent = seconds(lambda: [self.learner.learn(text) for text in texts])

    def predict_proba(self, X):
        found = self.predict_all(X)
        return np.column_stack([1 - found, found]) if self.classes == 2 else found / found.sum(axis=1, keepdims=True)


def vowpal_stream(rows, options, label):
    """Predictions of every row before it is learned, and seconds of learning a row."""
    rows = [(x, y) for x, y in rows]
    names = list(rows[0][0])
    model, found, spent = VowpalWabbit(names, options), [], 0.0
    for x, y in rows:
        row = np.array([[x[name] for name in names]], dtype=float)
        (plain,), (labelled,) = model.texts(row), model.texts(row, [label(y)])
        found.append(model.learner.predict(plain))
        spent += seconds(lambda text=labelled: model.learner.learn(text))
    return np.array(found), spent / len(rows)


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
        "Vowpal Wabbit": VowpalClasses,
    }
    for name in ("breast_cancer", "iris", "wine", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        classes, names = len(np.unique(y)), [f"x{j}" for j in range(X.shape[1])]
        for method, make in methods.items():
            # Two classes only; a softmax over 200 features of ten classes is not what these are for.
            if ("ARD" in method and classes > 2) or ("RandomFeature" in method and name == "digits"):
                continue
            losses, spent = [], 0.0
            for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
                # The sets are sorted by class, which one pass would suffer from.
                train = np.random.default_rng(0).permutation(train)
                try:
                    model = make(names, classes) if make is VowpalClasses else make()
                except ImportError:
                    break
                whole = processor_seconds(lambda m=model, t=train: m.fit(X[t], y[t]))
                spent += getattr(model, "spent", whole)
                losses.append(log_loss(y[test], model.predict_proba(X[test])))
            if losses:
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

    def of_truth(y, p):
        return float(np.mean([-np.log(max(q if label else 1 - q, 1e-15)) for label, q in zip(y, p, strict=True)]))

    truth = [bool(y) for _, y in datasets.Phishing()]
    for method, model in {
        "ours: BayesianLogisticRegression": BayesianLogisticRegression(),
        "river LogisticRegression, scaled": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    }.items():
        found, spent = [], 0.0
        for x, y in datasets.Phishing():
            found.append(model.predict_proba_one(x).get(True, 0.0))
            spent += seconds(lambda m=model, x=x, y=y: m.learn_one(x, y))
        record(f"streams/phishing/{method}", of_truth(truth, found), "nats", f"{spent / len(found) * 1e6:.1f} us a row")
    for method, model in {
        "ours: BayesianLinearRegression": BayesianLinearRegression(),
        "ours, memory learned": BayesianLinearRegression(memory="learned"),
        "river BayesianLinearRegression": linear_model.BayesianLinearRegression(),
        "river BayesianLinearRegression, scaled": preprocessing.StandardScaler() | linear_model.BayesianLinearRegression(),
    }.items():
        losses, misses, held, spent = [], [], [], 0.0
        for t, (x, y) in enumerate(datasets.TrumpApproval()):
            if t >= 50:
                found = model.predict_one(x, with_dist=True)
                losses.append(log_loss_of_numbers(y, found.mu, found.sigma))
                misses.append(abs(y - found.mu))
                held.append(abs(y - found.mu) < 1.6449 * found.sigma)
            spent += seconds(lambda m=model, x=x, y=y: m.learn_one(x, y))
        note = f"misses by {np.mean(misses):.3f}, {spent / 1001 * 1e6:.1f} us a row, 90 % holds {100 * np.mean(held):.1f} %"
        record(f"streams/approval/{method}", float(np.mean(losses)), "nats", note)
    options = "--loss_function logistic --link logistic"
    found, each = vowpal_stream(datasets.Phishing(), options, lambda y: 1 if y else -1)
    record("streams/phishing/Vowpal Wabbit", of_truth(truth, found), "nats", f"{each * 1e6:.1f} us a row")
    found, each = vowpal_stream(datasets.TrumpApproval(), "", float)
    misses = np.abs(found - [y for _, y in datasets.TrumpApproval()])[50:]
    # It tells no distribution of a number.
    record("streams/approval/Vowpal Wabbit, miss", float(misses.mean()), "points", f"{each * 1e6:.1f} us a row")


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
        ("ours: Bandit", ours, lambda bandit, x, arm, reward: bandit.update(x, [arm], [reward])),
        ("bayesianbandits, Thompson, alpha=1 (the truth)", theirs, teach),
    ):
        regret, error, each = play(pull, update)
        record(f"bandit/{name}", float(regret), "regret", f"± {error:.1f}, {each * 1e6:.0f} us a round")


def main():
    warnings.simplefilter("ignore")
    bare, out = sys.argv[1:]
    overhead(bare)
    for part in (classifiers, regressors, streams, bandits, two_threads):
        try:
            part()
        except ImportError as error:
            print(f"{part.__name__} skipped: {error}", flush=True)
    Path(out).write_text(json.dumps(RECORDS, indent=1), encoding="utf-8")
    print(f"written: {out}")


if __name__ == "__main__":
    main()
