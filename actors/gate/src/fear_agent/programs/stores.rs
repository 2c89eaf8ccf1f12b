//! Databases and stores of secrets.

use super::super::content;
use super::super::effects::By;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::{Asks, Custom};
use super::{Parsed, Program, clients, program};

pub(super) const PROGRAMS: &[Program] = &[
    program("vault", "", Custom(vault)),
    program(
        "pass gopass op bw lpass keepassxc-cli secret-tool security keyring chamber berglas infisical doppler dashlane 1password",
        "",
        Custom(password_store),
    ),
    // Its statements stand behind a subcommand.
    program("cockroach", "c,command=Q e,execute=Q f,file=R d=V", Custom(database)),
    program(
        "sqlite3 sqlite duckdb",
        "!cmd=Q c=Q s=Q init=R separator=V newline=V nullvalue=V vfs=V nonce=V maxsize=V mmap=V lookaside=VV pagecache=VV heap=V A=V",
        Custom(database),
    ),
    program(
        "psql pgcli",
        "c,command=Q f,file=R U,username=V h,host=V p,port=V d,dbname=V o,output=W v,set,variable=V P,pset=V F=V R=V T=V L,log-file=W l,list A a b e E n q s S t w W x X H 0 z 1",
        Custom(database),
    ),
    program(
        "mysql mariadb mycli",
        "e,execute=Q init-command=Q u,user=V h,host=V P,port=V D,database=V S,socket=V tee=W pager=X defaults-file=R defaults-extra-file=R default-character-set=V delimiter=V prompt=V p A B b C E f G H i N n o q r s t U v w X",
        Custom(database),
    ),
    program(
        "litecli clickhouse-client sqlcmd isql usql trino presto hive beeline cqlsh sqlplus snowsql mongo mongosh redis-cli valkey-cli",
        "^c,command=Q e,execute=Q eval=Q Q=Q q=Q f,file=R U=V h,host=V p,port=V d,dbname=V u,user=V D=V P=V o,output=W init=V cmd=Q S=V a=V n=V",
        Custom(database),
    ),
    program(
        "mysqladmin dropdb dropuser createdb createuser initdb pg_ctl pg_resetwal pg_restore mongorestore mysqlimport influxd redis-server mongod postgres mysqld",
        "",
        Asks(rules::DATABASE, "changes a database"),
    ),
    program(
        "pg_dump pg_dumpall mysqldump mongodump mongoexport sqldiff pg_isready",
        "f,file=W o,out,output=W h=V U=V u=V p=V d=V",
        Custom(dump),
    ),
    program("ansible-vault", "", Custom(password_store)),
];

fn vault(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let words: Vec<&str> = call.args.iter().filter(|arg| !arg.starts_with('-')).map(String::as_str).collect();
    match (words.first().copied().unwrap_or(""), words.get(1).copied().unwrap_or("")) {
        ("status" | "version" | "list" | "path-help" | "", _)
        | ("kv" | "secrets" | "auth" | "policy" | "audit" | "plugin" | "namespace", "list" | "metadata")
        | ("token", "lookup" | "capabilities")
        | ("operator", "members") => {}
        ("read" | "unwrap" | "print", _) | ("kv", "get") => {
            walker.findings.block(rules::SECRET_READ, "vault would print a stored secret")
        }
        (verb, object) => walker.findings.ask(rules::SERVICE, format!("vault {verb} {object} changes stored secrets")),
    }
    Stream::unknown()
}

fn password_store(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let verb = call.args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    match (call.name.as_str(), verb) {
        (_, "ls" | "list" | "status" | "version" | "help" | "search" | "find" | "whoami" | "list-keychains" | "") => {}
        ("ansible-vault", "create" | "encrypt" | "rekey" | "edit")
        | (
            _,
            "insert"
            | "add"
            | "rm"
            | "remove"
            | "delete"
            | "edit"
            | "set"
            | "store"
            | "clear"
            | "generate"
            | "init"
            | "sync"
            | "push"
            | "delete-generic-password"
            | "move"
            | "create",
        ) => {
            walker.findings.ask(rules::SERVICE, format!("{} {verb} changes stored secrets", call.name));
        }
        _ => walker.findings.block(rules::SECRET_READ, format!("{} would print a stored secret", call.name)),
    }
    Stream::unknown()
}

