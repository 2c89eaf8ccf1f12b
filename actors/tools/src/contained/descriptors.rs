//! Open files of this process, which no child inherits.
//!
//! All that this program opens is closed when a child becomes its program. What it was given by whoever started it needn't
//! be: a lock of a script, a pipe of a service manager. Neither Landlock nor a namespace holds a file that is open already.

#![allow(unsafe_code)]

use std::io;

/// `CLOSE_RANGE_CLOEXEC` of the kernel's close_range.h; Linux 5.11.
const AT_EXEC: libc::c_uint = 4;

/// From here on no open file but the three standard ones reaches a program that this process starts.
pub(super) fn keep() -> io::Result<()> {
    // SAFETY: closes nothing; it marks the open files of this process, and takes no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, 3 as libc::c_uint, libc::c_uint::MAX, AT_EXEC) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
