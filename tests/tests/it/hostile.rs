//! Hostile input: seeds of the fuzz targets, random bytes, and stored forms changed at random.

use std::fs;
use std::path::PathBuf;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_core::checkpoint;
use vi_models::online::Model;
use vi_tests::hostile::models::drawn;
use vi_tests::hostile::{self, AnyFit, Finding, KINDS, Raw, examples};

/// Header of a record: magic, version, kind, length.
const HEADER: usize = 8 + 4 + 24 + 8;

fn cases(fast: usize, slow: usize) -> usize {
    if vi_tests::slow() { slow } else { fast }
}

fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join("fuzz").join("seeds").join(target);
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

type Check = fn(&[u8]) -> Result<(), Finding>;

const TARGETS: [(&str, Check); 5] = [
    ("record", hostile::record),
    ("document", hostile::document),
    ("csv", hostile::csv),
    ("implicit", hostile::implicit_step),
    ("operations", hostile::operations),
];

fn text(model: &Model) -> String {
    serde_json::to_string(model).unwrap()
}

fn read(text: &str) -> Option<Model> {
    serde_json::from_str(text).ok()
}

/// Stored forms as this version writes them, with a name for each: seeds of the fuzz targets, and what later versions must read.
fn stored_forms() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut forms = Vec::new();
    for (kind, record) in examples::records().unwrap() {
        let name = KINDS[kind].replace('/', "-");
        // The kind, and that no frame is to be put around.
        let start = [u8::try_from(kind).unwrap(), 0];
        forms.push(("record", format!("v1-{name}"), [&start[..], &record].concat()));
    }
    for (name, model) in examples::models(7).unwrap() {
        forms.push(("document", format!("v1-{name}"), [&[0], text(&model).as_bytes()].concat()));
    }
    for (name, fit) in examples::fits().unwrap() {
        let start = [u8::try_from(1 + fit.kind()).unwrap()];
        forms.push(("document", format!("v1-{name}"), [&start[..], fit.text().unwrap().as_bytes()].concat()));
    }
    forms
}

/// With `VI_WRITE_SEEDS=1` they are written anew: for a new version, beside those that are there.
#[test]
fn stored_forms_of_each_version_are_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join("fuzz").join("seeds");
    let writes = std::env::var_os("VI_WRITE_SEEDS").is_some_and(|value| value == "1");
    for (target, name, bytes) in stored_forms() {
        let path = folder.join(target).join(&name);
        if writes {
            fs::create_dir_all(folder.join(target)).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        let kept = fs::read(&path).unwrap();
        let head = if target == "record" { 2 } else { 1 };
        if target == "record" {
            assert_eq!(hostile::use_record(usize::from(kept[0]), &kept[head..]), Ok(true), "{name}");
        } else {
            // Read, and written as it was.
            let found = std::str::from_utf8(&kept[head..]).unwrap();
            let again = match usize::from(kept[0]).checked_sub(1) {
                Some(kind) => AnyFit::read(kind, found).unwrap().text().unwrap(),
                None => text(&read(found).unwrap()),
            };
            assert_eq!(again, found, "{name}");
        }
    }
}

#[test]
fn seeds_hold_no_finding() {
    for (target, check) in TARGETS {
        for (path, seed) in seeds(target) {
            assert_eq!(check(&seed), Ok(()), "{}", path.display());
        }
    }
}

#[test]
fn random_bytes_hold_no_finding() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut found = Vec::new();
    for (target, check) in TARGETS {
        // A run of operations learns and predicts some fifty rows, counts of a learned spread in milliseconds each.
        for _ in 0..cases(40, if target == "operations" { 500 } else { 20_000 }) {
            let length = rng.random_range(0..400);
            let data: Vec<u8> = (0..length).map(|_| rng.random()).collect();
            if let Err(finding) = check(&data) {
                found.push(format!("{target}: {finding:?} for {data:?}"));
            }
        }
    }
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

/// One to three bytes of `data` changed, cut, doubled or put elsewhere; something is different afterwards.
fn mutated(data: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut changed = data.to_vec();
    while changed == data {
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..changed.len().max(1));
            match rng.random_range(0..8) {
                _ if changed.is_empty() => changed.push(rng.random()),
                0 => changed.truncate(at),
                1 => changed.insert(at, rng.random()),
                2 => drop(changed.remove(at)),
                3 => {
                    let to = rng.random_range(0..changed.len());
                    changed.swap(at, to);
                }
                4 => changed[at] ^= 1 << rng.random_range(0..8),
                5 => changed[at] = changed[at].wrapping_add(1),
                _ => changed[at] = rng.random(),
            }
        }
    }
    changed
}

/// A changed record is an error; with its frame put right, an error or a state that can be worked with.
#[test]
fn changed_records_are_errors_or_can_be_worked_with() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut read = 0;
    for (kind, record) in examples::records().unwrap() {
        assert_eq!(hostile::use_record(kind, &record), Ok(true), "{}", KINDS[kind]);
        let payload = &record[HEADER..record.len() - 8];
        for _ in 0..cases(300, 20_000) {
            let changed = mutated(&record, &mut rng);
            // What follows a record is not looked at.
            if !changed.starts_with(&record) {
                assert_eq!(hostile::use_record(kind, &changed), Ok(false), "{}: {changed:?}", KINDS[kind]);
            }
            let changed = mutated(payload, &mut rng);
            let mut framed = Vec::new();
            checkpoint::write(&mut framed, KINDS[kind], &Raw(&changed)).unwrap();
            let answer = hostile::use_record(kind, &framed);
            assert!(answer.is_ok(), "{}: {answer:?} for {changed:?}", KINDS[kind]);
            read += usize::from(answer == Ok(true));
        }
    }
    // Most payloads that differ in a few bits of a number are states, so that the work after reading is tested too.
    assert!(read > 0);
}

/// A changed document is an error, or the same model in other words; never another model.
#[test]
fn changed_documents_are_errors_or_the_same_model() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (name, model) in examples::models(7).unwrap() {
        let whole = text(&model);
        assert_eq!(text(&read(&whole).unwrap()), whole, "{name}");
        for _ in 0..cases(100, 20_000) {
            let changed = mutated(whole.as_bytes(), &mut rng);
            let Ok(changed) = String::from_utf8(changed) else { continue };
            if let Some(again) = read(&changed) {
                assert_eq!(text(&again), whole, "{name}: {changed}");
            }
        }
    }
}

/// Stopped after any row, stored, read, and gone on with: the bits of never having stopped.
#[test]
fn every_model_resumes_after_any_row() {
    let last = 12;
    for (name, mut straight) in examples::models(0).unwrap() {
        let mut stopped = straight.clone();
        for t in 0..last {
            stopped = read(&text(&stopped)).unwrap();
            examples::learn_row(&mut straight, t).unwrap();
            examples::learn_row(&mut stopped, t).unwrap();
            assert_eq!(text(&stopped), text(&straight), "{name}, row {t}");
        }
        assert_eq!(drawn(&stopped, 7).unwrap(), drawn(&straight, 7).unwrap(), "{name}");
    }
}
