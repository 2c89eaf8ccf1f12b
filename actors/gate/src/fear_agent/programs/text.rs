//! Programs that only look: at text, at the clock, at the machine.

use super::super::content;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::{Custom, Inert, Reads, TextThenReads, Writes};
use super::{Parsed, Program, program, read_all};

pub(super) const PROGRAMS: &[Program] = &[
    program("cat tac nl bat batcat ccat zcat bzcat xzcat zstdcat lzcat gzcat", "", Reads),
    program("head tail", "n,lines=V c,bytes=V s=V pid=V q v f F", Reads),
    program(
        "less more most pg zless zmore bzless lessecho",
        "p=V P=V o,log-file=W O=W j=V x=V z=V t=V T=R k=R lesskey-src=R cmd=V",
        Custom(pager),
    ),
    program(
        "wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum md5 shasum sha256 crc32 xxhsum",
        "a=V files0-from=R",
        Reads,
    ),
    program(
        "od hexdump hd strings readelf objdump nm size ldd file exiftool mediainfo identify ffprobe pdfinfo pdfgrep catdoc antiword",
        "A=V t=V j=V N=V w=V n=V s=V e=V f=R m=R F=V l=V c=V S=V",
        Reads,
    ),
    program("cut", "b=V c=V d,delimiter=V f,fields=V output-delimiter=V", Reads),
    program("paste", "d,delimiters=V s z", Reads),
    program("join", "1=V 2=V a=V e=V j=V o=V t=V v=V", Reads),
    program(
        "comm cmp colordiff sdiff diff3 wdiff dwdiff icdiff delta difft",
        "i=V n=V output-delimiter=V o,output=W",
        Reads,
    ),
    program("diff", "U=V C=V I=V x=V X=R W=V F=V label=V D=V S=V", Reads),
    program(
        "sort",
        "o,output=W k,key=V t,field-separator=V T,temporary-directory=V S,buffer-size=V compress-program=X batch-size=V parallel=V files0-from=R random-source=R",
        Reads,
    ),
    program("tsort shuf", "o,output=W n=V i=V random-source=R e", Reads),
    program("uniq", "f=V s=V w=V", Custom(uniq)),
    program("pdftotext docx2txt", "!f=V l=V r=V x=V y=V W=V H=V enc=V eol=V opw=V upw=V", Custom(uniq)),
    program(
        "fold fmt expand unexpand pr column colrm rs pathchk look ptx",
        "w=V s=V t=V c=V p=V g=V d=V N=V l=V h=V o=V S=V e=V n=V H=V R=V O=V",
        Reads,
    ),
    program(
        "grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep rgrep pcregrep pcre2grep agrep ugrep sgrep ngrep",
        "e,regexp=V f,file=R A=V B=V C=V m,max-count=V D=V d=V include=V exclude=V exclude-from=R exclude-dir=V label=V color,colour",
        TextThenReads,
    ),
    program(
        "rg ag ack",
        "e,regexp=V f,file=R A=V B=V C=V m,max-count=V g,glob=V iglob=V t,type=V T,type-not=V r,replace=V j=V M=V E=V pre=X ignore-file=R sort=V type-add=V color=V max-depth=V d=V",
        TextThenReads,
    ),
    program("jq gojq jaq", "f,from-file=R arg=V argjson=V slurpfile=V rawfile=V L=V indent=V", TextThenReads),
    program("yq xq tomlq dasel fx jp jless gron", "f=V p=V o=V i,inplace,in-place", Custom(queried)),
    program("look dict aspell spell ispell hunspell", "", Reads),
    program("mlr qsv", "c=V d=V m=V f=V t=V o=V g=V", Custom(tabular)),
    program(
        "csvcut csvgrep csvlook csvstat csvsort csvjson csvformat in2csv xsv datamash numfmt seqkit",
        "c=V d=V m=V f=V t=V o=V g=V",
        Reads,
    ),
    program(
        "xmllint xmlstarlet tidy html2text pandoc markdown",
        "xpath=V schema=R o,output=W f=V t=V from=V to=V",
        Reads,
    ),
    program(
        "ls dir vdir exa eza lsd tree stat du df lsattr realpath readlink basename dirname namei getfacl getfattr ncdu dust duf lsof fuser findmnt",
        "w=V I=V T=V L=V P=V o=V H=V f=V c=V printf=V format=V d=V t=V B=V x,exclude=V X=R p=V i=V a=V u=V s=V ignore=V hide=V block-size=V max-depth=V threshold=V",
        Custom(listing),
    ),
    program(
        "locate plocate mlocate slocate whereis whatis apropos which type help info man tldr cheat",
        "a b c=V d=V l=V n=V S=V P,pager=X H=X s=V k f M=V t",
        Custom(names),
    ),
    program("echo print", "", Custom(echo)),
    program("printf", "", Custom(printf)),
    program("date", "d,date=V f,file=R r,reference=R s,set=V I R u", Custom(date)),
    program("pwd", "", Custom(working_folder)),
    program(
        "true false : yes sleep usleep seq jot factor expr bc cal ncal tty nproc uname hostid logname whoami id groups who w users last lastlog lastb uptime free vmstat iostat mpstat pidstat sar dstat \
        ps pstree pgrep pidof top htop btop atop iotop glances procs lscpu lsblk lvs pvs vgs lvdisplay pvdisplay vgdisplay lspci lsusb lsmod lshw lsmem lsns lslocks lsipc lsirq lslogins inxi hwinfo dmidecode sensors acpi blkid getconf getent locale \
        printenv tput clear reset stty setterm fortune cowsay toilet banner lolcat cmatrix figlet bg fg times umask ulimit shopt caller dirs return exit break continue logout \
        tzselect zdump xdpyinfo xrandr xwininfo xprop xlsclients glxinfo vainfo getopt neofetch fastfetch screenfetch systool biosdecode vpddecode cpuid ipcs runlevel ts pv ascii units \
        sw_vers system_profiler vm_stat mdls mdfind pbpaste say uuidgen uuid mktemp tempfile mcookie pwgen apg makepasswd toe infocmp tabs resize cowthink dialog whiptail zenity notify-send xmessage select xclip xsel wl-copy wl-paste pbcopy \
        lsb_release speaker-test pmap prtstat slabtop tload xeyes xclock ddate finger pinky ccze hexyl vivid tokei cloc scc sloccount loc onefetch",
        "n=V f=V p=V u=V o=V t=V d=V s=V",
        Inert,
    ),
    program("hostname domainname dnsdomainname", "F,file=R", Custom(host_name)),
    program(
        "dmesg journalctl",
        "c,clear C,read-clear n=V u=V S=V U=V p=V o=V since=V until=V rotate vacuum-size=V vacuum-time=V vacuum-files=V",
        Custom(logs),
    ),
    program("base64 base32 basenc uudecode gbase64 base58", "d,decode,D w,wrap=V i,input=R o,output=W", Custom(base64)),
    program("dos2unix unix2dos mac2unix", "k q o n f", Writes),
    program("xxd", "r,revert p,ps,plain c=V g=V l=V s=V o=V", Custom(xxd)),
    program(
        "sync mountpoint dircolors fc-list fc-match fc-query fc-cat getcap getpcaps jps jinfo jstack jstat xev logger gapplication lspgpot pldd lsfd ipcs zdump resize xlsfonts xvinfo tzselect networkctl systemd-cgls systemd-path systemd-detect-virt systemd-analyze",
        "",
        Inert,
    ),
    program(
        "col colcrt ul nroff troff groff grog gtbl geqn pygmentize pod2text pod2usage podchecker c++filt addr2line gcov gprof envsubst ctags etags cscope javap jdeps zipnote msgfmt msgcat msgmerge xgettext filefrag fincore dsymutil man2html ptargrep bzless lzless xzless zstdless lz4cat bzmore xzmore",
        "o=W f=W",
        Reads,
    ),
    program("rev", "", Custom(reverse)),
    program("tr", "", Custom(translate)),
    program("iconv uconv recode enca uni2ascii ascii2uni", "f=V t=V from-code=V to-code=V o,output=W", Reads),
    program("zipinfo lsar zstdgrep lzgrep zdiff zcmp bzdiff xzdiff zipgrep", "", Reads),
];

