//! What the names in a program do, in all languages: a table by act, and the modules that can't act.

use super::Language;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Run,
    Delete,
    Open,
    Write,
    Read,
    Connect,
    Listen,
    Send,
    Kill,
    Evaluate,
    Fork,
}

/// Names by the act of calling them, separated by spaces. A name without a dot is matched by its last part. A name with
/// a dot is matched whole or as an ending. With a leading dot it is matched only as a member.
const ACTS: &[(Act, &str)] = &[
    (
        Act::Run,
        "system popen Popen getoutput getstatusoutput check_call check_output subprocess.run subprocess.call \
        shell_exec passthru proc_open pcntl_exec execSync spawn spawnSync execFile execFileSync execa execv \
        execve execvp execl execlp execle spawnl spawnv spawnvp posix_spawn startfile pty.spawn os.execute \
        Open3.capture2 Open3.capture3 Open3.popen3 ProcessBuilder getRuntime create_subprocess_shell \
        create_subprocess_exec Deno.run Deno.Command Bun.spawn qx syscall exec system2",
    ),
    (
        Act::Evaluate,
        "runInNewContext eval compile __import__ import_module loads pickle.load yaml.load Function loadstring \
        instance_eval create_function ctypes unserialize Marshal.load __subclasses__ __builtins__ __globals__ \
        setattr dlopen CDLL runpy vm breakpoint timeit",
    ),
    (
        Act::Delete,
        "os.remove os.unlink os.rmdir os.removedirs rmtree rm_rf rm_r rm_f FileUtils.rm remove_dir \
        remove_entry_secure File.delete File.unlink Dir.rmdir Dir.delete unlink unlinkSync rmSync rmdirSync fs.rm \
        fs.rmdir rimraf remove_tree removeSync rmdir Deno.remove send2trash",
    ),
    (Act::Open, "open fopen fdopen openSync"),
    (
        Act::Write,
        "file_put_contents writeFile writeFileSync appendFile appendFileSync createWriteStream File.write IO.write \
        write_text write_bytes os.rename os.replace os.symlink os.link os.chmod os.chown os.truncate shutil.move \
        shutil.copy shutil.copyfile shutil.copy2 shutil.copytree os.mkdir os.makedirs mkdirSync copyFileSync \
        renameSync symlinkSync chmodSync FileUtils.cp FileUtils.mv FileUtils.ln_s to_csv to_json urlretrieve \
        mkdir chmod rename symlink writelines extractall savefig sqlite3.connect",
    ),
    (
        Act::Read,
        "readFile readFileSync File.read IO.read file_get_contents readfile read_text read_bytes read_csv \
        createReadStream listdir glob.glob os.walk readdirSync",
    ),
    (
        Act::Connect,
        "connect connect_ex create_connection createConnection TCPSocket fsockopen pfsockopen IO.Socket.INET \
        Socket socket.socket UDPSocket TCPClient tcp",
    ),
    (Act::Listen, "bind listen createServer TCPServer HTTPServer ThreadingHTTPServer serve_forever"),
    (
        Act::Send,
        "requests.post requests.put requests.patch requests.delete requests.get requests.request httpx.post \
        httpx.get urlopen fetch axios axios.get axios.post http.get https.get http.request https.request Net.HTTP \
        sendmail SMTP FTP HTTPConnection HTTPSConnection curl_exec LWP sendto sendall",
    ),
    (Act::Kill, "os.kill os.killpg process.kill Process.kill .kill .terminate kill posix_kill os.abort"),
    (Act::Fork, "fork pcntl_fork"),
];

/// Modules whose use can't reach anything outside the program.
const PURE_MODULES: &str = "math cmath random statistics decimal fractions numbers datetime time calendar zoneinfo re string textwrap \
    unicodedata difflib json csv collections itertools functools operator heapq bisect copy enum dataclasses \
    typing abc hashlib hmac base64 binascii struct pprint uuid secrets numpy np pandas scipy array \
    contextlib io html colorsys graphlib __future__ types warnings traceback util assert path url \
    querystring strict List POSIX set bigdecimal date prime matrix sys typing_extensions platform locale \
    collections.abc os.path perf_hooks buffer punycode string_decoder";

/// Words of many languages that reach nothing outside the program: PHP, Lua, R, Julia, Tcl, Scheme, Octave.
const COMPUTING: &str = "print cat echo puts println printf disp display strlen nchar length len count size \
    upper lower toupper tolower strtoupper strtolower ucfirst trim strrev str_repeat implode explode substr string \
    math sqrt abs min max sum mean median sd var quantile prod cumsum round floor ceil ceiling exp log log2 log10 pow mod \
    sin cos tan pi rand range seq rep rev sort unique table head tail c paste paste0 sprintf format number_format intdiv \
    true false null nil none local let var const return if then else elseif end for foreach in do while function expr \
    as int float double array list vector matrix map filter reduce collect join zip dim nrow ncol summary json_encode \
    json_decode md5 sha1 crc32 ord chr bin2hex hexdec dechex date strftime newline";

/// Whether a word is known to only compute or print.
pub(super) fn only_computes(word: &str) -> bool {
    COMPUTING.split_ascii_whitespace().any(|known| known == word)
}

/// Whether a module only computes.
pub(super) fn is_pure(name: &str) -> bool {
    let root = name.split(['.', ':']).next().unwrap_or(name);
    let listed = |name: &str| PURE_MODULES.split(' ').any(|pure| pure == name);
    listed(name) || (listed(root) && root != "os")
}

/// The act of calling `name`.
pub(super) fn act_of(name: &str, language: Language) -> Option<Act> {
    let last = name.rsplit('.').next().unwrap_or(name);
    if last == "exec"
        && name != "exec"
        && !name.contains("child_process")
        && !name.contains("cp.")
        && !name.ends_with("Runtime.exec")
    {
        return None;
    }
    if last == "exec" && language == Language::Python {
        return Some(Act::Evaluate);
    }
    if matches!(
        name,
        "re.compile" | "json.loads" | "tomllib.loads" | "orjson.loads" | "yaml.safe_load" | "ujson.loads" | "socket"
    ) || (last == "compile" && name != "compile")
    {
        return None;
    }
    let matches = |pattern: &str| match pattern.strip_prefix('.') {
        Some(member) => last == member && name != member,
        None if pattern.contains('.') => name == pattern || name.ends_with(&format!(".{pattern}")),
        None => last == pattern,
    };
    ACTS.iter().find(|(_, names)| names.split_ascii_whitespace().any(&matches)).map(|(act, _)| *act)
}
