//! Reads a command and checks that it can be done. Changes nothing.

use super::error::CommandError;
use super::slots::{ranges, set_of, slot};
use super::text::{integer, is, shown};
use super::{Command, FailoverMode, Origin, SlotState};
use crate::cluster::Cluster;
use crate::facts::Env;
use crate::id::NodeId;
use crate::node_key::NodeKey;
use std::net::IpAddr;

/// How far the port for the bus is from that for clients, where nobody says it.
const BUS_PORT_DISTANCE: i64 = 10_000;

impl Cluster {
    /// What a subcommand would do. `args` begin with its name. A key of the result is that of a node as long as nothing else happens.
    pub fn check(&self, args: &[&[u8]], origin: Origin, env: &Env<'_>) -> Result<Command, CommandError> {
        let (name, rest) = args.split_first().ok_or(CommandError::Syntax)?;
        let unknown = || CommandError::UnknownSubcommand(shown(name));
        match name.to_ascii_lowercase().as_slice() {
            b"addslots" => self.check_add_slots(rest, false),
            b"addslotsrange" if rest.len() % 2 == 1 => Err(CommandError::WrongArity("addslotsrange")),
            b"addslotsrange" => self.check_add_slots(rest, true),
            b"bumpepoch" => Ok(Command::BumpEpoch),
            b"delslots" => self.check_del_slots(rest, false),
            b"delslotsrange" if rest.len() % 2 == 1 => Err(CommandError::WrongArity("delslotsrange")),
            b"delslotsrange" => self.check_del_slots(rest, true),
            b"failover" => self.check_failover(rest, origin),
            b"flushslots" if env.facts.has_keys() => Err(CommandError::NeedsEmptyDb),
            b"flushslots" => Ok(Command::FlushSlots),
            b"forget" => self.check_forget(rest.first().ok_or_else(unknown)?, env),
            b"meet" if rest.len() < 2 || rest.len() > 3 => Err(unknown()),
            b"meet" => check_meet(rest[0], rest[1], rest.get(2).copied()),
            b"replicate" => match rest {
                [id] => self.check_replicate(id, env),
                [no, one] if is(Some(no), "no") && is(Some(one), "one") => Ok(Command::ReplicateNoOne),
                _ => Err(unknown()),
            },
            b"reset" if rest.len() > 1 => Err(unknown()),
            b"reset" => self.check_reset(rest.first(), env),
            b"saveconfig" => Ok(Command::SaveConfig),
            b"set-config-epoch" => self.check_config_epoch(rest.first().ok_or_else(unknown)?),
            b"setslot" => self.check_set_slot(rest, origin, env),
            _ => Err(unknown()),
        }
    }

    fn check_add_slots(&self, args: &[&[u8]], are_pairs: bool) -> Result<Command, CommandError> {
        let is_free = |slot| match self.table.owner(slot) {
            Some(_) => Err(CommandError::SlotBusy(slot)),
            None => Ok(()),
        };
        Ok(Command::AddSlots(set_of(&ranges(args, are_pairs)?, is_free)?))
    }

    fn check_del_slots(&self, args: &[&[u8]], are_pairs: bool) -> Result<Command, CommandError> {
        let is_owned = |slot| match self.table.owner(slot) {
            Some(_) => Ok(()),
            None => Err(CommandError::SlotUnassigned(slot)),
        };
        Ok(Command::DelSlots(set_of(&ranges(args, are_pairs)?, is_owned)?))
    }

    fn check_failover(&self, args: &[&[u8]], origin: Origin) -> Result<Command, CommandError> {
        let mode = self.failover_mode(args, origin)?;
        if self.me().is_primary() {
            return Err(CommandError::NotReplica);
        }
        let primary = self.me().primary.ok_or(CommandError::MasterUnknown)?;
        let is_down = self.table[primary].has_failed() || self.open_link_to(primary).is_none();
        if is_down && mode == FailoverMode::Default {
            return Err(CommandError::MasterDown);
        }
        Ok(Command::Failover(mode))
    }

