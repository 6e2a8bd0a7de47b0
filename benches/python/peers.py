"""Other people's methods on the files of `cargo xtask bench peers`.

Usage: peers.py METHOD KIND TRAIN TEST OUT [STEP]...

METHOD is a function below with `_` in place of what follows the first word; KIND is `two`, `many`, `number` or `count`. Every file has a
header and the label in its last column; next to each `x.csv` lies `x.vw`, the same in Vowpal Wabbit's format. For each STEP, `default` or
a number, the method learns TRAIN and predicts TEST into OUT-0, OUT-1, ...; with TEST the word `stream`, it predicts every row of TRAIN
before it learns it. A line of a prediction holds the classes' probabilities, or mean, ends of the 90 % interval and log density (nan
where there is none). The last line printed is JSON: seconds from file to model for each step (null where it broke down), those that processors
worked, what broke, peak memory, version. Imports are not counted in the seconds; they are in the memory.
"""

import json
import sys
import time
import warnings

LEVEL = 0.9
NAN = float("nan")

warnings.filterwarnings("ignore")


class Job:
    """What a method is asked to do."""

    def __init__(self, kind, train, test, step):
        self.kind, self.train, self.test, self.step = kind, train, test, step
        self.begin()
        self.seconds, self.cpu, self.memory = NAN, NAN, None

    def begin(self):
        """What was before is not counted."""
        self.start, self.cpu_start = time.perf_counter(), time.process_time()

    def learned(self):
        """Called when the model is there."""
        self.seconds = time.perf_counter() - self.start
        self.cpu = time.process_time() - self.cpu_start
        self.memory = peak()

    def arrays(self):
        """Inputs and labels of the training file."""
        return arrays(self.train)

    def step_or(self, value):
        return value if self.step is None else self.step


def arrays(path):
    import pandas

    frame = pandas.read_csv(path)
    values = frame.to_numpy(dtype=float)
    return values[:, :-1], values[:, -1]


def with_constant(x):
    import numpy

    return numpy.column_stack([numpy.ones(len(x)), x])


def gaussian(mean, deviation, y):
    import numpy
    from scipy.stats import norm

    half = norm.ppf(0.5 + LEVEL / 2) * deviation
    return numpy.column_stack([mean, mean - half, mean + half, norm.logpdf(y, mean, deviation)])


def student(mean, scale, degrees, y):
    import numpy
    from scipy.stats import t

    half = t.ppf(0.5 + LEVEL / 2, degrees) * scale
    return numpy.column_stack([mean, mean - half, mean + half, t.logpdf(y, degrees, mean, scale)])


def counts(distribution, mean, y):
    import numpy

    tail = 0.5 - LEVEL / 2
    ends = [distribution.ppf(tail), distribution.ppf(1 - tail)]
    return numpy.column_stack([mean, *ends, distribution.logpmf(y)])


def poisson(mean, y):
    from scipy.stats import poisson

    return counts(poisson(mean), mean, y)


def alone(mean):
    """Methods that tell a number and nothing about its doubt."""
    import numpy

    none = numpy.full(len(mean), NAN)
    return numpy.column_stack([mean, none, none, none])


def two_columns(p):
    import numpy

    return numpy.column_stack([1 - p, p])


# scikit-learn


def sklearn_fit(job, model, scaled=True):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), model) if scaled else model
    x, y = job.arrays()
    model.fit(x, y)
    job.learned()
    return model, *arrays(job.test)


def sklearn_logistic(job):
    from sklearn.linear_model import LogisticRegression

    model, x, _ = sklearn_fit(job, LogisticRegression())
    return model.predict_proba(x)


