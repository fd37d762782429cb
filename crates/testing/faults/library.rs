//! A failing file system: a library that the loader puts before the C library (`LD_PRELOAD`), so that any
//! call of any program that changes a file can be made to fail, whichever of its libraries makes the call.
//!
//! Only calls on files below certain directories count. Environment variables control it:
//!
//! - `FAULTS_BELOW`: those directories, separated by colons
//! - `FAULTS_COUNTER`: a file of eight bytes with the count of calls, of all threads and child processes
//! - `FAULTS_AT`: the number of the call that fails, from 1; none fails without it
//! - `FAULTS_KIND`: `once` (that call fails with an input/output error), `full` (half of that call's bytes are
//!   written, and from then on there is no space left), `kill` (the process ends there)
//!
//! This crate's build script builds it; no part of yore links it.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn mmap(at: *mut c_void, length: usize, access: c_int, flags: c_int, file: c_int, offset: c_long) -> *mut c_void;
    fn readlink(path: *const c_char, buffer: *mut c_char, length: usize) -> isize;
    fn access(path: *const c_char, mode: c_int) -> c_int;
    fn getcwd(buffer: *mut c_char, length: usize) -> *mut c_char;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn getpid() -> c_int;
    fn __errno_location() -> *mut c_int;
}

const NEXT: *mut c_void = -1isize as *mut c_void;
const EIO: c_int = 5;
const ENOSPC: c_int = 28;
const O_CREAT: c_int = 0o100;
const LONGEST: usize = 4096;

static COUNTER: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());
static AT: AtomicU64 = AtomicU64::new(0);
static KIND: AtomicU64 = AtomicU64::new(0);
const ONCE: u64 = 1;
const FULL: u64 = 2;
const KILL: u64 = 3;

/// The space requirement of a call: whether it needs room on the disk.
#[derive(Clone, Copy, PartialEq)]
enum Needs {
    Room,
    Nothing,
}

/// The decision about a call.
enum Verdict {
    Go,
    Fail(c_int),
    Half,
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    unsafe {
        let text = |name: &CStr| {
            let value = getenv(name.as_ptr());
            if value.is_null() { None } else { Some(CStr::from_ptr(value).to_bytes()) }
        };
        let Some(_) = text(c"FAULTS_BELOW") else { return };
        let path = getenv(c"FAULTS_COUNTER".as_ptr());
        if path.is_null() {
            return;
        }
        let open: extern "C" fn(*const c_char, c_int, c_int) -> c_int = std::mem::transmute(next(c"open", &OPEN));
        let file = open(path, 2, 0);
        // Readable and writable, shared with all processes that map it.
        let mapped = mmap(std::ptr::null_mut(), 8, 3, 1, file, 0);
        if file < 0 || mapped as isize == -1 {
            return;
        }
        COUNTER.store(mapped.cast(), Ordering::Relaxed);
        let number = text(c"FAULTS_AT").and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
        AT.store(number, Ordering::Relaxed);
        let kind = match text(c"FAULTS_KIND") {
            Some(b"full") => FULL,
            Some(b"kill") => KILL,
            _ => ONCE,
        };
        KIND.store(kind, Ordering::Relaxed);
    }
}

/// Returns the C library's own function.
fn next(name: &CStr, known: &AtomicUsize) -> usize {
    let mut address = known.load(Ordering::Relaxed);
    if address == 0 {
        address = unsafe { dlsym(NEXT, name.as_ptr()) } as usize;
        known.store(address, Ordering::Relaxed);
    }
    address
}

fn is_below(path: &[u8]) -> bool {
    let value = unsafe { getenv(c"FAULTS_BELOW".as_ptr()) };
    if value.is_null() {
        return false;
    }
    unsafe { CStr::from_ptr(value) }.to_bytes().split(|byte| *byte == b':').any(|root| !root.is_empty() && path.starts_with(root))
}

fn is_named(path: *const c_char) -> bool {
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.first() == Some(&b'/') {
        return is_below(path);
    }
    let mut buffer = [0u8; LONGEST];
    let here = unsafe { getcwd(buffer.as_mut_ptr().cast(), LONGEST) };
    !here.is_null() && is_below(unsafe { CStr::from_ptr(here) }.to_bytes())
}

