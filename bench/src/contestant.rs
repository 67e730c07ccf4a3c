//! Who competes: one row per way of doing a thing, with the request it sends.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::Connection;
use crate::error::Result;
use crate::field::{Field, Scripts, Store};
use crate::jobs::Job;
use crate::resp::{self, Reply};

/// Jobs in one request of the contestants that work in batches.
pub const BATCH: usize = 100;

/// How long leases run: longer than any slice.
const LEASE_MS: u64 = 60_000;

/// The contestants' names; targets and comparisons refer to them.
pub mod name {
    /// The cheapest command of all.
    pub const PING: &str = "PING";
    /// The cheapest way through the module's command path.
    pub const NO_OP: &str = "DQ.LEN, no key";
    /// One id into a sorted set.
    pub const ZADD: &str = "ZADD";
    /// One id and its message.
    pub const ZADD_HSET: &str = "ZADD + HSET";
    /// One job, the server makes the id.
    pub const PUSH: &str = "DQ.PUSH";
    /// One job with an id.
    pub const PUSH_ID: &str = "DQ.PUSH ID";
    /// A hundred ids into a sorted set.
    pub const ZADD_100: &str = "ZADD of 100";
    /// A hundred jobs with ids.
    pub const MPUSH: &str = "DQ.MPUSH of 100";
    /// The first of a sorted set, due or not.
    pub const ZPOPMIN: &str = "ZPOPMIN";
    /// The usual claim.
    pub const LUA_CLAIM: &str = "Lua claim";
    /// One due job.
    pub const CLAIM: &str = "DQ.CLAIM";
    /// The first hundred of a sorted set.
    pub const ZPOPMIN_100: &str = "ZPOPMIN 100";
    /// A hundred due jobs.
    pub const CLAIM_100: &str = "DQ.CLAIM COUNT 100";
    /// The usual claim of a hundred.
    pub const LUA_CLAIM_100: &str = "Lua claim of 100";
    /// One due member of a sorted set.
    pub const CLAIM_MEMBER: &str = "DQ.CLAIM of a ZSET";
    /// A hundred due members of a sorted set.
    pub const CLAIM_MEMBERS: &str = "DQ.CLAIM COUNT 100 of a ZSET";
    /// A hundred due members go into a list, by script.
    pub const LUA_MOVE: &str = "Lua move of 100";
    /// A hundred due members go into a list, by three commands at once, which is not atomic.
    pub const PLAIN_MOVE: &str = "ZRANGEBYSCORE, LPUSH, ZREM of 100";
    /// A hundred due members go into a list.
    pub const MOVE_MEMBERS: &str = "DQ.MOVE of 100 from a ZSET";
    /// Claim and acknowledge by scripts.
    pub const LUA_LEASE: &str = "Lua lease + Lua ack";
    /// Claim by script, acknowledge by two plain commands that are not atomic.
    pub const LUA_LEASE_PLAIN_ACK: &str = "Lua lease + ZREM, HDEL";
    /// Claim with a lease and acknowledge.
    pub const LEASE: &str = "DQ.CLAIM LEASE + DQ.ACK";
}

/// What requests need to know besides their jobs.
pub struct Terms {
    scripts: Scripts,
    now_ms: String,
    lease_end_ms: String,
}

impl Terms {
    /// Loads the scripts and fixes the times that clients would send along.
    pub fn agree(control: &mut Connection) -> Result<Terms> {
        let now_ms = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
        Ok(Terms {
            scripts: Scripts::load(control)?,
            now_ms: now_ms.to_string(),
            lease_end_ms: (now_ms + LEASE_MS).to_string(),
        })
    }
}

/// Writes the request for these jobs.
pub type Encode = fn(&mut Vec<u8>, &Terms, &Field, &[Job]);

/// What a request does to the population, and so what must be done before and after.
#[derive(Clone, Copy)]
pub enum Effect {
    /// Nothing.
    None,
    /// Jobs come in under their own ids, and are taken out afterwards.
    Adds,
    /// Jobs come in under ids that the replies tell, and are taken out afterwards.
    AddsUnnamed,
    /// Due jobs go out, and are put in before.
    Takes,
    /// The same, and they go into a list, which is emptied afterwards.
    Moves,
    /// Due jobs are leased, and acknowledged in a second leg that is measured too.
    Leases(Acknowledgement),
}

