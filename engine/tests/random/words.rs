//! The words of effects: collected as arguments, and drawn at random as a stranger might send them.

use dq_engine::effect::{Effects, Word, Words};
use proptest::prelude::*;

use super::{NAMES, START};

/// One argument each.
pub type Arguments = Vec<Vec<u8>>;

/// Collects arguments.
#[derive(Debug, Default)]
pub struct Collected(pub Arguments);

impl Words for Collected {
    fn word(&mut self, word: Word) {
        self.text(word.as_str().as_bytes());
    }

    fn text(&mut self, bytes: &[u8]) {
        self.0.push(bytes.to_vec());
    }

    fn number(&mut self, number: u64) {
        self.text(number.to_string().as_bytes());
    }
}

/// A change to arguments that were sound.
#[derive(Clone, Debug)]
pub enum Damage {
    Drop(usize),
    Double(usize),
    Swap(usize, usize),
    Replace(usize, Vec<u8>),
    Flip { word: usize, byte: usize, bit: u8 },
    CutTo(usize),
}

/// The arguments of `effects`.
pub fn words_of(effects: &Effects<'_>) -> Arguments {
    let mut collected = Collected::default();
    effects.0.iter().for_each(|effect| effect.write(&mut collected));
    collected.0
}

/// Borrows arguments in the form in which they are parsed.
pub fn borrowed(words: &[Vec<u8>]) -> Vec<&[u8]> {
    words.iter().map(Vec::as_slice).collect()
}

/// Writes arguments as a line of printable ASCII; no word of it is empty.
pub fn line_of(words: &[Vec<u8>]) -> String {
    let shown = |word: &Vec<u8>| match word.is_empty() {
        true => "''".to_owned(),
        false => word.escape_ascii().to_string().replace(' ', "\\x20"),
    };
    words.iter().map(shown).collect::<Vec<_>>().join(" ")
}

impl Damage {
    pub fn apply(&self, words: &mut Arguments) {
        let length = words.len();
        match self {
            _ if length == 0 => {}
            Damage::Drop(at) => drop(words.remove(at % length)),
            Damage::Double(at) => words.insert(at % length, words[at % length].clone()),
            Damage::Swap(one, other) => words.swap(one % length, other % length),
            Damage::Replace(at, word) => words[at % length].clone_from(word),
            Damage::Flip { word, byte, bit } => {
                let word = &mut words[word % length];
                let bytes = word.len().max(1);
                if let Some(byte) = word.get_mut(byte % bytes) {
                    *byte ^= 1 << bit;
                }
            }
            Damage::CutTo(left) => words.truncate(left % length),
        }
    }
}

/// What a stranger sends: some effects that are well formed, and in one of three cases some damage.
pub fn hostile() -> impl Strategy<Value = Arguments> {
    let effects = prop::collection::vec(effect(), 1..3).prop_map(|effects| effects.concat());
    let damages = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(damage(), 1..3)];
    (effects, damages).prop_map(|(mut words, damages)| {
        damages.iter().for_each(|damage| damage.apply(&mut words));
        words
    })
}

fn damage() -> impl Strategy<Value = Damage> {
    let any_at = any::<usize>;
    let word = prop_oneof![number(), keyword(), id(), prop::collection::vec(any::<u8>(), 0..5)];
    prop_oneof![
        any_at().prop_map(Damage::Drop),
        any_at().prop_map(Damage::Double),
        (any_at(), any_at()).prop_map(|(one, other)| Damage::Swap(one, other)),
        (any_at(), word).prop_map(|(at, word)| Damage::Replace(at, word)),
        (any_at(), any_at(), 0..8u8).prop_map(|(word, byte, bit)| Damage::Flip { word, byte, bit }),
        any_at().prop_map(Damage::CutTo),
    ]
}

