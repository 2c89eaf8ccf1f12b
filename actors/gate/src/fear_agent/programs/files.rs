//! Programs that change files: deleting, copying, archiving, editing, searching with actions.

use super::super::effects::By;
use super::super::endless;
use super::super::paths::UNKNOWN;
use super::super::reading::Text;
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
    program("find", "", Custom(find)),
    program(
        "fd fdfind",
        "e=V t=V E=V d,max-depth=V S=V c=V j=V x=X X=X exec=X exec-batch=X H I g a l u s i p base-directory=R changed-within=V extension=V type=V exclude=V",
        Custom(fd),
    ),
    program("patch", "i,input=R d,directory=D p=V o,output=W r=W R E dry-run", Custom(patch)),
    program("rename prename mmv file-rename", "", Custom(rename)),
    program(
        "convert magick mogrify montage ffmpeg sox qpdf pdfunite gs cwebp optipng jpegoptim pngquant",
        "!i=R y n f=V c=V r=V o=W",
        Custom(last_written),
    ),
    program("source .", "", Custom(source)),
    program(
        "fdisk parted sfdisk cfdisk gdisk sgdisk mkfs mkswap wipefs blkdiscard hdparm cryptsetup lvremove vgremove pvremove lvreduce mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mke2fs \
        mkfs.f2fs mkdosfs newfs badblocks mdadm dmsetup zpool zfs diskutil format tune2fs resize2fs flashrom debugfs fsck e2fsck nvme sg_format partprobe losetup swapoff swapon",
        "n=V s=V t=V L=V",
        Custom(disk),
    ),
    program(
        "umount fusermount sshfs mount.cifs pivot_root",
        "o=V t=V l",
        Asks(rules::HOST, "changes what the machine's folders hold"),
    ),
    program("mount", "t=V o=V l", Custom(mount)),
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
    if !parsed.operands.is_empty() {
        walker.findings.ask(rules::DELETE_WORK, "what is overwritten can't be brought back");
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
        if sources.iter().any(|source| endless::is_endless(source)) && !target.starts_with("/dev/") {
            walker.fills_the_disk();
        }
        sources.iter().for_each(|source| walker.lands(source, &target));
    }
    Stream::of("")
}

fn relocate(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    let Some((sources, target)) = ends(parsed) else { return Stream::of("") };
    let discarded = target == "/dev/null";
    for source in &sources {
        walker.read(source, By::Shell);
        walker.renames(source);
        walker.lands(source, &target);
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
        for source in &sources {
            walker.renames(source);
            walker.lands(source, &target);
        }
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
    if endless::fills_disk(size) {
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
    if call.stdin.endless && parsed.operands.iter().any(|path| !path.starts_with("/dev/")) {
        walker.fills_the_disk();
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

pub(super) fn sets_id(mode: &str) -> bool {
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

fn dd(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for arg in &call.args {
        match arg.split_once('=') {
            Some(("if", path)) => {
                walker.read(path, By::Shell);
            }
            Some(("of", path)) => walker.write(path),
            _ => {}
        }
    }
    let into_file = call.args.iter().any(|arg| arg.starts_with("of=") && arg != "of=/dev/null");
    if into_file && endless::gives_endless(call, parsed) {
        walker.fills_the_disk();
    }
    call.stdin.filtered()
}

/// What `find` would name below `root`, as a glob: the name pattern when there is one.
fn found(root: &str, pattern: Option<&str>) -> String {
    format!("{}/{}", root.trim_end_matches('/'), pattern.unwrap_or("*"))
}

/// Whether `find` would name its root itself: one that is a file is named by nothing else. A folder is told by the paths below it.
fn root_fits(root: &str, pattern: Option<&str>) -> bool {
    let name = root.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_folder = name.is_empty() || matches!(name, "." | ".." | "~");
    !is_folder && pattern.is_none_or(|pattern| super::super::globs::matches(pattern, name))
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
    // What the whole path is like.
    let mut whole: Option<String> = None;
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
                    pattern = args.get(at).map(|name| if arg == "-iname" { name.to_lowercase() } else { name.clone() });
                }
                at += 1;
            }
            "-path" | "-ipath" | "-wholename" => {
                if !negated {
                    whole = args.get(at).cloned();
                }
                at += 1;
            }
            "-o" | "-or" => (pattern, whole) = (None, None),
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
                    if let Some(whole) = &whole {
                        let below = whole.trim_start_matches(['*', '.']).trim_start_matches('/');
                        let named = if whole.starts_with('/') { whole.clone() } else { found(root, Some(below)) };
                        run_on(walker, command.clone(), &named);
                    }
                    // The root itself is found too, where its name fits.
                    if root_fits(root, pattern.as_deref()) {
                        run_on(walker, command.clone(), root);
                    }
                }
                at = (end + 1).min(args.len());
            }
            "-type" | "-regex" | "-iregex" | "-size" | "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin"
            | "-newer" | "-user" | "-group" | "-perm" | "-maxdepth" | "-mindepth" | "-printf" | "-regextype"
            | "-links" | "-inum" | "-fstype" | "-lname" | "-samefile" | "-uid" | "-gid" | "-anewer" | "-cnewer" => {
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
                walker.notes_unknown(item);
                return item.to_owned();
            }
            let replaced = match word.contains(' ') {
                true => word.replace("{}", "${_item}"),
                false => word.replace("{}", item),
            };
            // What a file is called, or a line says, is for whoever made it to choose.
            if replaced != word {
                walker.notes_unknown(&replaced);
            }
            replaced
        })
        .collect();
    walker.apart(|walker| {
        walker.traces_setting("_item", item, Some(&Stream::unknown()));
        walker.variables.insert(String::from("_item"), item.to_owned());
        walker.words(words, Stream::unknown());
    });
}

