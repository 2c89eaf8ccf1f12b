//! Programs that talk to other machines. Reading from public hosts passes; sending is asked about; sending a secret is
//! blocked because it reads the secret.

use super::super::content;
use super::super::effects::By;
use super::super::shell::{Call, Stream, Walker};
use super::super::tables::{self, Effect};
use super::super::verdict::rules;
use super::Role::{Asks, Custom, Inert};
use super::{Parsed, Program, program, read_all, wrappers};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        "curl curlie",
        "X,request=V d,data=A data-ascii=A data-binary=A data-raw=V data-urlencode=A json=A F,form=A form-string=V T,upload-file=R o,output=W O,remote-name output-dir=W D,dump-header=W c,cookie-jar=W b,cookie=V H,header=A K,config=R \
        u,user=V A,user-agent=V e,referer=V E,cert=R key=R cacert=R x,proxy=V w,write-out=V m,max-time=V connect-timeout=V retry=V url=U r,range=V C,continue-at=V z,time-cond=V Y=V y=V P=V Q,quote=V t=V U=V \
        trace=W trace-ascii=W stderr=W netrc-file=R resolve=V interface=V limit-rate=V unix-socket=V max-redirs=V proto=V ciphers=V oauth2-bearer=V aws-sigv4=V L s S f i I,head k v g G,get n,netrc N",
        Custom(curl),
    ),
    program(
        "wget wget2",
        "O,output-document=W P,directory-prefix=D o,output-file=W a,append-output=W i,input-file=R method=V body-data=V body-file=R post-data=V post-file=R header=V U,user-agent=V user=V password=V http-user=V http-password=V \
        load-cookies=R save-cookies=W A,accept=V R,reject=V D,domains=V config=R t,tries=V T,timeout=V w,wait=V Q,quota=V l,level=V limit-rate=V e,execute=V use-askpass=X ca-certificate=R referer=V B=V X=V I=V cut-dirs=V",
        Custom(wget),
    ),
    program(
        "http https xh httpie xhs",
        "o,output=W d a,auth=V A=V session=V body=V f,form j,json h b v",
        Custom(httpie),
    ),
    program("lynx w3m links elinks", "!cfg=L o=V", Custom(browsed)),
    program(
        "aria2c axel youtube-dl yt-dlp httpx gallery-dl you-get lwp-download lwp-request GET HEAD",
        "d,dir=D o,out,output=W i,input-file=R a=W P=D",
        Custom(download),
    ),
    program(
        "ping ping6 fping traceroute traceroute6 tracepath mtr arping dig nslookup host drill whois resolvectl getent dog doggo ipcalc sipcalc geoiplookup netstat ss speedtest speedtest-cli iperf iperf3 hping3 nload iftop bmon bwm-ng vnstat ethtool iwlist httping nethogs",
        "c=V i=V W=V w=V s=V t=V I=V q=V m=V p=V n=V f=R l=V k=R u=V",
        Custom(probe),
    ),
    program(
        "arp ip ifconfig route iwconfig brctl bridge nmcli networksetup iw rfkill tc wg wpa_cli",
        "",
        Custom(interfaces),
    ),
    program("ssh mosh autossh slogin rsh dbclient", "", Custom(ssh)),
    program("rlogin", "", Asks(rules::REMOTE_SHELL, "runs on another machine")),
    program("scp", "P=V i=R o=V F=R J=V c=V l=V S=X r p q C", Custom(rsync)),
    program(
        "sftp ftp tftp lftp ncftp ncftpput ncftpget smbclient kermit",
        "b=R i=R P=V o=V u=V p=V e=V c=V",
        Asks(rules::UPLOAD, "moves files to or from another machine"),
    ),
    program("rclone", "", Custom(rclone)),
    program("ssh-copy-id", "", Custom(copy_key)),
    program("ssh-keygen", "f=W t=V b=V C=V N=V y l R=V F=V i e p", Custom(key)),
    program("ssh-add ssh-agent ssh-keyscan", "", Asks(rules::SECRET_READ, "handles login keys")),
    program(
        "nc ncat netcat socat telnet pwncat cryptcat nc.traditional nc.openbsd",
        "e,exec=V c,sh-exec=V p=V s=V w=V q=V i=V x=V X=V o=W l,listen k n u v z",
        Custom(netcat),
    ),
    program(
        "nmap masscan zmap nikto sqlmap hydra medusa john hashcat gobuster ffuf wfuzz msfconsole msfvenom aircrack-ng ettercap tcpdump tshark wireshark dsniff arpspoof bettercap responder crackmapexec",
        "",
        Asks(rules::REMOTE_CHANGE, "probes or listens to other machines"),
    ),
    program(
        "mail mailx mutt sendmail msmtp swaks ssmtp nail s-nail",
        "a=R A=R q=R s=V r=V b=V c=V",
        Asks(rules::UPLOAD, "sends a message"),
    ),
    program(
        "ab siege wrk hey vegeta bombardier locust k6 jmeter",
        "p=R u=R c=V n=V t=V T=V H=V",
        Asks(rules::EXHAUST, "loads another machine with requests"),
    ),
    program(
        "ngrok cloudflared localtunnel lt serveo bore frpc chisel tailscale zerotier-cli croc wormhole transfer",
        "",
        Asks(rules::SERVE, "opens this machine to others"),
    ),
    program(
        "http-server serve live-server caddy nginx apachectl httpd lighttpd webfsd miniserve dufs",
        "",
        Asks(rules::SERVE, "serves files to the network"),
    ),
    program("wall write mesg talk ntalk", "", Inert),
    program("openssl", "", Custom(openssl)),
    program("gpg gpg2 age sops", "", Custom(gpg)),
];

