//! Programs that change files: deleting, copying, archiving, editing, searching with actions.

use super::super::effects::By;
use super::super::paths::UNKNOWN;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::{Asks, Custom, Reads, Writes};
use super::{Parsed, Program, program, read_all};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        "rm srm trash trash-put rip del",
        "r,R,recursive f,force i I d,dir v,verbose interactive one-file-system preserve-root no-preserve-root",
        Custom(remove),
    ),
    program("rmdir unlink", "p,parents v ignore-fail-on-non-empty", Custom(remove)),
    program("shred wipe scrub", "n=V s=V u z f v x random-source=R iterations=V size=V remove", Custom(shred)),
    program("mv", "t,target-directory=D S,suffix=V backup f i n u v T", Custom(relocate)),
    program(
        "cp install ditto",
        "t,target-directory=D S,suffix=V m,mode=V o,owner=V g,group=V r,R,recursive a f i n u v T D d p l s L P H sparse=V reflink=V preserve=V no-preserve=V backup",
        Custom(copy),
    ),
    program("ln link", "t,target-directory=D S=V s,symbolic f n r v T", Custom(link)),
    program(
        "rsync",
        "e,rsh=X rsync-path=X exclude=V include=V exclude-from=R include-from=R f,filter=V files-from=R log-file=W password-file=R bwlimit=V T=V B=V delete del delete-after delete-before delete-excluded remove-source-files n,dry-run backup-dir=W max-size=V min-size=V chmod=V chown=V info=V port=V timeout=V",
        Custom(super::network::rsync),
    ),
    program("touch mkdir mkfifo mknod", "m,mode=V d,date=V t=V r,reference=R p v a c Z", Writes),
    program("truncate fallocate", "s,size=V r,reference=R l,length=V o=V n c p", Custom(truncate)),
    program("tee sponge", "a i p", Custom(tee)),
    program("split csplit", "a=V b=V C=V l=V n=V filter=X f=V d", Custom(split)),
    program(
        "chmod chown chgrp chattr setfacl chcon xattr",
        "R,recursive f v c m,modify=V x,remove=V M=R reference=R from=V h H L P d w=V p=V",
        Custom(permissions),
    ),
    program("dd dcfldd", "", Custom(dd)),
    program("sed ssed", "e,expression=V f,file=R i,in-place n E r s u z l=V", Custom(sed)),
    program("find", "", Custom(find)),
    program(
        "fd fdfind",
        "e=V t=V E=V d,max-depth=V S=V c=V j=V x=X X=X exec=X exec-batch=X H I g a l u s i p base-directory=R changed-within=V extension=V type=V exclude=V",
        Custom(fd),
    ),
    program(
        "tar bsdtar gtar",
        "f,file=F C,directory=D X,exclude-from=R T,files-from=R exclude=V I,use-compress-program=X to-command=X rsh-command=X rmt-command=X checkpoint-action=V checkpoint F,info-script,new-volume-script=X \
        c,create x,extract,get t,list r,append u,update A d,delete z j J v p P,absolute-names strip-components=V transform,xform=V N=V owner=V group=V mode=V b=V H=V g=V K=V level=V",
        Custom(tar),
    ),
    program("zip", "i=V x=V P=V b=W T TT=X unzip-command=X r m q u d 1 9 @", Custom(zip)),
    program("unzip unar 7z 7za 7zr unrar rar p7zip funzip cabextract", "d=D x=V P=V o=D", Custom(unpack)),
    program("cpio pax", "D=D I=R O=W F=R E=R i o p t", Custom(unpack)),
    program(
        "gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 lzop compress uncompress pigz pbzip2 brotli",
        "c,stdout,to-stdout d,decompress t,test l,list k,keep f r S,suffix=V o=W T=V D=R",
        Custom(compress),
    ),
    program("ed ex red", "s,quiet,silent p=V", Writes),
    program(
        "vi vim nvim nano pico emacs micro joe mcedit kak helix hx code subl gedit kate gvim view",
        "c=V u=R S=R eval=V e=V es r R n",
        Custom(editor),
    ),
    program("patch", "i,input=R d,directory=D p=V o,output=W r=W R E dry-run", Custom(patch)),
    program("rename prename mmv file-rename", "", Custom(rename)),
    program(
        "convert magick mogrify montage ffmpeg sox qpdf pdfunite gs cwebp optipng jpegoptim pngquant",
        "!i=R y n f=V c=V r=V o=W",
        Custom(last_written),
    ),
    program(
        "awk gawk mawk nawk original-awk",
        "F,field-separator=V v,assign=V f,file=R i,include=R o=W e,source=V",
        Custom(awk),
    ),
    program("source .", "", Custom(source)),
    program(
        "fdisk parted sfdisk cfdisk gdisk sgdisk mkfs mkswap wipefs blkdiscard hdparm cryptsetup lvremove vgremove pvremove lvreduce mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mke2fs \
        mkfs.f2fs mkdosfs newfs badblocks mdadm dmsetup zpool zfs diskutil format tune2fs resize2fs flashrom debugfs fsck e2fsck nvme sg_format partprobe losetup swapoff swapon",
        "n=V s=V t=V L=V",
        Custom(disk),
    ),
    program(
        "mount umount fusermount sshfs mount.cifs chroot pivot_root",
        "o=V t=V l",
        Asks(rules::HOST, "changes what the machine's folders hold"),
    ),
    program("cksfv par2 rhash hashdeep", "", Reads),
];