fn database(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut texts: Vec<String> =
        parsed.options.iter().filter(|(_, _, role)| *role == 'Q').filter_map(|(_, value, _)| value.clone()).collect();
    texts.extend(call.stdin.text.clone());
    if call.name.starts_with("sqlite") || call.name == "duckdb" {
        if let Some((file, statements)) = parsed.operands.split_first() {
            if file != ":memory:" {
                walker.read(file, By::Shell);
                walker.replaces(file);
            }
            texts.extend(statements.iter().cloned());
        }
        if parsed.has(&["A"]) {
            walker.findings.ask(rules::REMOTE_CHANGE, "the client packs or unpacks an archive");
        }
    } else if matches!(call.name.as_str(), "redis-cli" | "valkey-cli") {
        let words = parsed.operands.join(" ").to_uppercase();
        let looks = [
            "GET",
            "KEYS",
            "SCAN",
            "INFO",
            "PING",
            "TTL",
            "TYPE",
            "EXISTS",
            "LLEN",
            "LRANGE",
            "HGETALL",
            "HGET",
            "SMEMBERS",
            "DBSIZE",
            "MONITOR",
            "CLIENT LIST",
            "CONFIG GET",
            "MEMORY",
            "STRLEN",
            "ZRANGE",
            "SLOWLOG",
            "TIME",
            "MGET",
            "HKEYS",
            "SCARD",
            "XLEN",
            "CLUSTER INFO",
            "CLUSTER NODES",
            "LATENCY",
            "OBJECT",
            "COMMAND",
        ];
        if !words.is_empty() && !looks.iter().any(|look| words.starts_with(look)) {
            walker.findings.ask(rules::DATABASE, "the command changes a database");
        }
    } else if matches!(call.name.as_str(), "mongo" | "mongosh") {
        texts.extend(parsed.operands.iter().filter(|operand| operand.contains('(')).cloned());
    }
    let computed: Vec<String> = texts.iter().flat_map(|text| walker.computed_text(&call.name, text)).collect();
    texts.extend(computed);
    for text in &texts {
        content::judge_sql(walker.findings, text);
        for path in attached(text) {
            walker.write(&path);
        }
        clients::judge(walker, &call.name, text);
        // Shell escapes of the clients.
        for line in text.lines() {
            let line = line.trim_start();
            if let Some(source) = line
                .strip_prefix("\\!")
                .or_else(|| line.strip_prefix(".shell "))
                .or_else(|| line.strip_prefix(".system "))
                .or_else(|| line.strip_prefix("system "))
            {
                walker.findings.ask(rules::RUN_CODE, "the client would run a command");
                walker.apart(|walker| walker.script(source, &Stream::unknown()));
            }
        }
    }
    if texts.is_empty() && call.stdin.present && call.stdin.text.is_none() {
        walker.findings.ask(rules::DATABASE, "the database's instructions are known only when it runs");
    }
    Stream::unknown()
}

/// Files that SQLite or DuckDB opens beside its own: `ATTACH DATABASE 'other.db' AS other`.
fn attached(text: &str) -> Vec<String> {
    let upper = text.to_ascii_uppercase();
    let quoted = |at: usize| {
        let rest = &text[at..];
        let from = rest.find(['\'', '"'])?;
        let mark = rest[from..].chars().next()?;
        Some(rest[from + 1..].split(mark).next()?.to_owned())
    };
    upper.match_indices("ATTACH ").filter_map(|(at, found)| quoted(at + found.len())).collect()
}

fn dump(_: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    call.stdin.filtered()
}