fn curl(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for (name, value, role) in &parsed.options {
        // `@file` of data, forms and headers.
        if let (Some(value), 'A') = (value, role) {
            if let Some((_, path)) = value.split_once("%output{") {
                walker.write(path.trim_start_matches('>').split('}').next().unwrap_or_default());
            }
            for file in sent_files(name, value) {
                walker.read(file, By::Shell);
            }
            if content::holds_credential(value) && !value.to_lowercase().contains("authorization") {
                walker.findings.ask(rules::EXFILTRATE, "a credential would be sent");
            }
        }
    }
    for url in &parsed.operands {
        walker.fetch(url);
    }
    let names = ["d", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json", "F", "form-string", "T"];
    let method = parsed.value(&["X"]).unwrap_or("").to_uppercase();
    let sends =
        (parsed.has(&names) && !parsed.has(&["G"])) || !matches!(method.as_str(), "" | "GET" | "HEAD" | "OPTIONS");
    if sends && !is_search(&parsed.operands, &method) {
        let rule = if parsed.has(&["T", "F"]) { rules::UPLOAD } else { rules::REMOTE_CHANGE };
        walker.findings.ask(rule, format!("curl {} sends data", if method.is_empty() { "POST" } else { &method }));
        if method == "DELETE" || call.args.iter().any(|arg| arg.contains("_delete_by_query")) {
            walker.findings.ask(rules::SERVICE, "a remote resource would be deleted");
        }
    }
    if parsed.has(&["Q"]) {
        walker.findings.ask(rules::REMOTE_CHANGE, "curl sends commands to a server");
    }
    if let Some(folder) = parsed.value(&["output-dir"]) {
        walker.write(folder);
    }
    Stream { from_network: true, ..Stream::unknown() }
}

/// `@file`, `name=@file`, `name=<file`: several in a form, and in encoded data also `name@file`.
fn sent_files<'a>(option: &str, value: &'a str) -> Vec<&'a str> {
    let encoded = matches!(option, "data-urlencode" | "url-query" | "variable");
    let file = value
        .strip_prefix('@')
        .or_else(|| value.split_once("=@").map(|(_, file)| file))
        .or_else(|| value.split_once("=<").map(|(_, file)| file))
        .or_else(|| value.split_once('@').filter(|(name, _)| encoded && !name.contains('=')).map(|(_, file)| file));
    let file = file.map(|file| file.split(';').next().unwrap_or(file).trim_matches('"'));
    file.map(|file| if option == "F" { file.split(',').collect() } else { vec![file] }).unwrap_or_default()
}

