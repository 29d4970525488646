//! A data plan: which tables, how many rows, which distribution for each column. It arrives as JSON, written by the
//! workload.

use serde::Deserialize;

use super::distribution::{Column, Distribution, Spec};
use crate::value::Value;

/// The most rows a table may have.
pub const MAX_ROWS: u64 = 1 << 40;

/// Marks the streams of the data, so that no stream of the load loop meets one of them.
const DATA_STREAMS: u64 = 0xda7a << 48;

/// The tables of a workload, in the order in which they are loaded.
#[derive(Debug)]
pub struct Plan {
    /// The tables, in load order.
    pub tables: Vec<Table>,
}

/// One table: its name, its columns in insert order, and how to make any row of it.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns' names, in the order of a row's values.
    pub columns: Vec<String>,
    /// How many rows it has.
    pub rows: u64,
    distributions: Vec<Column>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlan {
    tables: Vec<RawTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    name: String,
    rows: u64,
    columns: Vec<serde_json::Map<String, serde_json::Value>>,
}

impl Plan {
    /// Reads a plan such as
    /// `{"tables": [{"name": "t", "rows": 9, "columns": [{"name": "id", "distribution": "serial"}]}]}`.
    ///
    /// # Errors
    ///
    /// A text for people that names the table and column at fault.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let raw: RawPlan = serde_json::from_str(json).map_err(|error| format!("data plan: {error}"))?;
        let rows: Vec<(String, u64)> = raw.tables.iter().map(|table| (table.name.clone(), table.rows)).collect();
        let rows_of = |name: &str| rows.iter().find(|(known, _)| known == name).map(|(_, rows)| *rows);
        let tables = raw.tables.into_iter().enumerate().map(|(number, table)| Table::from_raw(number, table, rows_of));
        Ok(Self { tables: tables.collect::<Result<_, _>>()? })
    }

    /// The table called `name`.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl Table {
    fn from_raw(number: usize, raw: RawTable, rows_of: impl Fn(&str) -> Option<u64>) -> Result<Self, String> {
        let table = raw.name;
        if raw.rows > MAX_ROWS {
            return Err(format!("{table}: {} rows are more than the {MAX_ROWS} that can be made", raw.rows));
        }
        if raw.columns.is_empty() {
            return Err(format!("{table}: has no columns"));
        }
        let mut columns = Vec::with_capacity(raw.columns.len());
        let mut distributions = Vec::with_capacity(raw.columns.len());
        for (position, mut fields) in raw.columns.into_iter().enumerate() {
            let Some(serde_json::Value::String(name)) = fields.remove("name") else {
                return Err(format!("{table}: column {} has no name", position + 1));
            };
            let stream = DATA_STREAMS | (number as u64) << 24 | position as u64;
            let distribution = column(fields, stream, raw.rows, &rows_of);
            distributions.push(distribution.map_err(|fault| format!("{table}.{name}: {fault}"))?);
            columns.push(name);
        }
        Ok(Self { name: table, columns, rows: raw.rows, distributions })
    }

    /// Makes row `index` (from 0, below `rows`): `out` is emptied and then holds one value a column.
    pub fn row(&self, seed: u64, index: u64, out: &mut Vec<Value>) {
        out.resize_with(self.distributions.len(), Value::default);
        self.fill(seed, index, out);
    }

    /// Overwrites `row` with row `index`.
    #[inline]
    pub(super) fn fill(&self, seed: u64, index: u64, row: &mut [Value]) {
        for (column, slot) in self.distributions.iter().zip(row) {
            column.draw(seed, index, slot);
        }
    }
}

fn column(
    mut fields: serde_json::Map<String, serde_json::Value>,
    stream: u64,
    rows: u64,
    rows_of: impl Fn(&str) -> Option<u64>,
) -> Result<Column, String> {
    let null_share = match fields.remove("null_share") {
        None => 0.0,
        Some(share) => share
            .as_f64()
            .filter(|share| (0.0..=1.0).contains(share))
            .ok_or_else(|| format!("null_share must be within 0 to 1, found {share}"))?,
    };
    let spec: Spec = serde_json::from_value(serde_json::Value::Object(fields)).map_err(|error| error.to_string())?;
    let distribution = Distribution::resolve(spec, rows, rows_of)?;
    if null_share > 0.0 && matches!(distribution, Distribution::Serial) {
        return Err("a serial column is a key and cannot be NULL".into());
    }
    Ok(Column { distribution, null_share, stream })
}
