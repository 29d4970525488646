//! The distributions by which the values of a column are drawn.

use serde::Deserialize;

use super::words::WORDS;
use crate::draw::{permute, Rng};
use crate::value::Value;

/// Integer distributions that go through a double must fit its 53 bits.
const EXACT: i64 = 1 << 53;

/// A distribution as the plan writes it.
#[derive(Debug, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Spec {
    Serial {},
    Const {
        value: serde_json::Value,
    },
    Uniform {
        lo: i64,
        hi: i64,
    },
    Zipf {
        lo: i64,
        hi: i64,
        s: f64,
        #[serde(default)]
        scatter: bool,
    },
    Gaussian {
        lo: i64,
        hi: i64,
        width: f64,
    },
    Ref {
        table: String,
        #[serde(default)]
        pick: Pick,
        s: Option<f64>,
        scatter: Option<bool>,
    },
    Parent {
        table: String,
        fanout: u64,
    },
    Line {
        fanout: u64,
    },
    Decimal {
        lo: f64,
        hi: f64,
        places: u32,
    },
    Text {
        min: usize,
        max: usize,
    },
    Words {
        min: usize,
        max: usize,
    },
    Pattern {
        template: String,
    },
    Choice {
        values: Vec<serde_json::Value>,
        weights: Option<Vec<f64>>,
    },
    Timestamp {
        start: i64,
        end: i64,
    },
    /// Given row by row, as hexadecimal digits: planted markers must be the same bytes wherever they are looked for.
    Bytes {
        hex: Vec<String>,
    },
}

/// How a reference picks a key of its table.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Pick {
    #[default]
    Uniform,
    Zipf,
    Sequence,
}

/// A distribution ready to draw: tables are resolved to row counts, weights to a running sum.
#[derive(Debug)]
pub(super) enum Distribution {
    Serial,
    Const(Value),
    Uniform { lo: i64, hi: i64 },
    Zipf { lo: i64, hi: i64, s: f64, scatter: bool },
    Gaussian { lo: i64, hi: i64, width: f64 },
    Sequence { rows: u64 },
    Parent { fanout: u64 },
    Line { fanout: u64 },
    Decimal { lo: i64, hi: i64, unit: f64 },
    Text { min: usize, max: usize },
    Words { min: usize, max: usize },
    Pattern(Vec<u8>),
    Choice { values: Vec<Value>, cumulative: Vec<f64> },
    Given(Vec<Value>),
}

impl Distribution {
    /// Checks `spec` for a column of a table of `rows` rows; `rows_of` finds another table's.
    pub(super) fn resolve(spec: Spec, rows: u64, rows_of: impl Fn(&str) -> Option<u64>) -> Result<Self, String> {
        let keys = |table: &str| match rows_of(table) {
            None => Err(format!("refers to unknown table {table:?}")),
            Some(0) => Err(format!("refers to table {table:?}, which has no rows")),
            Some(n) => Ok(n),
        };
        Ok(match spec {
            Spec::Serial {} => Self::Serial,
            Spec::Const { value } => Self::Const(scalar(value)?),
            Spec::Uniform { lo, hi } | Spec::Timestamp { start: lo, end: hi } => {
                ordered(lo, hi)?;
                Self::Uniform { lo, hi }
            }
            Spec::Zipf { lo, hi, s, scatter } => zipf(lo, hi, s, scatter)?,
            Spec::Gaussian { lo, hi, width } => {
                exact(lo, hi)?;
                require(width >= 2.0, || format!("width must be at least 2, found {width}"))?;
                Self::Gaussian { lo, hi, width }
            }
            Spec::Ref { table, pick, s, scatter } => reference(keys(&table)?, pick, s, scatter)?,
            Spec::Parent { table, fanout } => {
                let parents = keys(&table)?;
                require(rows <= parents.saturating_mul(fanout), || {
                    format!("{rows} rows need more than the {parents} parents of {table:?} at {fanout} each")
                })?;
                Self::Parent { fanout }
            }
            Spec::Line { fanout } => {
                require(fanout > 0, || "fanout must be at least 1, found 0".into())?;
                Self::Line { fanout }
            }
            Spec::Decimal { lo, hi, places } => decimal(lo, hi, places)?,
            Spec::Text { min, max } => {
                ordered(min, max)?;
                Self::Text { min, max }
            }
            Spec::Words { min, max } => {
                ordered(min, max)?;
                Self::Words { min, max }
            }
            Spec::Pattern { template } => Self::Pattern(ascii(template)?),
            Spec::Choice { values, weights } => choice(values, weights)?,
            Spec::Bytes { hex } => given(&hex, rows)?,
        })
    }