/// A search by POST only reads.
fn is_search(urls: &[String], method: &str) -> bool {
    method == "POST"
        && urls.len() == 1
        && urls[0].split('?').next().is_some_and(|path| path.ends_with("/_search") || path.ends_with("/_count"))
}

fn wget(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for url in &parsed.operands {
        walker.fetch(url);
    }
    if let Some(folder) = parsed.value(&["P"]) {
        walker.write(folder);
    }
    if parsed.has(&["config"]) {
        walker.findings.ask(rules::RUN_CODE, "what wget does by that configuration is not known");
    }
    for setting in parsed.values(&["e"]) {
        wget_setting(walker, setting);
    }
    let method = parsed.value(&["method"]).unwrap_or("GET").to_uppercase();
    if parsed.has(&["post-data", "post-file", "body-data", "body-file"]) || !matches!(method.as_str(), "GET" | "HEAD") {
        walker.findings.ask(rules::REMOTE_CHANGE, "wget sends data");
    }
    Stream { from_network: true, ..Stream::unknown() }
}

/// `name = value` of its start-up file, where `-`, `_` and case don't count.
fn wget_setting(walker: &mut Walker, setting: &str) {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let name = name.trim().to_lowercase().replace(['-', '_'], "");
    let value = value.trim();
    match name.as_str() {
        "outputdocument" | "logfile" | "dirprefix" | "savecookies" | "warcfile" | "rejectedlog" | "hstsfile" => {
            walker.write(value);
        }
        "input" | "postfile" | "bodyfile" | "loadcookies" | "privatekey" | "certificate"
            if walker.read(value, By::Shell) || name.ends_with("file") =>
        {
            walker.findings.ask(rules::REMOTE_CHANGE, "wget sends data");
        }
        "postdata" | "bodydata" => walker.findings.ask(rules::REMOTE_CHANGE, "wget sends data"),
        "useaskpass" => {
            walker.apart(|walker| walker.script(value, &Stream::unknown()));
        }
        _ => {}
    }
}

fn httpie(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    let methods = ["POST", "PUT", "PATCH", "DELETE"];
    let sends = parsed.operands.first().is_some_and(|first| methods.contains(&first.to_uppercase().as_str()))
        || parsed.operands.iter().skip(1).any(|item| item.contains('=') && !item.contains("=="))
        || parsed.operands.iter().any(|item| item.contains('@'));
    for item in &parsed.operands {
        if let Some((_, file)) = item.split_once('@') {
            walker.read(file, By::Shell);
        } else if item.contains('.') || item.contains("://") {
            walker.fetch(item);
        }
    }
    if sends {
        walker.findings.ask(rules::REMOTE_CHANGE, "the request sends data");
    }
    Stream { from_network: true, ..Stream::unknown() }
}

fn download(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for (index, operand) in parsed.operands.iter().enumerate() {
        if index > 0 && call.name == "lwp-download" && !operand.contains("://") {
            walker.write(operand);
        } else {
            walker.fetch(operand);
        }
    }
    if let Some(folder) = parsed.value(&["d", "P"]) {
        walker.write(folder);
    }
    Stream { from_network: true, ..Stream::unknown() }
}

/// A terminal browser takes files as well as addresses.
fn browsed(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for operand in parsed
        .operands
        .iter()
        .map(String::as_str)
        .chain(call.args.iter().filter_map(|arg| arg.split_once('=').map(|(_, value)| value)))
    {
        let lowered = operand.to_ascii_lowercase();
        if ["lynxexec:", "lynxprog:", "lynxcgi:", "exec:", "mailto:"].iter().any(|scheme| lowered.starts_with(scheme)) {
            walker.findings.ask(rules::RUN_CODE, format!("{} would run a program by that address", call.name));
        }
        walker.fetch(operand);
    }
    read_all(walker, &parsed.operands.iter().filter(|operand| !operand.contains("://")).cloned().collect::<Vec<_>>());
    Stream { from_network: true, ..Stream::unknown() }
}

fn probe(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if call.name.starts_with("ping") && parsed.has(&["f"]) || call.name == "hping3" {
        walker.findings.ask(rules::EXHAUST, "floods another machine");
    }
    // Data may leave the machine in names that are looked up.
    if call.args.iter().any(|arg| arg.contains(super::UNKNOWN) && arg.matches('.').count() >= 2) {
        walker.findings.ask(rules::UPLOAD, "the name that is looked up is computed while it runs");
    }
    Stream::unknown()
}

