//! The footer of a DUMP payload, so that a damaged payload passes the server's check and meets the module's.
//!
//! The last 8 bytes are the CRC64 (Jones) of all before them, little endian.

/// Puts the right checksum behind a payload whose bytes were changed.
pub fn seal(mut payload: Vec<u8>) -> Vec<u8> {
    let length = payload.len().saturating_sub(CHECKSUM);
    payload.truncate(length);
    let sum = crc64(&payload);
    payload.extend_from_slice(&sum.to_le_bytes());
    payload
}

/// Takes the payload's value apart from its footer (2 bytes of version, 8 of checksum).
pub fn split_footer(payload: &[u8]) -> (&[u8], &[u8]) {
    payload.split_at(payload.len() - CHECKSUM - 2)
}

const CHECKSUM: usize = 8;

/// The CRC64 of Redis: Jones' polynomial, reflected, starting from zero.
pub fn crc64(bytes: &[u8]) -> u64 {
    let mut state = Crc64::default();
    for byte in bytes {
        state.add(*byte);
    }
    state.sum
}

/// A checksum that grows byte by byte.
#[derive(Default)]
pub struct Crc64 {
    /// The checksum of all bytes so far.
    pub sum: u64,
}

impl Crc64 {
    /// Takes one more byte in.
    pub fn add(&mut self, byte: u8) {
        let index = (self.sum ^ u64::from(byte)) & 0xff;
        self.sum = TABLE[index as usize] ^ (self.sum >> 8);
    }
}

/// 0xad93d23594c935a9 with its bits in reverse order.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

const TABLE: [u64; 256] = table();

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u64;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}