    /// Whether the distribution draws; the others are functions of the row index alone, and need no generator.
    #[inline]
    fn draws(&self) -> bool {
        !matches!(
            self,
            Self::Serial
                | Self::Const(_)
                | Self::Sequence { .. }
                | Self::Parent { .. }
                | Self::Line { .. }
                | Self::Given(_)
        )
    }
}

/// A column: its distribution, the share of its values that are NULL, and the stream that its draws come from.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) distribution: Distribution,
    pub(super) null_share: f64,
    pub(super) stream: u64,
}

impl Column {
    /// Writes the value of row `index` to `slot`, using again the memory of a text that is there.
    pub(super) fn draw(&self, seed: u64, index: u64, slot: &mut Value) {
        if self.null_share == 0.0 && !self.distribution.draws() {
            return self.index_value(index, slot);
        }
        let mut rng = Rng::new(seed, self.stream, index);
        if self.null_share > 0.0 && rng.unit() < self.null_share {
            *slot = Value::Null;
        } else if self.distribution.draws() {
            self.drawn_value(&mut rng, slot);
        } else {
            self.index_value(index, slot);
        }
    }

    fn index_value(&self, index: u64, slot: &mut Value) {
        *slot = Value::Int(match &self.distribution {
            Distribution::Serial => index as i64 + 1,
            Distribution::Sequence { rows } => (index % rows) as i64 + 1,
            Distribution::Parent { fanout } => (index / fanout) as i64 + 1,
            Distribution::Line { fanout } => (index % fanout) as i64 + 1,
            Distribution::Const(value) => return copy(value, slot),
            Distribution::Given(values) => return copy(&values[index as usize], slot),
            _ => unreachable!("the distribution draws"),
        });
    }

    fn drawn_value(&self, rng: &mut Rng, slot: &mut Value) {
        match &self.distribution {
            Distribution::Uniform { lo, hi } => *slot = Value::Int(rng.between(*lo, *hi)),
            Distribution::Zipf { lo, hi, s, scatter } => *slot = Value::Int(zipf_value(rng, *lo, *hi, *s, *scatter)),
            Distribution::Gaussian { lo, hi, width } => *slot = Value::Int(rng.gaussian(*lo, *hi, *width)),
            Distribution::Decimal { lo, hi, unit } => *slot = Value::Real(rng.between(*lo, *hi) as f64 / unit),
            Distribution::Text { min, max } => {
                let length = between(rng, *min, *max);
                rng.text_into(length, text(slot));
            }
            Distribution::Words { min, max } => words(between(rng, *min, *max), rng, text(slot)),
            Distribution::Pattern(template) => pattern(template, rng, text(slot)),
            Distribution::Choice { values, cumulative } => {
                let point = rng.unit() * cumulative[cumulative.len() - 1];
                let chosen = cumulative.partition_point(|&sum| sum <= point).min(values.len() - 1);
                copy(&values[chosen], slot);
            }
            _ => unreachable!("the distribution does not draw"),
        }
    }
}

fn between(rng: &mut Rng, min: usize, max: usize) -> usize {
    rng.between(min as i64, max as i64) as usize
}

fn zipf_value(rng: &mut Rng, lo: i64, hi: i64, s: f64, scatter: bool) -> i64 {
    let rank = rng.zipfian(lo, hi, s);
    if scatter {
        lo + permute((rank - lo) as u64, (hi - lo) as u64 + 1) as i64
    } else {
        rank
    }
}

/// The text in `slot`, emptied; one is put there if there is none.
fn text(slot: &mut Value) -> &mut String {
    if !matches!(slot, Value::Text(_)) {
        *slot = Value::Text(String::new());
    }
    let Value::Text(text) = slot else { unreachable!("just put there") };
    text.clear();
    text
}

fn copy(value: &Value, slot: &mut Value) {
    match value {
        Value::Text(t) => text(slot).push_str(t),
        other => *slot = other.clone(),
    }
}

fn words(count: usize, rng: &mut Rng, out: &mut String) {
    for word in 0..count {
        if word > 0 {
            out.push(' ');
        }
        out.push_str(WORDS[rng.between(0, WORDS.len() as i64 - 1) as usize]);
    }
}

