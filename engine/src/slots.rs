//! Where the records live: chunks of fixed size, numbered, so that nothing ever moves and nothing is copied whole.
//!
//! A slot is the number of a place. Places are used again; a chunk without jobs gives its memory back.

use crate::job::Job;

/// The number of a record's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// The places of a chunk: with 72 bytes each they just fit an allocation of 20 KiB, which is a size that jemalloc has.
const CHUNK: usize = 284;
const CHUNKS_MAX: usize = u32::MAX as usize / CHUNK;
/// The most jobs of a queue: a little less than 2^32.
pub const JOBS_MAX: usize = CHUNKS_MAX * CHUNK;
const NO_CELL: u16 = u16::MAX;

/// The records of a queue.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    chunks: Vec<Chunk>,
    /// The chunks that have room: each once, the one to fill next at the end.
    open: Vec<u32>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Chunk {
    cells: Vec<Cell>,
    used: u16,
    first_free: u16,
}

#[derive(Clone, Debug)]
enum Cell {
    Used(Job),
    Free { next: u16 },
}

impl Slots {
    /// Returns the number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Places a record. O(1). Gives the record back if there are [`JOBS_MAX`].
    pub fn insert(&mut self, job: Job) -> Result<Slot, Job> {
        let Some(number) = self.open_chunk() else { return Err(job) };
        let Some(chunk) = self.chunks.get_mut(number as usize) else { return Err(job) };
        let cell = chunk.insert(job);
        if usize::from(chunk.used) == CHUNK {
            self.open.pop();
        }
        self.len += 1;
        Ok(slot_of(number as usize, usize::from(cell)))
    }

    /// Takes a record out. O(1).
    pub fn remove(&mut self, slot: Slot) -> Option<Job> {
        let (number, cell) = place(slot);
        let chunk = self.chunks.get_mut(number)?;
        let was_full = usize::from(chunk.used) == CHUNK;
        let job = chunk.remove(cell)?;
        self.len -= 1;
        if was_full {
            self.open.push(number as u32);
        }
        if self.len == 0 {
            *self = Slots::default();
        }
        Some(job)
    }

    /// Returns the record at `slot`. O(1).
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&Job> {
        let (number, cell) = place(slot);
        match self.chunks.get(number)?.cells.get(cell)? {
            Cell::Used(job) => Some(job),
            Cell::Free { .. } => None,
        }
    }

    /// Returns the record at `slot`, to change it. O(1).
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Job> {
        let (number, cell) = place(slot);
        match self.chunks.get_mut(number)?.cells.get_mut(cell)? {
            Cell::Used(job) => Some(job),
            Cell::Free { .. } => None,
        }
    }

    /// Returns all records with their slots, in no useful order. O(n).
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Job)> {
        self.chunks.iter().enumerate().flat_map(|(number, chunk)| {
            chunk.cells.iter().enumerate().filter_map(move |(cell, content)| match content {
                Cell::Used(job) => Some((slot_of(number, cell), job)),
                Cell::Free { .. } => None,
            })
        })
    }

    fn open_chunk(&mut self) -> Option<u32> {
        if let Some(&number) = self.open.last() {
            return Some(number);
        }
        if self.chunks.len() >= CHUNKS_MAX {
            return None;
        }
        let number = self.chunks.len() as u32;
        self.chunks.push(Chunk { cells: Vec::new(), used: 0, first_free: NO_CELL });
        self.open.push(number);
        Some(number)
    }
}

impl Chunk {
    fn insert(&mut self, job: Job) -> u16 {
        self.used += 1;
        match self.cells.get_mut(usize::from(self.first_free)) {
            Some(cell) => {
                let at = self.first_free;
                if let Cell::Free { next } = std::mem::replace(cell, Cell::Used(job)) {
                    self.first_free = next;
                }
                at
            }
            None => {
                if self.cells.len() == self.cells.capacity() {
                    // Doubles as a vector does, but not beyond the chunk.
                    let more = self.cells.len().max(4).min(CHUNK - self.cells.len());
                    self.cells.reserve_exact(more);
                }
                self.cells.push(Cell::Used(job));
                (self.cells.len() - 1) as u16
            }
        }
    }

    fn remove(&mut self, at: usize) -> Option<Job> {
        let cell = self.cells.get_mut(at)?;
        let job = match std::mem::replace(cell, Cell::Free { next: self.first_free }) {
            Cell::Used(job) => job,
            free @ Cell::Free { .. } => {
                *cell = free;
                return None;
            }
        };
        self.first_free = at as u16;
        self.used -= 1;
        if self.used == 0 {
            self.cells = Vec::new();
            self.first_free = NO_CELL;
        }
        Some(job)
    }
}

fn place(slot: Slot) -> (usize, usize) {
    (slot.0 as usize / CHUNK, slot.0 as usize % CHUNK)
}

fn slot_of(number: usize, cell: usize) -> Slot {
    Slot((number * CHUNK + cell) as u32)
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Cell, Slot, Slots};
    use crate::id::IdRef;
    use crate::job::{Job, Standing};
    use crate::time::UnixMs;

    fn job(number: u64) -> Job {
        Job {
            id: IdRef::of(&number.to_be_bytes()).to_id(),
            message: Box::default(),
            time: UnixMs(number),
            sequence: number,
            extra: None,
            attempts: 0,
            priority: 0,
            standing: Standing::Waiting,
        }
    }

    #[test]
    fn a_cell_is_no_larger_than_a_record() {
        assert_eq!(size_of::<Cell>(), size_of::<Job>());
    }

    #[test]
    fn places_are_used_again_and_empty_chunks_give_their_memory_back() {
        let mut slots = Slots::default();
        let placed: Vec<Slot> = (0..1000).map(|n| slots.insert(job(n)).expect("room")).collect();
        assert_eq!(slots.iter().count(), 1000);
        for &slot in &placed[..CHUNK] {
            assert!(slots.remove(slot).is_some());
            assert!(slots.remove(slot).is_none());
        }
        assert_eq!(slots.chunks[0].cells.capacity(), 0);
        assert_eq!(slots.get(placed[CHUNK]).map(|job| job.sequence), Some(CHUNK as u64));
        for n in 0..(CHUNK as u64) {
            slots.insert(job(n)).expect("room");
        }
        assert_eq!((slots.len(), slots.chunks.len()), (1000, 4));
    }
}