fn effect() -> impl Strategy<Value = Arguments> {
    let options = (option("PRIORITY", small()), option("EXPIRES", late()), option("ATTEMPTS", number()));
    let put = (id(), id(), time(), options).prop_map(|(id, message, due, (priority, expires, attempts))| {
        begin(&[b"PUT", &id, &message, &due], [priority, expires, attempts].concat())
    });
    let lease =
        (time(), number(), ids()).prop_map(|(until, token, ids)| begin(&[b"LEASE", &until, &token], ids));
    let cause =
        prop::sample::select(vec!["claimed", "acked", "cancelled", "moved", "expired", "dropped", "purged"]);
    let remove = (cause, ids()).prop_map(|(cause, ids)| begin(&[b"REMOVE", cause.as_bytes()], ids));
    let extend = (time(), ids()).prop_map(|(until, ids)| begin(&[b"EXTEND", &until], ids));
    let release =
        (id(), time(), number()).prop_map(|(id, at, number)| begin(&[b"RELEASE", &id, &at, &number], vec![]));
    let error = (id(), id()).prop_map(|(id, text)| begin(&[b"ERROR", &id, &text], vec![]));
    let reason = prop::sample::select(vec!["nacked", "rejected", "lease-expired", "conflict"]);
    let bury =
        (id(), reason, time()).prop_map(|(id, why, at)| begin(&[b"BURY", &id, why.as_bytes(), &at], vec![]));
    let reschedule = (id(), time(), option("EXPIRES", late()))
        .prop_map(|(id, due, expires)| begin(&[b"RESCHEDULE", &id, &due], expires));
    let redrive = (time(), ids()).prop_map(|(due, ids)| begin(&[b"REDRIVE", &due], ids));
    let policy = prop::collection::vec(small(), 8).prop_map(|numbers| begin(&[b"POLICY"], numbers));
    let pause = prop_oneof![zero(), time()].prop_map(|until| begin(&[b"PAUSE", &until], vec![]));
    let load = prop::collection::vec(any::<u8>(), 0..40).prop_map(|chunk| begin(&[b"LOAD", &chunk], vec![]));
    prop_oneof![
        12 => put, 6 => lease, 2 => remove, 2 => extend, 2 => release, 1 => error, 3 => bury, 2 => reschedule,
        2 => redrive, 1 => policy, 1 => pause, 1 => load,
    ]
}

fn begin(words: &[&[u8]], rest: Arguments) -> Arguments {
    words.iter().map(|word| word.to_vec()).chain(rest).collect()
}

/// A word with a number, or neither.
fn option(word: &'static str, number: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Arguments> {
    prop::option::of(number)
        .prop_map(move |number| number.map(|number| vec![word.into(), number]).unwrap_or_default())
}

/// A count and so many ids.
fn ids() -> impl Strategy<Value = Arguments> {
    prop::collection::vec(id(), 1..4).prop_map(|ids| {
        let count = ids.len().to_string().into_bytes();
        std::iter::once(count).chain(ids).collect()
    })
}

fn id() -> impl Strategy<Value = Vec<u8>> {
    (0..7usize).prop_map(|name| NAMES[name].clone())
}

fn time() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![8 => START..START + 40, 1 => Just(0), 1 => Just((1 << 53) - 1)].prop_map(digits)
}

fn late() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![8 => START + 30..START + 80, 1 => Just((1 << 53) - 1)].prop_map(digits)
}

fn zero() -> impl Strategy<Value = Vec<u8>> {
    Just(digits(0))
}

fn small() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![30 => 1..4u64, 2 => Just(0), 1 => Just(100), 1 => Just(255)].prop_map(digits)
}

/// Any number, often one at a limit.
fn number() -> impl Strategy<Value = Vec<u8>> {
    let limits = vec![
        0,
        1,
        255,
        256,
        65_535,
        65_536,
        1 << 32,
        (1 << 32) - 1,
        (1 << 53) - 1,
        1 << 53,
        1 << 63,
        u64::MAX,
    ];
    prop_oneof![16 => 1..300u64, 1 => any::<u64>(), 2 => prop::sample::select(limits)].prop_map(digits)
}

fn keyword() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "PUT", "LEASE", "REMOVE", "EXTEND", "RELEASE", "BURY", "PAUSE", "LOAD", "EXPIRES", "PRIORITY", "put",
        "acked", "nacked", "-1",
    ];
    prop::sample::select(known.to_vec()).prop_map(|word| word.as_bytes().to_vec())
}

fn digits(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}
