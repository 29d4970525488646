//! Properties of the data: purity, order, bounds, and a checksum that notices every change.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{Plan, TableChecksum, ValueRef, CHUNK_ROWS};
use crate::draw::permute;
use crate::value::Value;

/// Every distribution once, in three tables.
const EVERYTHING: &str = r#"{"tables": [
    {"name": "parents", "rows": 700, "columns": [{"name": "id", "distribution": "serial"}]},
    {"name": "children", "rows": 3500, "columns": [
        {"name": "parent", "distribution": "parent", "table": "parents", "fanout": 5},
        {"name": "line", "distribution": "line", "fanout": 5},
        {"name": "any", "distribution": "ref", "table": "parents"},
        {"name": "hot", "distribution": "ref", "table": "parents", "pick": "zipf", "s": 1.2},
        {"name": "turn", "distribution": "ref", "table": "parents", "pick": "sequence"},
        {"name": "fixed", "distribution": "const", "value": "x"},
        {"name": "flat", "distribution": "uniform", "lo": -3, "hi": 9},
        {"name": "rank", "distribution": "zipf", "lo": 10, "hi": 20, "s": 1.5, "scatter": true},
        {"name": "bell", "distribution": "gaussian", "lo": 100, "hi": 200, "width": 3.0},
        {"name": "price", "distribution": "decimal", "lo": 0.5, "hi": 9.99, "places": 2},
        {"name": "noise", "distribution": "text", "min": 0, "max": 12, "null_share": 0.25},
        {"name": "prose", "distribution": "words", "min": 1, "max": 4},
        {"name": "shape", "distribution": "pattern", "template": "A-##-??"},
        {"name": "pick", "distribution": "choice", "values": ["a", 2, 0.5, null], "weights": [5, 3, 1, 1]},
        {"name": "when", "distribution": "timestamp", "start": 1000, "end": 2000}
    ]},
    {"name": "empty", "rows": 0, "columns": [{"name": "id", "distribution": "serial"}]}
]}"#;

fn everything() -> Plan {
    Plan::from_json(EVERYTHING).expect("the plan is sound")
}

/// All rows of table `table`, as `threads` threads make them.
fn rows(plan: &Plan, table: usize, seed: u64, threads: usize) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    plan.tables[table]
        .generate(seed, threads, |chunk| {
            assert_eq!(chunk.first(), all.len() as u64, "chunks arrive in order");
            all.extend(chunk.rows().map(<[Value]>::to_vec));
            Ok::<(), ()>(())
        })
        .expect("nothing refuses a row");
    all
}

fn checksum(rows: &[Vec<Value>]) -> TableChecksum {
    let mut sum = TableChecksum::default();
    rows.iter().for_each(|row| sum.add_row(row.iter().map(ValueRef::from)));
    sum
}

/// The values of one column of `children`.
fn column(name: &str) -> Vec<Value> {
    let plan = everything();
    let position = plan.tables[1].columns.iter().position(|known| known == name).expect("a column of the plan");
    rows(&plan, 1, 7, 1).into_iter().map(|mut row| row.swap_remove(position)).collect()
}

fn integers(name: &str) -> Vec<i64> {
    let integer = |value: Value| match value {
        Value::Int(i) => i,
        other => panic!("{name} made {other:?}"),
    };
    column(name).into_iter().map(integer).collect()
}

fn texts(name: &str) -> Vec<Option<String>> {
    let text = |value: Value| match value {
        Value::Text(t) => Some(t),
        Value::Null => None,
        other => panic!("{name} made {other:?}"),
    };
    column(name).into_iter().map(text).collect()
}

fn fault(columns: &str) -> String {
    let json = format!(
        r#"{{"tables": [{{"name": "p", "rows": 10, "columns": [{{"name": "id", "distribution": "serial"}}]}},
            {{"name": "z", "rows": 0, "columns": [{{"name": "id", "distribution": "serial"}}]}},
            {{"name": "t", "rows": 30, "columns": [{columns}]}}]}}"#
    );
    Plan::from_json(&json).expect_err("the plan is at fault")
}

#[test]
fn children_belong_to_their_parent_in_order() {
    let parents = integers("parent");
    let lines = integers("line");
    for index in 0..3500i64 {
        assert_eq!((parents[index as usize], lines[index as usize]), (index / 5 + 1, index % 5 + 1));
    }
}

#[test]
fn a_sequence_takes_each_key_in_turn() {
    assert!(integers("turn").iter().enumerate().all(|(index, key)| *key == index as i64 % 700 + 1));
}

