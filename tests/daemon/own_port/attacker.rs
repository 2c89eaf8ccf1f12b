//! A hostile program with network access, which this test program becomes when started for this one test. Standard
//! input tells it the ports of the daemon and of another server. It prints one line for each attempt.
#![allow(unsafe_code)]

use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SendFlags, SocketFlags, SocketType, sendto, socket_with, sockopt};
use serde_json::Value;

/// How often an address is changed during a connect.
const CHANGES: usize = 3000;
const PATIENCE: Duration = Duration::from_secs(10);

struct Told {
    /// The daemon's port.
    port: u16,
    /// Another server's port on this machine.
    other: u16,
    /// The port of a server that neither accepts nor refuses connections.
    full: u16,
    token: String,
}

/// The result of an attempt: whether the daemon answered or accepted the connection.
type Attempt = Result<(), String>;

/// Not a test but the program. As an ordinary test it does nothing.
#[test]
fn attacker() {
    if !std::env::args().any(|word| word == super::ATTACK[0]) {
        return;
    }
    let mut told = String::new();
    std::io::stdin().lock().read_to_string(&mut told).expect("told");
    let told: Value = serde_json::from_str(told.trim()).expect("JSON");
    let port = |name: &str| u16::try_from(told[name].as_u64().expect("a port")).expect("a port");
    let token = told["token"].as_str().unwrap_or_default().to_owned();
    let told = Told { port: port("port"), other: port("other"), full: port("full"), token };
    say("begin", Ok(()));
    spellings(&told);
    other_calls(&told);
    races(&told);
    ordinary(&told);
    say("end", Ok(()));
}

/// Prints one line directly, because the test harness captures output.
fn say(attempt: &str, came: Attempt) {
    let line = match came {
        Ok(()) => format!("REACHED {attempt}\n"),
        Err(why) => format!("refused {attempt}: {why}\n"),
    };
    // SAFETY: 1 is this process' standard output. It isn't closed here, because the file is never dropped.
    let mut out = ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(1) });
    let _ = out.write_all(line.as_bytes());
}