fn interfaces(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    const CHANGES: &[&str] = &[
        "add",
        "del",
        "delete",
        "set",
        "flush",
        "up",
        "down",
        "change",
        "replace",
        "-d",
        "-s",
        "addbr",
        "delbr",
        "addif",
        "modify",
        "connect",
        "disconnect",
        "hw",
        "netmask",
        "block",
        "promisc",
        "off",
        "reassociate",
        "attach",
        "detach",
    ];
    if let Some(at) = call.args.iter().position(|arg| arg == "exec" || arg == "e") {
        let noun =
            if call.args[..at].iter().any(|arg| arg.starts_with("vrf")) { "ip vrf exec" } else { "ip netns exec" };
        if let Some(wrapper) = tables::wrapper(noun).filter(|_| call.name == "ip") {
            return wrappers::see_through(walker, wrapper, &call.args[at + 1..], &call.stdin);
        }
    }
    if call.args.iter().any(|arg| CHANGES.contains(&arg.as_str())) {
        walker.findings.ask(rules::HOST, format!("{} changes the machine's network", call.name));
    }
    Stream::unknown()
}

fn ssh(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    walker.findings.ask(rules::REMOTE_SHELL, format!("{} runs on another machine", call.name));
    let Some(wrapper) = tables::wrapper(&call.name) else { return Stream::unknown() };
    let opened = wrapper.open(&call.args, &|text| vec![text.to_owned()]);
    for (option, effect, values) in &opened.given {
        let value = values.first().map_or("", String::as_str);
        match effect {
            Effect::Reads => {
                walker.read(value, By::Shell);
            }
            Effect::Writes => walker.write(value),
            Effect::Loads => walker.loads("ssh", value),
            Effect::Shell => {
                walker.apart(|walker| walker.script(value, &Stream::unknown()));
            }
            _ if *option == "-o" => ssh_setting(walker, value),
            _ => {}
        }
    }
    for option in &opened.unknown {
        let shown = option.replace(super::UNKNOWN, "…");
        walker.findings.ask(rules::UNKNOWN_PROGRAM, format!("what {shown} of {} does is not known", call.name));
    }
    wrappers::elsewhere(walker, opened.rest);
    Stream { from_network: true, ..Stream::unknown() }
}

/// `Name=value` or `Name value`, as in its configuration.
fn ssh_setting(walker: &mut Walker, setting: &str) {
    let setting = match setting.find(['=', ' ', '\t']) {
        Some(at) => format!("{}={}", &setting[..at], setting[at + 1..].trim_start_matches(['=', ' ', '\t'])),
        None => setting.to_owned(),
    };
    if let Some((role, value)) = tables::setting("ssh", "o", &setting) {
        super::apply(walker, "ssh", role, value.trim_matches('"'));
    }
}

/// `host:path` or `user@host:path` or an address.
fn is_remote(path: &str) -> bool {
    path.contains("://")
        || path.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/') && host.len() > 1)
}

pub(super) fn rsync(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let Some((target, sources)) = parsed.operands.split_last() else { return Stream::unknown() };
    if parsed.has(&["n"]) {
        return Stream::unknown();
    }
    for source in sources.iter().filter(|source| !is_remote(source)) {
        walker.read(source, By::Shell);
    }
    if is_remote(target) {
        walker.findings.ask(rules::UPLOAD, format!("{} copies to {target}", call.name));
    } else {
        walker.write(target);
        if sources.iter().any(|source| is_remote(source)) {
            walker.findings.ask(rules::REMOTE_SHELL, format!("{} copies from another machine", call.name));
        }
    }
    if parsed.options.iter().any(|(name, _, _)| name.starts_with("del") || name == "remove-source-files") {
        walker.findings.ask(rules::DELETE_WORK, "files that the other side doesn't have would be deleted");
    }
    Stream::unknown()
}

