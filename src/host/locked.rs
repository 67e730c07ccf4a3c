//! State of the module that lives as long as the server.

/// A value that is only used while the server's lock is held: in its main thread, which all but always has it, or in a thread
/// of another module that has taken it to run a command here.
pub struct Locked<T>(T);

// SAFETY: every callback of the module runs under the server's lock, so there is one user at a time.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// Makes the value.
    pub const fn new(value: T) -> Self {
        Locked(value)
    }

    /// Returns the value. Only from callbacks of the server that are not called by its threads in the background.
    pub fn get(&self) -> &T {
        &self.0
    }
}
