//! Command lines of services: clouds, clusters, containers, databases, queues, secrets. They share a grammar of nouns and verbs, so the
//! verb decides: looking is free, changing is asked, and a stored secret's value is not read.

use super::super::content;
use super::super::effects::By;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::{Asks, Custom};
use super::{Parsed, Program, program, wrappers};

/// Options before and among the words that take a value, for all service command lines.
const VALUES: &str = "n,namespace=V o,output=W f,filename,file=R p,project=V profile=V region=V context=V cluster=V kubeconfig=R l,selector=V format=V query=V c,container=V H,host=V u,user=V username=V password=V P=V d=V e,env=V v,volume=V \
    name=V w=V t,tag=V k=V s,server=V url=V address=V subscription=V g,resource-group=V zone=V filter=V limit=V a,app=V R,repo=V L=V vhost=V r=V i=V b=V";

pub(super) const PROGRAMS: &[Program] = &[
    program(
        "aws gcloud gsutil az bq doctl linode-cli hcloud ibmcloud oci aliyun tccli yc scw flyctl fly heroku vercel netlify wrangler railway render supabase firebase amplify sam cdk eksctl kops gh glab hub tea jira linear stripe twilio shopify sentry-cli datadog \
        nats rabbitmqctl rabbitmqadmin rabbitmq-diagnostics rabbitmq-plugins kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh kafka-configs kcat kafkactl pulsar-admin redpanda rpk etcdctl consul nomad boundary waypoint serf \
        restic borg borgmatic duplicity kopia rdiff-backup tarsnap duplicacy barman pgbackrest wal-g velero mc s3cmd s5cmd b2 swift openstack nova glance cinder virsh VBoxManage vagrant multipass lxc lxd incus qm pct govc packer \
        argocd flux istioctl linkerd cilium calicoctl k9s kubens kubectx skaffold tilt kustomize kind minikube k3d k3s microk8s oc rancher helm temporal airflow prefect dagster dbt databricks snowsql fastlane pulumi cf apex claudia serverless sls turso neonctl pscale planetscale \
        ceph rados rbd gluster drush wp artisan akamai flarectl exo civo upctl vultr-cli mongocli atlas influx promtool amtool grafana-cli logcli tkn crossplane dapr ory",
        "",
        Custom(service),
    ),
    program("kubectl k kubecolor", "", Custom(kubectl)),
    program("terraform tofu terragrunt", "", Custom(terraform)),
    program("docker podman nerdctl docker-compose podman-compose buildah skopeo crictl ctr", "", Custom(container)),
    program("vault", "", Custom(vault)),
    program(
        "pass gopass op bw lpass keepassxc-cli secret-tool security keyring chamber berglas infisical doppler dashlane 1password",
        "",
        Custom(password_store),
    ),
    program(
        "psql mysql mariadb sqlite3 sqlite pgcli mycli litecli cockroach clickhouse-client duckdb sqlcmd isql usql trino presto hive beeline cqlsh sqlplus snowsql mongo mongosh redis-cli valkey-cli",
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
    program(
        "ansible ansible-playbook ansible-console ansible-pull salt salt-call puppet chef-client knife fab cap pssh clush pdsh ansible-test",
        "a=V m=V i=R",
        Asks(rules::REMOTE_CHANGE, "changes other machines"),
    ),
    program("ansible-vault", "", Custom(password_store)),
    program(
        "ldapsearch ldapmodify ldapadd ldapdelete ldappasswd snmpset snmpwalk kadmin",
        "",
        Asks(rules::REMOTE_CHANGE, "changes or reads a directory"),
    ),
];

const LOOKS: &[&str] = &[
    "list",
    "ls",
    "get",
    "describe",
    "show",
    "info",
    "status",
    "view",
    "inspect",
    "help",
    "version",
    "search",
    "diff",
    "history",
    "log",
    "logs",
    "check",
    "ping",
    "stat",
    "stats",
    "top",
    "explain",
    "validate",
    "lint",
    "whoami",
    "find",
    "tail",
    "wait",
    "lookup",
    "scan",
    "query",
    "preview",
    "plan",
    "doctor",
    "health",
    "audit",
    "report",
    "snapshots",
    "events",
    "tree",
    "watch",
    "cluster-info",
    "api-resources",
    "api-versions",
    "current",
    "ps",
    "images",
    "template",
    "graph",
    "output",
    "fmt",
    "batch",
    "head",
    "estimate",
    "test",
    "detect",
    "is",
    "count",
    "preview",
    "verify",
    "members",
    "environment",
    "env",
    "receive",
    "read",
    "cat",
    "browse",
    "dump",
    "fields",
    "schema",
    "topics",
    "groups",
    "metrics",
    "checks",
    "node",
    "cluster",
    "summary",
    "url",
    "lint",
    "poll",
    "simulate",
    "can",
    "can-i",
    "details",
    "which",
    "dashboard",
    "console",
    "open",
    "compare",
    "benchmark",
    "tags",
    "releases",
    "leaderboard",
    "df",
    "du",
    "contexts",
    "account",
    "peek",
];

const LOSES: &[&str] = &[
    "delete",
    "del",
    "remove",
    "rm",
    "destroy",
    "purge",
    "drop",
    "prune",
    "forget",
    "terminate",
    "clear",
    "reset",
    "wipe",
    "revoke",
    "detach",
    "disable",
    "stop",
    "kill",
    "cancel",
    "uninstall",
    "unsubscribe",
    "evict",
    "drain",
    "cordon",
    "truncate",
    "flush",
    "deregister",
    "disassociate",
    "release",
    "rb",
    "undeploy",
    "down",
    "rollback",
    "abort",
    "shutdown",
    "poweroff",
    "reboot",
    "restart",
    "compact",
    "expire",
    "deallocate",
    "deprovision",
    "archive",
    "close",
    "reject",
    "unlock",
    "force-unlock",
    "taint",
    "nuke",
    "clean",
    "cleanup",
    "gc",
    "trim",
    "fail",
    "demote",
    "leave",
    "rmr",
    "mv",
    "empty",
    "invalidate",
    "schedule-deletion",
    "decommission",
    "unset",
    "rmi",
];

/// `batch-get-item` → batch, get, item; `list_users` → list, users; `DescribeInstances` isn't a command-line spelling.
fn first_verb(word: &str) -> &str {
    word.split(['-', '_', ':']).next().unwrap_or(word)
}

enum Verb {
    Looks,
    Loses,
    Changes,
}

fn verb_of(word: &str) -> Option<Verb> {
    let start = first_verb(word);
    if LOOKS.contains(&word) || (LOOKS.contains(&start) && !matches!(word, "get-all")) {
        Some(Verb::Looks)
    } else if LOSES.contains(&word) || LOSES.contains(&start) {
        Some(Verb::Loses)
    } else {
        const CHANGES: &[&str] = &[
            "create",
            "update",
            "put",
            "set",
            "apply",
            "push",
            "publish",
            "send",
            "deploy",
            "run",
            "exec",
            "start",
            "import",
            "upload",
            "sync",
            "cp",
            "add",
            "edit",
            "patch",
            "scale",
            "rollout",
            "attach",
            "enable",
            "invoke",
            "install",
            "upgrade",
            "merge",
            "comment",
            "login",
            "logout",
            "clone",
            "fork",
            "modify",
            "change",
            "copy",
            "tag",
            "label",
            "annotate",
            "expose",
            "replace",
            "restore",
            "backup",
            "init",
            "up",
            "rename",
            "transfer",
            "grant",
            "assign",
            "subscribe",
            "post",
            "write",
            "move",
            "mount",
            "ssh",
            "proxy",
            "port-forward",
            "resize",
            "migrate",
            "promote",
            "approve",
            "ready",
            "rerun",
            "trigger",
            "execute",
            "build",
            "submit",
            "new",
            "register",
            "associate",
            "authorize",
            "insert",
            "mb",
            "config",
            "configure",
            "join",
            "snapshot",
            "export",
            "generate",
            "download",
            "pull",
            "fetch",
        ];
        (CHANGES.contains(&word) || CHANGES.contains(&start)).then_some(Verb::Changes)
    }
}

fn is_dry(args: &[String]) -> bool {
    args.iter().any(|arg| {
        matches!(
            arg.as_str(),
            "--dry-run"
                | "--dryrun"
                | "--dry-run=client"
                | "--dry-run=server"
                | "--whatif"
                | "--what-if"
                | "--no-execute-changeset"
        )
    })
}

/// Reads of a value that a service keeps because it is secret.
fn reads_secret(name: &str, words: &[&str], args: &[String]) -> bool {
    let line = words.join(" ");
    let has = |arg: &str| args.iter().any(|a| a == arg);
    let names_secret = words.iter().skip(2).any(|word| {
        let word = word.to_lowercase();
        ["secret", "password", "passwd", "token", "api-key", "apikey", "api_key", "private-key", "credential"]
            .iter()
            .any(|part| word.contains(part))
    });
    [
        "get-secret-value",
        "batch-get-secret-value",
        "secrets versions access",
        "keyvault secret show",
        "keyvault secret download",
        "get-session-token",
        "print-access-token",
        "print-identity-token",
        "get-access-token",
        "get-login-password",
        "auth token",
        "auth print",
        "get-credentials",
        "storage account keys list",
        "list-keys",
        "iam create-access-key",
        "create-access-key",
        "get-password-data",
        "acr credential show",
        "connection-string",
        "auth:token",
        "secrets reveal",
        "get-authorization-token",
    ]
    .iter()
    .any(|read| line.contains(read))
        || (has("--with-decryption") && line.contains("get-parameter"))
        || (name == "heroku" && words.first().is_some_and(|w| *w == "config" || w.starts_with("config:get")))
        || (name == "nats" && line.starts_with("kv get") && names_secret)
        || (matches!(name, "etcdctl" | "consul") && line.contains("get") && names_secret)
        || (has("--show-token"))
}

fn service(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let parsed = super::options::parse(VALUES, &call.args);
    let words: Vec<&str> = parsed.operands.iter().map(String::as_str).collect();
    for path in parsed.values(&["f", "kubeconfig"]).filter(|_| call.name != "nats") {
        walker.read(path, By::Shell);
    }
    for arg in &call.args {
        if let Some(path) = arg.strip_prefix("file://").or_else(|| arg.strip_prefix("fileb://")) {
            walker.read(path, By::Shell);
        }
    }
    if reads_secret(&call.name, &words, &call.args) {
        walker.findings.block(rules::SECRET_READ, format!("{} would print a stored secret", call.name));
        return Stream::unknown();
    }
    if is_dry(&call.args) || call.args.iter().any(|arg| arg == "--help" || arg == "-h") || words.is_empty() {
        return Stream::unknown();
    }
    // The verb is the last word of the grammar's head: `aws sqs delete-queue`, `gh pr list`, `gcloud compute instances list`.
    let head = words.iter().take(if call.name == "gcloud" || call.name == "az" { 6 } else { 4 });
    let verbs: Vec<Verb> = head.filter_map(|word| verb_of(word)).collect();
    let line = words.iter().take(4).copied().collect::<Vec<_>>().join(" ");
    if verbs.iter().any(|verb| matches!(verb, Verb::Loses)) {
        let free = matches!(verb_of(words[0]), Some(Verb::Looks))
            || words.get(1).is_some_and(|word| matches!(verb_of(word), Some(Verb::Looks)));
        if !free {
            walker
                .findings
                .ask(rules::SERVICE, format!("{} {line} deletes or stops something of a service", call.name));
            return Stream::unknown();
        }
    }
    match verbs.first() {
        Some(Verb::Looks) => {}
        Some(Verb::Loses | Verb::Changes) => {
            let reads_only = matches!(call.name.as_str(), "gh" | "glab")
                && words.first() == Some(&"api")
                && !call
                    .args
                    .iter()
                    .any(|arg| matches!(arg.as_str(), "-X" | "--method" | "-f" | "-F" | "--field" | "--input"));
            if !reads_only && !local_only(&call.name, &words) {
                walker
                    .findings
                    .ask(rules::REMOTE_CHANGE, format!("{} {line} changes something of a service", call.name));
            }
        }
        None => walker
            .findings
            .ask(rules::REMOTE_CHANGE, format!("{} {line}: whether it changes a service is not known", call.name)),
    }
    Stream::unknown()
}

/// Commands of service tools that only work on this machine's files or settings.
fn local_only(name: &str, words: &[&str]) -> bool {
    matches!(
        (name, words.first().copied().unwrap_or(""), words.get(1).copied().unwrap_or("")),
        ("gh", "pr", "checkout")
            | ("gh", "repo", "clone")
            | ("kustomize", "build", _)
            | ("helm", "dependency" | "repo", _)
            | ("gh" | "glab", "release" | "run", "download")
    )
}

fn kubectl(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let own = super::options::parse(VALUES, &call.args);
    let words: Vec<&str> = own.operands.iter().map(String::as_str).collect();
    let verb = words.first().copied().unwrap_or("");
    let format = own.value(&["o"]).unwrap_or("");
    let secret = words.iter().skip(1).any(|word| {
        *word == "secret" || *word == "secrets" || word.starts_with("secret/") || word.starts_with("secrets/")
    });
    if verb == "get"
        && secret
        && (format.starts_with("yaml")
            || format.starts_with("json")
            || format.contains("template")
            || format.contains("jsonpath")
            || format.contains("custom"))
    {
        walker.findings.block(rules::SECRET_READ, "kubectl would print a stored secret");
        return Stream::unknown();
    }
    if verb == "exec" || verb == "debug" || verb == "attach" {
        walker.findings.ask(rules::REMOTE_SHELL, format!("kubectl {verb} runs in a cluster"));
        if let Some(at) = call.args.iter().position(|arg| arg == "--") {
            wrappers::elsewhere(walker, call.args[at + 1..].to_vec());
        }
        return Stream::unknown();
    }
    if (verb == "config"
        && matches!(
            words.get(1).copied(),
            Some("view" | "current-context" | "get-contexts" | "get-clusters" | "get-users")
        ))
        || (verb == "auth" && words.get(1) == Some(&"can-i"))
    {
        if call.args.iter().any(|arg| arg == "--raw") {
            walker.findings.block(rules::SECRET_READ, "kubectl would print stored credentials");
        }
        return Stream::unknown();
    }
    if verb == "rollout" && matches!(words.get(1).copied(), Some("status" | "history")) {
        return Stream::unknown();
    }
    service(walker, call, parsed)
}

fn terraform(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let words: Vec<&str> = call.args.iter().filter(|arg| !arg.starts_with('-')).map(String::as_str).collect();
    match words.first().copied().unwrap_or("") {
        "fmt" | "validate" | "version" | "show" | "output" | "graph" | "providers" | "plan" | "workspace" | "get"
        | "init" | "help" | "console" | "" | "test" | "metadata" | "run-all" | "hclfmt"
            if !words.iter().any(|word| matches!(*word, "delete" | "apply" | "destroy")) => {}
        "state" if matches!(words.get(1).copied(), Some("list" | "show" | "pull")) => {}
        verb => walker.findings.ask(rules::SERVICE, format!("{} {verb} changes infrastructure", call.name)),
    }
    Stream::unknown()
}

fn container(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let table = "^H,host=V c,context=V l,log-level=V config=V f,file=R p,project-name=V env-file=R profile=V D,debug";
    let words = super::options::parse(table, &call.args).operands;
    let nouns = [
        "container",
        "image",
        "volume",
        "network",
        "system",
        "compose",
        "builder",
        "buildx",
        "context",
        "node",
        "service",
        "stack",
        "swarm",
        "secret",
        "config",
        "manifest",
        "plugin",
        "trust",
        "machine",
        "pod",
        "play",
        "checkpoint",
    ];
    let at =
        words.iter().position(|word| !nouns.contains(&word.as_str()) && !word.starts_with('-')).unwrap_or(words.len());
    let verb = words.get(at).map_or("", String::as_str);
    match verb {
        "ps" | "ls" | "list" | "images" | "logs" | "log" | "inspect" | "version" | "info" | "stats" | "top"
        | "port" | "history" | "search" | "events" | "diff" | "df" | "help" | "config" | "show" | "wait" | "use"
        | "" | "du" | "pull" | "tag" | "create" | "stat" | "pods" => {}
        "run" | "exec" => {
            walker.findings.ask(rules::RUN_CODE, format!("{} {verb} runs a program in a container", call.name));
            container_options(walker, &words[at..]);
        }
        "build" | "bake" | "up" | "start" | "restart" | "unpause" | "pause" | "commit" | "load" | "import" | "save"
        | "export" | "cp" | "copy" | "rename" | "connect" | "attach" | "update" | "init" | "join" | "watch"
        | "scale" | "deploy" => {
            walker.findings.ask(rules::BUILD, format!("{} {verb} builds or runs containers", call.name));
            container_options(walker, &words[at..]);
        }
        "push" | "login" | "logout" | "publish" | "sync" => {
            walker.findings.ask(rules::REMOTE_CHANGE, format!("{} {verb} changes a registry", call.name))
        }
        _ => walker
            .findings
            .ask(rules::SERVICE, format!("{} {verb} stops or deletes containers, images or volumes", call.name)),
    }
    Stream::unknown()
}

/// Options that give a container the machine.
fn container_options(walker: &mut Walker, words: &[String]) {
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", String::as_str);
        let mounted = match word.as_str() {
            "-v" | "--volume" | "--mount" => Some(next),
            _ => word
                .strip_prefix("--volume=")
                .or_else(|| word.strip_prefix("--mount="))
                .or_else(|| word.strip_prefix("-v")),
        };
        let source = mounted.map(|mount| {
            let part = mount
                .split(',')
                .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
                .unwrap_or(mount);
            part.split(':').next().unwrap_or(part)
        });
        if let Some(source) = source
            && (source == "/"
                || source.contains("docker.sock")
                || ["/etc", "/root", "/proc", "/dev", "/sys", "/boot", "/usr", "/var"]
                    .contains(&source.trim_end_matches('/')))
        {
            walker.findings.block(rules::ESCAPE, format!("the container would get the machine's {source}"));
        } else if let Some(source) = source.filter(|source| source.starts_with(['/', '~', '.'])) {
            walker.read(source, By::Shell);
        }
        if word == "--privileged"
            || word.starts_with("--pid=host")
            || word.starts_with("--cap-add=SYS")
            || (word == "--cap-add" && next.starts_with("SYS"))
        {
            walker.findings.ask(rules::ESCAPE, "the container would have rights over the machine");
        }
    }
    // What runs in it is judged as it would be on another machine.
    if let Some(at) = words.iter().position(|word| matches!(word.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash")) {
        wrappers::elsewhere(walker, words[at..].to_vec());
    }
}

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
            walker.read(file, By::Shell);
            texts.extend(statements.iter().cloned());
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
    for text in &texts {
        content::judge_sql(walker.findings, text);
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
        walker.findings.ask(rules::DATABASE, "what the database is told is known only when it runs");
    }
    Stream::unknown()
}

fn dump(_: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    call.stdin.filtered()
}