fn uniq(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, parsed.operands.get(..1).unwrap_or_default());
    if let Some(out) = parsed.operands.get(1) {
        walker.write(out);
    }
    call.stdin.clone()
}

/// The first operand is the query, which may load files; `-i` writes the rest.
fn queried(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let given = parsed.has(&["f", "from-file", "expression"]);
    let (query, files) = match parsed.operands.split_first() {
        Some((query, files)) if !given => (query.as_str(), files),
        _ => ("", &parsed.operands[..]),
    };
    if query.contains("load") {
        super::named_places::judge_text(walker, query);
    }
    read_all(walker, files);
    if parsed.has(&["i"]) {
        files.iter().for_each(|file| walker.write(file));
    }
    if files.is_empty() { Stream { text: call.stdin.text.clone(), ..call.stdin.filtered() } } else { Stream::unknown() }
}

/// Miller's and qsv's own languages run commands and write files.
fn tabular(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, &parsed.operands);
    for text in &call.args {
        let is_program = call.args.iter().any(|arg| matches!(arg.as_str(), "put" | "filter" | "luau" | "lua" | "py"));
        if is_program {
            walker.computed_text(&call.name, text);
        }
        let runs =
            ["system(", "exec(", "system (", "exec (", "os.execute", "io.popen"].iter().any(|word| text.contains(word));
        if runs || (call.name == "qsv" && matches!(text.as_str(), "luau" | "lua" | "py")) {
            walker.findings.ask(rules::RUN_CODE, format!("{} would run a command", call.name));
            for source in text.split('"').skip(1).step_by(2) {
                walker.apart(|walker| walker.script(source, &Stream::unknown()));
            }
        } else if ["tee >", "emit >", "print >", "dump >", "printn >", "emitp >", "emitf >", "tee -", "split"]
            .iter()
            .any(|word| text.contains(word))
        {
            for piece in text.split('"').skip(1).step_by(2) {
                match piece.strip_prefix('|') {
                    Some(source) => drop(walker.apart(|walker| walker.script(source, &Stream::unknown()))),
                    None => walker.write(piece),
                }
            }
        }
    }
    if parsed.has(&["I"]) {
        parsed
            .operands
            .iter()
            .filter(|file| walker.place(file).zone != super::super::paths::Zone::Inside)
            .cloned()
            .collect::<Vec<_>>()
            .iter()
            .filter(|file| file.contains('/'))
            .for_each(|file| walker.write(file));
    }
    Stream::unknown()
}

