//! Shells, language interpreters, compilers and build tools. Their programs are read; what can't be read is asked
//! about.

use super::super::code::{self, Language};
use super::super::content;
use super::super::effects::By;
use super::super::reading::{self, Text};
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::{Rule, rules};
use super::Role::{Asks, Custom, Inert, Reads};
use super::{Parsed, Program, program, python_module, read_all, scripts};

/// Interpreters of languages that aren't read closely.
const OTHERS: &str = "php lua luajit tclsh julia Rscript groovy scala jrunscript jjs osascript ghc runghc gforth swipl guile racket sbcl clisp erl iex octave R nasl yap expect wish kotlin clojure janet newlisp genie";

pub(super) const PROGRAMS: &[Program] = &[
    program(
        "sh bash zsh dash ksh mksh ash rbash fish csh tcsh posh pwsh powershell elvish nu xonsh yash rc git-shell",
        "^c,command,Command=S C=X o=V O=V rcfile,init-file=R l i s x e u v n f k p r norc noprofile posix login",
        Custom(shell),
    ),
    program(
        "python pypy ipython bpython jython micropython python3 python2",
        "^c=S m=M W=V X=V u B E I O s S x v q i",
        Custom(interpreter),
    ),
    program(
        "node nodejs deno bun ts-node tsx qjs d8 rhino js",
        "^e,eval=S p,print=S r,require=R c,check i,interactive input-type=V loader=R import=R",
        Custom(interpreter),
    ),
    program("perl raku", "^e,E=S M=V m=V I=V F=V n p i l a 0 w W s T t u U c v V d", Custom(interpreter)),
    program("ruby jruby irb crystal elixir", "^e=S r=V I=V F=V K=V E=V n p i l a 0 w W s T c v", Custom(interpreter)),
    program(OTHERS, "^e,eval=S r,run=S l=V d=V f=R B=S R=S E=S c=S g=V", Custom(interpreter)),
    program(
        "gcc cc g++ c++ clang clang++ tcc icc ifort gfortran gnat rustc javac kotlinc scalac fpc dmd ldc2 gdc swiftc nasm yasm as ld ld.gold ld.lld ar ranlib strip objcopy cpp nvcc mcs csc cl protoc flex bison lex yacc gperf swig \
        dot neato circo fdp",
        "!o=W I=V L=V l=V D=V U=V include=R isystem=V x=V std=V W=V f=V m=V O=V T=R Xlinker=V target=V d=W outdir,out-dir=W emit=V edition=V C=V cp,classpath=V g",
        Custom(compiler),
    ),
    program("dc", "e,expression=S f,file=F", Custom(macros)),
    program("m4", "D,define=S I=V U=V F=W R=R o=W P E Q", Custom(macros)),
    program("tsc flow", "outFile,outDir=W p,project=R t,target=V m,module=V lib=V declarationDir=W", Reads),
    program(
        "eslint prettier black isort ruff flake8 pylint mypy pyright rustfmt gofmt goimports clang-format shfmt shellcheck yamllint markdownlint hadolint stylelint standard rubocop tflint ktlint golangci-lint clang-tidy cppcheck bandit pyflakes pycodestyle \
        autopep8 yapf pydocstyle vulture radon codespell typos vale jsonlint jshint jscs csslint htmlhint sqlfluff checkmake actionlint taplo dprint biome xo djlint ansible-lint swiftlint credo dialyzer reuse semgrep gitleaks trufflehog",
        "c,config=R o,output-file,output=W",
        Reads,
    ),
    program(
        "make gmake cmake ninja meson scons bazel buck gradle gradlew mvn mvnw ant sbt lein rake grunt gulp webpack vite rollup esbuild parcel turbo nx lerna tox nox pytest py.test jest mocha vitest ava karma phpunit rspec ctest cabal stack dune zig xcodebuild swift dotnet msbuild mix rebar3 \
        configure autoreconf automake autoconf libtool pre-commit cypress playwright invoke just task earthly hugo jekyll mkdocs sphinx-build next nuxt ng vue gatsby expo flutter dart storybook tsup cargo npm pnpm yarn npx pnpx bunx pip pipx uv uvx poetry pdm hatch rye pipenv pixi devbox conda mamba micromamba \
        rustup go gem bundle bundler composer luarocks cpan cpanm nvm fnm volta asdf mise pyenv rbenv sdk sdkman corepack twine opam nimble vcpkg conan helmfile virtualenv venv ghcup pear pecl raco shards spack easy_install setup.py wasm-pack trunk",
        "f,file,makefile=R C,directory=V D=V eval=X j,jobs=V n,dry-run,just-print,recon q,question prefix=W manifest-path=R",
        Custom(build),
    ),
    program("java", "!jar=R cp,classpath=V D=V X=V", Asks(rules::RUN_CODE, "runs a program")),
    program(
        "tex latex pdflatex xelatex lualatex latexmk tectonic context dvips dvipdf dvipdfm bibtex biber makeindex",
        "!output-directory=W jobname=V",
        Custom(typeset),
    ),
    program(
        "jupyter nbconvert streamlit gunicorn uvicorn flask django-admin celery scrapy spark-submit spark-shell pyspark mpirun mpiexec srun sbatch qsub wine qemu-system-x86_64 qemu-img",
        "",
        Asks(rules::RUN_CODE, "runs a program"),
    ),
    program("dpkg-query apt-cache apt-file rpm-query pkg-config pkgconf", "", Inert),
];