def sklearn_boosting(job):
    """Not linear: what trees make of the same rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if job.kind in ("two", "many"):
        model, x, _ = sklearn_fit(job, HistGradientBoostingClassifier(), scaled=False)
        return model.predict_proba(x)
    loss = "poisson" if job.kind == "count" else "squared_error"
    model, x, y = sklearn_fit(job, HistGradientBoostingRegressor(loss=loss), scaled=False)
    mean = model.predict(x)
    return poisson(mean, y) if job.kind == "count" else alone(mean)


def sklearn_sgd(job):
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    steps = {} if job.step is None else {"learning_rate": "constant", "eta0": job.step}
    if job.kind == "number":
        model, x, _ = sklearn_fit(job, SGDRegressor(random_state=0, **steps))
        return alone(model.predict(x))
    model, x, _ = sklearn_fit(job, SGDClassifier(loss="log_loss", random_state=0, **steps))
    return model.predict_proba(x)


def sklearn_ridge(job):
    from sklearn.linear_model import BayesianRidge

    model, x, y = sklearn_fit(job, BayesianRidge())
    mean, deviation = model.predict(x, return_std=True)
    return gaussian(mean, deviation, y)


def sklearn_ard(job):
    from sklearn.linear_model import ARDRegression

    model, x, y = sklearn_fit(job, ARDRegression())
    mean, deviation = model.predict(x, return_std=True)
    return gaussian(mean, deviation, y)


def sklearn_poisson(job):
    from sklearn.linear_model import PoissonRegressor

    model, x, y = sklearn_fit(job, PoissonRegressor())
    return poisson(model.predict(x), y)


# statsmodels, whose own fit has no scaler


def statsmodels_fit(job, make):
    x, y = job.arrays()
    fit = make(y, with_constant(x))
    job.learned()
    x, y = arrays(job.test)
    return fit, with_constant(x), y


def statsmodels_glm(job):
    import statsmodels.api as sm

    family = sm.families.Binomial() if job.kind == "two" else sm.families.Poisson()
    fit, x, y = statsmodels_fit(job, lambda y, x: sm.GLM(y, x, family=family).fit())
    mean = fit.predict(x)
    return two_columns(mean) if job.kind == "two" else poisson(mean, y)


def statsmodels_negative_binomial(job):
    import numpy
    import statsmodels.api as sm
    from scipy.stats import nbinom

    fit, x, y = statsmodels_fit(job, lambda y, x: sm.NegativeBinomial(y, x).fit(disp=False, maxiter=200))
    mean, size = fit.predict(x), 1 / numpy.asarray(fit.params)[-1]
    return counts(nbinom(size, size / (size + mean)), mean, y)


def statsmodels_ols(job):
    import numpy
    import statsmodels.api as sm

    fit, x, y = statsmodels_fit(job, lambda y, x: sm.OLS(y, x).fit())
    predicted = fit.get_prediction(x)
    return student(numpy.asarray(predicted.predicted_mean), predicted.se_obs, fit.df_resid, y)


# glum


def glum(job):
    from glum import GeneralizedLinearRegressor

    family = {"two": "binomial", "number": "normal", "count": "poisson"}[job.kind]
    model, x, y = sklearn_fit(job, GeneralizedLinearRegressor(family=family))
    mean = model.predict(x)
    return {"two": two_columns, "number": alone, "count": lambda m: poisson(m, y)}[job.kind](mean)


# bayesianbandits, with a column of ones since its models have no intercept


def bandits_fit(job, model):
    from sklearn.preprocessing import StandardScaler

    x, y = job.arrays()
    scaler = StandardScaler().fit(x)
    model.fit(with_constant(scaler.transform(x)), y)
    job.learned()
    x, y = arrays(job.test)
    return with_constant(scaler.transform(x)), y


def bandits_glm(job, approximator=None):
    from bayesianbandits import BayesianGLM

    model = BayesianGLM(link="logit" if job.kind == "two" else "log", approximator=approximator)
    x, y = bandits_fit(job, model)
    mean = model.predict(x)
    return two_columns(mean) if job.kind == "two" else poisson(mean, y)


def bandits_rvga(job):
    from bayesianbandits import RVGAApproximator

    return bandits_glm(job, RVGAApproximator())


def bandits_normal(job):
    """Normal-inverse-gamma: its predictive Student-t, from what the fitted model holds."""
    import numpy
    from bayesianbandits import NormalInverseGammaRegressor

    model = NormalInverseGammaRegressor()
    x, y = bandits_fit(job, model)
    precision = numpy.asarray(model.cov_inv_)
    spread = numpy.einsum("ij,ji->i", x, numpy.linalg.solve(precision, x.T))
    scale = numpy.sqrt(model.b_ / model.a_ * (1 + spread))
    return student(x @ model.coef_, scale, 2 * model.a_, y)


# river: rows one at a time, as it is made for; river's own reader of files


def river_rows(path):
    """Rows as river's reader gives them, and labels."""
    import csv

    from river import stream

    with open(path, newline="") as file:
        names = next(csv.reader(file))
    converters = dict.fromkeys(names, float)
    return stream.iter_csv(path, target=names[-1], converters=converters)


def river(job):
    import numpy
    from river import linear_model, optim, preprocessing

    step = optim.SGD(job.step_or(0.01))
    if job.kind == "two":
        model = linear_model.LogisticRegression(optimizer=step)
    elif job.kind == "many":
        model = linear_model.SoftmaxRegression(optimizer=step)
    else:
        loss = optim.losses.Poisson() if job.kind == "count" else optim.losses.Squared()
        model = linear_model.LinearRegression(optimizer=step, loss=loss)
    model = preprocessing.StandardScaler() | model
    classes = int(numpy.max(job.arrays()[1])) + 1 if job.kind == "many" else 0
    job.begin()

    def predicted(x):
        if job.kind == "two":
            p = model.predict_proba_one(x).get(True, 0.5)
            return [1 - p, p]
        if job.kind == "many":
            p = model.predict_proba_one(x)
            row = [p.get(float(k), 0.0) for k in range(classes)]
            return row if sum(row) > 0 else [1 / classes] * classes
        mean = model.predict_one(x)
        return [numpy.exp(min(mean, 50)) if job.kind == "count" else mean]

    rows = []
    for x, y in river_rows(job.train):
        if job.test == "stream":
            rows.append(predicted(x))
        model.learn_one(x, y > 0.5 if job.kind == "two" else y)
    job.learned()
    if job.test == "stream":
        labels = arrays(job.train)[1]
    else:
        labels = arrays(job.test)[1]
        rows = [predicted(x) for x, _ in river_rows(job.test)]
    rows = numpy.asarray(rows)
    if job.kind == "number":
        return alone(rows[:, 0])
    return poisson(rows[:, 0], labels) if job.kind == "count" else rows