/// Names are not contents: listing a secret's folder is free. What is listed may be fed to another program.
fn listing(_: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if matches!(call.name.as_str(), "readlink" | "realpath" | "basename" | "dirname" | "ls" | "exa" | "eza") {
        return match parsed.operands.as_slice() {
            [] => Stream::of("*"),
            [only] if call.name.ends_with("link") || call.name == "realpath" => Stream::of(only.as_str()),
            [path] if call.name == "dirname" => Stream::of(path.rsplit_once('/').map_or(".", |(folder, _)| folder)),
            [path, ..] if call.name == "basename" => Stream::of(path.rsplit('/').next().unwrap_or_default()),
            names if call.name == "ls" => Stream::of(names.join("\n")),
            _ => Stream::unknown(),
        };
    }
    Stream::unknown()
}

fn names(_: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    match parsed.operands.as_slice() {
        [only] => Stream::of(only.as_str()),
        _ => Stream::unknown(),
    }
}

/// A pager's start-up command that begins with `!` or `|` runs a program.
fn pager(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let commands = call.args.iter().filter_map(|arg| arg.strip_prefix('+')).chain(parsed.values(&["cmd"]));
    for command in commands {
        if let Some(source) = command.trim_start_matches('+').strip_prefix(['!', '|']) {
            walker.findings.ask(rules::RUN_CODE, "the pager would run a command");
            walker.apart(|walker| walker.script(source, &Stream::unknown()));
        }
    }
    let files: Vec<String> = parsed.operands.iter().filter(|operand| !operand.starts_with('+')).cloned().collect();
    read_all(walker, &files);
    super::passed_on(walker, call, &files)
}

fn echo(_: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let is_flag = |arg: &&String| arg.len() > 1 && arg.starts_with('-') && arg[1..].chars().all(|c| "neE".contains(c));
    let flags: Vec<&String> = call.args.iter().take_while(is_flag).collect();
    let text = call.args[flags.len()..].join(" ");
    let text = if flags.iter().any(|flag| flag.contains('e')) { content::unescaped(&text) } else { text };
    Stream {
        decoded: flags.iter().any(|flag| flag.contains('e')) && call.args.concat().contains("\\x"),
        ..Stream::of(text + "\n")
    }
}

