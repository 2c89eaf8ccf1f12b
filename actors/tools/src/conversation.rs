//! Speaking aloud and asking back.

use std::path::{Path, PathBuf};

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::contained::{ChildSpec, Ending, SandboxPolicy, run};
use super::{EffectClass, ErrorKind, FollowUp, Hands, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Speech programs, best first. They read standard input with `--stdin`.
const ENGINES: [&str; 2] = ["espeak-ng", "espeak"];
const PIPER: &str = "piper";
/// Plays the output of piper.
const PLAYER: &str = "aplay";
/// Piper turns its standard input into WAV sound; the player plays it. `$0` is piper, `$1` the voice.
const PIPED: &str = "\"$0\" --model \"$1\" --output_file - | \"$2\" -q -";

/// Speaks a text aloud: with piper if a voice is configured, else with espeak-ng. Output: `engine`, `characters`;
/// without an engine `{"available": false}`.
pub struct Speak(ToolSpec);

impl Speak {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new("speak", "Says a text aloud by the machine's speech engine.")
            .with_parameters(
                json!({"text": {"type": "string", "minLength": 1, "maxLength": 5000, "description": "what to say"}}),
                &["text"],
            )
            .with_aliases(&[("message", "text"), ("phrase", "text"), ("words", "text")])
            .with_example(json!({"text": "The tea is ready."}))
            .with_speech(
                &["speak up", "speak", "say aloud", "say out loud", "announce", "read aloud"],
                &["{verb} {text:rest}"],
            )
            .with_speech(&["say"], &["{verb} {text:quoted} (aloud|out loud)", "{verb} {text:rest} (aloud|out loud)"]);
        Self(ToolSpec { effect: EffectClass::Irreversible, idempotent: false, follow_up: FollowUp::Engage, ..spec })
    }
}

impl Tool for Speak {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        say_aloud(params["text"].as_str().unwrap_or_default(), permit, hands).into()
    }
}

/// How this machine turns a text into sound.
struct Engine {
    name: &'static str,
    program: String,
    args: Vec<String>,
    /// A folder that it reads in addition.
    reads: Option<PathBuf>,
}

/// The engine, or why there is none.
fn engine(hands: &Hands) -> Result<Engine, String> {
    let found = |program: &str| hands.sandbox.find(program).map(|program| program.display().to_string());
    if let (Some(voice), Some(piper), Some(player)) = (&hands.voice, found(PIPER), found(PLAYER)) {
        let args = ["-c".into(), PIPED.into(), piper, voice.display().to_string(), player];
        let reads = voice.parent().map(Path::to_owned);
        return Ok(Engine { name: PIPER, program: "/bin/sh".into(), args: args.into(), reads });
    }
    let spoken = ENGINES.into_iter().find_map(|name| Some((name, found(name)?)));
    let engine = spoken.map(|(name, program)| Engine { name, program, args: vec!["--stdin".into()], reads: None });
    engine.ok_or_else(|| {
        let lacking: Vec<&str> = [PIPER, PLAYER].into_iter().filter(|program| found(program).is_none()).collect();
        match (&hands.voice, lacking.join(" and ")) {
            (Some(_), lacking) => {
                format!("{lacking} is missing for the voice of tools.piper_voice; install it, or espeak-ng")
            }
            (None, _) => {
                "no speech engine is on this machine; install espeak-ng, or piper and name a voice in tools.piper_voice"
                    .into()
            }
        }
    })
}

fn say_aloud(text: &str, permit: &Permit<'_>, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    let Engine { name, program, args, reads } = match engine(hands) {
        Ok(engine) => engine,
        Err(reason) => return Ok(ToolOutcome::unavailable(&reason)),
    };
    let mut policy: SandboxPolicy = hands.sandbox.clone();
    policy.devices.push("/dev/snd".into());
    policy.readable.extend(reads);
    let spec = ChildSpec {
        program,
        args,
        cwd: "/".into(),
        writable: Vec::new(),
        stdin: text.as_bytes().to_vec(),
        deadline: hands.deadline,
        output_cap: 4096,
    };
    let outcome = run(&spec, &policy, permit)?;
    let said = json!({"engine": name, "characters": text.chars().count()});
    match outcome.ending {
        Ending::Exited(0) => Ok(ToolOutcome::done(said).with_effect(SideEffectKind::ProcessRan, name)),
        Ending::Stopped => Err(ToolFailure::new(ErrorKind::Stopped, "speaking was ended by the stop")),
        Ending::DeadlinePassed => Err(ToolFailure::new(ErrorKind::Timeout, format!("{name} did not end in time"))),
        _ => {
            let why = outcome.stderr.text.trim().to_owned();
            Err(ToolFailure::new(ErrorKind::Failed, format!("{name} failed: {why}; is there a sound device?")))
        }
    }
}

/// Asks the person in the conversation a question with options. Output: the question as it is put.
pub struct RequestInteraction(ToolSpec);