fn rclone(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let verb = call.args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    if !matches!(
        verb,
        "ls" | "lsl"
            | "lsd"
            | "lsf"
            | "lsjson"
            | "size"
            | "check"
            | "version"
            | "tree"
            | "ncdu"
            | "about"
            | "listremotes"
            | "md5sum"
            | "help"
            | ""
    ) {
        walker.findings.ask(rules::UPLOAD, format!("rclone {verb} changes remote or local files"));
    }
    read_all(walker, call.args.get(1..).unwrap_or_default());
    Stream::unknown()
}

fn copy_key(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    walker.findings.ask(rules::REMOTE_SHELL, "a login key would be put on another machine");
    super::loose_arguments(walker, &call.args);
    Stream::unknown()
}

fn key(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if !parsed.has(&["l", "F"]) {
        walker.findings.ask(rules::SECRET_READ, "ssh-keygen makes or changes login keys");
    }
    Stream::unknown()
}

fn netcat(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let text = call.args.join(" ");
    let runs = (call.name != "socat" && parsed.has(&["e", "c"]))
        || text.to_lowercase().contains("exec:")
        || text.to_lowercase().contains("system:")
        || text.contains("shell:");
    if runs {
        walker.findings.block(rules::BACKDOOR, format!("{} would give the other end control of a program", call.name));
    } else if parsed.has(&["l"]) || text.to_lowercase().contains("listen") {
        walker.findings.ask(rules::SERVE, format!("{} waits for connections", call.name));
    } else if !parsed.has(&["z"]) {
        walker.findings.ask(rules::UPLOAD, format!("{} sends to another machine", call.name));
    }
    for part in text.split([' ', ',']) {
        if let Some(path) = part
            .split_once(':')
            .filter(|(kind, _)| matches!(kind.to_lowercase().as_str(), "open" | "file" | "create" | "gopen"))
            .map(|(_, path)| path)
        {
            walker.read(path, By::Shell);
            walker.write(path);
        }
    }
    Stream { from_network: true, ..Stream::unknown() }
}

fn openssl(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let verb = call.args.first().map_or("", String::as_str);
    let parsed = super::options::parse_with(
        "!in=R out=W key=R inkey=R CA=R cert=R signkey=R pass=V k=V K=V iv=V config=R keyout=W days=V subj=V connect=V port=V accept=V newkey=V S=V",
        tables::options_of("openssl").unwrap_or_default(),
        call.args.get(1..).unwrap_or_default(),
    );
    super::apply_options(walker, "openssl", &parsed);
    if verb == "engine" || verb == "dynamic" {
        for engine in &parsed.operands {
            walker.loads("openssl", engine);
        }
    }
    match verb {
        "s_server" => walker.findings.ask(rules::SERVE, "openssl waits for connections"),
        "s_client" => walker.findings.ask(rules::UPLOAD, "openssl sends to another machine"),
        "enc" | "base64" | "aes-256-cbc" if parsed.has(&["d"]) => {
            let text = call
                .stdin
                .text
                .as_deref()
                .filter(|_| parsed.has(&["base64", "a"]) || verb == "base64")
                .and_then(content::base64_decoded);
            return Stream { text, decoded: true, ..call.stdin.filtered() };
        }
        _ => {}
    }
    call.stdin.filtered()
}

fn gpg(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let has = |words: &[&str]| call.args.iter().any(|arg| words.contains(&arg.as_str()));
    if has(&["--export-secret-keys", "--export-secret-subkeys", "--export-secret-key"]) {
        walker.findings.block(rules::SECRET_READ, "gpg would print secret keys");
    } else if has(&["--delete-keys", "--delete-secret-keys", "--delete-key", "--delete-secret-and-public-key"]) {
        walker.findings.ask(rules::SERVICE, "gpg would delete keys");
    } else if has(&["-d", "--decrypt", "decrypt", "edit"]) {
        walker.findings.ask(rules::SECRET_READ, format!("{} would print what is encrypted", call.name));
    } else if has(&[
        "--send-keys",
        "--import",
        "--recv-keys",
        "--gen-key",
        "--full-generate-key",
        "--quick-gen-key",
        "--edit-key",
    ]) {
        walker.findings.ask(rules::REMOTE_CHANGE, "gpg changes its keys or a key server");
    }
    super::loose_arguments(walker, &call.args);
    Stream { decoded: true, ..call.stdin.filtered() }
}
