//! What a packet does.

use crate::action::Action;
use crate::cluster::Cluster;
use crate::facts::Env;
use crate::id::NodeId;
use crate::link::{Direction, LinkId};
use crate::node_key::NodeKey;
use crate::packet::{
    Extensions, GossipList, Greeting, Header, Message, MessageFlags, NodeFlags, Slots, decode,
};

impl Cluster {
    /// A packet came on a link: exactly its bytes. What is none is counted and has no effect.
    pub fn receive(&mut self, link: LinkId, bytes: &[u8], env: &Env<'_>) {
        if self.links.get(link).is_none() {
            return;
        }
        let Ok(packet) = decode(bytes) else {
            self.stats.malformed += 1;
            return;
        };
        if let Some(kind) = packet.message.kind() {
            self.stats.received.count(kind, bytes.len());
        }
        match &packet.header {
            Some(header) => self.receive_full(link, header, &packet.message, env),
            None => self.receive_light(link, &packet.message, env),
        }
    }

    /// Only who has shown itself on this link may send light packets.
    fn receive_light(&mut self, link: LinkId, message: &Message<'_>, env: &Env<'_>) {
        match self.links.get(link).and_then(|link| link.node) {
            Some(sender) => {
                self.table[sender].data_received = env.ms();
                self.deliver(message);
            }
            None => self.close(link, env),
        }
    }

    fn receive_full(&mut self, link: LinkId, header: &Header<'_>, message: &Message<'_>, env: &Env<'_>) {
        let sender = self.table.find(&header.sender).filter(|&key| !self.table[key].is_handshake());
        if let Some(found) = self.links.get_mut(link) {
            found.is_proven = true;
        }
        if sender == Some(self.myself) {
            self.receive_from_myself(link, message, env);
            return;
        }
        if let Some(sender) = sender {
            self.attach(link, sender, env);
            self.note_sender(sender, header, env);
        }
        match (message, sender) {
            (Message::Greet { greeting, gossip, extensions }, _) => {
                self.receive_greeting(link, sender, header, *greeting, (gossip, extensions), env);
            }
            (Message::Fail(id), Some(_)) => self.receive_fail(id, env),
            (Message::Publish { .. }, Some(_)) => self.deliver(message),
            (Message::AuthRequest, Some(sender)) => self.receive_auth_request(sender, header, env),
            (Message::AuthAck, Some(sender)) => self.receive_auth_ack(sender, header, env),
            (Message::Update { config_epoch, owner, slots }, Some(_)) => {
                self.receive_update(*config_epoch, owner, slots, env);
            }
            (Message::ManualFailoverStart, Some(sender)) => self.receive_manual_start(sender, env),
            _ => (),
        }
    }

    /// This node has met itself.
    fn receive_from_myself(&mut self, link: LinkId, message: &Message<'_>, env: &Env<'_>) {
        let Some(found) = self.links.get(link).cloned() else { return };
        match (found.direction, message) {
            (Direction::To, _) => {
                if let Some(key) = found.node.filter(|&key| self.table[key].is_handshake()) {
                    self.remove_node(key, env);
                }
            }
            (Direction::From, Message::Greet { greeting: Greeting::Ping | Greeting::Meet, .. }) => {
                self.send_greeting(link, Greeting::Pong, env);
            }
            _ => (),
        }
    }

    /// What every packet of a known node says.
    fn note_sender(&mut self, sender: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        if header.current_epoch > self.current_epoch {
            self.current_epoch = header.current_epoch;
            self.outbox.notice();
        }
        let node = &mut self.table[sender];
        node.data_received = env.ms();
        node.offset = header.offset;
        if header.primary.is_some() {
            node.replica_offset = header.offset;
        }
        node.reads_extensions |= header.message_flags.has(MessageFlags::EXTENSIONS);
        let told = NodeFlags::EXTENSIONS | NodeFlags::LIGHT_PUBLISH | NodeFlags::LIGHT_MODULE;
        let told = told | NodeFlags::PRIMARY_FAIL | NodeFlags::NOFAILOVER;
        node.flags = (node.flags & !told) | (header.flags & told);
        if header.config_epoch > node.config_epoch && node.is_primary() && header.primary.is_none() {
            node.config_epoch = header.config_epoch;
            // Of slots: a vote may depend on it.
            self.outbox.must_save |= node.votes();
            self.outbox.notice();
        }
        self.note_pause(sender, header, env);
    }

