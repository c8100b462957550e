//! What the system's allocator says of itself.

/// As glibc's `malloc.h` has it.
#[repr(C)]
#[derive(Default)]
struct Mallinfo2 {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

/// Bytes of this process that are allocated right now, its C libraries included.
///
/// # Errors
/// Where the system's allocator does not tell, in plain words.
pub fn allocated() -> Result<u64, String> {
    // Looked up when asked, so that the program also starts where the C library has no such function.
    // SAFETY: the name ends with a zero and is only read.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
    if symbol.is_null() {
        return Err("the system's allocator does not report how much it has allocated".into());
    }
    // SAFETY: glibc has one function of this name, and this is its type.
    let mallinfo = unsafe {
        std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn() -> Mallinfo2>(symbol)
    };
    // SAFETY: the call has no conditions.
    let info = unsafe { mallinfo() };
    Ok((info.uordblks + info.hblkhd) as u64)
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    #[test]
    fn a_large_block_is_seen() {
        let before = super::allocated().unwrap();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = super::allocated().unwrap();
        assert!(after >= before + (60 << 20), "{before} {after}");
        drop(block);
    }
}
