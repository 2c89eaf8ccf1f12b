//! External programs that a test needs, and how they end.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program by its name. None if it isn't installed; that is printed, and is a failure where it is required.
pub fn find(name: &str) -> Option<PathBuf> {
    let places = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
    let found = places.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file());
    if found.is_none() {
        missing(name);
    }
    found
}

/// The Python that `.ci/run` provides for the mail server and Twilio's own library.
pub fn python() -> Option<PathBuf> {
    let cache = || {
        let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache").into_os_string());
        Some(Path::new(&std::env::var_os("XDG_CACHE_HOME").or_else(home)?).join("maxim-components"))
    };
    let folder = std::env::var_os("MAXIM_COMPONENTS").map(PathBuf::from).or_else(cache);
    let found = folder.map(|folder| folder.join("python/bin/python")).filter(|path| path.is_file());
    if found.is_none() {
        missing("python with the packages of tests/daemon/components/requirements.txt");
    }
    found
}

fn missing(what: &str) {
    assert!(std::env::var_os("MAXIM_REQUIRE_COMPONENTS").is_none(), "missing: {what}");
    println!("SKIPPED: missing {what}; .ci/run installs it");
}

/// A program that runs until it is dropped, with all processes that it started.
pub struct Running(Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.process_group(0).spawn().expect("it starts"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// A port without a listener.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port()
}

/// Waits until a program listens there.
pub fn listens(port: u16) {
    until("somebody listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