fn is_open(file: c_int) -> bool {
    let mut name = [0u8; 32];
    let _ = std::io::Write::write_fmt(&mut &mut name[..31], format_args!("/proc/self/fd/{file}"));
    let mut target = [0u8; LONGEST];
    let length = unsafe { readlink(name.as_ptr().cast(), target.as_mut_ptr().cast(), LONGEST) };
    length > 0 && is_below(&target[..length as usize])
}

/// Counts a call and decides whether it fails.
fn judge(needs: Needs) -> Verdict {
    let counter = COUNTER.load(Ordering::Relaxed);
    if counter.is_null() {
        return Verdict::Go;
    }
    let number = unsafe { &*counter }.fetch_add(1, Ordering::SeqCst) + 1;
    let at = AT.load(Ordering::Relaxed);
    if at == 0 || number < at {
        return Verdict::Go;
    }
    match KIND.load(Ordering::Relaxed) {
        ONCE if number == at => Verdict::Fail(EIO),
        FULL if needs == Needs::Room && number == at => Verdict::Half,
        FULL if needs == Needs::Room => Verdict::Fail(ENOSPC),
        KILL if number == at => {
            unsafe { kill(getpid(), 9) };
            Verdict::Fail(EIO)
        }
        _ => Verdict::Go,
    }
}

fn fail(error: c_int) -> c_int {
    unsafe { *__errno_location() = error };
    -1
}

/// Defines a function that writes bytes: only half of them if the disk becomes full at this call.
macro_rules! writes {
    ($name:ident, $known:ident $(, $offset:ident)?) => {
        static $known: AtomicUsize = AtomicUsize::new(0);

        #[unsafe(no_mangle)]
        extern "C" fn $name(file: c_int, bytes: *const c_void, length: usize $(, $offset: c_long)?) -> isize {
            let name = unsafe { CStr::from_ptr(concat!(stringify!($name), "\0").as_ptr().cast()) };
            let call: extern "C" fn(c_int, *const c_void, usize $(, stand_in!($offset))?) -> isize =
                unsafe { std::mem::transmute(next(name, &$known)) };
            if !is_open(file) {
                return call(file, bytes, length $(, $offset)?);
            }
            match judge(Needs::Room) {
                Verdict::Go => call(file, bytes, length $(, $offset)?),
                Verdict::Half if length > 1 => call(file, bytes, length / 2 $(, $offset)?),
                Verdict::Half => fail(ENOSPC) as isize,
                Verdict::Fail(error) => fail(error) as isize,
            }
        }
    };
}

macro_rules! stand_in {
    ($offset:ident) => {
        c_long
    };
}

writes!(write, WRITE);
writes!(pwrite, PWRITE, offset);
writes!(pwrite64, PWRITE64, offset);
writes!(writev, WRITEV);
writes!(pwritev, PWRITEV, offset);
writes!(pwritev64, PWRITEV64, offset);

/// Defines a function on an open file with one more number, or none.
macro_rules! changes {
    ($name:ident, $known:ident, $needs:expr $(, $argument:ident: $kind:ty)*) => {
        static $known: AtomicUsize = AtomicUsize::new(0);

        #[unsafe(no_mangle)]
        extern "C" fn $name(file: c_int $(, $argument: $kind)*) -> c_int {
            let name = unsafe { CStr::from_ptr(concat!(stringify!($name), "\0").as_ptr().cast()) };
            let call: extern "C" fn(c_int $(, $kind)*) -> c_int = unsafe { std::mem::transmute(next(name, &$known)) };
            if !is_open(file) {
                return call(file $(, $argument)*);
            }
            match judge($needs) {
                Verdict::Go => call(file $(, $argument)*),
                Verdict::Half => fail(ENOSPC),
                Verdict::Fail(error) => fail(error),
            }
        }
    };
}

changes!(fsync, FSYNC, Needs::Room);
changes!(fdatasync, FDATASYNC, Needs::Room);
changes!(ftruncate, FTRUNCATE, Needs::Nothing, length: c_long);
changes!(ftruncate64, FTRUNCATE64, Needs::Nothing, length: c_long);
changes!(fallocate, FALLOCATE, Needs::Room, mode: c_int, from: c_long, length: c_long);