/// `#` becomes a digit, `?` a lower-case letter, anything else stays. Four symbols a draw: 16 bits each are plenty.
fn pattern(template: &[u8], rng: &mut Rng, out: &mut String) {
    let mut pool = 0;
    let mut left = 0;
    let mut below = |n: u64| {
        if left == 0 {
            pool = rng.bits();
            left = 4;
        }
        let symbol = ((pool & 0xffff) * n) >> 16;
        pool >>= 16;
        left -= 1;
        symbol as u8
    };
    for &byte in template {
        out.push(char::from(match byte {
            b'#' => b'0' + below(10),
            b'?' => b'a' + below(26),
            other => other,
        }));
    }
}

fn require(ok: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if ok {
        Ok(())
    } else {
        Err(otherwise())
    }
}

fn ordered<T: PartialOrd + std::fmt::Display>(lo: T, hi: T) -> Result<(), String> {
    require(lo <= hi, || format!("lower bound {lo} is above upper bound {hi}"))
}

fn exact(lo: i64, hi: i64) -> Result<(), String> {
    ordered(lo, hi)?;
    require(hi.checked_sub(lo).is_some_and(|span| span < EXACT), || format!("{lo} to {hi} spans more than 2^53"))
}

fn zipf(lo: i64, hi: i64, s: f64, scatter: bool) -> Result<Distribution, String> {
    exact(lo, hi)?;
    require((1.001..=1000.0).contains(&s), || format!("s must be within 1.001 to 1000, found {s}"))?;
    Ok(Distribution::Zipf { lo, hi, s, scatter })
}

fn reference(keys: u64, pick: Pick, s: Option<f64>, scatter: Option<bool>) -> Result<Distribution, String> {
    if pick == Pick::Zipf {
        let s = s.ok_or("a zipf reference needs s")?;
        return zipf(1, keys as i64, s, scatter.unwrap_or(true));
    }
    require(s.is_none() && scatter.is_none(), || "s and scatter belong to a zipf reference only".into())?;
    Ok(if pick == Pick::Sequence {
        Distribution::Sequence { rows: keys }
    } else {
        Distribution::Uniform { lo: 1, hi: keys as i64 }
    })
}

fn decimal(lo: f64, hi: f64, places: u32) -> Result<Distribution, String> {
    ordered(lo, hi)?;
    require(places <= 9, || format!("places must be at most 9, found {places}"))?;
    let unit = 10f64.powi(places as i32);
    let (low, high) = ((lo * unit).round(), (hi * unit).round());
    require(low.abs().max(high.abs()) < EXACT as f64, || format!("{lo} to {hi} is beyond 2^53 units"))?;
    Ok(Distribution::Decimal { lo: low as i64, hi: high as i64, unit })
}

fn ascii(template: String) -> Result<Vec<u8>, String> {
    require(template.is_ascii(), || format!("template {template:?} must be ASCII"))?;
    Ok(template.into_bytes())
}

fn choice(values: Vec<serde_json::Value>, weights: Option<Vec<f64>>) -> Result<Distribution, String> {
    require(!values.is_empty(), || "values must not be empty".into())?;
    let weights = weights.unwrap_or_else(|| vec![1.0; values.len()]);
    require(weights.len() == values.len(), || format!("{} weights for {} values", weights.len(), values.len()))?;
    require(weights.iter().all(|w| w.is_finite() && *w > 0.0), || "weights must be above 0".into())?;
    let cumulative = weights
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    Ok(Distribution::Choice { values: values.into_iter().map(scalar).collect::<Result<_, _>>()?, cumulative })
}

fn given(hex: &[String], rows: u64) -> Result<Distribution, String> {
    require(hex.len() as u64 == rows, || format!("{} values given for {rows} rows", hex.len()))?;
    let bytes = |text: &String| {
        let digits: Option<Vec<u8>> = text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0);
        let digits = digits.ok_or_else(|| format!("expected pairs of hexadecimal digits, found {text:?}"))?;
        Ok(Value::Blob(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
    };
    hex.iter().map(bytes).collect::<Result<_, String>>().map(Distribution::Given)
}

fn scalar(value: serde_json::Value) -> Result<Value, String> {
    match value {
        serde_json::Value::Null => Ok(Value::Null),
        serde_json::Value::String(text) => Ok(Value::Text(text)),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Ok(Value::Int(integer)),
            (None, Some(real)) => Ok(Value::Real(real)),
            (None, None) => Err(format!("{number} is no number of 64 bits")),
        },
        other => Err(format!("{other} is neither text, number nor null")),
    }
}
