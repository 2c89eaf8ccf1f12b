//! Programs that act on the machine itself: processes, services, packages, users, schedules, kernel.

use super::super::effects::By;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::{Asks, Custom};
use super::{Parsed, Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program("kill pkill killall skill xkill killall5 renice", "l,list L", Custom(kill)),
    program(
        "systemctl service initctl rc-service rc-update chkconfig update-rc.d sysv-rc-conf launchctl sv s6-svc supervisorctl monit pm2 rcctl",
        "t=V p=V n=V o=V",
        Custom(services),
    ),
    program("shutdown reboot halt poweroff init telinit kexec", "", Asks(rules::HOST, "stops or restarts the machine")),
    program("crontab", "l u=V e r i", Custom(crontab)),
    program("at batch", "f=R q=V t=V c=V d=V", Custom(later)),
    program("anacron fcron atrm", "f=R", Asks(rules::SCHEDULE, "runs a command later")),
    program("atq", "", super::Role::Inert),
    program(
        "useradd userdel usermod adduser deluser groupadd groupdel groupmod gpasswd passwd chpasswd chsh chfn newusers vipw visudo vigr chage addgroup delgroup dscl sysadminctl",
        "",
        Asks(rules::ELEVATE, "changes accounts of this machine"),
    ),
    program(
        "apt apt-get aptitude dnf yum microdnf zypper pacman apk emerge brew port snap flatpak nix nix-env guix pkg pkg_add rpm dpkg rpm-ostree slackpkg xbps-install eopkg tdnf yay paru choco winget scoop softwareupdate mas add-apt-repository apt-key update-alternatives alternatives gdebi",
        "o,option=V t=V c=R",
        Custom(packages),
    ),
    program(
        "modprobe insmod rmmod depmod sysctl dkms grub-install update-grub grub-mkconfig update-initramfs mkinitcpio dracut efibootmgr bootctl setenforce semanage auditctl ufw iptables ip6tables nft firewall-cmd ebtables ipset swapctl hwclock timedatectl hostnamectl localectl loginctl \
        udevadm apparmor_parser aa-disable aa-complain setsebool restorecon nvram csrutil spctl pmset tccutil",
        "",
        Custom(kernel),
    ),
    program("run-parts rtcwake ldconfig keytool", "", Asks(rules::HOST, "acts on the machine or its keys")),
    program("stress stress-ng bonnie++ fio", "", Asks(rules::EXHAUST, "uses up the machine")),
    program(
        "screen tmux byobu zellij abduco dtach",
        "",
        Asks(rules::RUN_CODE, "starts a session that outlives the command"),
    ),
    program(
        "dbus-send gdbus busctl qdbus xdotool ydotool xte wmctrl xdg-open open gnome-open kde-open start gsettings dconf defaults xdg-settings xdg-mime",
        "",
        Asks(rules::HOST, "acts on the desktop or its settings"),
    ),
    program("setcap setuid", "", Asks(rules::PERMISSIONS, "gives a program more rights")),
    program(
        "mimikatz linpeas.sh pspy linenum.sh xmrig minerd cpuminer",
        "",
        super::Role::Blocks(rules::BACKDOOR, "is a tool of intruders"),
    ),
];

fn kill(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let probes = parsed.has(&["l", "L"]) || call.args.first().is_some_and(|arg| arg == "-0");
    // Jobs of this shell are the agent's own.
    let own = !call.args.is_empty()
        && call.args.iter().filter(|arg| !arg.starts_with('-')).all(|arg| arg.starts_with('%'))
        && call.name == "kill";
    if call.name == "kill" && call.args.iter().any(|arg| arg == "-1" || arg == "1") && !probes {
        walker.findings.ask(rules::HOST, "every process would be signalled");
    }
    if !probes && !own {
        walker
            .findings
            .ask(rules::PROCESS, format!("{} ends processes that the agent may not have started", call.name));
    }
    Stream::of("")
}

