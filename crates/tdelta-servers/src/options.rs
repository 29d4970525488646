//! How a server is reached.

use crate::failure::{failure, said};
use rustls::ClientConfig;
use serde::Deserialize;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tdelta_core::client::ClientError;

/// Which protocol the server speaks.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// MySQL, MariaDB, Percona Server.
    Mysql,
    /// PostgreSQL.
    Postgres,
}

/// The required level of TLS, as libpq and the MySQL clients name it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    /// Plain text.
    #[default]
    Disable,
    /// Encrypted; whoever answers is believed.
    Require,
    /// The certificate must come from the authority in `tls_ca`.
    VerifyCa,
    /// And bear the host's name.
    VerifyFull,
}

/// How to open a connection. `Debug` leaves the password out.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Which protocol the server speaks.
    pub protocol: Protocol,
    /// The path of its Unix socket; none: TCP.
    #[serde(default)]
    pub socket: Option<String>,
    /// The host's name or address.
    #[serde(default)]
    pub host: Option<String>,
    /// The TCP port; none: the protocol's own.
    #[serde(default)]
    pub port: Option<u16>,
    /// Who connects.
    pub user: String,
    /// The password; none for those who need none.
    #[serde(default)]
    pub password: Option<String>,
    /// The database (MySQL: schema) to be in; none where none is there yet.
    #[serde(default)]
    pub database: Option<String>,
    /// Whether TCP is encrypted. Unix sockets never are.
    #[serde(default)]
    pub tls: Tls,
    /// The path of the authorities' certificates, PEM.
    #[serde(default)]
    pub tls_ca: Option<String>,
    /// Statements that every new connection begins with.
    #[serde(default)]
    pub setup: Vec<String>,
    /// The expected effect of `setup`, read back once for each connection; none: nothing is.
    #[serde(default)]
    pub in_force: Option<InForce>,
    /// How long connecting may take, `setup` and `in_force` included.
    #[serde(default = "ten_seconds")]
    pub connect_seconds: f64,
    /// The time limit of one query beside a load; none: no limit.
    #[serde(default)]
    pub answer_seconds: Option<f64>,
    /// Read once for all connections: the authorities' certificates come from a file.
    #[serde(skip)]
    pub(crate) tls_config: OnceLock<Arc<ClientConfig>>,
}

/// Settings of a session with the values that they must have.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InForce {
    /// Answers one row.
    pub sql: String,
    /// A name and a value for each of its columns.
    pub expected: Vec<(String, String)>,
}

impl InForce {
    /// Compares what `sql` answered.
    ///
    /// # Errors
    /// Of kind `settings`: names every setting that is otherwise.
    pub fn check(&self, row: &[Option<String>]) -> Result<(), ClientError> {
        let cell = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let wrong = |(at, (name, wanted)): (usize, &(String, String))| {
            let found = cell(at);
            let is_wrong = !found.eq_ignore_ascii_case(wanted);
            is_wrong.then(|| format!("{name} = '{}', expected '{wanted}'", said(found.as_bytes())))
        };
        let all: Vec<_> = self.expected.iter().enumerate().filter_map(wrong).collect();
        match all.is_empty() {
            true => Ok(()),
            false => Err(failure("settings", all.join("; "))),
        }
    }
}

fn ten_seconds() -> f64 {
    10.0
}