fn remove(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let recursive = parsed.has(&["r"]) && call.name != "rmdir";
    for path in &parsed.operands {
        walker.delete(path, recursive);
    }
    Stream::of("")
}

fn shred(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for path in &parsed.operands {
        walker.write(path);
        walker.delete(path, false);
    }
    Stream::of("")
}

/// Sources and target of a copy. `None` when there is only one operand.
fn ends(parsed: &Parsed) -> Option<(Vec<String>, String)> {
    if let Some(folder) = parsed.value(&["t"]) {
        return Some((parsed.operands.clone(), folder.to_owned()));
    }
    let (target, sources) = parsed.operands.split_last()?;
    (!sources.is_empty()).then(|| (sources.to_vec(), target.clone()))
}

fn copy(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if call.name == "install" && parsed.has(&["d"]) {
        for folder in &parsed.operands {
            walker.write(folder);
        }
    }
    if call.name == "install" && parsed.value(&["m"]).is_some_and(sets_id) {
        walker.findings.ask(rules::PERMISSIONS, "the file would run with its owner's rights");
    }
    if let Some((sources, target)) = ends(parsed) {
        read_all(walker, &sources);
        walker.write(&target);
    }
    Stream::of("")
}

fn relocate(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    let Some((sources, target)) = ends(parsed) else { return Stream::of("") };
    let discarded = target == "/dev/null";
    for source in &sources {
        walker.read(source, By::Shell);
        let place = walker.place(source);
        let inside = place.zone == super::super::paths::Zone::Inside;
        if discarded || !inside || place.path.ends_with("/.git") {
            walker.delete(source, true);
        }
    }
    walker.write(&target);
    Stream::of("")
}

fn link(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if let Some((sources, target)) = ends(parsed) {
        read_all(walker, &sources);
        walker.write(&target);
    }
    Stream::of("")
}

fn truncate(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for path in &parsed.operands {
        walker.write(path);
    }
    let size = parsed.value(&["s", "l"]).unwrap_or("0");
    if parsed.has(&["s"]) && size.trim_start_matches(['-', '=']) == "0" {
        walker.findings.ask(rules::DELETE_WORK, "the files would be emptied");
    }
    if size.ends_with(['T', 'P', 'E'])
        || size.trim_end_matches(['G', 'g']).parse::<u64>().is_ok_and(|n| size.ends_with(['G', 'g']) && n >= 50)
    {
        walker.findings.ask(rules::EXHAUST, format!("a file of {size} would fill the disk"));
    }
    Stream::of("")
}

fn tee(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for path in &parsed.operands {
        // `>(…)` is a command, not a file.
        if !path.starts_with("/dev/fd/") {
            walker.write(path);
        }
    }
    call.stdin.clone()
}

fn split(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, parsed.operands.get(..1).unwrap_or_default());
    if let Some(prefix) = parsed.operands.get(1).filter(|_| call.name == "split") {
        walker.write(prefix);
    }
    Stream::of("")
}

fn sets_id(mode: &str) -> bool {
    let digits = mode.trim_start_matches('0');
    (mode.contains('s') && mode.contains(['+', '=']))
        || (digits.len() == 4 && digits.starts_with(['2', '4', '6', '7']) && digits.chars().all(|c| c.is_digit(8)))
}

