//! The server's answers: an end of the statement, an error, or rows.

use super::column::Column;
use super::error::error_of;
use super::wire::Wire;
use crate::failure::out_of_protocol;
use mysql_common::constants::StatusFlags;
use mysql_common::io::ParseBuf;
use tdelta_core::client::ClientError;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// A packet that begins with 0xfe ends the rows if it is shorter; else it is a row with a very long first value.
const LONGEST_END: usize = 0xff_ffff;

/// Servers have at most 4096 in a result.
const MOST_COLUMNS: u64 = 0xffff;

/// The agreement of both sides that shapes an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dialect {
    /// No packet of its own ends the columns' definitions.
    pub has_no_eof: bool,
    /// The server leaves out definitions that it has sent before (MariaDB).
    pub caches_definitions: bool,
}

/// The packet at the end of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub affected_rows: u64,
    pub warnings: u16,
    status: u16,
}

impl Done {
    pub fn in_transaction(&self) -> bool {
        self.has(StatusFlags::SERVER_STATUS_IN_TRANS)
    }

    pub fn has_more(&self) -> bool {
        self.has(StatusFlags::SERVER_MORE_RESULTS_EXISTS)
    }

    fn has(&self, flag: StatusFlags) -> bool {
        self.status & flag.bits() != 0
    }
}

/// How an answer begins.
pub enum Reply {
    Done(Done),
    /// The server waits for the rows of a `LOAD DATA LOCAL`.
    WantsData,
    /// So many columns; whether their definitions follow.
    Rows {
        columns: usize,
        has_definitions: bool,
    },
}

/// Reads how an answer begins.
#[inline]
pub fn reply(wire: &mut Wire, dialect: Dialect) -> Result<Reply, ClientError> {
    let packet = wire.packet()?;
    match packet.first() {
        Some(&OK) => Ok(Reply::Done(done(packet)?)),
        Some(&ERROR) => Err(error_of(packet)),
        Some(&LOCAL_INFILE) => Ok(Reply::WantsData),
        Some(_) => {
            let mut rest = ParseBuf(packet);
            let columns = rest.checked_eat_lenenc_int().ok_or_else(|| out_of_protocol("an empty count of columns"))?;
            if columns > MOST_COLUMNS {
                return Err(out_of_protocol("an impossible number of columns"));
            }
            let has_definitions = !dialect.caches_definitions || rest.checked_eat_u8() != Some(0);
            Ok(Reply::Rows { columns: columns as usize, has_definitions })
        }
        None => Err(out_of_protocol("an empty packet")),
    }
}

/// Reads the end of a command that answers no rows.
pub fn expect_done(wire: &mut Wire, dialect: Dialect) -> Result<Done, ClientError> {
    match reply(wire, dialect)? {
        Reply::Done(done) => Ok(done),
        _ => Err(out_of_protocol("rows")),
    }
}

/// Reads `count` definitions into `columns`, which keep what they know already.
pub fn definitions(
    wire: &mut Wire,
    dialect: Dialect,
    count: usize,
    columns: &mut Vec<Column>,
) -> Result<(), ClientError> {
    columns.truncate(count);
    for at in 0..count {
        let packet = wire.packet()?;
        match columns.get_mut(at) {
            Some(known) if known.is_defined_by(packet) => {}
            Some(changed) => *changed = Column::read(packet)?,
            None => columns.push(Column::read(packet)?),
        }
    }
    end_of_definitions(wire, dialect)
}

/// Reads the packet behind definitions, where there is one.
pub fn end_of_definitions(wire: &mut Wire, dialect: Dialect) -> Result<(), ClientError> {
    if !dialect.has_no_eof {
        wire.packet()?;
    }
    Ok(())
}

/// One packet of a result: a row, or what ended them.
pub enum Row<'a> {
    Values(&'a [u8]),
    Last(Done),
}

/// Reads the next row.
#[inline]
pub fn row(wire: &mut Wire, dialect: Dialect) -> Result<Row<'_>, ClientError> {
    let packet = wire.packet()?;
    match packet.first() {
        Some(&END) if packet.len() < LONGEST_END => last(packet, dialect).map(Row::Last),
        Some(&ERROR) => Err(error_of(packet)),
        Some(_) => Ok(Row::Values(packet)),
        None => Err(out_of_protocol("an empty row")),
    }
}

fn last(packet: &[u8], dialect: Dialect) -> Result<Done, ClientError> {
    if dialect.has_no_eof {
        return done(packet);
    }
    match packet {
        [_, w0, w1, s0, s1, ..] => Ok(Done {
            affected_rows: 0,
            warnings: u16::from_le_bytes([*w0, *w1]),
            status: u16::from_le_bytes([*s0, *s1]),
        }),
        _ => Err(out_of_protocol("an end without its flags")),
    }
}

#[inline]
fn done(packet: &[u8]) -> Result<Done, ClientError> {
    let read = || {
        let mut rest = ParseBuf(&packet[1..]);
        let affected_rows = rest.checked_eat_lenenc_int()?;
        rest.checked_eat_lenenc_int()?;
        let status = rest.checked_eat_u16_le()?;
        let warnings = rest.checked_eat_u16_le()?;
        Some(Done { affected_rows, warnings, status })
    };
    read().ok_or_else(|| out_of_protocol("an end without its flags"))
}