fn printf(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let mut args = call.args.as_slice();
    let mut variable = None;
    match args {
        [flag, name, rest @ ..] if flag == "-v" => {
            variable = Some(name.clone());
            args = rest;
        }
        [flag, rest @ ..] if flag.starts_with("-v") => {
            variable = Some(flag[2..].to_owned());
            args = rest;
        }
        [flag, rest @ ..] if flag == "--" => args = rest,
        _ => {}
    }
    let Some((format, values)) = args.split_first() else { return Stream::of("") };
    let mut text = String::new();
    let mut values = values.iter();
    let mut rest = format.as_str();
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let spec = rest[at + 1..].find(|c: char| c.is_ascii_alphabetic() || c == '%');
        let Some(end) = spec else { break };
        match rest.as_bytes().get(at + 1 + end) {
            Some(b'%') => text.push('%'),
            Some(b'b') => text.push_str(&content::unescaped(values.next().map_or("", String::as_str))),
            _ => text.push_str(values.next().map_or("", String::as_str)),
        }
        rest = &rest[at + 2 + end..];
    }
    text.push_str(rest);
    for value in values {
        text.push(' ');
        text.push_str(value);
    }
    let out =
        Stream { decoded: format.contains("\\x") || format.contains("\\0"), ..Stream::of(content::unescaped(&text)) };
    if let Some(name) = variable {
        let value = out.text.clone().unwrap_or_default();
        walker.traces_setting(&name, &value, None);
        walker.assign(&name, value);
    }
    out
}

fn date(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if parsed.has(&["s", "set"]) {
        walker.findings.ask(rules::HOST, "the machine's clock would be set");
    }
    Stream::unknown()
}

fn working_folder(walker: &mut Walker, _: &Call, _: &Parsed) -> Stream {
    Stream::of(walker.cwd.clone())
}

fn host_name(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if !parsed.operands.is_empty() {
        walker.findings.ask(rules::HOST, "the machine would be renamed");
    }
    Stream::unknown()
}

fn logs(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if parsed.has(&["c", "C", "rotate", "vacuum-size", "vacuum-time", "vacuum-files"]) {
        walker.findings.ask(rules::HOST, "the machine's log would be cleared");
    }
    Stream::unknown()
}

fn base64(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, &parsed.operands);
    if !parsed.has(&["d"]) && call.name != "uudecode" {
        return call.stdin.filtered();
    }
    let text = call.stdin.text.as_deref().and_then(content::base64_decoded);
    Stream { text, decoded: true, ..call.stdin.filtered() }
}

fn xxd(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, parsed.operands.get(..1).unwrap_or_default());
    if let Some(out) = parsed.operands.get(1) {
        walker.write(out);
    }
    if !parsed.has(&["r"]) && !call.args.iter().any(|arg| arg.starts_with('-') && arg.contains('r')) {
        return call.stdin.filtered();
    }
    let text = call.stdin.text.as_deref().and_then(content::hex_decoded);
    Stream { text, decoded: true, ..call.stdin.filtered() }
}

fn reverse(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, &parsed.operands);
    let text = call
        .stdin
        .text
        .as_ref()
        .map(|text| text.lines().map(|line| line.chars().rev().collect::<String>()).collect::<Vec<_>>().join("\n"));
    Stream { text, decoded: true, ..call.stdin.filtered() }
}

/// Rotated alphabets hide commands; deleting and squeezing characters does too.
fn translate(_: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let text = match parsed.operands.as_slice() {
        [from, to] => call.stdin.text.as_ref().and_then(|text| translated(text, from, to)),
        [delete] if parsed.has(&["d"]) => {
            let set = alphabet(delete);
            call.stdin.text.as_ref().map(|text| text.chars().filter(|c| !set.contains(c)).collect())
        }
        _ => None,
    };
    Stream { text, decoded: true, ..call.stdin.filtered() }
}

fn translated(text: &str, from: &str, to: &str) -> Option<String> {
    let (from, to) = (alphabet(from), alphabet(to));
    let last = *to.last()?;
    Some(text.chars().map(|c| from.iter().position(|f| *f == c).map_or(c, |at| *to.get(at).unwrap_or(&last))).collect())
}

fn alphabet(set: &str) -> Vec<char> {
    let set = set.replace("[:lower:]", "a-z").replace("[:upper:]", "A-Z").replace("[:digit:]", "0-9");
    let chars: Vec<char> = content::unescaped(&set).chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if chars.get(at + 1) == Some(&'-') && at + 2 < chars.len() && chars[at] <= chars[at + 2] {
            out.extend((chars[at]..=chars[at + 2]).take(512));
            at += 3;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}