fn services(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    const LOOKS: &[&str] = &[
        "status",
        "show",
        "list",
        "ls",
        "cat",
        "help",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-dependencies",
        "list-sockets",
        "list-jobs",
        "is-active",
        "is-enabled",
        "is-failed",
        "is-system-running",
        "get-default",
        "--status-all",
        "print",
        "avail",
        "tail",
        "logs",
        "monit",
        "describe",
        "info",
        "show-environment",
        "list-machines",
        "summary",
    ];
    let verb = parsed.operands.iter().find(|word| LOOKS.contains(&word.as_str()));
    if verb.is_none() && !call.args.is_empty() && !call.args.iter().any(|arg| arg == "--status-all" || arg == "--list")
    {
        let persists = parsed.operands.iter().any(|word| {
            matches!(
                word.as_str(),
                "enable" | "link" | "edit" | "load" | "bootstrap" | "defaults" | "add" | "startup" | "preset"
            )
        });
        let rule = if persists { rules::SCHEDULE } else { rules::HOST };
        walker.findings.ask(rule, format!("{} changes services of this machine", call.name));
        super::loose_arguments(walker, &parsed.operands);
    }
    Stream::unknown()
}

fn crontab(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if parsed.has(&["l"]) {
        return Stream::unknown();
    }
    if parsed.has(&["r"]) {
        walker.findings.ask(rules::SCHEDULE, "the schedule would be deleted");
    } else if parsed.has(&["e"]) {
        walker.findings.ask(rules::SCHEDULE, "the schedule would be edited");
    } else {
        walker.findings.block(rules::SCHEDULE, "a command would run again and again by itself");
    }
    for path in &parsed.operands {
        walker.read(path, By::Shell);
    }
    call.stdin.filtered()
}

/// `%(command)` in a macro of rpm runs, and so does `%{lua:…}`.
fn macros(walker: &mut Walker, args: &[String]) {
    for arg in args {
        for (at, _) in arg.match_indices("%(") {
            walker.findings.ask(rules::RUN_CODE, "the macro runs a command");
            let source = arg[at + 2..].rsplit_once(')').map_or(&arg[at + 2..], |(source, _)| source);
            walker.apart(|walker| walker.script(source, &Stream::unknown()));
        }
        if arg.contains("%{lua:") || arg.contains("%{load:") || arg.contains("%{shrink:%(") {
            walker.findings.ask(rules::RUN_CODE, "the macro runs code");
        }
    }
}

/// The commands come by standard input.
fn later(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    walker.findings.ask(rules::SCHEDULE, format!("{} runs a command later", call.name));
    if let Some(text) = &call.stdin.text {
        walker.apart(|walker| walker.script(text, &Stream::default()));
    }
    Stream::unknown()
}

