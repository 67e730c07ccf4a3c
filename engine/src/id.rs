//! A job's id: any 1 to 1,024 bytes, held in 24 bytes of the record where that is possible.
//!
//! Ids that the server makes, and most that applications make, are UUIDs in their usual text form (36 bytes); these
//! are kept as 16 bytes. Ids of up to 22 bytes stand in the record itself. Only other ids own an allocation. No form
//! is visible from outside: an id goes in and comes out as the same bytes.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::error::Refusal;

/// The longest id, in bytes.
pub const ID_MAX: usize = 1024;
const SHORT_MAX: usize = 22;
const UUID_TEXT: usize = 36;
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// A job's id, owned.
#[derive(Clone, PartialEq, Eq)]
pub enum Id {
    /// A UUID in lower-case text form.
    Uuid([u8; 16]),
    /// Up to 22 bytes, with their number.
    Short(u8, [u8; SHORT_MAX]),
    /// Any other.
    Long(Box<[u8]>),
}

/// A job's id, borrowed: the form in which ids are looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum IdRef<'a> {
    /// A UUID in lower-case text form.
    Uuid([u8; 16]),
    /// Up to 22 bytes, with their number.
    Short(u8, [u8; SHORT_MAX]),
    /// Any other.
    Long(&'a [u8]),
}

/// The bytes of an id, as the client gave them. Dereferences to a byte slice.
pub struct IdText<'a> {
    short: [u8; UUID_TEXT],
    len: usize,
    long: &'a [u8],
}

impl<'a> IdRef<'a> {
    /// Reads an id. Refuses an empty one, one of more than [`ID_MAX`] bytes, and the star, which asks for an id.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Refusal> {
        if bytes.is_empty() || bytes.len() > ID_MAX || bytes == b"*" {
            return Err(Refusal::Id { length: bytes.len() });
        }
        Ok(Self::of(bytes))
    }

    /// Reads an id of any length, for looking it up: one of an impossible length matches nothing.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        if let Some(uuid) = parse_uuid(bytes) {
            return IdRef::Uuid(uuid);
        }
        let mut short = [0; SHORT_MAX];
        match short.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                IdRef::Short(bytes.len() as u8, short)
            }
            None => IdRef::Long(bytes),
        }
    }

    /// Copies the id into an owned one.
    #[must_use]
    pub fn to_id(self) -> Id {
        match self {
            IdRef::Uuid(uuid) => Id::Uuid(uuid),
            IdRef::Short(len, bytes) => Id::Short(len, bytes),
            IdRef::Long(bytes) => Id::Long(bytes.into()),
        }
    }

    /// Returns the bytes as the client gave them.
    #[must_use]
    pub fn text(self) -> IdText<'a> {
        let mut short = [0; UUID_TEXT];
        match self {
            IdRef::Uuid(uuid) => {
                write_uuid(&uuid, &mut short);
                IdText { short, len: UUID_TEXT, long: &[] }
            }
            IdRef::Short(len, bytes) => {
                if let Some(place) = short.get_mut(..SHORT_MAX) {
                    place.copy_from_slice(&bytes);
                }
                IdText { short, len: usize::from(len), long: &[] }
            }
            IdRef::Long(long) => IdText { short, len: 0, long },
        }
    }
}

impl Id {
    /// Borrows the id.
    #[must_use]
    pub fn as_ref(&self) -> IdRef<'_> {
        match self {
            Id::Uuid(uuid) => IdRef::Uuid(*uuid),
            Id::Short(len, bytes) => IdRef::Short(*len, *bytes),
            Id::Long(bytes) => IdRef::Long(bytes),
        }
    }

    /// Returns the bytes as the client gave them.
    #[must_use]
    pub fn text(&self) -> IdText<'_> {
        self.as_ref().text()
    }

    /// Returns the bytes that this id owns outside its record.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Id::Uuid(_) | Id::Short(..) => 0,
            Id::Long(bytes) => bytes.len(),
        }
    }
}

impl Hash for IdRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            IdRef::Uuid(uuid) => state.write(uuid),
            IdRef::Short(len, bytes) => state.write(bytes.get(..usize::from(*len)).unwrap_or(bytes)),
            IdRef::Long(bytes) => state.write(bytes),
        }
    }
}

impl std::ops::Deref for IdText<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.len == 0 { self.long } else { self.short.get(..self.len).unwrap_or(&self.short) }
    }
}

impl fmt::Debug for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text().escape_ascii())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// Where the two digits of each byte stand in the text of a UUID.
const DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const HEX: &[u8; 16] = b"0123456789abcdef";
/// The value of each lower-case hexadecimal digit; 255 for what is none.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const HEX_VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        values[HEX[value] as usize] = value as u8;
        value += 1;
    }
    values
};

fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; UUID_TEXT] = text.try_into().ok()?;
    if HYPHENS.iter().any(|&at| text.get(at) != Some(&b'-')) {
        return None;
    }
    let value = |at: usize| text.get(at).and_then(|&digit| HEX_VALUES.get(usize::from(digit)).copied());
    let mut uuid = [0; 16];
    let mut seen = 0;
    for (byte, at) in uuid.iter_mut().zip(DIGITS) {
        let (high, low) = (value(at)?, value(at + 1)?);
        seen |= high | low;
        *byte = high << 4 | low;
    }
    (seen < 16).then_some(uuid)
}

fn write_uuid(uuid: &[u8; 16], text: &mut [u8; UUID_TEXT]) {
    text.fill(b'-');
    for (byte, at) in uuid.iter().zip(DIGITS) {
        if let Some([high, low]) = text.get_mut(at..at + 2) {
            (*high, *low) = (hex_digit(byte >> 4), hex_digit(byte & 15));
        }
    }
}

fn hex_digit(value: u8) -> u8 {
    HEX.get(usize::from(value)).copied().unwrap_or(b'0')
}

#[cfg(test)]
mod tests {
    use super::{Id, IdRef};

    #[test]
    fn every_id_comes_out_as_it_went_in() {
        let uuid = b"0190a5d2-7b3c-7def-8123-456789abcdef";
        let upper = b"0190A5D2-7B3C-7DEF-8123-456789ABCDEF";
        let odd = b"0190a5d2-7b3c-7def-8123+456789abcdef";
        let long = [0u8; 1024];
        for bytes in [&b"1"[..], b"\0\r\n", &[0xff; 22], &[0; 23], uuid, upper, odd, &long] {
            let id = IdRef::new(bytes).map(IdRef::to_id).expect("a valid id");
            assert_eq!(&*id.text(), bytes);
            assert_eq!(id.as_ref(), IdRef::of(bytes));
        }
        assert!(matches!(IdRef::of(uuid), IdRef::Uuid(_)));
        assert!(matches!(IdRef::of(upper), IdRef::Long(_)));
    }

    #[test]
    fn an_empty_and_a_too_long_id_are_refused() {
        assert!(IdRef::new(b"").is_err());
        assert!(IdRef::new(&[b'x'; 1025]).is_err());
        assert_ne!(IdRef::of(b"a"), IdRef::of(b"a\0"));
    }

    #[test]
    fn an_id_takes_24_bytes() {
        assert_eq!(size_of::<Id>(), 24);
    }
}