fn ask(mut stream: TcpStream, token: &str) -> Attempt {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let request = format!(
        "GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = [0; 64];
    match stream.read(&mut answer) {
        Ok(1..) => Ok(()),
        Ok(_) => Err("closed".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn reach(told: &Told, address: SocketAddr) -> Attempt {
    TcpStream::connect(address).map_err(|error| error.to_string()).and_then(|stream| ask(stream, &told.token))
}

fn own_addresses() -> Vec<IpAddr> {
    let source = |from: &str, to: &str| {
        let socket = UdpSocket::bind((from, 0)).ok()?;
        socket.connect((to, 9)).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    };
    [source("0.0.0.0", "198.51.100.1"), source("::", "2001:db8::1")].into_iter().flatten().collect()
}

fn spellings(told: &Told) {
    let mut all: Vec<IpAddr> = [
        "127.0.0.1",
        "127.0.0.2",
        "127.255.255.254",
        "0.0.0.0",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:0.0.0.0",
        "::ffff:127.9.9.9",
    ]
    .iter()
    .map(|ip| ip.parse().expect("an address"))
    .collect();
    for ip in own_addresses() {
        all.push(ip);
        if let IpAddr::V4(ip) = ip {
            all.push(ip.to_ipv6_mapped().into());
        }
    }
    for ip in all {
        say(&format!("blocking {ip}"), reach(told, SocketAddr::new(ip, told.port)));
        let soon = TcpStream::connect_timeout(&SocketAddr::new(ip, told.port), PATIENCE);
        say(
            &format!("non-blocking {ip}"),
            soon.map_err(|error| error.to_string()).and_then(|stream| ask(stream, &told.token)),
        );
    }
    for name in ["localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "localhost.", "ip6-localhost"] {
        let found = (name, told.port).to_socket_addrs().map_err(|error| error.to_string());
        let came = found.and_then(|mut all| {
            all.try_fold("no address".to_owned(), |_, address| match reach(told, address) {
                Ok(()) => Err(()),
                Err(why) => Ok(why),
            })
            .map_or(Ok(()), Err)
        });
        say(&format!("name {name}"), came);
    }
}

fn tcp() -> OwnedFd {
    socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("a socket")
}

fn here(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn by_errno(came: Result<(), Errno>) -> Attempt {
    came.map_err(|error| error.to_string())
}

fn raw(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn other_calls(told: &Told) {
    let daemon = here(told.port);
    let fast = SendFlags::from_bits_retain(libc::MSG_FASTOPEN as u32);
    let socket = tcp();
    say("fast open", by_errno(sendto(&socket, b"GET / HTTP/1.1\r\n\r\n", fast, &daemon).map(drop)));
    let mut name = raw(daemon);
    let mut part = libc::iovec { iov_base: b"G".as_ptr().cast_mut().cast(), iov_len: 1 };
    // SAFETY: all zero bits are a valid value of this plain structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_name, message.msg_namelen) = ((&raw mut name).cast(), size_of::<libc::sockaddr_in>() as u32);
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    let socket = tcp();
    // SAFETY: `message` points to `name` and `part`, which outlive the call, and the kernel only reads them.
    let sent =
        unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL) };
    say("fast open by sendmsg", last(sent >= 0));
    let mut many = libc::mmsghdr { msg_hdr: message, msg_len: 0 };
    let socket = tcp();
    // SAFETY: as above; exactly one message is given.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), &raw mut many, 1, libc::MSG_FASTOPEN) };
    say("fast open by sendmmsg", last(sent > 0));

    let socket = tcp();
    let on: libc::c_int = 1;
    // SAFETY: the value is an int and its length is given.
    let is_set = unsafe {
        let length = size_of::<libc::c_int>() as u32;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_FASTOPEN_CONNECT,
            (&raw const on).cast(),
            length,
        )
    };
    assert_eq!(is_set, 0);
    say(
        "fast open at connect",
        by_errno(rustix::net::connect(&socket, &daemon)).and_then(|()| ask(socket.into(), &told.token)),
    );

    let protocol = |number: u32| Protocol::from_raw(number.try_into().expect("not zero"));
    for (name, kind, number) in [
        ("MPTCP", SocketType::STREAM, 262),
        ("SCTP", SocketType::STREAM, 132),
        ("SCTP of messages", SocketType::SEQPACKET, 132),
        ("DCCP", SocketType::from_raw(6), 33),
        ("raw", SocketType::RAW, 6),
    ] {
        let made = socket_with(AddressFamily::INET, kind, SocketFlags::empty(), Some(protocol(number)));
        let came = made.and_then(|socket| rustix::net::connect(&socket, &daemon).map(|()| socket));
        say(name, came.map_err(|error| error.to_string()).and_then(|socket| ask(socket.into(), &told.token)));
    }

    // Connected elsewhere, disconnected, and connected again.
    let socket = tcp();
    let turned = rustix::net::connect(&socket, &here(told.other))
        .and_then(|()| rustix::net::connect_unspec(&socket))
        .and_then(|()| rustix::net::connect(&socket, &daemon));
    say("after another", by_errno(turned).and_then(|()| ask(socket.into(), &told.token)));

    let name = raw(daemon);
    #[cfg(target_arch = "x86_64")]
    {
        let socket = tcp();
        let length = size_of::<libc::sockaddr_in>();
        // SAFETY: the address outlives the call, and its length is given.
        let done =
            unsafe { libc::syscall(0x4000_0000 | libc::SYS_connect, socket.as_raw_fd(), &raw const name, length) };
        say("by the x32 interface", last(done == 0));
    }
    // Argument bits that the kernel ignores change nothing.
    let socket = tcp();
    let odd = i64::from(socket.as_raw_fd()) | 0x7_0000_0000;
    // SAFETY: as above.
    let done = unsafe { libc::syscall(libc::SYS_connect, odd, &raw const name, 0x9_0000_0010_i64) };
    say("with odd registers", last(done == 0));

    // Created here, connected in a child.
    let socket = tcp();
    // SAFETY: the child calls only connect and _exit, which are allowed after a fork.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above; the address was created before the fork.
        unsafe {
            let length = size_of::<libc::sockaddr_in>() as u32;
            let done = libc::connect(socket.as_raw_fd(), (&raw const name).cast(), length);
            libc::_exit(i32::from(done != 0));
        }
    }
    let mut status = 1;
    // SAFETY: the child is this process' own.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    say("after a fork", if status == 0 { Ok(()) } else { Err("its child was refused".into()) });
}

fn last(done: bool) -> Attempt {
    if done { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

/// One thread changes the address all the time while another connects to it.
fn races(told: &Told) {
    let mut name = raw(here(told.other));
    let port = (&raw mut name.sin_port).cast::<u16>();
    // SAFETY: the field outlives the uses of this reference, is aligned for 16 bits, and is changed only through it.
    let shared = unsafe { AtomicU16::from_ptr(port) };
    let is_over = AtomicBool::new(false);
    let came = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                shared.store(told.port.to_be(), Ordering::Relaxed);
                std::hint::spin_loop();
                shared.store(told.other.to_be(), Ordering::Relaxed);
            }
        });
        let mut reached = Err("each was the other server, or refused".to_owned());
        let mut connected = 0;
        for _ in 0..CHANGES {
            let socket = tcp();
            // SAFETY: the address outlives the call; changing it meanwhile is the point of this attempt.
            let done = unsafe {
                libc::connect(socket.as_raw_fd(), (&raw const name).cast(), size_of::<libc::sockaddr_in>() as u32)
            };
            let stream = TcpStream::from(socket);
            connected += usize::from(done == 0);
            if done == 0 && stream.peer_addr().is_ok_and(|peer| peer.port() == told.port) {
                reached = ask(stream, &told.token);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(connected > 0, "some were the other server");
        reached
    });
    say("an address that changes", came);
}

/// Things that must keep working; a failure ends the program, and its last line is missing.
fn ordinary(told: &Told) {
    let other = SocketAddr::from(here(told.other));
    ask(TcpStream::connect(other).expect("connected"), "").expect("answered");
    ask(TcpStream::connect_timeout(&other, PATIENCE).expect("connected"), "").expect("answered");
    ask(TcpStream::connect(("localhost", told.other)).expect("connected by name"), "").expect("answered");
    let nobody = TcpStream::connect(here(1)).expect_err("nobody listens");
    assert_eq!(nobody.kind(), std::io::ErrorKind::ConnectionRefused);
    let udp = UdpSocket::bind(here(0)).expect("bound");
    udp.connect(udp.local_addr().expect("bound")).expect("connected to itself");
    udp.send(b"to me").expect("sent");
    assert_eq!(udp.recv(&mut [0; 16]).expect("received"), 5);
    let socket = tcp();
    rustix::net::connect(&socket, &here(told.other)).expect("connected");
    assert_eq!(rustix::net::connect(&socket, &here(told.other)).expect_err("connected already"), Errno::ISCONN);
    // A blocking socket is still blocking afterwards.
    assert!(!rustix::fs::fcntl_getfl(&socket).expect("flags").contains(rustix::fs::OFlags::NONBLOCK));
    // The socket's own timeout holds, while another thread continues.
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let socket = tcp();
            sockopt::set_socket_timeout(socket.as_fd(), sockopt::Timeout::Send, Some(Duration::from_millis(400)))
                .expect("set");
            let begun = Instant::now();
            let came = rustix::net::connect(&socket, &here(told.full)).expect_err("it is full");
            (came, begun.elapsed())
        });
        for _ in 0..50 {
            TcpStream::connect(other).expect("connected meanwhile");
        }
        let (came, took) = slow.join().expect("no panic");
        assert_eq!(came, Errno::INPROGRESS);
        assert!(took >= Duration::from_millis(300), "{took:?}");
    });
}