fn permissions(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let (mode, files) = match (call.name.as_str(), parsed.operands.split_first()) {
        // `chmod -x file` reads like an option.
        ("chmod", Some(_))
            if call
                .args
                .iter()
                .any(|arg| arg.starts_with('-') && arg.len() > 1 && arg[1..].chars().all(|c| "rwxXst".contains(c))) =>
        {
            (String::new(), parsed.operands.clone())
        }
        ("setfacl" | "xattr", _) => (String::new(), parsed.operands.clone()),
        (_, Some((mode, files))) => (mode.clone(), files.to_vec()),
        (_, None) => return Stream::of(""),
    };
    if call.name == "chmod" && sets_id(&mode) {
        walker.findings.ask(rules::PERMISSIONS, "the file would run with its owner's rights");
    }
    let open_to_all =
        matches!(mode.as_str(), "777" | "0777" | "a+rwx" | "ugo+rwx" | "o+w" | "a+w" | "666" | "+w") || mode == "000";
    if call.name == "chmod" && open_to_all && parsed.has(&["R"]) {
        walker.findings.ask(rules::PERMISSIONS, format!("{mode} on a whole tree"));
    }
    for file in &files {
        walker.write(file);
    }
    Stream::of("")
}

fn dd(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    for arg in &call.args {
        match arg.split_once('=') {
            Some(("if", path)) => {
                walker.read(path, By::Shell);
            }
            Some(("of", path)) => walker.write(path),
            _ => {}
        }
    }
    let endless =
        call.args.iter().any(|arg| arg == "if=/dev/zero" || arg == "if=/dev/urandom" || arg == "if=/dev/random");
    if endless
        && call.args.iter().any(|arg| arg.starts_with("of=") && arg != "of=/dev/null")
        && !call.args.iter().any(|arg| arg.starts_with("count="))
    {
        walker.findings.ask(rules::EXHAUST, "the disk would be filled");
    }
    call.stdin.filtered()
}

/// `e` runs a command, `w` and `r` name files; `-i` writes the operands.
fn sed(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut scripts: Vec<String> = parsed.values(&["e"]).map(str::to_owned).collect();
    let mut files = parsed.operands.as_slice();
    if scripts.is_empty() && !parsed.has(&["f"]) {
        scripts.extend(files.first().cloned());
        files = files.get(1..).unwrap_or_default();
    }
    let in_place = parsed.has(&["i"]);
    for script in &scripts {
        sed_script(walker, script);
    }
    for file in files {
        walker.read(file, By::Shell);
        if in_place {
            walker.write(file);
        }
    }
    call.stdin.filtered()
}

fn sed_script(walker: &mut Walker, script: &str) {
    for command in script.split(['\n', ';', '}', '{']) {
        let command = command.trim_start();
        let body =
            command.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' ' | '~' | '+'));
        // A regular-expression address stands before the command.
        let body = match body.strip_prefix('/') {
            Some(rest) => {
                rest.rsplit_once('/').map_or("", |(_, after)| after).trim_start_matches([' ', '!', ',', 'I', 'M'])
            }
            None => body,
        };
        let mut chars = body.chars();
        match chars.next() {
            Some('e') if body == "e" || body.starts_with("e ") => {
                walker.findings.ask(rules::RUN_CODE, "the sed script runs a command");
                walker.apart(|walker| walker.script(body[1..].trim(), &Stream::unknown()));
            }
            Some('w' | 'W') if body[1..].starts_with(' ') => walker.write(body[1..].trim()),
            Some('r' | 'R') if body[1..].starts_with(' ') => {
                walker.read(body[1..].trim(), By::Shell);
            }
            Some('s') => {
                let Some(mark) = chars.next() else { continue };
                let flags = body.rsplit(mark).next().unwrap_or("");
                let (flags, file) = flags.split_once('w').map_or((flags, None), |(flags, file)| (flags, Some(file)));
                if let Some(file) = file.filter(|file| file.starts_with(' ')) {
                    walker.write(file.trim());
                }
                if flags.contains('e')
                    && flags.chars().all(|c| "egpiIm0123456789".contains(c))
                    && body.matches(mark).count() >= 3
                {
                    walker.findings.ask(rules::RUN_CODE, "the sed script runs what it has replaced");
                }
            }
            _ => {}
        }
    }
}

