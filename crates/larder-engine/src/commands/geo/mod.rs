//! The geo commands: positions on the globe, kept as the scores of a sorted set.

mod add;
mod cover;
mod fixed;
mod handlers;
mod position;
mod read;
mod request;
mod search;
mod shape;

pub(crate) use handlers::HANDLERS;

use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Reply;
use position::Position;

/// Decimal places of distances.
const DISTANCE_DECIMALS: u32 = 4;
/// Decimal places of longitudes and latitudes, at most.
const DEGREE_DECIMALS: u32 = 17;

/// A longitude and a latitude.
fn parse_position(longitude: &[u8], latitude: &[u8]) -> CommandResult<Position> {
    let degrees = |arg| number::parse_f64_in_range(arg).ok_or(CommandError::NOT_FLOAT);
    let position = Position { longitude: degrees(longitude)?, latitude: degrees(latitude)? };
    if position.is_valid() {
        return Ok(position);
    }
    let Position { longitude, latitude } = position;
    Err(CommandError::text(format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}")))
}

/// Meters in a unit.
fn parse_unit(word: &[u8]) -> CommandResult<f64> {
    const UNITS: [(&str, f64); 4] = [("m", 1.0), ("km", 1000.0), ("ft", 0.3048), ("mi", 1609.34)];
    let found = UNITS.iter().find(|(name, _)| is_word(word, name));
    found
        .map(|(_, meters)| *meters)
        .ok_or(CommandError::Fixed("ERR unsupported unit provided. please use M, KM, FT, MI"))
}

/// Writes a distance.
fn write_distance(reply: &mut Reply<'_>, distance: f64) {
    reply.bulk(fixed::Text::of(distance, DISTANCE_DECIMALS).as_bytes());
}

/// Writes longitude and latitude.
fn write_position(reply: &mut Reply<'_>, position: &Position) {
    reply.array(2);
    for degrees in [position.longitude, position.latitude] {
        reply.double(fixed::Text::of(degrees, DEGREE_DECIMALS).trimmed());
    }
}