fn fd(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let action = call.args.iter().position(|arg| matches!(arg.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
    if let Some(at) = action {
        let mut operands = call.args[..at].iter().filter(|arg| !arg.starts_with('-'));
        let (named, root) = (operands.next(), operands.next());
        let end = call.args[at + 1..].iter().position(|arg| arg == ";").map_or(call.args.len(), |end| at + 1 + end);
        let command = call.args[at + 1..end].to_vec();
        run_on(walker, with_place(command.clone()), "./*");
        // A pattern that is a file's name names it.
        if let Some(name) = named.filter(|name| super::super::kinds::is_listed(name) || name.starts_with('.')) {
            run_on(walker, with_place(command), &root.map_or_else(|| name.clone(), |root| found(root, Some(name))));
        }
    }
    for arg in &call.args {
        for start in ["--exec=", "--exec-batch=", "-x", "-X"] {
            if let Some(command) = arg
                .strip_prefix(start)
                .filter(|command| !command.is_empty() && !arg.starts_with("--ex") || start.ends_with('='))
            {
                run_on(walker, with_place(command.split_whitespace().map(str::to_owned).collect()), "./*");
            }
        }
    }
    Stream::unknown()
}

/// Where a command has no place for what is found, it comes last.
fn with_place(mut command: Vec<String>) -> Vec<String> {
    if !command.iter().any(|word| word.contains('{')) {
        command.push(String::from("{}"));
    }
    command
}

/// What a patch changes is named in its text, if that is known.
fn patch(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let folder = parsed.value(&["d"]).map(str::to_owned);
    let text = match parsed.value(&["i"]).map(str::to_owned).or_else(|| call.stdin.file.clone()) {
        Some(path) => match walker.program_text(&path) {
            Text::Known(text) => Some(text),
            _ => None,
        },
        None => call.stdin.text.clone(),
    };
    let strip = parsed.value(&["p"]).and_then(|number| number.parse().ok());
    patched(walker, text.as_deref().unwrap_or_default(), folder.as_deref().unwrap_or("."), strip);
    for path in parsed.operands.iter().take(1).map(String::as_str).chain(parsed.value(&["d"])) {
        walker.write(path);
    }
    if parsed.operands.is_empty() {
        walker.fills(parsed.value(&["d"]).unwrap_or("."));
    }
    Stream::unknown()
}

/// The files that a patch names. `strip`: how many folders are taken off their names; all numbers are tried if it isn't
/// given.
pub(super) fn patched(walker: &mut Walker, text: &str, folder: &str, strip: Option<usize>) {
    const NAMES: [&str; 6] = ["--- ", "+++ ", "*** ", "Index: ", "rename to ", "copy to "];
    for name in text.lines().filter_map(|line| NAMES.iter().find_map(|start| line.strip_prefix(start))) {
        let name = name.split('\t').next().unwrap_or_default().trim().trim_matches('"');
        if matches!(name, "" | "/dev/null") || name.ends_with("****") {
            continue;
        }
        let strips = strip.map_or(0..=3, |strip| strip..=strip);
        for strip in strips {
            let parts: Vec<&str> = name.split('/').skip(strip).collect();
            let path = parts.join("/");
            if path.is_empty() {
                continue;
            }
            walker.write(&if path.starts_with('/') { path } else { format!("{folder}/{path}") });
        }
    }
}

fn rename(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let mut operands = call.args.iter().filter(|arg| !arg.starts_with('-'));
    if let Some(code) = operands.next() {
        super::scripts::rename(walker, code);
    }
    for path in operands.filter(|path| path.contains('/')) {
        walker.write(path);
    }
    Stream::of("")
}

fn last_written(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    // Sound and picture programs take a command for a file behind a bar.
    for source in parsed.operands.iter().chain(parsed.options.iter().filter_map(|(_, value, _)| value.as_ref())) {
        if let Some(source) = source.strip_prefix('|') {
            walker.findings.ask(rules::RUN_CODE, "a command would be run in place of a file");
            walker.apart(|walker| walker.script(source, &Stream::unknown()));
        }
    }
    if let Some((target, sources)) = parsed.operands.split_last() {
        read_all(walker, sources);
        if !target.contains("://") {
            walker.write(target);
        }
    }
    Stream::unknown()
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

fn mount(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if !parsed.operands.is_empty() {
        walker.findings.ask(rules::HOST, "mount changes what the machine's folders hold");
    }
    Stream::unknown()
}