fn packages(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if matches!(call.name.as_str(), "rpm" | "rpm-ostree") {
        macros(walker, &call.args);
    }
    if call.name == "nix" {
        super::wrappers::runner(walker, call);
    }
    const LOOKS: &[&str] = &[
        "list",
        "search",
        "show",
        "info",
        "policy",
        "depends",
        "rdepends",
        "provides",
        "whatprovides",
        "repolist",
        "history",
        "help",
        "check",
        "check-update",
        "listlocal",
        "find",
        "deps",
        "uses",
        "leaves",
        "doctor",
        "desc",
        "home",
        "cat",
        "config",
        "outdated",
        "changelog",
        "madison",
        "pkgnames",
        "repoquery",
        "deplist",
        "why",
        "files",
        "ls",
        "grouplist",
        "searchfiles",
        "services",
        "tap-info",
        "version",
        "log",
        "se",
        "if",
        "lr",
        "updateinfo",
        "query",
        "moo",
        "stats",
        "--version",
        "-v",
        "exists",
        "list-upgradable",
        "showpkg",
    ];
    let verb = parsed.operands.first().map_or("", String::as_str);
    let flags: Vec<&str> = call.args.iter().map(String::as_str).filter(|arg| arg.starts_with('-')).collect();
    let looks_by_flag = match call.name.as_str() {
        "pacman" | "yay" | "paru" => flags.first().is_some_and(|flag| {
            flag.starts_with("-Q")
                || flag.starts_with("-F")
                || flag.starts_with("-Ss")
                || flag.starts_with("-Si")
                || flag.starts_with("-Sg")
                || flag.starts_with("-T")
        }),
        "rpm" => flags.first().is_some_and(|flag| {
            flag.starts_with("-q")
                || flag.starts_with("--query")
                || flag.starts_with("-V")
                || flag.starts_with("--eval")
                || flag.starts_with("-K")
        }),
        "dpkg" => flags.first().is_some_and(|flag| {
            [
                "-l",
                "-L",
                "-S",
                "-s",
                "-p",
                "-I",
                "-c",
                "-C",
                "-V",
                "--list",
                "--listfiles",
                "--search",
                "--status",
                "--get-selections",
                "--print-architecture",
                "--contents",
                "--info",
            ]
            .contains(flag)
        }),
        "update-alternatives" | "alternatives" => {
            flags.iter().any(|flag| matches!(*flag, "--list" | "--display" | "--query" | "--get-selections"))
        }
        "nix" | "nix-env" => flags.iter().any(|flag| flag.starts_with("-q") || *flag == "--query"),
        "emerge" => flags
            .iter()
            .any(|flag| flag.starts_with("-s") || flag.contains('p') || *flag == "--search" || *flag == "--pretend"),
        "apt-key" => false,
        _ => flags.iter().any(|flag| {
            matches!(
                *flag,
                "-s" | "--simulate"
                    | "--dry-run"
                    | "--version"
                    | "--help"
                    | "--just-print"
                    | "--cache"
                    | "--prefix"
                    | "--repository"
            )
        }),
    };
    if !(LOOKS.contains(&verb) || looks_by_flag || call.args.is_empty()) {
        walker.findings.ask(rules::INSTALL, format!("{} {verb} changes what is installed", call.name));
    }
    for (_, value, _) in parsed.options.iter().filter(|(name, _, _)| name == "o") {
        if let Some(source) = value
            .as_deref()
            .filter(|value| value.contains("Invoke") || value.contains("Script"))
            .and_then(|value| value.rsplit('=').next())
        {
            walker.findings.ask(rules::ELEVATE, format!("the package manager would run {source}"));
        }
    }
    Stream::unknown()
}

fn kernel(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    const LOOKS: &[&str] = &[
        "-a",
        "-n",
        "-L",
        "--list",
        "-S",
        "list",
        "status",
        "show",
        "monitor",
        "info",
        "-l",
        "-v",
        "--list-all",
        "--state",
        "--get-zones",
        "--get-active-zones",
        "-nL",
        "-nvL",
        "-vnL",
        "-Ln",
        "-Lnv",
        "list-timezones",
        "timesync-status",
        "list-sessions",
        "list-users",
        "user-status",
        "session-status",
        "verbose",
        "numbered",
        "--show",
        "-r",
        "-g",
    ];
    if matches!(call.name.as_str(), "modprobe" | "insmod" | "rmmod" | "depmod") {
        const DRY: &[&str] =
            &["-n", "--dry-run", "--show", "-D", "--show-depends", "-c", "--showconfig", "--show-config"];
        if !call.args.iter().any(|arg| DRY.contains(&arg.as_str())) {
            walker.findings.ask(rules::HOST, format!("{} changes what the kernel has loaded", call.name));
        }
        return Stream::unknown();
    }
    let looks = call.args.is_empty() || call.args.iter().any(|arg| LOOKS.contains(&arg.as_str()));
    let sets = call.args.iter().any(|arg| {
        matches!(arg.as_str(), "-w" | "-p" | "-F" | "-X" | "-P" | "-A" | "-I" | "-D" | "--set" | "--flush" | "-R")
    }) || (call.name == "sysctl" && parsed.operands.iter().any(|word| word.contains('=')));
    let named = call.name == "sysctl" && !parsed.operands.is_empty();
    if sets || !(looks || named) {
        walker.findings.ask(rules::HOST, format!("{} changes the machine's kernel or its protection", call.name));
    }
    Stream::unknown()
}