# Vowpal Wabbit: from its own format


def vw(job):
    import os
    import tempfile

    import numpy
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        model, out = os.path.join(folder, "model"), os.path.join(folder, "out")
        text = lambda path: path.removesuffix(".csv") + ".vw"
        options = {"two": "--loss_function logistic", "number": "", "count": "--loss_function poisson"}.get(job.kind)
        link = {"two": "--link logistic", "number": "", "count": "--link poisson"}.get(job.kind)
        if job.kind == "many":
            classes = int(arrays(job.train)[1].max()) + 1
            options, link = f"--oaa {classes} --loss_function logistic --probabilities", ""
        step = "" if job.step is None else f"-l {job.step}"
        while_learning = f"{link} -p {out}" if job.test == "stream" else ""
        job.begin()
        Workspace(f"--quiet -d {text(job.train)} -f {model} {options} {step} {while_learning}").finish()
        job.learned()
        if job.test != "stream":
            # A stored model knows its link; probabilities are asked for again.
            again = "--probabilities" if job.kind == "many" else link
            Workspace(f"--quiet -t -d {text(job.test)} -i {model} {again} -p {out}").finish()
        with open(out) as file:
            words = [line.split() for line in file if line.strip()]
    if job.kind == "many":
        return numpy.asarray([[float(word.split(":")[1]) for word in line] for line in words])
    mean = numpy.asarray([float(line[0]) for line in words])
    labels = arrays(job.train if job.test == "stream" else job.test)[1]
    return {"two": two_columns, "number": alone, "count": lambda m: poisson(m, labels)}[job.kind](mean)


METHODS = {
    "sklearn_logistic": (sklearn_logistic, "scikit-learn", "sklearn.linear_model"),
    "sklearn_sgd": (sklearn_sgd, "scikit-learn", "sklearn.linear_model"),
    "sklearn_boosting": (sklearn_boosting, "scikit-learn", "sklearn.ensemble"),
    "sklearn_ridge": (sklearn_ridge, "scikit-learn", "sklearn.linear_model"),
    "sklearn_ard": (sklearn_ard, "scikit-learn", "sklearn.linear_model"),
    "sklearn_poisson": (sklearn_poisson, "scikit-learn", "sklearn.linear_model"),
    "statsmodels_glm": (statsmodels_glm, "statsmodels", "statsmodels.api"),
    "statsmodels_nb": (statsmodels_negative_binomial, "statsmodels", "statsmodels.api"),
    "statsmodels_ols": (statsmodels_ols, "statsmodels", "statsmodels.api"),
    "glum": (glum, "glum", "glum"),
    "bandits_glm": (bandits_glm, "bayesianbandits", "bayesianbandits"),
    "bandits_rvga": (bandits_rvga, "bayesianbandits", "bayesianbandits"),
    "bandits_normal": (bandits_normal, "bayesianbandits", "bayesianbandits"),
    "river": (river, "river", "river.linear_model"),
    "vw": (vw, "vowpalwabbit", "vowpalwabbit"),
}


def peak():
    """Bytes of this process at its largest, from the kernel; its imports are in it."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except OSError:
        return None


def main():
    import importlib
    import importlib.metadata

    method, kind, train, test, out, *steps = sys.argv[1:]
    run, package, module = METHODS[method]
    for name in ["numpy", "pandas", "sklearn.preprocessing", module] if package != "vowpalwabbit" else [module]:
        importlib.import_module(name)
    if package == "river":
        import river.optim
        import river.preprocessing
    seconds, cpu, errors, memory = [], [], [], None
    for index, step in enumerate(steps or ["default"]):
        job = Job(kind, train, test, None if step == "default" else float(step))
        try:
            predictions = run(job)
        except (ArithmeticError, ValueError) as error:
            seconds.append(None)
            cpu.append(None)
            errors.append(f"{type(error).__name__}: {error}")
            continue
        memory = memory or job.memory
        with open(f"{out}-{index}", "w") as file:
            for row in predictions.tolist():
                print(*row, file=file)
        seconds.append(job.seconds)
        cpu.append(job.cpu)
    version = importlib.metadata.version(package)
    answer = {"seconds": seconds, "cpu": cpu, "errors": errors, "peak": memory, "version": f"{package} {version}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
