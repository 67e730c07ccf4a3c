//! What can be done to the bytes of a payload at one place, and the list of all that is.

/// One damage. The first byte is never touched: it says that the value is a module's, and what the server makes of any
/// other type is the server's affair.
#[derive(Clone, Debug)]
pub enum Damage {
    /// Another byte stands here.
    Byte { place: usize, mask: u8 },
    /// The value ends here.
    Cut { length: usize },
    /// So many bytes are missing.
    Gap { place: usize, length: usize },
    /// Bytes that do not belong there have been put in.
    Inserted { place: usize, bytes: &'static [u8] },
    /// So many bytes stand here twice.
    Twice { place: usize, length: usize },
    /// The value goes on with what stands at another place.
    Spliced { place: usize, from: usize },
}

/// Numbers at the ends of their ranges, in the server's form and in the module's, and single bytes that mean something.
const INSERTIONS: [&[u8]; 7] = [
    b"\x00",
    b"\xff",
    b"J",
    b"H",
    b"\x81\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x7f\xff\xff\xff",
];

/// How many other places each place is spliced with.
const SPLICES: usize = 24;

/// Every damage to a value of `length` bytes: some 300 a place.
pub fn all_damages(length: usize) -> impl Iterator<Item = Damage> {
    (1..length).flat_map(move |place| damages_at(place, length))
}

/// Every damage at one place of a value of `length` bytes.
pub fn damages_at(place: usize, length: usize) -> Vec<Damage> {
    let mut damages = vec![Damage::Cut { length: place }];
    damages.extend((1..=255).map(|mask| Damage::Byte { place, mask }));
    damages.extend((1..=8).map(|length| Damage::Gap { place, length }));
    damages.extend(INSERTIONS.iter().map(|bytes| Damage::Inserted { place, bytes }));
    damages.extend((1..=8).map(|length| Damage::Twice { place, length }));
    let step = (length / SPLICES).max(1);
    let others = (1 + place % step..length).step_by(step).filter(|from| *from != place);
    damages.extend(others.map(|from| Damage::Spliced { place, from }));
    damages
}

impl Damage {
    /// How many bits of one byte are turned over; 0 for any other damage.
    pub fn bits(&self) -> u32 {
        if let Damage::Byte { mask, .. } = self { mask.count_ones() } else { 0 }
    }

    /// The bytes of `value` with this damage.
    pub fn done_to(&self, value: &[u8]) -> Vec<u8> {
        match *self {
            Damage::Byte { place, mask } => {
                let mut damaged = value.to_vec();
                damaged[place] ^= mask;
                damaged
            }
            Damage::Cut { length } => value[..length].to_vec(),
            Damage::Gap { place, length } => {
                [&value[..place], value.get(place + length..).unwrap_or_default()].concat()
            }
            Damage::Inserted { place, bytes } => [&value[..place], bytes, &value[place..]].concat(),
            Damage::Twice { place, length } => {
                let end = (place + length).min(value.len());
                [&value[..end], &value[place..]].concat()
            }
            Damage::Spliced { place, from } => [&value[..place], &value[from..]].concat(),
        }
    }
}