/// A shell that reads its program from a stream.
pub(super) fn run_stream(walker: &mut Walker, stream: &Stream) -> Stream {
    origin(walker, stream);
    match &stream.text {
        Some(text) => walker.apart(|walker| walker.script(text, &Stream::default())),
        None => {
            walker.findings.ask(rules::RUN_CODE, "a shell runs what it reads");
            Stream::unknown()
        }
    }
}

fn origin(walker: &mut Walker, stream: &Stream) {
    if stream.from_network {
        walker.findings.ask(rules::DOWNLOAD_RUN, "what comes from the network is executed");
    } else if stream.decoded {
        walker.findings.ask(rules::DECODE_RUN, "what has been decoded is executed");
    }
}

fn shell(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if let Some(source) = parsed.value(&["c"]).map(str::to_owned) {
        return walker.apart(|walker| {
            // The first word after the program is its own name.
            walker.variables.extend(parsed.operands.first().map(|name| ("0".to_owned(), name.clone())));
            walker.positional = Some(parsed.operands.get(1..).unwrap_or_default().to_vec());
            walker.script(&source, &call.stdin)
        });
    }
    match parsed.operands.first() {
        Some(path) if path.starts_with("/dev/fd/") => {
            let stream = walker.substituted_or(path);
            run_stream(walker, &stream)
        }
        // `-n` checks the syntax and runs nothing.
        Some(path) if parsed.has(&["n"]) => {
            walker.read(path, By::Shell);
            Stream::unknown()
        }
        Some(path) if path != "-" && path != "/dev/stdin" => {
            walker.run_file(path);
            Stream::unknown()
        }
        _ if call.stdin.present => run_stream(walker, &call.stdin),
        _ => {
            walker.findings.ask(rules::RUN_CODE, "an interactive shell would be started");
            Stream::unknown()
        }
    }
}

fn language(name: &str) -> Language {
    match name {
        n if n.contains("py") => Language::Python,
        "node" | "nodejs" | "deno" | "bun" | "ts-node" | "tsx" | "qjs" | "d8" | "rhino" | "js" => Language::JavaScript,
        "perl" => Language::Perl,
        "ruby" | "jruby" | "irb" => Language::Ruby,
        _ => Language::Other,
    }
}

