//! The meaning of the server's error numbers for the load loop.

use crate::failure::{failure, said};
use tdelta_core::client::ClientError;

/// The error in a packet that begins with 0xff.
pub fn error_of(packet: &[u8]) -> ClientError {
    let [_, low, high, rest @ ..] = packet else {
        return failure("protocol", "the server sent an error without a number".into());
    };
    let code = u16::from_le_bytes([*low, *high]);
    let text = match rest {
        [b'#', _, _, _, _, _, text @ ..] => text,
        text => text,
    };
    let text = said(text);
    ClientError {
        kind: kind_of(code, &text).into(),
        message: format!("{text} (error {code})"),
        retryable: matches!(code, LOCK_WAIT_TIMEOUT | DEADLOCK | RECORD_HAS_CHANGED),
    }
}

const RECORD_HAS_CHANGED: u16 = 1020; // MariaDB's innodb_snapshot_isolation
const LOCK_WAIT_TIMEOUT: u16 = 1205;
const DEADLOCK: u16 = 1213;

/// Kinds by the numbers that MySQL's and MariaDB's lists of errors share, and a few that one of them has.
fn kind_of(code: u16, text: &str) -> &'static str {
    match code {
        LOCK_WAIT_TIMEOUT => "busy",
        DEADLOCK => "deadlock",
        RECORD_HAS_CHANGED => "conflict",
        1022 | 1048 | 1062 | 1216 | 1217 | 1364 | 1451 | 1452 | 1557 | 1586 | 1761 | 1762 | 3819 | 4025 => "constraint",
        1021 | 1114 => "full",
        // "Got error 28 from storage engine", "Error writing file … (errno: 28)": ENOSPC.
        3 | 1026 | 1030 if says_no_space(text) => "full",
        3 | 1016 | 1017 | 1024 | 1026 | 1030 => "io",
        1034 | 1035 | 1194 | 1195 | 1712 => "corrupt",
        1037 | 1038 | 1041 | 1135 => "out_of_memory",
        1040 | 1203 | 1226 => "too_many_connections",
        1045 | 1130 | 1251 | 1524 | 1698 | 1820 | 1862 | 4151 => "auth",
        1044 | 1095 | 1142 | 1143 | 1227 | 1370 => "denied",
        1049 => "unknown_database",
        1053 | 1158 | 1159 | 1160 | 1161 | 1927 | 3169 | 4031 => "connection",
        1173 | 3750 => "primary_key",
        1148 | 3948 | 3950 | 4166 => NO_LOCAL_INFILE,
        1290 | 1792 | 1836 => "read_only",
        1295 => UNPREPARABLE,
        1317 => "interrupted",
        1461 => "too_many_statements",
        3159 => "tls",
        3180 | 3185 | 3187 => "key",
        _ => "sql",
    }
}

/// The server takes this statement as text only.
pub const UNPREPARABLE: &str = "unpreparable";

/// The server takes no rows from its client's files.
pub const NO_LOCAL_INFILE: &str = "no_local_infile";

fn says_no_space(text: &str) -> bool {
    text.contains("error 28 ") || text.contains("errno: 28 ") || text.contains("No space left")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(code: u16, rest: &str) -> Vec<u8> {
        [&[0xff][..], &code.to_le_bytes(), rest.as_bytes()].concat()
    }

    #[test]
    fn an_error_carries_kind_words_and_number() {
        let error = error_of(&packet(1062, "#23000Duplicate entry"));
        assert_eq!((error.kind.as_str(), error.message.as_str()), ("constraint", "Duplicate entry (error 1062)"));
        assert!(!error.retryable);
    }

    #[test]
    fn what_may_succeed_when_tried_again_says_so() {
        for (code, kind) in [(1205, "busy"), (1213, "deadlock"), (1020, "conflict")] {
            let error = error_of(&packet(code, "#40001x"));
            assert_eq!((error.kind.as_str(), error.retryable), (kind, true));
        }
    }

    #[test]
    fn a_full_disk_is_told_from_other_failures_to_write() {
        assert_eq!(error_of(&packet(1030, "#HY000Got error 28 \"No space left on device\" from x")).kind, "full");
        assert_eq!(error_of(&packet(1030, "#HY000Got error 168 \"unknown\" from x")).kind, "io");
    }

    #[test]
    fn an_error_ahead_of_the_handshake_has_no_state() {
        let error = error_of(&packet(1040, "Too many connections"));
        assert_eq!(
            (error.kind.as_str(), error.message.as_str()),
            ("too_many_connections", "Too many connections (error 1040)")
        );
    }

    #[test]
    fn a_packet_cut_short_is_no_error_of_the_servers() {
        assert_eq!(error_of(&[0xff, 1]).kind, "protocol");
    }
}
