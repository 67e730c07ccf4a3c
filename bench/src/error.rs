//! What may go wrong: anything, and then the run ends with a sentence.

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