fn interpreter(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let language = language(&call.name);
    let sources: Vec<String> =
        parsed.options.iter().filter(|(_, _, role)| *role == 'S').filter_map(|(_, value, _)| value.clone()).collect();
    if tells_version(call) {
        return Stream::unknown();
    }
    if let Some(files) = checked_only(call) {
        for path in &files {
            walker.read(path, By::Shell);
        }
        return Stream::unknown();
    }
    if reads_more(call, parsed) {
        walker.findings.ask(rules::RUN_CODE, format!("{} would run what it reads besides its program", call.name));
        code_stream(walker, language, &call.stdin);
    }
    let imported = scripts::imported(walker, language, parsed);
    let is_filter = matches!(language, Language::Perl | Language::Ruby) && parsed.has(&["n", "p"]);
    for source in &sources {
        if is_filter {
            scripts::filter(walker, language, source, &imported);
        } else {
            if call.name == "ipython" {
                scripts::ipython(walker, source);
            }
            code::judge_with(walker, language, source, &imported);
        }
    }
    if language == Language::Perl && !sources.is_empty() {
        parsed.operands.iter().for_each(|operand| scripts::two_argument_open(walker, operand));
    }
    let filters = is_filter;
    if filters && !sources.is_empty() {
        for path in &parsed.operands {
            walker.read(path, By::Shell);
            if parsed.has(&["i"]) {
                walker.write(path);
            }
        }
    }
    if !sources.is_empty() {
        return Stream::unknown();
    }
    if let Some((_, Some(module), _)) = parsed.options.iter().find(|(_, _, role)| *role == 'M') {
        return python_module::judge(walker, call, parsed, module);
    }
    match parsed.operands.first().map(String::as_str) {
        Some("eval") if call.name == "deno" => {
            parsed.operands.get(1).into_iter().for_each(|source| code::judge(walker, language, source))
        }
        Some("run" | "test" | "install" | "add" | "task" | "x") if matches!(call.name.as_str(), "deno" | "bun") => {
            walker.findings.ask(rules::BUILD, format!("{} runs the project's code", call.name));
            super::wrappers::runner(walker, call);
        }
        Some(path) if path.starts_with("/dev/fd/") => {
            let stream = walker.substituted_or(path);
            code_stream(walker, language, &stream);
        }
        Some(path) if path != "-" => {
            walker.run_file(path);
            super::loose_arguments(walker, &parsed.operands[1..]);
        }
        _ => code_stream(walker, language, &call.stdin),
    }
    Stream::unknown()
}

/// Whether it prints its version and ends. `python -v` goes on.
fn tells_version(call: &Call) -> bool {
    let [only] = call.args.as_slice() else { return false };
    match call.name.as_str() {
        name if name.contains("py") => matches!(only.as_str(), "-V" | "-VV"),
        "deno" => only == "-V",
        "node" | "nodejs" | "bun" | "ruby" | "jruby" | "perl" | "php" | "lua" | "luajit" => only == "-v",
        _ => false,
    }
}

/// The files of which only the syntax is checked: nothing in them runs, and no option loads anything else. Perl runs
/// `BEGIN` blocks, so it isn't included.
pub(in super::super) fn checked_only(call: &Call) -> Option<Vec<String>> {
    let (checks, also): (&[&str], &[&str]) = match call.name.as_str() {
        "node" | "nodejs" => (&["-c", "--check"], &["--no-warnings"]),
        "ruby" | "jruby" => (&["-c", "-wc", "-cw"], &["-w"]),
        "php" => (&["-l", "--syntax-check"], &["-n"]),
        _ => return None,
    };
    // What follows the file is for the program.
    let end = call.args.iter().position(|arg| !arg.starts_with('-')).unwrap_or(call.args.len());
    let (options, files) = call.args.split_at(end);
    let is_check = options.iter().any(|arg| checks.contains(&arg.as_str()));
    let is_known = options.iter().all(|arg| checks.contains(&arg.as_str()) || also.contains(&arg.as_str()));
    (is_check && is_known && !files.is_empty() && files.iter().all(|file| !file.starts_with('-')))
        .then(|| files.to_vec())
}

