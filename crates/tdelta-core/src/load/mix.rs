//! The transaction types of a workload, compiled, with their shares and the spans that they are timed by.

use crate::draw::Rng;
use crate::script::{compile, Program};
use crate::value::Value;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One transaction type as the workload gives it.
#[derive(Clone, Debug, Deserialize)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// Its share of the mix, relative to the others'.
    pub weight: f64,
    /// Its script.
    pub text: String,
}

/// Compiled transaction types with their shares.
#[derive(Clone)]
pub struct Mix {
    /// The compiled scripts.
    pub programs: Vec<Program>,
    thresholds: Vec<u64>,
    pub(super) first_span: Vec<usize>,
    pub(super) constants: Vec<Vec<(usize, Value)>>,
}

impl Mix {
    /// Compiles transactions. `constants` are variables that hold throughout (`rows_orders`, `scale`).
    ///
    /// # Errors
    /// The first script fault, as `name, line N: what`.
    pub fn new(transactions: &[Transaction], constants: &BTreeMap<String, Constant>) -> Result<Self, String> {
        let total: f64 = transactions.iter().map(|t| t.weight).sum();
        if transactions.is_empty() || !total.is_finite() || total <= 0.0 {
            return Err("a mix needs at least one transaction with a weight above 0".into());
        }
        let mut mix =
            Self { programs: Vec::new(), thresholds: Vec::new(), first_span: Vec::new(), constants: Vec::new() };
        let mut below = 0.0;
        let mut span = transactions.len();
        for transaction in transactions {
            let program = compile(&transaction.name, &transaction.text)
                .map_err(|(line, why)| format!("{}, line {line}: {why}", transaction.name))?;
            below += transaction.weight / total;
            mix.thresholds.push((below * u64::MAX as f64) as u64);
            mix.first_span.push(span);
            span += program.statements.len();
            mix.constants.push(constants_of(&program, constants));
            mix.programs.push(program);
        }
        if let Some(last) = mix.thresholds.last_mut() {
            *last = u64::MAX;
        }
        Ok(mix)
    }

    /// Number of spans: transaction types first, then every statement of each in order.
    #[must_use]
    pub fn span_count(&self) -> usize {
        self.programs.len() + self.programs.iter().map(|p| p.statements.len()).sum::<usize>()
    }

    /// The names of the spans, `tx:NAME` and `stmt:NAME/N` with N from 1.
    #[must_use]
    pub fn span_names(&self) -> Vec<String> {
        let transactions = self.programs.iter().map(|p| format!("tx:{}", p.name));
        let statements =
            self.programs.iter().flat_map(|p| (1..=p.statements.len()).map(move |n| format!("stmt:{}/{n}", p.name)));
        transactions.chain(statements).collect()
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> usize {
        if self.programs.len() == 1 {
            return 0;
        }
        let bits = rng.bits();
        self.thresholds.iter().position(|t| bits <= *t).unwrap_or(0)
    }
}

fn constants_of(program: &Program, constants: &BTreeMap<String, Constant>) -> Vec<(usize, Value)> {
    let known = |name: &String| constants.get(name).copied();
    program.slots.iter().filter_map(|(name, slot)| known(name).map(|value| (*slot, value.into()))).collect()
}

/// A variable that holds throughout. Whole numbers are kept whole: a double cannot distinguish all large keys.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Constant {
    /// A whole number, written without a point.
    Int(i64),
    /// Any other number; one that is whole becomes an integer too.
    Real(f64),
}

impl From<Constant> for Value {
    fn from(constant: Constant) -> Self {
        match constant {
            Constant::Int(value) => Self::Int(value),
            Constant::Real(value) if value.fract() == 0.0 && value.abs() < 9e15 => Self::Int(value as i64),
            Constant::Real(value) => Self::Real(value),
        }
    }
}