    fn receive_greeting(
        &mut self,
        link: LinkId,
        sender: Option<NodeKey>,
        header: &Header<'_>,
        greeting: Greeting,
        (gossip, extensions): (&GossipList<'_>, &Extensions<'_>),
        env: &Env<'_>,
    ) {
        let mut sender = sender;
        if greeting != Greeting::Pong {
            self.learn_own_ip(link, greeting == Greeting::Meet);
            if greeting == Greeting::Meet && sender.is_none() {
                let address = self.address_of(header, link);
                self.meet_stranger(address, env);
            }
            self.send_greeting(link, Greeting::Pong, env);
        }
        if self.links.get(link).is_some_and(|link| link.direction == Direction::To) {
            match self.receive_on_own_link(link, sender, header, greeting, env) {
                Some(known) => sender = Some(known),
                None => return,
            }
        }
        let Some(sender) = sender else { return };
        if greeting != Greeting::Pong {
            let address = self.address_of(header, link);
            self.move_to_address(sender, address, env);
        }
        self.hear_role(sender, header, env);
        self.hear_slots(sender, header, env);
        // After the role: who takes a primary's place is of the shard that the primary was of before.
        self.hear_extensions(sender, extensions, env);
        for entry in gossip.iter() {
            self.hear_gossip(sender, &entry, env);
        }
    }

    /// A packet on a link that this node dialled: an answer. The node that it is from, if it may go on.
    fn receive_on_own_link(
        &mut self,
        link: LinkId,
        sender: Option<NodeKey>,
        header: &Header<'_>,
        greeting: Greeting,
        env: &Env<'_>,
    ) -> Option<NodeKey> {
        let node = self.links.get(link)?.node?;
        if self.table[node].is_handshake() {
            if let Some(known) = sender {
                let address = self.address_of(header, link);
                self.move_to_address(known, address, env);
                self.remove_node(node, env);
                return None;
            }
            if self.is_banned(&header.sender, env) {
                return None;
            }
            if self.table.find(&header.sender).is_some_and(|other| other != node) {
                // Somebody uses the name that another node has here until its own is known.
                self.remove_node(node, env);
                return None;
            }
            self.end_handshake(node, header, env);
        } else if self.table[node].id != header.sender {
            self.lose_address(node, env);
            return None;
        }
        if greeting == Greeting::Pong {
            self.note_answer(node, env);
        }
        Some(node)
    }

    /// The name of a node is known now.
    fn end_handshake(&mut self, key: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        assert!(self.table.rename(key, header.sender), "nobody has the name");
        self.table[key].flags.set(NodeFlags::HANDSHAKE | NodeFlags::MEET, false);
        self.table[key].inbound_lost = env.ms();
        self.table.set_role(key, header.primary.is_none());
        self.note_sender(key, header, env);
        self.outbox.notice();
    }

    /// A PONG: the node is there.
    fn note_answer(&mut self, key: NodeKey, env: &Env<'_>) {
        let node = &mut self.table[key];
        node.pong_received = Some(env.ms());
        node.ping_sent = None;
        if node.flags.has(NodeFlags::PFAIL) {
            node.flags.set(NodeFlags::PFAIL, false);
            self.outbox.notice();
        } else if node.has_failed() {
            self.end_failure(key, env);
        }
    }