/// The second leg of a lease.
#[derive(Clone, Copy)]
pub struct Acknowledgement {
    /// Writes the acknowledgement of what this reply handed out.
    pub encode: fn(&mut Vec<u8>, &Terms, &Field, &Reply<'_>) -> Result<()>,
    /// Replies to one acknowledgement.
    pub replies: usize,
}

/// One way of doing a thing.
pub struct Contestant {
    /// Its name on the page.
    pub name: &'static str,
    /// Where it keeps its jobs.
    pub store: Store,
    /// Jobs in one request.
    pub jobs: usize,
    /// Replies to one request.
    pub replies: usize,
    /// What it does to the population.
    pub effect: Effect,
    /// Writes a request.
    pub encode: Encode,
}

impl Contestant {
    const fn new(name: &'static str, store: Store, effect: Effect, encode: Encode) -> Contestant {
        Contestant { name, store, jobs: 1, replies: 1, effect, encode }
    }

    const fn batched(self) -> Contestant {
        Contestant { jobs: BATCH, ..self }
    }

    const fn answered_twice(self) -> Contestant {
        Contestant { replies: 2, ..self }
    }

    const fn answered_three_times(self) -> Contestant {
        Contestant { replies: 3, ..self }
    }

    /// Whether it is one of DQ's.
    pub fn needs_module(&self) -> bool {
        self.name.starts_with("DQ.")
    }
}

/// All contestants, in the order of their turns: those that do the same thing stand together.
pub fn all() -> Vec<Contestant> {
    use Effect::{Adds, AddsUnnamed, Leases, Moves, Takes};
    use Store::{Queue, SetAndHash, SortedSet};
    let lua_ack = Effect::Leases(Acknowledgement { encode: lua_ack, replies: 1 });
    let plain_ack = Effect::Leases(Acknowledgement { encode: plain_ack, replies: 2 });
    vec![
        Contestant::new(name::PING, SortedSet, Effect::None, ping),
        Contestant::new(name::NO_OP, Queue, Effect::None, no_op),
        Contestant::new(name::ZADD, SortedSet, Adds, zadd),
        Contestant::new(name::ZADD_HSET, SetAndHash, Adds, zadd_hset).answered_twice(),
        Contestant::new(name::PUSH, Queue, AddsUnnamed, push),
        Contestant::new(name::PUSH_ID, Queue, Adds, push_id),
        Contestant::new(name::ZADD_100, SortedSet, Adds, zadd).batched(),
        Contestant::new(name::MPUSH, Queue, Adds, mpush).batched(),
        Contestant::new(name::ZPOPMIN, SortedSet, Takes, zpopmin),
        Contestant::new(name::LUA_CLAIM, SortedSet, Takes, lua_claim),
        Contestant::new(name::CLAIM_MEMBER, SortedSet, Takes, claim_member),
        Contestant::new(name::CLAIM, Queue, Takes, claim),
        Contestant::new(name::ZPOPMIN_100, SortedSet, Takes, zpopmin_100).batched(),
        Contestant::new(name::LUA_CLAIM_100, SortedSet, Takes, lua_claim_100).batched(),
        Contestant::new(name::CLAIM_MEMBERS, SortedSet, Takes, claim_members).batched(),
        Contestant::new(name::CLAIM_100, Queue, Takes, claim_100).batched(),
        Contestant::new(name::LUA_MOVE, SortedSet, Moves, lua_move).batched(),
        Contestant::new(name::PLAIN_MOVE, SortedSet, Moves, plain_move).batched().answered_three_times(),
        Contestant::new(name::MOVE_MEMBERS, SortedSet, Moves, move_members).batched(),
        Contestant::new(name::LUA_LEASE, SortedSet, lua_ack, lua_lease),
        Contestant::new(name::LUA_LEASE_PLAIN_ACK, SortedSet, plain_ack, lua_lease),
        Contestant::new(name::LEASE, Queue, Leases(Acknowledgement { encode: ack, replies: 1 }), lease),
    ]
}

fn ping(buffer: &mut Vec<u8>, _: &Terms, _: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"PING"]);
}

fn no_op(buffer: &mut Vec<u8>, _: &Terms, _: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"DQ.LEN", b"none"]);
}

fn zadd(buffer: &mut Vec<u8>, _: &Terms, field: &Field, jobs: &[Job]) {
    buffer.extend(field.zadd(jobs));
}

fn zadd_hset(buffer: &mut Vec<u8>, _: &Terms, field: &Field, jobs: &[Job]) {
    buffer.extend(field.zadd(jobs));
    buffer.extend(field.hset(jobs));
}

