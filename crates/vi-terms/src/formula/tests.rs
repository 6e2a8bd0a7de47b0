use super::*;

fn terms(text: &str) -> Result<String, String> {
    let columns = ["a".to_owned(), "b".to_owned(), "c d".to_owned()];
    let Expansion { intercept, terms, curves, .. } =
        Formula::parse(text).and_then(|read| read.terms(&columns)).map_err(|error| error.to_string())?;
    let label = |f: &Factor| f.function.map_or_else(|| f.column.clone(), |function| function.label(&f.column));
    let word = |term: &Product| term.iter().map(label).collect::<Vec<_>>().join(":");
    let curve = |curve: &Curve| format!("{}({})", if curve.kernel { "k" } else { "s" }, curve.columns.join(","));
    let words = intercept.then(|| "1".to_owned()).into_iter().chain(terms.iter().map(word));
    let words = words.chain(curves.iter().map(curve));
    Ok(words.collect::<Vec<_>>().join(" "))
}

/// Beside each formula the terms of Python's formulaic 1.2, `Formula(text)`.
#[test]
fn terms_are_those_of_formulaic() {
    for (text, expected) in [
        ("a + b", "1 a b"),
        ("a*b", "1 a b a:b"),
        ("a/b", "1 a a:b"),
        ("(a + b)/x", "1 a b a:b:x"),
        ("a:b + b", "1 b a:b"),
        ("(a + b + x)^2", "1 a b x a:b a:x b:x"),
        ("(a + b + x)**2 - a:b", "1 a b x a:x b:x"),
        ("a + b - a", "1 b"),
        ("a*b - b - 1", "a a:b"),
        ("0 + a", "a"),
        ("a - 1", "a"),
        ("-1 + a", "a"),
        ("a - 1 + 1", "1 a"),
        ("1", "1"),
        ("a:b:a", "1 a:b"),
        ("a*b*x", "1 a b x a:b a:x b:x a:b:x"),
        ("log(a) + a", "1 log(a) a"),
        ("a:(b + x)", "1 a:b a:x"),
    ] {
        assert_eq!(terms(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_point_is_every_column() {
    assert_eq!(terms("y ~ . - a").as_deref(), Ok("1 b c d"));
    assert_eq!(terms("y ~ .:b").as_deref(), Ok("1 b a:b b:c d"));
    assert_eq!(terms("~ `c d`:I(a^3) + C(b)").as_deref(), Ok("1 b a^3:c d"));
    assert_eq!(Formula::parse("`my y` ~ a").unwrap().target.as_deref(), Some("my y"));
    assert_eq!(Formula::parse("a").unwrap().target, None);
    let times = Formula::parse("Surv(`my t`, d) ~ a").unwrap();
    assert_eq!((times.target.as_deref(), times.beside), (Some("my t"), Some(Beside::Event("d".to_owned()))));
    assert_eq!(Formula::parse("Surv ~ a").unwrap().target.as_deref(), Some("Surv"));
}

#[test]
fn a_spread_follows_terms_of_the_target() {
    let columns = ["a", "b", "g"].map(str::to_owned);
    let read = |text: &str| -> Result<String, String> {
        let read = Formula::parse(text).and_then(|read| read.terms(&columns)).map_err(|error| error.to_string())?;
        let word = |term: &Product| term.iter().map(|factor| factor.column.clone()).collect::<Vec<_>>().join(":");
        let Some(own) = read.spread else { return Ok("none".to_owned()) };
        let curves = own.curves.iter().map(|curve| format!("s({})", curve.columns.join(",")));
        Ok(own.terms.iter().map(word).chain(curves).chain([own.at.to_string()]).collect::<Vec<_>>().join(" "))
    };
    let ok = |text: &str| Ok::<_, String>(text.to_owned());
    assert_eq!(read("y ~ a + b"), ok("none"));
    assert_eq!(read("y ~ a + b, sigma ~ b"), ok("b 12"));
    assert_eq!(read("a + s(b), sigma ~ s(b) + 1"), ok("b s(b) 11"));
    assert_eq!(read("y ~ ., sigma ~ . - a"), ok("b g 8"));
    assert_eq!(read("y ~ . + (1 | g), sigma ~ ."), ok("a b 18"));
    assert_eq!(read("y ~ a*b, sigma ~ a:b"), ok("a:b 10"));
    assert_eq!(read("y ~ a, sigma ~ 1"), ok("8"));
    // A column may be called so.
    assert_eq!(Formula::parse("sigma ~ a").unwrap().target.as_deref(), Some("sigma"));
    for (text, told) in [
        ("y ~ a, sigma ~ b", "`b`, which the spread (`sigma ~` at 8) is to follow, is no term of the target"),
        ("y ~ a + b, sigma ~ a:b", "`a:b`, which the spread"),
        (
            "y ~ a, sigma ~ s(a)",
            "`a`, which the spread (`sigma ~` at 8) is to follow, is no term of the target (the curve at 16)",
        ),
        ("y ~ a + (1 | g), sigma ~ (1 | g)", "follows no groups; there is one at 26"),
        ("y ~ a, sigma ~ 0 + a", "a level of its own in any case; there is a 0"),
        ("y ~ a, sigma ~", "a column is expected at 15"),
        ("y ~ a + , sigma ~ a", "a column is expected at 9"),
        ("y ~ a, sigma ~ a, sigma ~ a", "unexpected text at 17; after a comma"),
        ("y ~ a, tau ~ a", "unexpected text at 6; after a comma stands `sigma ~`"),
        ("y ~ a, b", "unexpected text at 6"),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.contains(told), "{text}: {refused}");
    }
}

#[test]
fn a_group_has_intercepts_and_slopes_beside_lines() {
    let read =
        |text: &str| Formula::parse(text).and_then(|read| read.terms(&["a".to_owned(), "g".to_owned()])).unwrap();
    let group = |column: &str, slopes: &[&str], at| Group {
        column: column.to_owned(),
        slopes: slopes.iter().map(|name| (*name).to_owned()).collect(),
        correlated: false,
        at,
    };
    let correlated = |column: &str, slopes: &[&str], at| Group { correlated: true, ..group(column, slopes, at) };
    assert_eq!(read("a + (1 | g)").groups, [group("g", &[], 5)]);
    assert_eq!(read("(1 + a + b || `g h`)").groups, [group("g h", &["a", "b"], 1)]);
    assert_eq!(read("(a || g) + (1 | h) + (1 || h) - (1 | h)").groups, [group("g", &["a"], 1)]);
    assert_eq!(read("b + (1 + a | g)").groups, [correlated("g", &["a"], 5)]);
    assert_eq!(read("(a + b | g) + (a | h) - (a | h) - (a || h)").groups, [correlated("g", &["a", "b"], 1)]);
    assert_eq!(read("(a | g) + (a | g)").groups, [correlated("g", &["a"], 1)]);
    assert_eq!(terms("a + (1 | g) + (b || h)").as_deref(), Ok("1 a g b h"));
    // A point does not stand for the columns that name groups.
    let expansion = read(". + (1 | g)");
    assert_eq!(expansion.terms.len(), 2);
    assert!(expansion.terms.contains(&Product::from([group("g", &[], 1).factor()])));
    for (text, expected) in [
        (
            "(a | g) + (1 | g)",
            "the groups at 1 and 11 are both of `g`, with a correlation in one; write all effects of `g` as one term",
        ),
        ("(b || g) + (a | g)", "the groups at 1 and 12 are both of `g`"),
        ("b + (a | a)", "`a` is both a slope and its group in the term at 5"),
        ("(0 + a | g)", "slopes have intercepts beside them; there is a 0 in the group at 1"),
        ("b + (0 + a || g)", "slopes have intercepts beside them; there is a 0 in the group at 5"),
        (
            "(a:b || g)",
            "only 1 and different columns of numbers stand before the bar; there is another in the group at 1",
        ),
        (
            "(log(a) || g)",
            "only 1 and different columns of numbers stand before the bar; there is another in the group at 1",
        ),
        ("(1 | g + h)", "`)` is expected at 8"),
        ("(1 |)", "a column is expected at 5"),
        ("1 | g", "unexpected text at 3"),
        ("a:(1 | g)", "the group at 3 stands in a product; it is a term by itself"),
    ] {
        let error = terms(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_curve_stands_beside_its_lines() {
    for (text, expected) in [
        ("s(a)", "1 a s(a)"),
        ("b + s(a) + a + s(a)", "1 b a s(a)"),
        ("s(a, b) + k(x, `c d`, a)", "1 a b x c d s(a,b) k(x,c d,a)"),
        (". + s(a) - s(a)", "1 b c d"),
        ("0 + s(a)", "a s(a)"),
        ("s + k", "1 s k"),
    ] {
        assert_eq!(terms(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (text, part) in [
        ("y ~ a +", "a column is expected at 8"),
        ("y ~ lag(a)", "no function `lag` at 5"),
        ("y ~ a % b", "`%` at 7"),
        ("y ~ (a + b", "`)` is expected at 11"),
        ("log(y) ~ a", "functions of the target are not supported"),
        ("Surv(t) ~ a", "`Surv(time, event)` has two columns"),
        ("Surv(t, t) ~ a", "`Surv(time, event)` has two columns"),
        ("Surv(t, d ~ a", "`Surv(time, event)` has two columns"),
        ("surv(t, d) ~ a", "times of events are written `Surv(time, event)`, with this capital, at 1"),
        ("SURV(t, d) ~ a", "with this capital, at 1"),
        ("y ~ a^b", "a power from 1 to 8 is expected at 7"),
        ("y ~ I(a)", "as in `I(a^2)`"),
        ("y ~ `a", "has no end"),
        ("y ~ a b", "unexpected text at 7"),
        ("y ~ s()", "a column is expected at 7"),
        ("y ~ s(a", "`)` is expected at 8"),
        ("y ~ s(a, b, x)", "`s` at 5 takes one column or two"),
        ("y ~ k(a, b, a)", "`a` stands twice in the term at 5"),
        ("y ~ b + s(a):b", "the curve at 9 stands in a product"),
        ("y ~ (s(a) + b)^2", "the curve at 6 stands in a product"),
        ("y ~ 2", "only 0 and 1"),
        ("", "a column is expected at 1"),
    ] {
        let said = terms(text).unwrap_err();
        assert!(said.contains(part), "{text}: {said}");
    }
}

/// A sum may have any number of terms; a product has a limit.
#[test]
fn long_formulas_end_with_an_answer() {
    let sum = vec!["a"; 100_000].join(" + ");
    assert_eq!(terms(&sum).as_deref(), Ok("1 a"));
    assert_eq!(terms(&format!("b + {sum} - a")).as_deref(), Ok("1 b"));
    assert_eq!(terms(&vec!["a"; 60].join(":")).as_deref(), Ok("1 a"));
    for sign in [":", "*", "/"] {
        let product = terms(&vec!["a"; 10_000].join(sign));
        assert!(product.as_ref().is_err_and(|error| error.contains("too many factors at 129")), "{product:?}");
    }
    let sum = |name: &str| (0..600).map(|k| format!("{name}{k}")).collect::<Vec<_>>().join(" + ");
    let found = terms(&format!("({}):({})", sum("x"), sum("y")));
    assert!(found.as_ref().is_err_and(|error| error.contains("more than 250000 terms")), "{found:?}");
}
