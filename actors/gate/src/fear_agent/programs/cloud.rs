//! Command lines of services: clouds, clusters, containers, databases, queues, secrets. They share a grammar of nouns
//! and verbs, so the verb decides. Looking passes, changing is asked about, and printing a stored secret is blocked.

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
    program(
        "ansible ansible-playbook ansible-console ansible-pull salt salt-call puppet chef-client knife fab cap clush pdsh ansible-test",
        "a=V m=V i=R",
        Asks(rules::REMOTE_CHANGE, "changes other machines"),
    ),
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
    "check",
    "ping",
    "stat",
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
    "tree",
    "watch",
    "cluster-info",
    "api-resources",
    "api-versions",
    "current",
    "ps",
    "fmt",
    "head",
    "estimate",
    "test",
    "detect",
    "is",
    "count",
    "preview",
    "verify",
    "receive",
    "read",
    "cat",
    "browse",
    "dump",
    "lint",
    "poll",
    "simulate",
    "can",
    "can-i",
    "which",
    "open",
    "compare",
    "benchmark",
    "df",
    "du",
    "peek",
];

/// Things that are called like what one does with them, or that are looked at when nothing else is said: `aws logs` is a service,
/// and `aws logs delete-log-group` deletes.
const THINGS: &[&str] = &[
    "account",
    "audit",
    "batch",
    "checks",
    "cluster",
    "config",
    "console",
    "contexts",
    "dashboard",
    "details",
    "env",
    "environment",
    "events",
    "fields",
    "graph",
    "groups",
    "health",
    "images",
    "leaderboard",
    "log",
    "logs",
    "members",
    "metrics",
    "node",
    "output",
    "releases",
    "report",
    "schema",
    "snapshots",
    "stats",
    "summary",
    "tags",
    "template",
    "topics",
    "url",
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
    /// Decides where no other word does.
    Names,
    Looks,
    Loses,
    Changes,
}

fn verb_of(word: &str) -> Option<Verb> {
    let start = first_verb(word);
    if THINGS.contains(&word) {
        Some(Verb::Names)
    } else if LOOKS.contains(&word) || (LOOKS.contains(&start) && !matches!(word, "get-all")) {
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
        // Where the thing comes first: `cluster_status`.
        let end = word.rsplit(['-', '_', ':']).next().unwrap_or(word);
        match () {
            () if CHANGES.contains(&word) || CHANGES.contains(&start) => Some(Verb::Changes),
            () if LOSES.contains(&end) => Some(Verb::Loses),
            () if CHANGES.contains(&end) => Some(Verb::Changes),
            () if LOOKS.contains(&end) => Some(Verb::Looks),
            () => None,
        }
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

/// Reads of a value that a service stores as a secret.
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
    wrappers::remote(walker, call);
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
    let head = match call.name.as_str() {
        "gcloud" | "az" => words.iter().take(6),
        // The thing stands first and may be called like a verb: `gh run view`.
        "gh" | "glab" if words.get(1).is_some_and(|word| verb_of(word).is_some()) => words[1..].iter().take(1),
        _ => words.iter().take(4),
    };
    let (named, verbs): (Vec<Verb>, Vec<Verb>) =
        head.filter_map(|word| verb_of(word)).partition(|verb| matches!(verb, Verb::Names));
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
    match verbs.first().or(named.first()) {
        Some(Verb::Looks | Verb::Names) => {}
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
        match call.args.iter().position(|arg| arg == "--") {
            Some(at) => wrappers::within(walker, call.args[at + 1..].to_vec()),
            // Without the dashes, what stands behind the pod runs too.
            None => wrappers::remote(walker, call),
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
