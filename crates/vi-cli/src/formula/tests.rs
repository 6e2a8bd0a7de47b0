use super::*;

fn terms(text: &str) -> Result<String, String> {
    let columns = ["a".to_owned(), "b".to_owned(), "c d".to_owned()];
    let Terms { intercept, terms } = Formula::parse(text)?.terms(&columns)?;
    let label = |f: &Factor| f.function.map_or_else(|| f.column.clone(), |function| function.label(&f.column));
    let word = |term: &Term| term.iter().map(label).collect::<Vec<_>>().join(":");
    let words = intercept.then(|| "1".to_owned()).into_iter().chain(terms.iter().map(word));
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
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (text, part) in [
        ("y ~ a +", "a column is expected at 8"),
        ("y ~ lag(a)", "no function `lag` at 5"),
        ("y ~ a % b", "`%` at 7"),
        ("y ~ (a + b", "`)` is expected at 11"),
        ("log(y) ~ a", "functions of the target are not supported"),
        ("y ~ a^b", "a power from 1 to 8 is expected at 7"),
        ("y ~ I(a)", "as in `I(a^2)`"),
        ("y ~ `a", "has no end"),
        ("y ~ a b", "unexpected text at 7"),
        ("y ~ 2", "only 0 and 1"),
        ("", "a column is expected at 1"),
    ] {
        let said = terms(text).unwrap_err();
        assert!(said.contains(part), "{text}: {said}");
    }
}