/// Whether it reads a program from its standard input besides the one that it is given: `node -i -e`, `perl -d -e`,
/// `python -i -m`, `python -m code`.
pub(in super::super) fn reads_more(call: &Call, parsed: &Parsed) -> bool {
    let has_program = parsed.options.iter().any(|(_, value, role)| matches!(role, 'S' | 'M') && value.is_some());
    let talks: &[&str] = match language(&call.name) {
        Language::Python => &["i"],
        Language::JavaScript => &["i", "interactive"],
        Language::Perl => &["d"],
        Language::Ruby => &[],
        Language::Other => &["i", "interactive", "a", "persist"],
    };
    let is_known = language(&call.name) != Language::Other || OTHERS.split(' ').any(|name| name == call.name);
    has_program && is_known && parsed.has(talks)
}

pub(super) fn code_stream(walker: &mut Walker, language: Language, stream: &Stream) {
    origin(walker, stream);
    match &stream.text {
        Some(text) => code::judge(walker, language, text),
        None => walker.findings.ask(rules::RUN_CODE, "an interpreter runs what it reads"),
    }
}

fn compiler(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    read_all(walker, &parsed.operands);
    let written = match (call.name.as_str(), parsed.operands.split_first()) {
        ("strip" | "ranlib", _) => &parsed.operands[..],
        ("objcopy", _) => parsed.operands.last().map_or(&[][..], std::slice::from_ref),
        ("ar", Some((verb, rest))) if verb.contains(['r', 'q', 'd', 'm', 's']) => rest.get(..1).unwrap_or_default(),
        _ => &[],
    };
    for path in written {
        walker.write(path);
    }
    for arg in &call.args {
        if ["-fplugin", "-wrapper", "-specs", "--specs", "-fpass-plugin"].iter().any(|start| arg.starts_with(start)) {
            walker.findings.ask(rules::RUN_CODE, "the compiler would run a plug-in");
        }
        // Options out of a file, and options for the linker and the assembler.
        if let Some(file) = arg.strip_prefix('@') {
            walker.loads(&call.name, file);
        }
        if matches!(arg.as_str(), "-run" | "--run") || arg.starts_with("-Xplugin") {
            walker.findings.ask(rules::RUN_CODE, "the compiler would run what it has made, or a plug-in");
        }
        if call.name == "rustc" && runs_by_linking(arg) {
            walker.findings.ask(rules::RUN_CODE, format!("{arg} makes the compiler run a library or another linker"));
        }
        let passed = ["-Wl,", "-Wa,", "-Wp,"].iter().find_map(|start| arg.strip_prefix(start));
        if passed.is_some_and(|passed| passed.split(',').any(|part| part.contains("plugin") || part.starts_with('@'))) {
            walker.findings.ask(rules::RUN_CODE, "the linker would run a plug-in");
        }
    }
    Stream::unknown()
}

/// Whether rustc would load a library of macros, or give its linker what makes that run something.
fn runs_by_linking(arg: &str) -> bool {
    let for_linker = ["link-arg", "llvm-args"].iter().any(|word| arg.contains(word));
    (arg.contains('=') && [".so", ".dylib", ".dll"].iter().any(|end| arg.ends_with(end)))
        || (for_linker
            && ["-B", "plugin", "wrapper", "specs", "-fuse-ld=/", "-fuse-ld=.", "@", "-load"]
                .iter()
                .any(|word| arg.contains(word)))
}