fn push(buffer: &mut Vec<u8>, _: &Terms, field: &Field, jobs: &[Job]) {
    for job in jobs {
        resp::encode(buffer, &[b"DQ.PUSH", &field.queue, &job.message, b"AT", job.at.as_bytes()]);
    }
}

fn push_id(buffer: &mut Vec<u8>, _: &Terms, field: &Field, jobs: &[Job]) {
    buffer.extend(jobs.iter().flat_map(|job| field.push(job)));
}

fn mpush(buffer: &mut Vec<u8>, _: &Terms, field: &Field, jobs: &[Job]) {
    buffer.extend(field.mpush(jobs));
}

fn zpopmin(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"ZPOPMIN", &field.set]);
}

fn zpopmin_100(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"ZPOPMIN", &field.set, b"100"]);
}

fn lua_claim(buffer: &mut Vec<u8>, terms: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"EVALSHA", &terms.scripts.claim, b"1", &field.set, terms.now_ms.as_bytes()]);
}

fn lua_claim_100(buffer: &mut Vec<u8>, terms: &Terms, field: &Field, _: &[Job]) {
    let (script, now) = (&terms.scripts.claim_100, terms.now_ms.as_bytes());
    resp::encode(buffer, &[b"EVALSHA", script, b"1", &field.set, now]);
}

fn claim_member(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"DQ.CLAIM", &field.set]);
}

fn claim_members(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"DQ.CLAIM", &field.set, b"COUNT", b"100"]);
}

fn lua_move(buffer: &mut Vec<u8>, terms: &Terms, field: &Field, _: &[Job]) {
    let (script, now) = (&terms.scripts.move_100, terms.now_ms.as_bytes());
    resp::encode(buffer, &[b"EVALSHA", script, b"2", &field.set, &field.list, now]);
}

/// The second round trip, in which a client would send what it has found, is left out in its favour: it knows beforehand.
fn plain_move(buffer: &mut Vec<u8>, terms: &Terms, field: &Field, jobs: &[Job]) {
    let now = terms.now_ms.as_bytes();
    resp::encode(buffer, &[b"ZRANGEBYSCORE", &field.set, b"-inf", now, b"LIMIT", b"0", b"100"]);
    let ids: Vec<&[u8]> = jobs.iter().map(|job| job.id.as_bytes()).collect();
    resp::encode(buffer, &[&[b"LPUSH".as_slice(), &field.list], ids.as_slice()].concat());
    resp::encode(buffer, &[&[b"ZREM".as_slice(), &field.set], ids.as_slice()].concat());
}

fn move_members(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"DQ.MOVE", &field.set, &field.list, b"LPUSH", b"COUNT", b"100"]);
}

fn claim(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"DQ.CLAIM", &field.queue]);
}

fn claim_100(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"DQ.CLAIM", &field.queue, b"COUNT", b"100"]);
}

fn lua_lease(buffer: &mut Vec<u8>, terms: &Terms, field: &Field, _: &[Job]) {
    let (now, end) = (terms.now_ms.as_bytes(), terms.lease_end_ms.as_bytes());
    let (set, leased, attempts) = (&field.set, &field.leased, &field.attempts);
    resp::encode(buffer, &[b"EVALSHA", &terms.scripts.lease, b"3", set, leased, attempts, now, end]);
}

fn lua_ack(buffer: &mut Vec<u8>, terms: &Terms, field: &Field, reply: &Reply<'_>) -> Result<()> {
    let (id, script) = (reply.at(0)?.text()?, &terms.scripts.ack);
    resp::encode(buffer, &[b"EVALSHA", script, b"2", &field.leased, &field.attempts, id]);
    Ok(())
}

fn plain_ack(buffer: &mut Vec<u8>, _: &Terms, field: &Field, reply: &Reply<'_>) -> Result<()> {
    let id = reply.at(0)?.text()?;
    resp::encode(buffer, &[b"ZREM", &field.leased, id]);
    resp::encode(buffer, &[b"HDEL", &field.attempts, id]);
    Ok(())
}

fn lease(buffer: &mut Vec<u8>, _: &Terms, field: &Field, _: &[Job]) {
    resp::encode(buffer, &[b"DQ.CLAIM", &field.queue, b"LEASE", b"60000"]);
}

fn ack(buffer: &mut Vec<u8>, _: &Terms, field: &Field, reply: &Reply<'_>) -> Result<()> {
    let receipt = reply.at(0)?.at(4)?.text()?;
    resp::encode(buffer, &[b"DQ.ACK", &field.queue, receipt]);
    Ok(())
}