impl RequestInteraction {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "request_interaction",
            "Asks the person for a true choice of theirs, with options. Act first, ask second: never for what you can find out or decide yourself.",
        )
        .with_parameters(
            json!({
                "question": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "one question"},
                "options": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 10, "default": [], "description": "what can be answered"},
                "reason": {"type": "string", "maxLength": 1000, "description": "why it is theirs to decide"},
                "critical": {"type": "boolean", "default": false, "description": "it is said that the answer matters much; nothing waits for it"},
            }),
            &["question"],
        )
        .with_aliases(&[("choices", "options"), ("why", "reason"), ("message", "question")])
        .with_example(json!({"question": "Which branch shall I release?", "options": ["main", "next"], "reason": "both are green"}))
        .with_speech(&["ask me"], &["{verb} {question:quoted}"]);
        Self(ToolSpec { follow_up: FollowUp::Engage, ..spec })
    }
}

impl Tool for RequestInteraction {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        ToolOutcome::done(asked(params).into())
    }
}

/// The call's result is the text that the person gets.
fn asked(params: &Value) -> String {
    let text = |name: &str| params[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let mut lines = vec![text("question").unwrap_or_default().to_owned()];
    let options = params["options"].as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.extend(options.enumerate().map(|(number, option)| format!("{}. {option}", number + 1)));
    lines.extend(text("reason").map(|reason| format!("({reason})")));
    if params["critical"].as_bool().unwrap_or(false) {
        lines.push("This matters much: please answer it first.".into());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use maxim_bus::latch::{EffectKind, StopLatch};

    use super::*;
    use crate::{Mode, core_registry};

    fn call(hands: &Hands, tool: &str, params: Value) -> ToolOutcome {
        let registry = core_registry().expect("good specs");
        let params = registry.validate(tool, &params).expect("valid");
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        registry.hands_on(tool).expect("a tool").run(&params, &permit, hands)
    }

    #[test]
    fn without_an_engine_speaking_says_that_it_is_not_available() {
        let mut hands = Hands::new("/", Mode::Active, "/saved");
        hands.sandbox.path = "/nowhere".into();
        let outcome = call(&hands, "speak", json!({"text": "hello"}));
        assert_eq!((outcome.success, outcome.error_kind), (false, Some(ErrorKind::Unavailable)));
        assert_eq!(outcome.output["available"], false);
        assert!(outcome.output["reason"].as_str().is_some_and(|reason| reason.contains("espeak-ng")));
    }

    #[test]
    fn an_engine_gets_the_text_and_its_failure_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = folder.path().join("espeak-ng");
        let mut hands = Hands::new("/", Mode::Active, "/saved");
        hands.sandbox.path = folder.path().display().to_string();
        hands.sandbox.readable.push(folder.path().into());
        let plays = |script: &str| {
            fs::write(&engine, script).expect("written");
            fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).expect("set");
            call(&hands, "speak", json!({"message": "hello"}))
        };
        let spoken = plays("#!/bin/sh\nread -r said\n[ \"$said\" = hello ] && [ \"$1\" = --stdin ]\n");
        assert!(spoken.success, "{spoken:?}");
        assert_eq!(spoken.output, json!({"engine": "espeak-ng", "characters": 5}));
        let silent = plays("#!/bin/sh\necho no device >&2\nexit 1\n");
        assert!(silent.error.is_some_and(|error| error.contains("no device")));
    }

    /// Programs with piper's and aplay's own contract: a voice, text on standard input, WAV through the pipe.
    #[test]
    fn piper_speaks_with_the_voice_that_is_named_and_what_it_lacks_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let voice = folder.path().join("voices/joe.onnx");
        fs::create_dir(folder.path().join("voices")).expect("made");
        fs::write(&voice, "a voice").expect("written");
        let mut hands = Hands::new("/", Mode::Active, "/saved");
        hands.sandbox.path = folder.path().display().to_string();
        hands.sandbox.readable.push(folder.path().into());
        let program = |name: &str, script: &str| {
            let file = folder.path().join(name);
            fs::write(&file, script).expect("written");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("set");
        };
        let speak = |hands: &Hands| call(hands, "speak", json!({"text": "hello"}));
        let lacking = |hands: &Hands| speak(hands).output["reason"].as_str().unwrap_or_default().to_owned();
        assert!(lacking(&hands).contains("tools.piper_voice"), "{}", lacking(&hands));
        hands.voice = Some(voice);
        program(
            "piper",
            "#!/bin/sh\nread -r said\n[ \"$1 $3 $4\" = \"--model --output_file -\" ] && printf 'RIFF %s %s' \"$(/bin/cat \"$2\")\" \"$said\"\n",
        );
        assert!(lacking(&hands).starts_with("aplay is missing"), "{}", lacking(&hands));
        program("aplay", "#!/bin/sh\nread -r wav\n[ \"$1 $2\" = \"-q -\" ] && [ \"$wav\" = \"RIFF a voice hello\" ]\n");
        let spoken = speak(&hands);
        assert!(spoken.success, "{spoken:?}");
        assert_eq!(spoken.output, json!({"engine": "piper", "characters": 5}));
        program("aplay", "#!/bin/sh\n/bin/cat >/dev/null\necho no device >&2\nexit 1\n");
        assert!(speak(&hands).error.is_some_and(|error| error.contains("no device")));
    }

    #[test]
    fn a_question_is_said_with_its_options_and_reason() {
        let params = json!({"question": "Which?", "options": ["a", "b"], "reason": "both fit", "critical": true});
        let hands = Hands::new("/", Mode::Passive, "/saved");
        let said = call(&hands, "request_interaction", params).output;
        assert_eq!(said, "Which?\n1. a\n2. b\n(both fit)\nThis matters much: please answer it first.");
    }
}