/// What `find` would name below `root`, as a glob: the name pattern when there is one.
fn found(root: &str, pattern: Option<&str>) -> String {
    format!("{}/{}", root.trim_end_matches('/'), pattern.unwrap_or("*"))
}

fn find(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let args = &call.args;
    let mut at = 0;
    while at < args.len() && ["-L", "-P", "-H", "-O1", "-O2", "-O3"].contains(&args[at].as_str()) {
        at += 1;
    }
    let mut roots = Vec::new();
    while at < args.len() && !args[at].starts_with(['-', '(', '!']) {
        roots.push(args[at].clone());
        at += 1;
    }
    if roots.is_empty() {
        roots.push(String::from("."));
    }
    let mut pattern: Option<String> = None;
    let mut acted = false;
    let mut negated = false;
    while at < args.len() {
        let arg = args[at].as_str();
        at += 1;
        match arg {
            "!" | "-not" => {
                negated = true;
                continue;
            }
            "-name" | "-iname" => {
                if !negated {
                    pattern = args.get(at).cloned();
                }
                at += 1;
            }
            "-o" | "-or" => pattern = None,
            "-delete" => {
                acted = true;
                for root in &roots {
                    walker.delete(&found(root, pattern.as_deref()), false);
                }
            }
            "-fprint" | "-fprintf" | "-fls" | "-fprint0" => {
                if let Some(path) = args.get(at) {
                    walker.write(path);
                }
                at += 1 + usize::from(arg == "-fprintf");
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                acted = true;
                let end = args[at..]
                    .iter()
                    .position(|arg| arg == ";" || (arg == "+" && at > 0))
                    .map_or(args.len(), |end| at + end);
                let command = args[at..end].to_vec();
                for root in &roots {
                    run_on(walker, command.clone(), &found(root, pattern.as_deref()));
                }
                at = (end + 1).min(args.len());
            }
            "-type" | "-path" | "-ipath" | "-regex" | "-iregex" | "-size" | "-mtime" | "-atime" | "-ctime"
            | "-mmin" | "-amin" | "-cmin" | "-newer" | "-user" | "-group" | "-perm" | "-maxdepth" | "-mindepth"
            | "-printf" | "-regextype" | "-links" | "-inum" | "-fstype" | "-lname" | "-wholename" | "-samefile"
            | "-uid" | "-gid" | "-anewer" | "-cnewer" => {
                at += 1;
            }
            "-files0-from" => {
                if let Some(path) = args.get(at) {
                    walker.read(path, By::Shell);
                }
                at += 1;
            }
            _ => {}
        }
        negated = false;
    }
    if acted {
        Stream::unknown()
    } else {
        Stream::of(roots.iter().map(|root| found(root, pattern.as_deref())).collect::<Vec<_>>().join("\n"))
    }
}

/// Runs `command` with each `{}` replaced by `item`. Inside of a shell's text the item is a variable, not source.
pub(super) fn run_on(walker: &mut Walker, command: Vec<String>, item: &str) {
    let words: Vec<String> = command
        .into_iter()
        .map(|word| {
            if word == "{}" {
                item.to_owned()
            } else if word.contains("{}") && word.contains(' ') {
                word.replace("{}", "${_item}")
            } else {
                word.replace("{}", item)
            }
        })
        .collect();
    walker.apart(|walker| {
        walker.variables.insert(String::from("_item"), item.to_owned());
        walker.words(words, Stream::unknown());
    });
}