#[test]
fn references_are_keys_of_their_table_and_a_zipf_one_has_hot_keys_apart() {
    for name in ["any", "hot"] {
        assert!(integers(name).iter().all(|key| (1..=700).contains(key)), "{name}");
    }
    let mut counts = vec![0u32; 701];
    integers("hot").iter().for_each(|key| counts[*key as usize] += 1);
    let hottest = permute(0, 700) as usize + 1;
    let second = permute(1, 700) as usize + 1;
    assert_eq!(counts.iter().max(), Some(&counts[hottest]));
    // Zipf with s = 1.2 over 700 keys: rank 1 has a share of 1 / sum(k^-1.2) = 0.234, rank 2 that over 2^1.2 = 0.102.
    assert!((counts[hottest] as f64 / 3500.0 - 0.234).abs() < 0.04);
    assert!((counts[second] as f64 / 3500.0 - 0.102).abs() < 0.03);
    assert!(hottest.abs_diff(second) > 1, "the two hottest keys are not neighbours");
}

#[test]
fn bounds_hold_and_are_reached() {
    for (name, lo, hi) in [("flat", -3, 9), ("rank", 10, 20)] {
        let seen: HashSet<i64> = integers(name).into_iter().collect();
        assert_eq!(seen, (lo..=hi).collect(), "{name}");
    }
    for (name, lo, hi) in [("bell", 100, 200), ("when", 1000, 2000)] {
        assert!(integers(name).iter().all(|value| (lo..=hi).contains(value)), "{name}");
    }
    let middle = integers("bell").iter().filter(|value| (134..=166).contains(*value)).count();
    // A third of the range around the centre is one standard deviation each way at width 3: 68 % of the values.
    assert!((middle as f64 / 3500.0 - 0.68).abs() < 0.04, "{middle} of 3500 in the middle third");
}

#[test]
fn decimals_are_whole_numbers_of_the_last_place() {
    for value in column("price") {
        let Value::Real(price) = value else { panic!("a decimal made {value:?}") };
        assert!((0.5..=9.99).contains(&price));
        assert_eq!(format!("{price:.2}").parse(), Ok(price));
    }
}

#[test]
fn texts_keep_their_lengths_and_nulls_their_share() {
    let noise = texts("noise");
    let nulls = noise.iter().filter(|text| text.is_none()).count();
    assert!((nulls as f64 / 3500.0 - 0.25).abs() < 0.03, "{nulls} of 3500 are NULL");
    let lengths: HashSet<usize> = noise.iter().flatten().map(String::len).collect();
    assert_eq!(lengths, (0..=12).collect());
    let words: HashSet<usize> = texts("prose").iter().flatten().map(|text| text.split(' ').count()).collect();
    assert_eq!(words, (1..=4).collect());
}

#[test]
fn a_pattern_fills_its_places_and_keeps_the_rest() {
    for text in texts("shape").into_iter().flatten() {
        let bytes = text.as_bytes();
        assert!(text.starts_with("A-") && bytes[4] == b'-' && bytes.len() == 7, "{text}");
        assert!(bytes[2..4].iter().all(u8::is_ascii_digit) && bytes[5..].iter().all(u8::is_ascii_lowercase), "{text}");
    }
}

#[test]
fn a_choice_follows_its_weights() {
    let chosen = column("pick");
    let share = |wanted: &Value| chosen.iter().filter(|value| *value == wanted).count() as f64 / 3500.0;
    for (value, weight) in
        [(Value::Text("a".into()), 0.5), (Value::Int(2), 0.3), (Value::Real(0.5), 0.1), (Value::Null, 0.1)]
    {
        assert!((share(&value) - weight).abs() < 0.04, "{value:?}");
    }
}

#[test]
fn given_bytes_are_the_rows_in_their_order_and_digits_that_are_none_are_refused() {
    let plan = |hex: &str| {
        Plan::from_json(&format!(
            r#"{{"tables": [{{"name": "t", "rows": 3, "columns": [{{"name": "a", "distribution": "bytes", "hex": [{hex}]}}]}}]}}"#
        ))
    };
    let made = rows(&plan(r#""", "00fF", "80""#).expect("the plan is sound"), 0, 9, 2);
    let blobs = [vec![], vec![0, 0xff], vec![0x80]].map(|bytes| vec![Value::Blob(bytes)]);
    assert_eq!(made, blobs);
    for wrong in ["0", "0g", "00 f", "é1"] {
        let fault = plan(&format!(r#""00", "{wrong}", "00""#)).expect_err("these are no pairs of digits");
        assert!(fault.starts_with("t.a: expected pairs of hexadecimal digits"), "{fault}");
    }
}

#[test]
fn columns_seeds_and_rows_draw_independently() {
    let plan = Plan::from_json(
        r#"{"tables": [{"name": "t", "rows": 2000, "columns": [
            {"name": "a", "distribution": "uniform", "lo": 0, "hi": 1000000000},
            {"name": "b", "distribution": "uniform", "lo": 0, "hi": 1000000000}]}]}"#,
    )
    .expect("the plan is sound");
    let values: HashSet<String> =
        (1..=2).flat_map(|seed| rows(&plan, 0, seed, 1)).flatten().map(|value| format!("{value:?}")).collect();
    // 8000 draws of 1e9 values: 0.03 collisions are expected.
    assert!(values.len() > 7995, "{} distinct values", values.len());
}

