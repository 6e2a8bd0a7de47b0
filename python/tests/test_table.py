"""Tables with texts, dates, gaps and categories, learned as the command `rvi` learns them."""

import copy
import json
import os
import pickle
import subprocess
import warnings
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import rvi


def flats(n=400, seed=1):
    """Rents that depend on a curve of the size, the town, the season and the furniture; a tenth of the sizes is missing."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(20, 120, n).round(1)
    town = rng.choice(["Ulm", "Bonn", "Köln"], n, p=[0.5, 0.3, 0.2])
    listed = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    kitchen = rng.choice(["basic", "old", "new"], n)
    rent = 200 + 9 * size - 0.02 * size**2 + 80 * (town == "Köln") + 60 * (kitchen == "new") + 15 * rng.normal(size=n)
    return pd.DataFrame({
        "size": np.where(rng.random(n) < 0.1, np.nan, size),
        "town": town,
        "listed": listed,
        "kitchen": pd.Categorical(kitchen, categories=["basic", "old", "new"]),
        "lift": rng.random(n) < 0.5,
        "floor": rng.integers(0, 6, n),
        "rent": rent.round(2),
        "let": np.where(rent + 40 * rng.normal(size=n) < 800, "yes", "no"),
    })  # fmt: skip


FLATS = flats()
NEW = flats(60, seed=2)


def command():
    """The command `rvi`, where the project has been built."""
    root = os.environ.get("VI_ROOT")
    for profile in ("debug", "release"):
        path = Path(root or "/nowhere", os.environ.get("CARGO_TARGET_DIR", "target"), profile, "rvi")
        if path.exists():
            return path
    pytest.skip("the command rvi has not been built")


def told(*line):
    return subprocess.run([command(), *map(str, line)], capture_output=True, text=True, check=True).stdout


def csv(frame, path):
    # The command reads booleans of Arrow as `true` and `false`, which pandas writes in capitals.
    frame.assign(lift=np.where(frame["lift"], "true", "false")).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(("target", "options"), [
    ("rent", {}),
    ("let", {}),
    ("floor", {"family": "classes"}),
    ("floor", {"family": "count", "shape": "smooth"}),
    ("rent", {"formula": "rent ~ s(size) + town*kitchen", "ignore": ["let"]}),
])  # fmt: skip
def test_the_same_bits_as_the_command(target, options, tmp_path):
    data, new, path = csv(FLATS, tmp_path / "flats.csv"), csv(NEW, tmp_path / "new.csv"), tmp_path / "model.rvi"
    flags = [f"--{name}={','.join(value) if isinstance(value, list) else value}" for name, value in options.items()]
    told("fit", data, "--target", target, "-o", path, *flags)
    model = rvi.fit(FLATS, target, **options)
    expected = pd.read_csv(StringIO(told("predict", path, new)), dtype={"class": object}, float_precision="round_trip")
    found = model.predictions(NEW)
    assert list(found) == list(expected.columns[1:])
    for name, column in found.items():
        # A deviation that is infinite (logarithms with heavy tails) is an empty field.
        assert np.array_equal(column, expected[name].to_numpy(), equal_nan=column.dtype == float), name
    # And the very file, but for the name of the table.
    own = tmp_path / "own.rvi"
    model.save(own)
    one, other = (json.loads(file.read_text()) for file in (path, own))
    for document in (one, other):
        del document["seal"], document["passes"]
    assert one == other


def test_parts_add_up_to_the_predictor():
    model = rvi.fit(FLATS, "rent", family="gaussian")
    found = model.explain(NEW)
    assert found["mean"].shape == found["sd"].shape == (len(NEW), len(found["parts"]))
    assert {"size", "town"} <= set(found["parts"])
    # Each of some tens of parts is rounded by itself.
    assert np.allclose(found["base"][0] + found["mean"].sum(axis=1), found["predictor"], rtol=1e-11)
    assert np.allclose(found["predictor"], model.predict(NEW), rtol=1e-12)
    assert (found["predictor_sd"] < model.predictions(NEW)["sd"]).all()
    with pytest.raises(ValueError, match="more than two classes"):
        rvi.fit(FLATS, "floor", family="classes").explain(NEW)


def test_classes_with_an_order_have_one_predictor():
    ratings = FLATS.assign(stars=np.digitize(FLATS["size"], [45.0, 70.0, 95.0]) + 1)
    model = rvi.fit(ratings, "stars", family="ordered", ignore=["rent", "let", "floor"], shape="line")
    assert model.classes == ["1", "2", "3", "4"]
    assert [cut["between"] for cut in model.info()["cut_points"]] == ["1|2", "2|3", "3|4"]
    probabilities = model.predict_proba(ratings)
    assert probabilities.shape == (len(ratings), 4) and np.allclose(probabilities.sum(axis=1), 1.0)
    assert (model.predict(ratings) == ratings["stars"].astype(str)).mean() > 0.7
    found = model.explain(ratings)
    assert np.allclose(found["base"][0] + found["mean"].sum(axis=1), found["predictor"], rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="more than two classes have no interval"):
        model.predict_interval(ratings)
    words = ratings.assign(stars=np.array(["bad", "fair", "good", "best"])[ratings["stars"] - 1])
    with pytest.raises(ValueError, match="texts have no order: `classes="):
        rvi.fit(words, "stars", family="ordered")
    named = rvi.fit(
        words, "stars", family="ordered", classes=["bad", "fair", "good", "best"], ignore=["rent", "let", "floor"], shape="line"
    )
    assert np.array_equal(named.predict_proba(words), probabilities)


def test_times_of_events_are_learned_with_those_that_did_not_come():
    rng = np.random.default_rng(1)
    dose = rng.uniform(0.0, 2.0, 400)
    event, until = rng.exponential(np.exp(3.0 - dose)), rng.uniform(1.0, 24.0, 400)
    table = pd.DataFrame({"dose": dose, "months": np.minimum(event, until), "died": event < until})
    model = rvi.fit(table, formula="Surv(months, died) ~ dose")
    card = model.info()
    assert card["scores"]["events"] == table["died"].sum() and card["log_hazards"][0]["between"].startswith("0–")
    (coefficient,) = card["coefficients"]
    assert abs(coefficient["mean"] - 1.0) < 3.0 * coefficient["sd"]
    new = pd.DataFrame({"dose": [0.0, 2.0]})
    median, columns = model.predict(new), model.predictions(new)
    assert list(columns) == ["median", "lower", "upper"] and np.array_equal(columns["median"], median)
    assert np.allclose(model.predict_quantiles(new, [0.5])[:, 0], median) and median[1] < median[0]
    assert np.allclose(model.cdf(new, median), 0.5)
    assert np.isnan(model.cdf(table)).sum() == (~table["died"]).sum()
    assert np.allclose(model.log_density(new, -median), np.log(0.5))
    coded = rvi.fit(table.assign(died=table["died"] + 1), target="Surv(months, died)", shape="line")
    assert np.allclose(coded.predict(new), median)
    with pytest.raises(ValueError, match="times have no crps"):
        model.crps(new, 3.0)


def test_numbers_below_a_limit_are_learned_as_ranges():
    rng = np.random.default_rng(2)
    depth = rng.uniform(-2.0, 2.0, 500)
    lead = np.exp(0.5 + depth + 0.4 * rng.normal(size=500))
    table = pd.DataFrame({"depth": depth, "lead": np.where(lead < 1.0, "<1", lead.round(4).astype(str))})
    model = rvi.fit(table, "lead", shape="line")
    card = model.info()
    assert card["scores"]["ranges"] == (lead < 1.0).sum() and "rmse" not in card["scores"]
    coefficient = next(own for own in card["coefficients"] if own["name"] == "depth")
    assert abs(coefficient["mean"] - 1.0) < 3.0 * coefficient["sd"]
    ends = pd.DataFrame({"depth": depth, "low": np.where(lead < 1.0, np.nan, lead.round(4)), "high": np.maximum(lead.round(4), 1.0)})
    other = rvi.fit(ends, formula="between(low, high) ~ depth")
    assert np.allclose(other.predict(ends), model.predict(table), rtol=1e-9)
    assert np.isnan(model.cdf(table)).sum() == np.isnan(model.crps(table)).sum() == (lead < 1.0).sum()
    below = model.cdf(table[lead < 1.0], 1.0)
    # The steps of the tails.
    assert np.allclose(model.log_density(table[lead < 1.0]), np.log(below), atol=1e-4)
    lower, upper = model.predict_interval(table, certified=True).T
    assert ((lower <= lead) & (lead <= upper)).mean() > 0.87


def test_files_go_to_the_command_and_back(tmp_path):
    new, path = csv(NEW, tmp_path / "new.csv"), tmp_path / "model.rvi"
    model = rvi.fit(FLATS, "let")
    model.save(path)
    lines = pd.read_csv(StringIO(told("predict", path, new)), float_precision="round_trip")
    assert np.array_equal(lines["probability"], model.predictions(NEW)["probability"])
    assert model.summary() in told("inspect", path)
    told("update", path, new)
    updated = rvi.load(path)
    for other in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.update(NEW)
        assert np.array_equal(updated.predict_proba(NEW), other.predict_proba(NEW))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.rvi", "new.csv"]


def test_merged_models_are_those_of_the_command(tmp_path):
    east, west, both = (tmp_path / name for name in ("east.rvi", "west.rvi", "both.rvi"))
    one = rvi.fit(FLATS, "rent", shape="line", mergeable=True)
    one.save(east)
    told("fit", csv(NEW, tmp_path / "new.csv"), "--like", east, "-o", west)
    told("merge", east, west, "-o", both)
    other, before = rvi.load(west), one.predict(NEW)
    with pytest.raises(ValueError, match=r"others\[1\]: another model already contains its rows"):
        one.merge(other, rvi.load(east))
    with pytest.raises(ValueError, match=r"others\[0\]: another target than in model; `fit --like model` makes parts that match"):
        one.merge(rvi.fit(FLATS, "let", shape="line", mergeable=True))
    with pytest.raises(TypeError, match="a str cannot be merged into a Model"):
        one.merge(str(west))
    assert np.array_equal(one.predict(NEW), before)
    assert one.merge(other) is one and one.info()["rows"] == 460
    one.save(east)
    assert east.read_bytes() == both.read_bytes()


def test_every_kind_of_table_is_the_same_table():
    expected = rvi.fit(FLATS, "rent").predict(NEW)
    tables = [
        (pl.from_pandas(FLATS), pl.from_pandas(NEW)),
        (pa.Table.from_pandas(FLATS), pa.Table.from_pandas(NEW)),
        ({name: FLATS[name] for name in FLATS}, {name: NEW[name] for name in NEW}),
        (FLATS.set_index(np.arange(len(FLATS))[::-1]), NEW[NEW.columns[::-1]]),
        (pl.concat([pl.from_pandas(FLATS[:150]), pl.from_pandas(FLATS[150:])], rechunk=False), pl.from_pandas(NEW)),
    ]
    for table, new in tables:
        assert np.array_equal(rvi.fit(table, "rent").predict(new), expected), type(table)


def test_certified_intervals_and_sets_are_those_of_the_command(tmp_path):
    new, path = csv(NEW, tmp_path / "new.csv"), tmp_path / "model.rvi"
    model = rvi.fit(FLATS, "rent", ignore="let")
    model.save(path)
    lines = pd.read_csv(StringIO(told("predict", path, new, "--certified", "--level", "0.8")), float_precision="round_trip")
    inside = model.predict_interval(NEW, 0.8, certified=True)
    assert np.array_equal(inside, lines[["lower", "upper"]].to_numpy())
    wider = model.predict_interval(NEW, 0.95, certified=True)
    assert np.all(wider[:, 0] <= inside[:, 0]) and np.all(inside[:, 1] <= wider[:, 1])
    shares = {share["level"]: share for share in model.info()["scores"]["certified"]}
    assert abs(shares[0.9]["certified"] - 0.9) < 0.05

    several = rvi.fit(FLATS, "town", shape="line")
    sets = [names.split("|") for names in several.predict_set(NEW)]
    assert all(best in names for best, names in zip(several.predict(NEW), sets, strict=True))
    with pytest.raises(ValueError, match="predict_set"):
        several.predict_interval(NEW, certified=True)
    with pytest.raises(ValueError, match="no classes"):
        model.predict_set(NEW)
    with pytest.raises(ValueError, match="200 labels"):
        rvi.fit(FLATS[:150], "rent").predict_interval(NEW, certified=True)


def test_answers_have_their_shapes_and_names():
    model = rvi.fit(FLATS, "rent", ignore="let")
    assert (model.target, model.classes, repr(model)) == ("rent", None, "<rvi.Model of rent, a number: 400 rows learned>")
    inside = model.predict_interval(NEW, 0.9)
    held = np.mean((inside[:, 0] <= NEW["rent"]) & (NEW["rent"] <= inside[:, 1]))
    assert inside.shape == (60, 2) and 0.75 < held <= 1.0
    assert abs(model.evaluate(NEW)["log_loss"] + model.log_density(NEW).mean()) < 1e-9
    curves = {curve["name"]: curve for curve in model.effects()}
    size = curves["size"]
    assert size["mean"][-1] > size["mean"][0] and size["bands"].shape == (2, 2, len(size["at"]))
    assert model.info()["rows"] == 400 and "coefficients" in model.summary()
    with pytest.raises(ValueError, match="no classes"):
        model.predict_proba(NEW)

    two = rvi.fit(FLATS, "let", ignore=["rent"])
    assert two.classes == ["no", "yes"] and set(two.predict(NEW)) <= {"no", "yes"}
    assert np.allclose(two.predict_proba(NEW).sum(axis=1), 1.0)
    several = rvi.fit(FLATS, "town", shape="line")
    assert several.predict_proba(NEW).shape == (60, 3) and several.predict(NEW)[0] in several.classes
    with pytest.raises(ValueError, match="more than two classes"):
        several.predict_interval(NEW)


def test_new_texts_share_an_input_and_are_told():
    model = rvi.fit(FLATS, "rent", ignore=["let"])
    with pytest.warns(UserWarning, match="2 texts unknown to the model"):
        assert np.isfinite(model.predict(NEW[:2].assign(town="Mainz"))).all()


def test_users_that_come_late_are_known_by_their_mean():
    rng = np.random.default_rng(5)
    user = rng.integers(0, 1500, 9000)
    rating = rng.normal(size=1500)[user] + 0.5 * rng.normal(size=9000)
    table = pd.DataFrame({"user": [f"u{one}" for one in user], "hour": rng.integers(0, 24, 9000), "rating": rating})
    model = rvi.fit(table[:8000], "rating")
    error = np.sqrt(np.mean((model.predict(table[8000:]) - rating[8000:]) ** 2))
    # Five rows of a user: the effect is known to 0.5/√5 = .22, the noise is .5; without users the error is 1.1.
    assert error < 0.7
    new = model.predict(pd.DataFrame({"user": ["nobody"], "hour": [12]}))[0]
    assert abs(new - rating.mean()) < 0.2


def test_a_formula_takes_any_number_of_groups():
    rng = np.random.default_rng(1)
    clinic = np.arange(4800) % 600
    x = rng.normal(size=4800)
    level = rng.normal(size=600)
    table = pd.DataFrame({"x": x, "clinic": [f"c{k}" for k in clinic], "y": x + level[clinic] + 0.5 * rng.normal(size=4800)})
    model = rvi.fit(table, formula="y ~ x + (1 | clinic)")
    groups = model.info()["groups"]
    # The spread of 600 levels, of deviation 1, is known to 3 %.
    assert groups["groups_in_all"] == 600
    assert abs(groups["components"]["sd(intercept)"]["value"] / level.std() - 1) < 0.06
    one = groups["effects"][0]
    assert (one["group"], one["rows"], one["effect"]) == ("c0", 8, "intercept")
    # A known clinic and a new one.
    ahead = pd.DataFrame({"x": [0.0, 0.0], "clinic": [f"c{level.argmax()}", "new"]})
    found = model.predictions(ahead)
    assert found["mean"][0] > 1.5 and found["sd"][0] < 0.8 < found["sd"][1]


def test_rows_that_are_learned_again_are_told():
    model = rvi.fit(FLATS, "rent", shape="line")
    with pytest.warns(UserWarning, match="count twice"):
        model.update(FLATS)
    assert model.info()["rows"] == 800


def test_rows_without_a_target_are_left_out(tmp_path):
    known = FLATS["rent"].where(FLATS.index % 10 > 0)
    model = rvi.fit(FLATS.assign(rent=known), "rent")
    assert (model.info()["rows"], model.info()["rows_without_target"]) == (360, 40)
    densities = model.log_density(FLATS[:20].assign(rent=known[:20]))
    assert list(np.flatnonzero(np.isnan(densities))) == [0, 10]
    assert len(model.predict(NEW.drop(columns="rent"))) == 60
    with pytest.raises(ValueError, match="no column `rent`"):
        model.log_density(NEW.drop(columns="rent"))
    with pytest.raises(ValueError, match="`rent`: no value in the first rows"):
        rvi.fit(FLATS.assign(rent=np.nan), "rent")


def test_bad_input_is_named_and_leaves_the_model_as_it_was():
    model = rvi.fit(FLATS, "rent")
    before = model.predict(NEW)
    bad = NEW.assign(size=NEW["size"].astype(str).where(NEW.index != 7, "large"))
    for call in (model.predict, model.update, model.log_density, model.evaluate):
        with pytest.raises(ValueError, match="row 7, column `size`: `large` is not a number"):
            call(bad)
    with pytest.raises(ValueError, match="row 3, column `rent`: `dear` is not a finite number"):
        model.update(NEW.assign(rent=NEW["rent"].astype(str).where(NEW.index != 3, "dear")))
    assert np.array_equal(model.predict(NEW), before) and model.info()["rows"] == 400
    assert model.update(bad, skip_bad=True).info()["rows"] == 459

    with pytest.raises(ValueError, match="no column `rnt`; did you mean `rent`"):
        rvi.fit(FLATS, "rnt")
    with pytest.raises(ValueError, match="no column `town`"):
        model.predict(NEW.drop(columns="town"))
    with pytest.raises(ValueError, match=r"`target=COLUMN` must name the column"):
        rvi.fit(FLATS)
    with pytest.raises(ValueError, match="`shape=round`: must be one of line, smooth, pairs, any"):
        rvi.fit(FLATS, "rent", shape="round")
    with pytest.raises(ValueError, match="`family=normal`: must be one of auto, number"):
        rvi.fit(FLATS, "rent", family="normal")
    with pytest.raises(ValueError, match="`levels=1`: must be at least 2"):
        rvi.fit(FLATS, "rent", levels=1)
    with pytest.raises(ValueError, match="no rows"):
        rvi.fit(FLATS[:0], "rent")
    with pytest.raises(ValueError, match="the name `a`"):
        rvi.fit(pa.table([[1.0], [2.0]], names=["a", "a"]), "a")
    for table in (np.ones((3, 2)), [1, 2], None, FLATS["rent"], FLATS["rent"].to_numpy()):
        with pytest.raises(TypeError, match="table with named columns"):
            rvi.fit(table, "rent")


def test_rows_in_the_order_of_their_labels_are_learned_again_in_a_random_one():
    ordered = FLATS.sort_values("let")
    options = {"shape": "line", "ignore": ["rent", "listed"]}
    model = rvi.fit(ordered, "let", **options)
    assert model.info()["scores_in_random_order"] is not None
    with warnings.catch_warnings():
        # Whether this order misleads is not asked here.
        warnings.simplefilter("ignore")
        kept = rvi.fit(ordered, "let", keep_order=True, **options)
    assert kept.info()["scores_in_random_order"] is None


def test_files_that_are_no_models_are_refused(tmp_path):
    path = tmp_path / "model.rvi"
    path.write_text("{}")
    with pytest.raises(ValueError, match="not a model of `rvi`"):
        rvi.load(path)
    rvi.fit(FLATS, "rent").save(path)
    path.write_text(path.read_text().replace('"unlabelled":0', '"unlabelled":1'))
    with pytest.raises(ValueError, match="damaged"):
        rvi.load(path)
    with pytest.raises(FileNotFoundError):
        rvi.load(tmp_path / "none.rvi")
