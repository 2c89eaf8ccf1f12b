//! The sections whose names have two parts, through all layers.

use maxim_actors::action::tools::EffectClass;
use maxim_actors::effectors::channels::outside::Channels;
use maxim_actors::effectors::tool_servers::ServerKeys;

use super::Mode;
use super::fixtures::loaded;

#[test]
fn a_channel_has_its_section_and_its_secrets_come_from_outside() {
    let toml = "[channels.mqtt]\nurl = \"mqtt://h\"\nsenders = [\"anna\"]\n";
    let loaded = loaded(toml, &[("MAXIM__CHANNELS__MQTT__PASSWORD", "hunter2")]).expect("loads");
    let channels = &loaded.settings.channels;
    assert_eq!((channels.mqtt.senders.len(), channels.mqtt.topics.as_slice()), (1, &["maxim/in/+".to_owned()][..]));
    assert_eq!(channels.mqtt.password.as_ref().expect("set").expose(), "hunter2");
    assert!(channels.rules().channels.contains_key("mqtt") && !channels.rules().channels.contains_key("email"));
    let shown = loaded.to_toml();
    assert!(shown.contains("[channels.mqtt]") && !shown.contains("hunter2"), "{shown}");
    assert!(!format!("{loaded:?}").contains("hunter2"));
    assert_eq!(loaded.explain("channels.mqtt.url")[0].shown, "\"mqtt://h\"");
    assert_eq!(loaded.explain("channels.mqtt").len(), Channels::SECTIONS[0].fields.len());
}

#[test]
fn what_is_wrong_with_a_channel_is_told_with_the_key_and_the_fix() {
    let faults = |toml: &str| loaded(toml, &[]).expect_err("refused").to_string();
    assert!(faults("[channels.mqtt]\ntopic = []").contains("did you mean channels.mqtt.topics?"));
    assert!(faults("[channels.matrix]\nurl = \"x\"").contains("channels.matrix"));
    assert!(faults("[channels]\nmqtt = 1").contains("[channels.mqtt]"));
    assert!(faults("[channels.mqtt]\npassword = \"x\"").contains("secret in a configuration file"));
    assert!(faults("[channels.twilio]\naccount_sid = \"AC1\"").contains("no from"));
    assert!(faults("[channels.email]\naddress = \"a@b.c\"").contains("neither imap_url nor smtp_url"));
    assert!(faults("[channels.email]\nimap_url = \"imaps://b.c\"").contains("no address"));
    assert!(faults("[channels.mqtt]\nurl = \"mqtt://h\"\ntopics = [\"#\"]").contains("its own answers"));
}

fn faults(toml: &str) -> String {
    loaded(toml, &[]).expect_err("refused").to_string()
}

#[test]
fn a_server_has_its_own_section_with_defaults_and_layers() {
    let toml = "[mcp.files]\ncommand = [\"serve\", \"/srv\"]\nread = [\"/srv\"]\n[mcp.web]\nurl = \"http://h:1/mcp\"\n";
    let loaded = loaded(toml, &[("MAXIM__MCP__WEB__TOKEN", "t0p"), ("MAXIM__MCP__FILES__DEADLINE", "5s")]);
    let loaded = loaded.expect("loads");
    let servers = &loaded.settings.mcp;
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["files", "web"]);
    assert_eq!(servers["files"].command, ["serve", "/srv"]);
    assert_eq!((servers["files"].effect, servers["files"].required_mode), (EffectClass::Irreversible, Mode::Active));
    assert_eq!(servers["web"].token.as_ref().expect("set").expose(), "t0p");
    let deadline = &loaded.explain("mcp.files.deadline")[0];
    assert_eq!((deadline.shown.as_str(), deadline.layer.as_str()), ("\"5s\"", "MAXIM__MCP__FILES__DEADLINE"));
    assert_eq!(loaded.explain("mcp.web").len(), ServerKeys::SECTION.fields.len());
    assert_eq!(loaded.explain("mcp").len(), 2 * ServerKeys::SECTION.fields.len());
    let shown = loaded.to_toml();
    assert!(shown.contains("[mcp.files]") && shown.contains("command = [\"serve\", \"/srv\"]"), "{shown}");
    assert!(!shown.contains("t0p") && !format!("{loaded:?}").contains("t0p"));
}

#[test]
fn without_servers_the_keys_are_explained_all_the_same() {
    let loaded = loaded("", &[]).expect("loads");
    assert!(loaded.settings.mcp.is_empty());
    assert_eq!(loaded.explain("mcp").len(), ServerKeys::SECTION.fields.len());
    assert_eq!(loaded.explain("mcp.NAME.effect")[0].default, "irreversible");
}

#[test]
fn what_is_wrong_with_a_server_is_told_with_the_key_and_the_fix() {
    assert!(faults("[mcp.files]\nread = [\"/srv\"]").contains("neither a command nor a url"));
    assert!(faults("[mcp.f]\ncommand = [\"x\"]\nurl = \"http://h:1\"").contains("remove one of them"));
    assert!(faults("[mcp.f]\ncommand = [\"x\"]\nread = [\"srv\"]").contains("starting with /"));
    assert!(faults("[mcp.f]\nurl = \"http://h:1\"\nnetwork = true").contains("have no effect"));
    assert!(faults("[mcp.f]\ncommand = [\"x\"]\neffekt = \"x\"").contains("did you mean mcp.f.effect?"));
    assert!(faults("[mcp.f]\ncommand = [\"x\"]\neffect = \"x\"").contains("is not one of read_only"));
    assert!(faults("[mcp.Big-Name]\ncommand = [\"x\"]").contains("lower-case letters"));
    assert!(faults("[mcp]\ncommand = [\"x\"]").contains("[mcp.NAME]"));
    assert!(faults("[mcp.f]\nurl = \"http://h:1\"\ntoken = \"t0p\"").contains("secret in a configuration file"));
}
