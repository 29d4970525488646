//! The cost of each statement, one call at a time: a client around a client, for extra trials that nobody measures.
//!
//! The load loop stays as it is. Reading meters around every statement takes far longer than some statements do, so a
//! traced trial says nothing of throughput; but what a meter counts for one call is that call's.

use crate::breaker::Breaker;
use crate::client::{Client, ClientError};
use crate::process::monotonic_ns;
use crate::script::{Program, Statement};
use crate::value::Value;
use serde::Serialize;
use std::collections::BTreeMap;

/// The meters' readings at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// CPU time of whoever runs the statements, ns.
    pub cpu_ns: u64,
    /// Counters by name.
    pub counters: BTreeMap<String, i64>,
}

/// Reads the meters of a connection, ahead of a statement and behind it.
pub trait Meter<C>: Send {
    /// The readings ahead of a statement.
    ///
    /// # Errors
    /// A meter that cannot be read.
    fn before(&mut self, client: &mut C) -> Result<Reading, ClientError>;

    /// The readings after it.
    ///
    /// # Errors
    /// A meter that cannot be read.
    fn after(&mut self, client: &mut C) -> Result<Reading, ClientError>;
}

/// Totals over the calls of one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// How often it ran without an error.
    pub calls: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Wall time as the client saw it, ns.
    pub elapsed_ns: u64,
    /// Rows fetched.
    pub rows: u64,
    /// By how much the counters grew; those that did not are left out.
    pub counters: BTreeMap<String, i64>,
}

impl Cost {
    fn add(&mut self, before: &Reading, after: &Reading, elapsed_ns: u64, rows: u64) {
        self.calls += 1;
        self.cpu_ns += after.cpu_ns.saturating_sub(before.cpu_ns);
        self.elapsed_ns += elapsed_ns;
        self.rows += rows;
        for (name, end) in &after.counters {
            let grown = end - before.counters.get(name).unwrap_or(end);
            if grown > 0 {
                *self.counters.entry(name.clone()).or_insert(0) += grown;
            }
        }
    }
}

/// A client whose statements are metered.
pub struct Traced<'a, C, M> {
    client: &'a mut C,
    meter: M,
    costs: BTreeMap<(usize, usize), Cost>,
}

impl<'a, C, M> Traced<'a, C, M> {
    /// Meters the statements of `client`, which are prepared already.
    pub fn new(client: &'a mut C, meter: M) -> Self {
        Self { client, meter, costs: BTreeMap::new() }
    }

    /// The costs of the statements, by `NAME/N`, N from 1, as the load loop's spans are called.
    #[must_use]
    pub fn costs(&self, programs: &[Program]) -> BTreeMap<String, Cost> {
        let named = |(at, cost): (&(usize, usize), &Cost)| {
            let program = programs.get(at.0)?;
            Some((format!("{}/{}", program.name, at.1 + 1), cost.clone()))
        };
        self.costs.iter().filter_map(named).collect()
    }
}

impl<C: Client, M: Meter<C>> Client for Traced<'_, C, M> {
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.client.prepare(programs)
    }

    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError> {
        let before = self.meter.before(self.client)?;
        let start = monotonic_ns();
        let rows = self.client.execute(at, statement, write, slots)?;
        let elapsed_ns = monotonic_ns() - start;
        let after = self.meter.after(self.client)?;
        self.costs.entry(at).or_default().add(&before, &after, elapsed_ns, rows);
        Ok(rows)
    }

    fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.client.connect(programs)
    }

    fn abandon(&mut self) {
        self.client.abandon();
    }

    fn is_spread(&self) -> bool {
        self.client.is_spread()
    }

    fn is_remote(&self) -> bool {
        self.client.is_remote()
    }

    fn breaker(&self) -> Option<Breaker> {
        self.client.breaker()
    }

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        self.client.take_counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Noop;
    use crate::load::{Loop, Mix, Transaction, Trial};
    use std::sync::atomic::AtomicBool;

    /// Each statement takes a microsecond of CPU and reads three pages; `still` never grows.
    struct Steps(u64);

    impl Meter<Noop> for Steps {
        fn before(&mut self, _client: &mut Noop) -> Result<Reading, ClientError> {
            Ok(self.reading())
        }

        fn after(&mut self, _client: &mut Noop) -> Result<Reading, ClientError> {
            self.0 += 1;
            Ok(self.reading())
        }
    }

    impl Steps {
        fn reading(&self) -> Reading {
            let counters = [("pages".to_owned(), 3 * self.0 as i64), ("still".to_owned(), 7)].into();
            Reading { cpu_ns: 1000 * self.0, counters }
        }
    }

    #[test]
    fn every_statement_has_its_own_calls_and_what_grew_over_them() {
        let text = "SELECT 1;\n\\if :op % 2 = 1\nDELETE FROM t;\n\\endif\n".to_owned();
        let mix = Mix::new(&[Transaction { name: "work".into(), weight: 1.0, text }], &BTreeMap::new()).unwrap();
        let trial: Trial = serde_json::from_value(serde_json::json!({
            "seed": 1, "stream": 1, "operations": 10, "first_op": 1, "deadline_ns": 60_000_000_000_u64,
        }))
        .unwrap();
        let mut one = Loop::new([Noop::default()]);
        one.keep(mix);
        let (outcome, costs) = one.trace(Steps(0), &trial, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.operations, 10);
        assert!(one.run(&trial, &AtomicBool::new(false)).is_ok(), "it is as ready as before");
        let of = |name: &str| (costs[name].calls, costs[name].cpu_ns, costs[name].counters.clone());
        assert_eq!(of("work/1"), (10, 10_000, [("pages".to_owned(), 30)].into()));
        assert_eq!(of("work/2"), (5, 5_000, [("pages".to_owned(), 15)].into()));
        assert_eq!(costs.len(), 2);
    }
}