/// What makes a calculator or a macro processor run a command. A file's content is judged only if the file can be read.
fn macros(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut texts: Vec<String> =
        parsed.options.iter().filter(|(_, _, role)| *role == 'S').filter_map(|(_, value, _)| value.clone()).collect();
    texts.extend(call.stdin.text.clone());
    let named = parsed.options.iter().filter(|(_, _, role)| *role == 'F').filter_map(|(_, value, _)| value.as_ref());
    for path in named.chain(&parsed.operands).filter(|path| *path != "-") {
        walker.read(path, By::Shell);
        let text = match walker.substituted_or(path).text {
            Some(text) => Some(text),
            None => match walker.program_text(path) {
                Text::Known(text) => Some(text),
                _ => None,
            },
        };
        match text {
            Some(text) => texts.push(text),
            None => walker.findings.ask(rules::RUN_CODE, format!("what {} does with {path} is not known", call.name)),
        }
    }
    let computed: Vec<String> = texts.iter().flat_map(|text| walker.computed_text(&call.name, text)).collect();
    texts.extend(computed);
    for text in &texts {
        if call.name == "m4" {
            super::loose_arguments(walker, std::slice::from_ref(text));
        }
        let command = match call.name.as_str() {
            // `!<`, `!=` and `!>` compare.
            "dc" => text.split('!').skip(1).find(|rest| !rest.starts_with(['<', '=', '>'])),
            _ => ["syscmd", "builtin", "indir"].iter().find_map(|word| text.split_once(word)).map(|(_, rest)| rest),
        };
        if let Some(command) = command {
            walker.findings.ask(rules::RUN_CODE, format!("{} would run a command", call.name));
            let source = command.trim().trim_start_matches(['(', '`']).trim_end_matches([')', '\'', ';']);
            walker.apart(|walker| walker.script(source, &Stream::unknown()));
        }
    }
    Stream::unknown()
}

fn typeset(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if call.args.iter().any(|arg| arg.contains("shell-escape") || arg.contains("write18") || arg == "-R0") {
        walker.findings.ask(rules::RUN_CODE, "the document may run programs");
    }
    read_all(walker, &parsed.operands);
    Stream::unknown()
}

/// Subcommands that only read, and those that change something at a registry. All others run code of the project or of
/// a package.
const BUILD_TOOLS: &[(&str, &str, &str)] = &[
    (
        "npm pnpm yarn bun",
        "ls list ll la view info show outdated audit why explain root prefix bin whoami docs fund search help ping doctor config-list get query sbom diff",
        "publish unpublish deprecate login logout adduser token owner access team org star dist-tag",
    ),
    (
        "cargo",
        "metadata tree search fmt locate-project help info verify-project pkgid read-manifest add remove rm clean version generate-lockfile",
        "publish yank login logout owner",
    ),
    (
        "pip pipx uv poetry pdm conda mamba hatch",
        "list show freeze check search index debug inspect help info about config-list config-get env-list env-info pip-list pip-show pip-freeze pip-tree pip-check tree version",
        "publish upload",
    ),
    ("go", "version env list fmt vet doc help mod clean", "work"),
    (
        "gem bundle bundler composer luarocks opam",
        "list search info show outdated check environment env help which contents dependency specification licenses why depends validate",
        "push yank owner publish",
    ),
    (
        "rustup nvm fnm volta asdf mise pyenv rbenv sdk",
        "show list ls which current version versions help doc where",
        "",
    ),
    (
        "dotnet mix cabal dart flutter",
        "list help info --info --list-sdks doctor devices",
        "nuget-push hex.publish publish",
    ),
    (
        "mvn gradle bazel",
        "help tasks dependencies properties projects query info version dependency:tree help:effective-pom",
        "deploy publish",
    ),
    ("twine", "check", "upload"),
];