impl fmt::Debug for Options {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Options")
            .field("protocol", &self.protocol)
            .field("address", &self.address())
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Options that are missing or contradict each other, all of them at once.
    ///
    /// # Errors
    /// Of kind `options`.
    pub fn check(&self) -> Result<(), ClientError> {
        let mut faults = Vec::new();
        if self.socket.is_none() && self.host.is_none() {
            faults.push("expected a socket or a host, found neither");
        }
        if self.socket.is_some() && self.tls != Tls::Disable {
            faults.push("TLS is for TCP: give a host instead of a socket, or leave tls at disable");
        }
        if matches!(self.tls, Tls::VerifyCa | Tls::VerifyFull) && self.tls_ca.is_none() {
            faults.push("to verify a certificate, tls_ca must name the file of its authority");
        }
        if !(self.connect_seconds > 0.0 && self.connect_seconds <= 3600.0) {
            faults.push("connect_seconds must be above 0 and at most 3600");
        }
        if !self.answer_seconds.is_none_or(|seconds| seconds > 0.0 && seconds <= 86_400.0) {
            faults.push("answer_seconds must be above 0 and at most 86400");
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(failure("options", faults.join("; "))),
        }
    }

    /// Where the server is, for people.
    #[must_use]
    pub fn address(&self) -> String {
        match (&self.socket, &self.host) {
            (Some(socket), _) => socket.clone(),
            (None, host) => format!("{}:{}", host.as_deref().unwrap_or("?"), self.tcp_port()),
        }
    }

    /// The port, or the protocol's own.
    #[must_use]
    pub fn tcp_port(&self) -> u16 {
        self.port.unwrap_or(match self.protocol {
            Protocol::Mysql => 3306,
            Protocol::Postgres => 5432,
        })
    }

    /// How long the answer to one query may take.
    #[must_use]
    pub fn answer_timeout(&self) -> Option<Duration> {
        self.answer_seconds.map(Duration::from_secs_f64)
    }

    /// How long connecting may take.
    #[must_use]
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.connect_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(json: &str) -> Result<Options, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_password_is_not_in_what_is_printed() {
        let options = options(r#"{"protocol": "mysql", "socket": "/s", "user": "u", "password": "hunter2"}"#).unwrap();
        assert!(!format!("{options:?} {options:#?}").contains("hunter2"));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let faulty =
            options(r#"{"protocol": "mysql", "user": "u", "tls": "verify-ca", "connect_seconds": 0}"#).unwrap();
        let said = faulty.check().unwrap_err().message;
        for part in ["a socket or a host", "tls_ca", "connect_seconds"] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }

    #[test]
    fn tls_over_a_unix_socket_is_refused() {
        let faulty = options(r#"{"protocol": "mysql", "socket": "/s", "user": "u", "tls": "require"}"#).unwrap();
        assert!(faulty.check().unwrap_err().message.contains("TLS is for TCP"));
    }

    #[test]
    fn an_unknown_option_is_refused() {
        assert!(options(r#"{"protocol": "mysql", "socket": "/s", "user": "u", "sokcet": "/t"}"#).is_err());
    }

    #[test]
    fn settings_are_compared_column_by_column_whatever_the_case() {
        let json =
            r#"{"sql": "SELECT 1", "expected": [["autocommit", "1"], ["engine", "InnoDB"], ["tablespace", ""]]}"#;
        let wanted: InForce = serde_json::from_str(json).unwrap();
        let row = |cells: [Option<&str>; 3]| cells.map(|cell| cell.map(String::from));
        assert!(wanted.check(&row([Some("1"), Some("INNODB"), None])).is_ok());
        let error = wanted.check(&row([Some("0"), Some("InnoDB"), Some("x\n")])).unwrap_err();
        assert_eq!(error.kind, "settings");
        assert_eq!(error.message, "autocommit = '0', expected '1'; tablespace = 'x ', expected ''");
        assert!(wanted.check(&[]).unwrap_err().message.contains("autocommit"));
    }

    #[test]
    fn the_port_is_the_protocols_own_unless_given() {
        let port = |json| options(json).unwrap().tcp_port();
        assert_eq!(port(r#"{"protocol": "mysql", "host": "h", "user": "u"}"#), 3306);
        assert_eq!(port(r#"{"protocol": "postgres", "host": "h", "user": "u"}"#), 5432);
        assert_eq!(port(r#"{"protocol": "postgres", "host": "h", "port": 7, "user": "u"}"#), 7);
    }
}
