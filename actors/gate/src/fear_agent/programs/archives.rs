//! Archives: their sources are read, and the folder of unpacking is written.

use super::super::effects::By;
use super::super::paths::Kind;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::Custom;
use super::files::change_folder;
use super::{Parsed, Program, program, read_all};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        "tar bsdtar gtar jar",
        "f,file=F C,directory=D X,exclude-from=R T,files-from=R exclude=V I,use-compress-program=X to-command=X rsh-command=X rmt-command=X checkpoint-action=V checkpoint F,info-script,new-volume-script=X \
        c,create x,extract,get t,list r,append u,update A d,delete z j J v p P,absolute-names strip-components=V transform,xform=V N=V owner=V group=V mode=V b=V H=V g=V K=V level=V",
        Custom(tar),
    ),
    program("zip", "i=V x=V P=V b=W T TT=X unzip-command=X r m q u d 1 9 @", Custom(zip)),
    program("unzip funzip cabextract", "d=D x=V P=V O=V o n q j l t v Z p", Custom(unpack)),
    program("unar lsar", "o,output-directory=D p=V e=V f D", Custom(unpack)),
    program("7z 7za 7zr unrar rar p7zip", "o=D p=V x=V i=V", Custom(unpack)),
    program("cpio pax", "D=D I=R O=W F=R E=R i o p t", Custom(unpack)),
    program(
        "gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 lzop compress uncompress pigz pbzip2 brotli",
        "c,stdout,to-stdout d,decompress t,test l,list k,keep f r S,suffix=V o=W T=V D=R",
        Custom(compress),
    ),
];

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
        let added = super::tables::options_of("tar").unwrap_or_default();
        parsed_old = super::options::parse_with(table, added, &args);
        parsed_old.operands.retain(|operand| operand != first);
        super::apply_options(walker, "tar", &parsed_old);
        parsed = &parsed_old;
    }
    let archive = parsed.value(&["f"]).unwrap_or("-").to_owned();
    if archive.contains(':') && !archive.starts_with(['/', '.']) {
        walker.findings.ask(rules::UPLOAD, format!("the archive {archive} is on another machine"));
    }
    for action in parsed.values(&["checkpoint-action"]).filter(|action| action.contains("exec")) {
        walker.findings.ask(rules::RUN_CODE, "tar would run a command at its checkpoints");
        let source = action.split_once('=').map_or("", |(_, source)| source);
        walker.apart(|walker| walker.script(source, &Stream::unknown()));
    }
    let folders: Vec<String> = parsed.values(&["C"]).map(str::to_owned).collect();
    if parsed.has(&["x"]) {
        walker.read(&archive, By::Shell);
        for folder in &folders {
            unpacks_into(walker, folder);
        }
        let folder = folders.last().map_or(".", String::as_str);
        walker.fills(folder);
        let own =
            parsed.options.iter().filter(|(name, _, _)| "one-top-level".starts_with(name.as_str()) && name.len() > 2);
        for name in own.filter_map(|(_, value, _)| value.as_deref()) {
            let top = if name.starts_with(['/', '~']) { name.to_owned() } else { format!("{folder}/{name}") };
            unpacks_into(walker, &top);
            walker.fills(&top);
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

/// A folder that gets files whose names the archive holds.
fn unpacks_into(walker: &mut Walker, folder: &str) {
    walker.write(folder);
    let file = format!("{folder}/file");
    if walker.place(&file).kind == Kind::ProjectHook {
        walker.write(&file);
    }
}

fn zip(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if let Some((archive, files)) = parsed.operands.split_first() {
        walker.write(archive);
        read_all(walker, files);
    }
    // Two letters behind one dash are one option here.
    for (at, arg) in call.args.iter().enumerate() {
        if let Some(attached) = arg.strip_prefix("-TT") {
            walker.findings.ask(rules::RUN_CODE, "zip would run a command to test the archive");
            let command = if attached.is_empty() { call.args.get(at + 1).cloned() } else { Some(attached.to_owned()) };
            walker.apart(|walker| walker.script(&command.unwrap_or_default(), &Stream::unknown()));
        }
    }
    Stream::unknown()
}

fn unpack(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, &parsed.operands);
    for folder in parsed.values(&["d", "D", "o"]) {
        walker.write(folder);
    }
    // 7z and similar programs say with their first word what they do.
    let by_word = parsed.operands.first().is_some_and(|word| !word.contains('.') && word.len() < 3);
    let looks = match by_word {
        true => !parsed.operands[0].starts_with(['x', 'e']),
        false => call.name == "lsar" || parsed.has(&["l", "t", "v", "Z", "p"]),
    };
    if !looks {
        walker.fills(parsed.value(&["d", "D", "o"]).unwrap_or("."));
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