fn build(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    super::wrappers::runner(walker, call);
    let rule: (Rule, &str) = match call.name.as_str() {
        "npx" | "pnpx" | "bunx" | "pipx" | "uvx" | "cpan" | "cpanm" | "easy_install" => {
            (rules::INSTALL, "downloads and runs a package")
        }
        _ => (rules::BUILD, "runs the project's code or a package's"),
    };
    let subcommand = parsed.operands.iter().find(|operand| !operand.starts_with('+')).map_or("", String::as_str);
    let table = BUILD_TOOLS.iter().find(|(names, _, _)| names.split(' ').any(|name| name == call.name));
    // `npm config list` is in the table as `config-list`.
    let both = parsed.operands.iter().take(2).cloned().collect::<Vec<_>>().join("-");
    let listed = |words: &str| words.split(' ').any(|word| word == subcommand || word == both);
    if call.name == "go"
        && subcommand == "env"
        && call.args.iter().any(|arg| matches!(arg.as_str(), "-w" | "-u" | "--w" | "--u"))
    {
        walker.findings.ask(rules::ENVIRONMENT, "go would keep this setting for all its later commands");
    }
    if let Some((_, looks, remote)) = table {
        if listed(looks) && !subcommand.is_empty() {
            return Stream::unknown();
        }
        if subcommand.is_empty() && matches!(call.name.as_str(), "cargo" | "go" | "pip" | "npm") {
            return Stream::unknown();
        }
        if listed(remote) {
            walker.findings.ask(rules::REMOTE_CHANGE, format!("{} {subcommand} changes a registry", call.name));
        }
    }
    if call.name == "cmake" && call.args.iter().any(|arg| arg == "-E") {
        let at = call.args.iter().position(|arg| arg == "-E").unwrap_or(0);
        return cmake_tool(walker, call, &call.args[at + 1..]);
    }
    let is_make = matches!(call.name.as_str(), "make" | "gmake");
    let dry = (parsed.has(&["n"]) && (is_make || matches!(call.name.as_str(), "ninja" | "just")))
        || (parsed.has(&["q"]) && is_make)
        || matches!((call.name.as_str(), call.args.as_slice()), ("mvn" | "gradle", [only]) if only == "-v");
    if !dry {
        walker.findings.ask(rule.0, format!("{} {subcommand}: {}", call.name, rule.1));
    }
    if matches!(call.name.as_str(), "make" | "gmake") {
        reading::judge_make_words(walker, call, parsed);
    }
    for source in call.args.iter().filter_map(|arg| arg.strip_prefix("--eval=").or_else(|| arg.strip_prefix("--call=")))
    {
        walker.apart(|walker| walker.script(source, &Stream::unknown()));
    }
    if content::holds_credential(&call.args.join(" ")) {
        walker.findings.ask(rules::SECRET_CONTENT, "a credential is among the arguments");
    }
    Stream::unknown()
}

/// `cmake -E` is a small shell.
fn cmake_tool(walker: &mut Walker, call: &Call, words: &[String]) -> Stream {
    let program = match words.first().map(String::as_str) {
        Some("rm" | "remove") => "rm",
        Some("remove_directory") => "rmdir-tree",
        Some("copy" | "copy_if_different" | "copy_directory") => "cp",
        Some("env") => "env",
        Some("time") => "time",
        Some("create_symlink" | "create_hardlink") => "ln",
        Some(
            "cat" | "md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum" | "compare_files",
        ) => "cat",
        Some("tar") => "tar",
        Some("echo" | "echo_append" | "true" | "false" | "sleep" | "capabilities" | "environment" | "server") => "echo",
        Some("chdir") => return cmake_chdir(walker, call, &words[1..]),
        Some("rename") => "mv",
        Some("touch") => "touch",
        Some("make_directory") => "mkdir",
        Some(other) => {
            walker.findings.ask(rules::UNKNOWN_PROGRAM, format!("what cmake -E {other} does is not known"));
            return Stream::unknown();
        }
        None => return Stream::unknown(),
    };
    let mut command =
        if program == "rmdir-tree" { vec![String::from("rm"), String::from("-r")] } else { vec![program.to_owned()] };
    command.extend(words[1..].iter().cloned());
    walker.words(command, call.stdin.clone())
}

/// `cmake -E chdir folder program`.
fn cmake_chdir(walker: &mut Walker, call: &Call, words: &[String]) -> Stream {
    let Some((folder, command)) = words.split_first() else { return Stream::unknown() };
    walker.apart(|walker| {
        super::files::change_folder(walker, folder);
        walker.words(command.to_vec(), call.stdin.clone())
    })
}