#[test]
fn an_error_of_the_caller_ends_the_work_and_comes_back() {
    let plan = everything();
    for threads in [1, 3] {
        let mut chunks = 0;
        let outcome = plan.tables[1].generate(1, threads, |_| {
            chunks += 1;
            if chunks == 2 {
                Err("disk full")
            } else {
                Ok(())
            }
        });
        assert_eq!((outcome, chunks), (Err("disk full"), 2));
    }
}

#[test]
fn a_table_without_rows_makes_none() {
    assert!(rows(&everything(), 2, 1, 4).is_empty());
}

#[test]
fn faults_name_their_table_and_column() {
    for (column, expected) in [
        (r#"{"name": "a", "distribution": "unifrom"}"#, "t.a: unknown variant `unifrom`"),
        (r#"{"name": "a", "distribution": "uniform", "lo": 2, "hi": 1}"#, "t.a: lower bound 2 is above upper bound 1"),
        (r#"{"name": "a", "distribution": "serial", "step": 2}"#, "t.a: unknown field `step`"),
        (r#"{"name": "a", "distribution": "serial", "null_share": 0.5}"#, "t.a: a serial column"),
        (r#"{"name": "a", "distribution": "uniform", "lo": 0, "hi": 1, "null_share": 2}"#, "t.a: null_share"),
        (r#"{"name": "a", "distribution": "ref", "table": "q"}"#, "t.a: refers to unknown table \"q\""),
        (r#"{"name": "a", "distribution": "ref", "table": "z"}"#, "t.a: refers to table \"z\", which has no rows"),
        (r#"{"name": "a", "distribution": "ref", "table": "p", "s": 1.1}"#, "t.a: s and scatter"),
        (r#"{"name": "a", "distribution": "ref", "table": "p", "pick": "zipf"}"#, "t.a: a zipf reference needs s"),
        (
            r#"{"name": "a", "distribution": "parent", "table": "p", "fanout": 2}"#,
            "t.a: 30 rows need more than the 10 parents",
        ),
        (r#"{"name": "a", "distribution": "line", "fanout": 0}"#, "t.a: fanout"),
        (r#"{"name": "a", "distribution": "zipf", "lo": 1, "hi": 9, "s": 1.0}"#, "t.a: s must be"),
        (r#"{"name": "a", "distribution": "gaussian", "lo": 1, "hi": 9, "width": 1}"#, "t.a: width"),
        (r#"{"name": "a", "distribution": "decimal", "lo": 0, "hi": 1, "places": 12}"#, "t.a: places"),
        (r#"{"name": "a", "distribution": "choice", "values": []}"#, "t.a: values"),
        (r#"{"name": "a", "distribution": "choice", "values": [1], "weights": [0]}"#, "t.a: weights"),
        (r#"{"name": "a", "distribution": "choice", "values": [[1]]}"#, "t.a: [1] is neither"),
        (r#"{"name": "a", "distribution": "bytes", "hex": ["00", "ff"]}"#, "t.a: 2 values given for 30 rows"),
        (r#"{"distribution": "serial"}"#, "t: column 1 has no name"),
        ("", "t: has no columns"),
    ] {
        let found = fault(column);
        assert!(found.starts_with(expected), "expected {expected:?}, found {found:?}");
    }
}

#[test]
fn the_checksum_is_the_one_that_stores_keep() {
    let mut sum = TableChecksum::default();
    sum.add_row([ValueRef::Int(1), ValueRef::Text(b"abc"), ValueRef::Null]);
    sum.add_row([ValueRef::Real(-0.0), ValueRef::Blob(b"abc"), ValueRef::Int(-1)]);
    assert_eq!((sum.rows, sum.sum, sum.xor), (2, 5_123_798_433_008_763_279, 1_296_891_617_688_975));
}

#[test]
fn types_of_equal_content_are_told_apart() {
    let of = |value: ValueRef<'_>| {
        let mut sum = TableChecksum::default();
        sum.add_row([value]);
        sum.sum
    };
    let distinct = HashSet::from([
        of(ValueRef::Null),
        of(ValueRef::Int(0)),
        of(ValueRef::Real(0.0)),
        of(ValueRef::Text(b"")),
        of(ValueRef::Blob(b"")),
        of(ValueRef::Text(b"0")),
    ]);
    assert_eq!(distinct.len(), 6);
    assert_eq!(of(ValueRef::Real(0.0)), of(ValueRef::Real(-0.0)));
}

#[test]
fn a_row_held_twice_is_noticed() {
    let plan = everything();
    let once = rows(&plan, 1, 1, 1);
    let mut swapped = once.clone();
    swapped[0] = once[2].clone();
    swapped[1] = once[2].clone();
    assert_ne!(checksum(&swapped).sum, checksum(&once).sum);
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Int),
        (-1e9..1e9f64).prop_map(Value::Real),
        "[a-z]{0,6}".prop_map(Value::Text),
        proptest::collection::vec(any::<u8>(), 0..6).prop_map(Value::Blob),
    ]
}

fn table() -> impl Strategy<Value = Vec<Vec<Value>>> {
    proptest::collection::vec(proptest::collection::vec(value(), 3), 1..40)
}

proptest! {
    #[test]
    fn the_checksum_ignores_the_order_of_rows(rows in table(), turn in 0usize..40) {
        let mut other = rows.clone();
        other.rotate_left(turn % rows.len());
        other.reverse();
        prop_assert_eq!(checksum(&other), checksum(&rows));
    }

    #[test]
    fn the_checksum_of_the_parts_merges_to_that_of_the_whole(rows in table(), cut in 0usize..40) {
        let (left, right) = rows.split_at(cut.min(rows.len()));
        let mut merged = checksum(left);
        merged.merge(&checksum(right));
        prop_assert_eq!(merged, checksum(&rows));
    }

    #[test]
    fn the_checksum_notices_one_changed_value(
        mut rows in table(), row in any::<prop::sample::Index>(), column in 0usize..3, new in value(),
    ) {
        let before = checksum(&rows);
        let slot = &mut row.get_mut(&mut rows)[column];
        prop_assume!(*slot != new);
        *slot = new;
        prop_assert_ne!(checksum(&rows), before);
    }

    #[test]
    fn the_checksum_notices_values_that_change_places(mut rows in table(), row in any::<prop::sample::Index>()) {
        let before = checksum(&rows);
        let row = row.get_mut(&mut rows);
        prop_assume!(row[0] != row[1]);
        row.swap(0, 1);
        prop_assert_ne!(checksum(&rows), before);
    }

    #[test]
    fn a_row_depends_on_seed_and_index_alone(seed in any::<u64>(), index in 0u64..3500, before in 0u64..3500) {
        let plan = everything();
        let mut fresh = Vec::new();
        plan.tables[1].row(seed, index, &mut fresh);
        let mut used = Vec::new();
        plan.tables[1].row(seed ^ 1, before, &mut used);
        plan.tables[1].row(seed, index, &mut used);
        prop_assert_eq!(fresh, used);
    }

    #[test]
    fn permute_is_a_bijection(size in 1u64..3000) {
        let seen: HashSet<u64> = (0..size).map(|index| permute(index, size)).collect();
        prop_assert_eq!(seen.len() as u64, size);
        prop_assert!(seen.iter().all(|index| *index < size));
    }
}

proptest! {
    // Each case makes 7000 rows: a few cases are enough and keep the suite quick.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_number_of_threads_changes_nothing(seed in any::<u64>(), threads in 2usize..6) {
        let plan = everything();
        prop_assert!(plan.tables[1].rows > 3 * CHUNK_ROWS);
        prop_assert_eq!(rows(&plan, 1, seed, threads), rows(&plan, 1, seed, 1));
    }
}

#[test]
fn ranges_make_the_rows_of_the_whole() {
    let plan = Plan::from_json(EVERYTHING).unwrap();
    let table = &plan.tables[1];
    let (mut whole, mut parts) = (TableChecksum::default(), TableChecksum::default());
    let add = |sum: &mut TableChecksum, chunk: &super::Chunk| {
        chunk.rows().for_each(|row| sum.add_row(row.iter().map(ValueRef::from)));
        Ok::<(), ()>(())
    };
    table.generate(3, 2, |chunk| add(&mut whole, chunk)).unwrap();
    for range in [0..1, 1..1500, 1500..1500, 1500..9999] {
        let mut next = range.start;
        let in_order = |chunk: &super::Chunk| {
            assert_eq!(chunk.first(), next);
            next += chunk.rows().len() as u64;
            add(&mut parts, chunk)
        };
        table.generate_range(3, range, in_order).unwrap();
    }
    assert_eq!(whole, parts);
}