fn fd(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let action = call.args.iter().position(|arg| matches!(arg.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
    if let Some(at) = action {
        run_on(walker, call.args[at + 1..].to_vec(), "./*");
    }
    Stream::unknown()
}

fn tar(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut parsed_old;
    let mut parsed = parsed;
    // `tar cvf archive`: the first word is options without a dash.
    if let Some(first) = call.args.first().filter(|first| !first.starts_with('-')) {
        let mut args = vec![format!("-{}", first.replace('f', "")), String::from("-f")];
        let rest = &call.args[1..];
        if !first.contains('f') {
            args.pop();
        }
        args.extend(rest.iter().cloned());
        let table = super::find("tar").map_or("", |program| program.options);
        parsed_old = super::options::parse(table, &args);
        parsed_old.operands.retain(|operand| operand != first);
        parsed = &parsed_old;
    }
    let archive = parsed.value(&["f"]).unwrap_or("-").to_owned();
    if archive.contains(':') && !archive.starts_with(['/', '.']) {
        walker.findings.ask(rules::UPLOAD, format!("the archive {archive} is on another machine"));
    }
    if parsed.values(&["checkpoint-action"]).any(|action| action.contains("exec")) {
        walker.findings.ask(rules::RUN_CODE, "tar would run a command at its checkpoints");
    }
    let folders: Vec<String> = parsed.values(&["C"]).map(str::to_owned).collect();
    if parsed.has(&["x"]) {
        walker.read(&archive, By::Shell);
        for folder in &folders {
            walker.write(folder);
        }
        if parsed.has(&["P"]) {
            walker.findings.ask(rules::WRITE_OUTSIDE, "the archive decides where its files go");
        }
    } else if parsed.has(&["c", "r", "u", "A", "d"]) {
        walker.write(&archive);
        walker.apart(|walker| {
            if let Some(folder) = folders.first() {
                change_folder(walker, folder);
            }
            read_all(walker, &parsed.operands);
        });
        if call.args.iter().any(|arg| arg == "--remove-files") {
            for path in &parsed.operands {
                walker.delete(path, true);
            }
        }
    } else {
        walker.read(&archive, By::Shell);
    }
    Stream::unknown()
}

fn zip(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if let Some((archive, files)) = parsed.operands.split_first() {
        walker.write(archive);
        read_all(walker, files);
    }
    if call.args.iter().any(|arg| arg == "-TT") {
        walker.findings.ask(rules::RUN_CODE, "zip would run a command to test the archive");
    }
    Stream::unknown()
}

fn unpack(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, &parsed.operands);
    if let Some(folder) = parsed.value(&["d", "D", "o"]) {
        walker.write(folder);
    }
    Stream::unknown()
}

fn compress(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, &parsed.operands);
    if !parsed.has(&["c", "t", "l"]) {
        for path in &parsed.operands {
            walker.write(path);
        }
    }
    let unpacks = parsed.has(&["d"]) || call.name.starts_with("un") || call.name == "gunzip" || call.name == "bunzip2";
    Stream { decoded: call.stdin.decoded || (unpacks && parsed.operands.is_empty()), ..call.stdin.filtered() }
}

fn editor(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for path in &parsed.operands {
        let path = path.trim_start_matches('+');
        if call.name == "view" {
            walker.read(path, By::Shell);
        } else {
            walker.write(path);
        }
    }
    let script: Vec<&str> =
        parsed.values(&["c", "eval", "e"]).chain(call.args.iter().filter_map(|arg| arg.strip_prefix('+'))).collect();
    if script.iter().any(|command| {
        command.contains('!')
            || command.contains("system(")
            || command.contains("shell")
            || command.contains("py")
            || command.contains("lua")
    }) {
        walker.findings.ask(rules::RUN_CODE, "the editor would run a command");
    }
    Stream::unknown()
}

fn patch(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for path in parsed.operands.iter().take(1).map(String::as_str).chain(parsed.value(&["d"])) {
        walker.write(path);
    }
    Stream::unknown()
}

fn rename(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let mut operands = call.args.iter().filter(|arg| !arg.starts_with('-'));
    if let Some(code) = operands.next() {
        super::interpreters::perl_text(walker, code);
    }
    for path in operands.filter(|path| path.contains('/')) {
        walker.write(path);
    }
    Stream::of("")
}

fn last_written(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if let Some((target, sources)) = parsed.operands.split_last() {
        read_all(walker, sources);
        if !target.contains("://") {
            walker.write(target);
        }
    }
    Stream::unknown()
}

/// `system()`, pipes and redirections of an awk program act on the machine.
fn awk(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let given: Vec<String> = parsed.values(&["e"]).map(str::to_owned).collect();
    let has_program = parsed.has(&["f"]) || !given.is_empty();
    let (scripts, files) = match parsed.operands.split_first() {
        Some((script, files)) if !has_program => (vec![script.clone()], files),
        _ => (given, &parsed.operands[..]),
    };
    for script in &scripts {
        awk_script(walker, script);
    }
    for file in files.iter().filter(|file| !file.contains('=')) {
        walker.read(file, By::Shell);
    }
    call.stdin.filtered()
}

