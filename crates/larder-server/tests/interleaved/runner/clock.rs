//! Time, which passes when a sequence says so, and pauses, which may end then.

use super::super::side::Side;
use super::{Interleaved, Pause};
use larder_testkit::Value;
use std::time::{Duration, Instant};

/// A few periods of Valkey's periodic work.
const NOTICED_AFTER: Duration = Duration::from_millis(7);

/// The database of a key that shows what a server takes the time of day for, and when that key expires.
pub(super) const CLOCK_DATABASE: &str = "15";
pub(super) const CLOCK_EXPIRES_MS: u64 = 9_000_000_000_000;

impl Interleaved {
    /// Asks for the pause that is in force, and notes which connections it holds up.
    pub(super) fn note_pause(&mut self) -> Result<(), String> {
        if !self.pauses {
            return Ok(());
        }
        let [_, valkey] = &mut self.sides;
        let is_busy = valkey.is_busy();
        self.pause = if valkey.mood.is_none() {
            Pause::All
        } else if is_busy {
            return Ok(());
        } else if valkey.ask("INFO clients")?.text().contains("paused_actions:none") {
            Pause::None
        } else {
            Pause::Writes
        };
        for client in &mut valkey.clients {
            client.is_held = client.owed > 0 && (client.is_held || self.pause != Pause::None);
        }
        Ok(())
    }

    /// Has time pass, and waits until both servers have noticed: Valkey reads the clock in its periodic work.
    pub(super) fn advance(&mut self, ms: u64) -> Result<(), String> {
        let waiting = self.sides[1].clients.iter().filter(|client| client.owed > 0).count();
        if self.sides.iter().any(Side::is_busy) || self.pipelines() > 0 && waiting > 1 {
            // If it ends the waits of two connections, which comes first, and what follows it, is a server's own. While a
            // script hangs, Larder ends waits whose time is over; Valkey does that when the script has ended.
            return self.skip();
        }
        self.clock.advance(ms);
        let deadline = Instant::now() + NOTICED_AFTER;
        loop {
            self.barrier()?;
            if Instant::now() >= deadline || !self.pauses && self.sees_time()? {
                break;
            }
        }
        self.barrier()?;
        self.settle()?;
        self.note_pause()
    }

    /// Whether Valkey has read the clock, as far as is known.
    pub(super) fn sees_time(&mut self) -> Result<bool, String> {
        let left_ms = CLOCK_EXPIRES_MS - self.clock.wall_us() / 1000;
        let [_, valkey] = &mut self.sides;
        if !valkey.executes() {
            return Ok(false);
        }
        let lines = [&["SELECT", CLOCK_DATABASE][..], &["PTTL", "clock"], &["SELECT", "0"]];
        lines.iter().for_each(|line| valkey.send_on_control(line));
        valkey.control_reply()?;
        let ttl = valkey.control_reply()?;
        valkey.control_reply()?;
        Ok(ttl == Value::Int(left_ms as i64))
    }
}