/// Defines a function that gives an existing file a new name.
macro_rules! renames {
    ($name:ident, $known:ident, $target:ident, ($($argument:ident: $kind:ty),*)) => {
        static $known: AtomicUsize = AtomicUsize::new(0);

        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> c_int {
            let name = unsafe { CStr::from_ptr(concat!(stringify!($name), "\0").as_ptr().cast()) };
            let call: extern "C" fn($($kind),*) -> c_int = unsafe { std::mem::transmute(next(name, &$known)) };
            if !is_named($target) {
                return call($($argument),*);
            }
            match judge(Needs::Nothing) {
                Verdict::Go | Verdict::Half => call($($argument),*),
                Verdict::Fail(error) => fail(error),
            }
        }
    };
}

renames!(rename, RENAME, to, (from: *const c_char, to: *const c_char));
renames!(renameat, RENAMEAT, to, (a: c_int, from: *const c_char, b: c_int, to: *const c_char));
renames!(renameat2, RENAMEAT2, to, (a: c_int, from: *const c_char, b: c_int, to: *const c_char, flags: u32));
renames!(link, LINK, to, (from: *const c_char, to: *const c_char));
renames!(linkat, LINKAT, to, (a: c_int, from: *const c_char, b: c_int, to: *const c_char, flags: c_int));

/// Defines a function that may create a file or a directory.
macro_rules! makes {
    ($name:ident, $known:ident, $path:ident, $makes:expr, ($($argument:ident: $kind:ty),*)) => {
        static $known: AtomicUsize = AtomicUsize::new(0);

        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> c_int {
            let name = unsafe { CStr::from_ptr(concat!(stringify!($name), "\0").as_ptr().cast()) };
            let call: extern "C" fn($($kind),*) -> c_int = unsafe { std::mem::transmute(next(name, &$known)) };
            if !$makes || !is_named($path) || unsafe { access($path, 0) } == 0 {
                return call($($argument),*);
            }
            match judge(Needs::Room) {
                Verdict::Go => call($($argument),*),
                Verdict::Half => fail(ENOSPC),
                Verdict::Fail(error) => fail(error),
            }
        }
    };
}

// The mode of a new file is passed like any third argument on the systems where this is used.
makes!(open, OPEN, path, flags & O_CREAT != 0, (path: *const c_char, flags: c_int, mode: c_int));
makes!(open64, OPEN64, path, flags & O_CREAT != 0, (path: *const c_char, flags: c_int, mode: c_int));
makes!(openat, OPENAT, path, flags & O_CREAT != 0, (at: c_int, path: *const c_char, flags: c_int, mode: c_int));
makes!(openat64, OPENAT64, path, flags & O_CREAT != 0, (at: c_int, path: *const c_char, flags: c_int, mode: c_int));
makes!(mkdir, MKDIR, path, true, (path: *const c_char, mode: u32));

/// Defines a function that copies bytes between two open files.
macro_rules! copies {
    ($name:ident, $known:ident, $target:ident, ($($argument:ident: $kind:ty),*)) => {
        static $known: AtomicUsize = AtomicUsize::new(0);

        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> isize {
            let name = unsafe { CStr::from_ptr(concat!(stringify!($name), "\0").as_ptr().cast()) };
            let call: extern "C" fn($($kind),*) -> isize = unsafe { std::mem::transmute(next(name, &$known)) };
            if !is_open($target) {
                return call($($argument),*);
            }
            match judge(Needs::Room) {
                Verdict::Go => call($($argument),*),
                Verdict::Half => fail(ENOSPC) as isize,
                Verdict::Fail(error) => fail(error) as isize,
            }
        }
    };
}

copies!(copy_file_range, COPY_FILE_RANGE, target, (source: c_int, a: *mut i64, target: c_int, b: *mut i64, length: usize, flags: u32));
copies!(sendfile, SENDFILE, target, (target: c_int, source: c_int, offset: *mut c_long, length: usize));
copies!(sendfile64, SENDFILE64, target, (target: c_int, source: c_int, offset: *mut c_long, length: usize));