fn awk_script(walker: &mut Walker, script: &str) {
    let quoted = |text: &str| {
        let rest = text.trim_start().strip_prefix('"')?;
        Some(rest.split('"').next().unwrap_or("").to_owned())
    };
    for (at, _) in script.match_indices("system") {
        let Some(inner) = script[at + 6..].trim_start().strip_prefix('(') else { continue };
        walker.findings.ask(rules::RUN_CODE, "the awk program runs a command");
        if let Some(command) = quoted(inner) {
            walker.apart(|walker| walker.script(&command, &Stream::unknown()));
        }
    }
    if script.contains("/inet/") {
        walker.findings.block(rules::BACKDOOR, "the awk program opens a network connection");
    }
    let mut quote = false;
    let bytes = script.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if at == 0 || bytes[at - 1] != b'\\' => quote = !quote,
            b'|' if !quote && bytes.get(at + 1) != Some(&b'|') && (at == 0 || bytes[at - 1] != b'|') => {
                // `print | "cmd"` and `"cmd" | getline`.
                let before = script[..at].trim_end();
                let command =
                    quoted(&script[at + 1..].replacen('&', "", usize::from(bytes.get(at + 1) == Some(&b'&'))))
                        .or_else(|| before.strip_suffix('"').and_then(|b| b.rsplit('"').next().map(str::to_owned)));
                if let Some(command) = command.filter(|_| !in_regex(&script[..at])) {
                    walker.apart(|walker| walker.script(&command, &Stream::unknown()));
                }
            }
            b'>' if !quote && script[..at].contains("print") => {
                if let Some(path) = quoted(script[at + 1..].trim_start_matches('>')) {
                    walker.write(&path);
                }
            }
            b'<' if !quote && script[..at].trim_end().ends_with("getline") => {
                if let Some(path) = quoted(&script[at + 1..]) {
                    walker.read(&path, By::Shell);
                }
            }
            _ => {}
        }
    }
}

/// Whether a regular expression (`/a|b/`) is open at the end of `text`.
fn in_regex(text: &str) -> bool {
    let line = text.rsplit(['{', '}', ';', '\n']).next().unwrap_or(text);
    line.matches('/').count() % 2 == 1
}

fn source(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let Some(path) = call.args.first() else { return Stream::unknown() };
    if path.starts_with("/dev/fd/") || path == "/dev/stdin" {
        let stream = if path == "/dev/stdin" { call.stdin.clone() } else { walker.substituted_or(path) };
        return super::interpreters::run_stream(walker, &stream);
    }
    walker.run_file(path);
    Stream::unknown()
}

fn disk(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    const LOOKS: &[&str] = &[
        "-l", "--list", "-p", "print", "list", "status", "info", "get", "-n", "-N", "luksDump", "--detail", "id-ctrl",
        "--show",
    ];
    let looks = call.args.iter().any(|arg| LOOKS.contains(&arg.as_str())) || call.args.is_empty();
    if call.name.starts_with("mkfs") && parsed.operands.iter().any(|path| path.starts_with("/dev/")) {
        walker.findings.block(rules::DEVICE, format!("{} would make a new file system over the old one", call.name));
    } else if !looks {
        walker.findings.ask(rules::DEVICE, format!("{} changes disks", call.name));
        if matches!(call.name.as_str(), "wipefs" | "blkdiscard" | "sgdisk" | "sfdisk")
            && call.args.iter().any(|arg| arg.starts_with("/dev/"))
        {
            walker.findings.block(rules::DEVICE, format!("{} would destroy what a disk holds", call.name));
        }
    }
    Stream::unknown()
}

/// Where `cd folder` leads.
pub(super) fn change_folder(walker: &mut Walker, folder: &str) {
    walker.cwd = if folder == "-" || folder.starts_with(UNKNOWN) || folder.is_empty() {
        UNKNOWN.to_string()
    } else if folder.starts_with(['/', '~']) || !walker.cwd.starts_with(UNKNOWN) {
        let joined = if folder.starts_with('~') {
            folder.replacen('~', &walker.setting.home.to_string_lossy(), 1)
        } else if folder.starts_with('/') {
            folder.to_owned()
        } else {
            format!("{}/{folder}", walker.cwd)
        };
        super::super::paths::normalise(std::path::Path::new(&joined)).to_string_lossy().into_owned()
    } else {
        UNKNOWN.to_string()
    };
}