    fn failover_mode(&self, args: &[&[u8]], origin: Origin) -> Result<FailoverMode, CommandError> {
        let mut mode = FailoverMode::Default;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if is(Some(arg), "takeover") {
                mode = FailoverMode::Takeover;
            } else if is(Some(arg), "force") {
                mode = if mode == FailoverMode::Default { FailoverMode::Force } else { mode };
            } else {
                // A primary that ends names the replica that shall take its place.
                let id = args.next().filter(|_| is(Some(arg), "replicaid") && origin == Origin::Primary);
                id.filter(|&&id| id == self.me().id.as_bytes()).ok_or(CommandError::Syntax)?;
            }
        }
        Ok(mode)
    }

    fn check_forget(&self, arg: &[u8], env: &Env<'_>) -> Result<Command, CommandError> {
        let Some(key) = self.node_of(arg) else {
            let is_forgotten = NodeId::parse(arg).is_some_and(|id| self.is_banned(&id, env));
            return is_forgotten
                .then_some(Command::Forget(None))
                .ok_or_else(|| CommandError::UnknownNode(shown(arg)));
        };
        if key == self.myself {
            return Err(CommandError::ForgetMyself);
        }
        if self.me().primary == Some(key) {
            return Err(CommandError::ForgetMaster);
        }
        Ok(Command::Forget(Some(key)))
    }

    fn check_replicate(&self, arg: &[u8], env: &Env<'_>) -> Result<Command, CommandError> {
        let key = self.node_of(arg).ok_or_else(|| CommandError::UnknownNode(shown(arg)))?;
        if key == self.myself {
            return Err(CommandError::ReplicateMyself);
        }
        if self.table[key].is_replica() {
            return Err(CommandError::ReplicateReplica);
        }
        if self.me().is_primary() && (!self.me().slots.is_empty() || env.facts.has_keys()) {
            return Err(CommandError::NotEmpty);
        }
        Ok(Command::Replicate(key))
    }

    fn check_reset(&self, arg: Option<&&[u8]>, env: &Env<'_>) -> Result<Command, CommandError> {
        let is_hard = is(arg, "hard");
        if arg.is_some() && !is_hard && !is(arg, "soft") {
            return Err(CommandError::Syntax);
        }
        if self.me().is_primary() && env.facts.has_keys() {
            return Err(CommandError::HasKeys);
        }
        Ok(Command::Reset { is_hard })
    }

    fn check_config_epoch(&self, arg: &[u8]) -> Result<Command, CommandError> {
        let number = integer(arg).ok_or(CommandError::NotInteger)?;
        let epoch = u64::try_from(number).map_err(|_| CommandError::BadConfigEpoch(number))?;
        if self.table.len() > 1 {
            return Err(CommandError::NotFresh);
        }
        if self.me().config_epoch != 0 {
            return Err(CommandError::EpochIsSet);
        }
        Ok(Command::SetConfigEpoch(epoch))
    }

    fn check_set_slot(&self, args: &[&[u8]], origin: Origin, env: &Env<'_>) -> Result<Command, CommandError> {
        if self.me().is_replica() && origin == Origin::Client {
            return Err(CommandError::OnlyMasters);
        }
        let slot = slot(args.first().ok_or(CommandError::BadSetSlot)?)?;
        let (action, id) = (args.get(1), args.get(2));
        let (state, used) = match id {
            _ if is(action, "stable") => (SlotState::Stable, 2),
            Some(id) if is(action, "migrating") => (self.check_migrating(slot, id)?, 3),
            Some(id) if is(action, "importing") => (self.check_importing(slot, id)?, 3),
            Some(id) if is(action, "node") => (self.check_new_owner(slot, id, env)?, 3),
            _ => return Err(CommandError::BadSetSlot),
        };
        Ok(Command::SetSlot { slot, state, timeout_ms: timeout(&args[used..])? })
    }

    fn check_migrating(&self, slot: u16, id: &[u8]) -> Result<SlotState, CommandError> {
        if self.me().is_primary() && self.table.owner(slot) != Some(self.myself) {
            return Err(CommandError::NotOwner(slot));
        }
        self.check_target(id).map(SlotState::Migrating)
    }

    fn check_importing(&self, slot: u16, id: &[u8]) -> Result<SlotState, CommandError> {
        if self.table.owner(slot) == Some(self.myself) {
            return Err(CommandError::AlreadyOwner(slot));
        }
        self.check_target(id).map(SlotState::Importing)
    }

    /// The other side of an open slot.
    fn check_target(&self, id: &[u8]) -> Result<NodeKey, CommandError> {
        let key = self.node_of(id).ok_or_else(|| CommandError::UnknownSetSlotNode(shown(id)))?;
        if key == self.myself {
            return Err(CommandError::TargetIsMyself);
        }
        if self.table[key].is_replica() { Err(CommandError::TargetNotMaster) } else { Ok(key) }
    }

    fn check_new_owner(&self, slot: u16, id: &[u8], env: &Env<'_>) -> Result<SlotState, CommandError> {
        let key = self.node_of(id).ok_or_else(|| CommandError::UnknownNode(shown(id)))?;
        if self.table[key].is_replica() {
            return Err(CommandError::TargetNotMaster);
        }
        let is_leaving = self.table.owner(slot) == Some(self.myself) && key != self.myself;
        if is_leaving && env.facts.keys_in_slot(slot) > 0 {
            return Err(CommandError::HoldsKeysOfSlot(slot));
        }
        Ok(SlotState::Node(key))
    }

    pub(crate) fn node_of(&self, arg: &[u8]) -> Option<NodeKey> {
        self.table.find(&NodeId::parse(arg)?)
    }
}

/// What follows the action of SETSLOT: TIMEOUT, and words that nobody reads.
fn timeout(args: &[&[u8]]) -> Result<Option<u64>, CommandError> {
    let Some(at) = args.iter().position(|arg| is(Some(arg), "timeout")) else { return Ok(None) };
    let value = integer(args.get(at + 1).ok_or(CommandError::MissingTimeout)?);
    let value = value.ok_or(CommandError::TimeoutNotInteger)?;
    u64::try_from(value).map(Some).map_err(|_| CommandError::TimeoutNegative)
}

fn check_meet(ip: &[u8], port: &[u8], bus_port: Option<&[u8]>) -> Result<Command, CommandError> {
    let number = integer(port).ok_or_else(|| CommandError::BadBasePort(shown(port)))?;
    let bus_number = match bus_port {
        Some(arg) => integer(arg).ok_or_else(|| CommandError::BadBusPort(shown(arg)))?,
        None => number.saturating_add(BUS_PORT_DISTANCE),
    };
    let in_range = |number: i64| u16::try_from(number).ok().filter(|&port| port > 0);
    let port = in_range(number).ok_or(CommandError::PortRange)?;
    let bus_port = in_range(bus_number).ok_or(CommandError::BusPortRange)?;
    let address = std::str::from_utf8(ip).ok().and_then(|text| text.parse::<IpAddr>().ok());
    let address = address.ok_or_else(|| CommandError::BadNodeAddress(shown(ip), port))?;
    Ok(Command::Meet { ip: address.to_string().into(), port, bus_port })
}
