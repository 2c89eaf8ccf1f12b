//! A real nats-server with JetStream that syncs each message; it can be killed and restarted.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::components;
use crate::harness::PATIENCE;

pub const USER: &str = "maxim";
pub const PASSWORD: &str = "high-tide";

pub struct Server {
    program: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    running: Option<Child>,
}

impl Server {
    /// None if it isn't installed. That is printed, and is a failure where it is required.
    pub fn start() -> Option<Self> {
        Self::start_as("alone", "")
    }

    /// A server with its own domain and additional configuration.
    pub fn start_as(domain: &str, more: &str) -> Option<Self> {
        let program = components::folder().map(|folder| folder.join("python/bin/nats-server"))?;
        if !program.is_file() {
            let missing = format!("nats-server in {}", program.display());
            assert!(std::env::var_os("MAXIM_REQUIRE_COMPONENTS").is_none(), "missing: {missing}");
            println!("SKIPPED: {missing}; .ci/run installs it");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let text = format!(
            "listen: 127.0.0.1:{port}\njetstream {{ store_dir: {:?}, sync_interval: always, domain: {domain} }}\n\
             authorization {{ user: {USER}, password: {PASSWORD} }}\n{more}\n",
            folder.path().join("js")
        );
        fs::write(folder.path().join("nats.conf"), text).expect("written");
        let mut server = Self { program, folder, port, running: None };
        server.run();
        Some(server)
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn run(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.folder.path().join("nats.conf")).stdout(Stdio::null()).stderr(Stdio::null());
        self.running = Some(command.spawn().expect("it starts"));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "nats-server doesn't listen");
            std::thread::yield_now();
        }
    }

    /// Like SIGKILL or a power cut of its machine: acknowledged data is on its disk.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.kill();
            let _ = running.wait();
        }
    }

    /// Its disk is lost, too.
    pub fn lose_all(&mut self) {
        self.kill();
        fs::remove_dir_all(self.folder.path().join("js")).expect("removed");
        self.run();
    }

    /// A client of this server.
    pub fn client(&self) -> (tokio::runtime::Runtime, async_nats::Client) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let client = runtime
            .block_on(
                async_nats::ConnectOptions::with_user_and_password(USER.into(), PASSWORD.into()).connect(self.url()),
            )
            .expect("connects");
        (runtime, client)
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|at| at.local_addr()).expect("a port").port()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
