//! The module's memory is the server's, so that `used_memory`, `maxmemory` and `MEMORY USAGE` count it.

use std::alloc::{GlobalAlloc, Layout};

use redis_module::raw;

/// The alignment that every allocator of a server gives to blocks that are at least as large.
const ALIGN_MAX: usize = 16;

struct ServerMemory;

#[global_allocator]
static MEMORY: ServerMemory = ServerMemory;

/// An allocator aligns a block to 16 bytes only if the block is that large.
fn size_of_block(layout: Layout, size: usize) -> usize {
    size.next_multiple_of(layout.align())
}

// SAFETY: the server's functions are those of a malloc family. A layout that they cannot honour, or a call before the
// server has handed them over, gets a null pointer, which is how an allocator says no.
unsafe impl GlobalAlloc for ServerMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match unsafe { raw::RedisModule_Alloc } {
            Some(alloc) if layout.align() <= ALIGN_MAX => {
                unsafe { alloc(size_of_block(layout, layout.size())) }.cast()
            }
            _ => std::ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match unsafe { raw::RedisModule_Calloc } {
            Some(calloc) if layout.align() <= ALIGN_MAX => {
                unsafe { calloc(1, size_of_block(layout, layout.size())) }.cast()
            }
            _ => std::ptr::null_mut(),
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match unsafe { raw::RedisModule_Realloc } {
            Some(realloc) => unsafe { realloc(block.cast(), size_of_block(layout, size)) }.cast(),
            None => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        if let Some(free) = unsafe { raw::RedisModule_Free } {
            unsafe { free(block.cast()) };
        }
    }
}