    /// Which role a node says it has.
    fn hear_role(&mut self, sender: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        let Some(id) = header.primary else {
            if !self.table[sender].is_primary() {
                self.table.set_primary(sender, None);
                self.table.set_role(sender, true);
                let node = &mut self.table[sender];
                node.config_epoch = node.config_epoch.max(header.config_epoch);
                self.outbox.changed();
            }
            return;
        };
        let primary =
            self.table.find(&id).filter(|&primary| primary != sender && !self.table[primary].is_handshake());
        if self.table[sender].is_primary() {
            // An old packet of a node that has been promoted since.
            let shard = primary.map(|primary| self.table[primary].shard);
            if shard == Some(self.table[sender].shard)
                && header.config_epoch < self.table[sender].config_epoch
            {
                return;
            }
            self.demote(sender, primary, header.config_epoch);
        }
        let Some(primary) = primary.filter(|&primary| self.table[sender].primary != Some(primary)) else {
            return;
        };
        if self.me().primary == Some(sender) && primary != self.myself {
            // Before it counts as one of the other's shard: this node is of the shard that it
            // leaves.
            self.become_replica_of(primary, env);
        }
        self.table.set_primary(sender, Some(primary));
        self.outbox.changed();
        self.climb_the_chain(env);
    }

    /// What a node says of slots: it has some, or its primary has.
    fn hear_slots(&mut self, sender: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        let claimant =
            if self.table[sender].is_primary() { Some(sender) } else { self.table[sender].primary };
        let Some(claimant) = claimant else { return };
        let is_news = !header.slots.equal(&self.table[claimant].slots);
        if is_news && claimant == sender {
            self.claim_slots(sender, header.config_epoch, &header.slots.to_set(), env);
        } else if claimant == sender {
            self.claims_again(sender);
        }
        if is_news {
            self.correct(sender, header, env);
        }
        if self.table[sender].is_primary() && self.me().is_primary() && header.primary.is_none() {
            self.settle_collision(sender, header.config_epoch);
        }
    }

    /// Tells a node that claims slots of which a later owner is known.
    fn correct(&mut self, sender: NodeKey, header: &Header<'_>, env: &Env<'_>) {
        let claimed = header.slots.to_set();
        let is_later = |slot: u16| {
            let owner = self.table.owner(slot).filter(|&owner| owner != sender)?;
            let is_newer = self.table[owner].config_epoch > header.config_epoch;
            (is_newer && !self.unclaimed.contains(slot)).then_some(owner)
        };
        if let Some(owner) = claimed.iter().find_map(is_later) {
            self.send_update(sender, owner, env);
        }
    }

    /// Tells a node which slots another has.
    pub(crate) fn send_update(&mut self, to: NodeKey, owner: NodeKey, env: &Env<'_>) {
        let slots = self.table[owner].slots.clone();
        let message = Message::Update {
            config_epoch: self.table[owner].config_epoch,
            owner: self.table[owner].id,
            slots: Slots::Set(&slots),
        };
        self.send_message(to, &message, MessageFlags::default(), env);
    }

    fn receive_update(&mut self, config_epoch: u64, owner: &NodeId, slots: &Slots<'_>, env: &Env<'_>) {
        let Some(owner) = self.table.find(owner).filter(|&owner| owner != self.myself) else { return };
        let node = &mut self.table[owner];
        if node.is_handshake() || node.config_epoch >= config_epoch {
            return;
        }
        node.config_epoch = config_epoch;
        self.current_epoch = self.current_epoch.max(config_epoch);
        if self.table[owner].is_replica() {
            self.table.set_primary(owner, None);
            self.table.set_role(owner, true);
        }
        self.outbox.changed();
        self.claim_slots(owner, config_epoch, &slots.to_set(), env);
    }

    fn deliver(&mut self, message: &Message<'_>) {
        if let Message::Publish { channel, payload, is_sharded } = *message {
            let (channel, payload) = (channel.into(), payload.into());
            self.outbox.push(Action::Deliver { channel, payload, is_sharded });
        }
    }
}
