//! Merges the layers, and reports contradictions.

use std::collections::{BTreeMap, BTreeSet};

use config::{Config, Value, ValueKind};
use maxim_actors::effectors::tool_servers::{self, fields_of};

use super::sources::{BUILT_IN, Layer, built_in, built_in_of_server, environment, file, flags};
use super::{ConfigError, Fault, Field, Http, Places, Settings, Shape, fields, sections};

/// A value that a flag of the command line sets.
#[derive(Clone, Debug)]
pub struct Override {
    /// The key, e.g. `agent.mode`.
    pub key: &'static str,
    pub value: String,
    /// The flag as it is typed, e.g. `--mode`.
    pub flag: &'static str,
}

/// The effective configuration, with the layer that each value came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    pub(super) winners: BTreeMap<String, Winner>,
}

/// The value that won, and its layer.
#[derive(Clone, Debug)]
pub(super) struct Winner {
    pub value: ValueKind,
    pub layer: String,
}

impl Default for Winner {
    fn default() -> Self {
        Self { value: ValueKind::Nil, layer: BUILT_IN.into() }
    }
}

/// Reads and merges all layers.
///
/// # Errors
/// Every unknown key, wrong value and unreadable file at once.
pub fn load(places: &Places, overrides: &[Override]) -> Result<Loaded, ConfigError> {
    let mut faults = Vec::new();
    let mut layers = vec![built_in(&mut faults)];
    for path in [&places.system, &places.user].into_iter().flatten() {
        layers.push(file(path, false, &mut faults));
    }
    match (&places.named, &places.local) {
        (Some(named), _) => layers.push(file(named, true, &mut faults)),
        (None, Some(local)) => layers.push(file(local, false, &mut faults)),
        (None, None) => {}
    }
    layers.push(environment(&places.variables, &mut faults));
    let by_flags = faults.is_empty();
    layers.push(flags(overrides, &mut faults));
    if !faults.is_empty() {
        return Err(ConfigError { faults, by_flags });
    }
    let servers: BTreeSet<String> = layers.iter().flat_map(Layer::servers).collect();
    for server in &servers {
        built_in_of_server(&mut layers[0], server, &mut faults);
    }
    if !faults.is_empty() {
        return Err(ConfigError { faults, by_flags: false });
    }
    merge(&layers)
}

fn merge(layers: &[Layer]) -> Result<Loaded, ConfigError> {
    let merged = layers
        .iter()
        .fold(Config::builder(), |builder, layer| builder.add_source(layer.clone()))
        .build()
        .and_then(Config::try_deserialize::<Settings>);
    let settings = merged.map_err(|error| {
        let found = format!("the configuration doesn't fit together: {error}");
        Fault::new("configuration", found, "this is a bug: report it")
    })?;
    let of_servers: Vec<Field> = settings.mcp.keys().flat_map(|server| fields_of(server)).collect();
    let winners = fields().chain(&of_servers).map(|field| (field.key(), winner(layers, field))).collect();
    let mut faults = contradictions(&settings);
    faults.extend(tool_servers::contradictions(&settings.mcp));
    faults.extend(settings.channels.contradictions());
    if faults.is_empty() { Ok(Loaded { settings, winners }) } else { Err(ConfigError { faults, by_flags: false }) }
}

fn winner(layers: &[Layer], field: &Field) -> Winner {
    let won = layers.iter().rev().find_map(|layer| layer.values.get(&field.key()));
    let layer = won.and_then(Value::origin).unwrap_or(BUILT_IN).to_owned();
    let value = match (&field.shape, won.map_or(ValueKind::Nil, |value| value.kind.clone())) {
        // Only the settings themselves hold a secret.
        (Shape::Secret, ValueKind::String(_)) => ValueKind::String("(set)".into()),
        (_, kind) => kind,
    };
    Winner { value, layer }
}

/// Contradictions between values.
fn contradictions(settings: &Settings) -> Vec<Fault> {
    let mut faults = unordered(settings);
    let Http { listen, token, token_file, open, .. } = &settings.http;
    if !listen.ip().is_loopback() && *open {
        let found = format!("http.open = true, and http.listen = \"{listen}\" is reachable from other machines");
        faults.push(Fault::new("http.open", found, "remove http.open and set a token, or listen on 127.0.0.1"));
    } else if !listen.ip().is_loopback() && token.is_none() && token_file.is_none() {
        let found = format!("http.listen = \"{listen}\" is reachable from other machines, but there is no token");
        faults.push(Fault::new(
            "http.listen",
            found,
            "set MAXIM__HTTP__TOKEN or http.token_file, or listen on 127.0.0.1",
        ));
    }
    if let (Some(url), None) = (&settings.effectors.llm.base_url, &settings.effectors.llm.model) {
        let found = format!("llm.base_url = {url:?} is set, but llm.model is not");
        faults.push(Fault::new("llm.model", found, "name the model as the server knows it"));
    }
    let encoder = &settings.effectors.encoder;
    if let (Some(url), None) = (&encoder.base_url, &encoder.model) {
        let found = format!("encoder.base_url = {url:?} is set, but encoder.model is not");
        faults.push(Fault::new("encoder.model", found, "name the encoder as the server knows it"));
    }
    if let (Some(url), Some(_)) = (&encoder.base_url, &encoder.folder) {
        let found = format!("encoder.folder is set beside encoder.base_url = {url:?}");
        faults.push(Fault::new("encoder.folder", found, "remove one of them"));
    }
    let recorder = &settings.recorder;
    if recorder.file_bytes > recorder.max_bytes {
        let found = format!(
            "recorder.file_bytes = \"{}\" is more than recorder.max_bytes = \"{}\"",
            recorder.file_bytes, recorder.max_bytes
        );
        faults.push(Fault::new("recorder.file_bytes", found, "make the files smaller or allow more in all"));
    }
    faults
}

/// Keys whose value is larger than that of the key that their section orders behind them.
fn unordered(settings: &Settings) -> Vec<Fault> {
    let values = serde_json::to_value(settings).unwrap_or_default(); // settings are plain data
    let pairs = sections().flat_map(|section| section.ordered.iter().map(|(low, high)| (section.name, *low, *high)));
    let contradict = pairs.filter_map(|(section, low_key, high_key)| {
        let value = |key: &str| values[section][key].as_f64();
        let (low, high) = (value(low_key)?, value(high_key)?);
        (low > high).then(|| {
            let found = format!("{section}.{low_key} = {low} is more than {section}.{high_key} = {high}");
            Fault::new(format!("{section}.{low_key}"), found, format!("lower it, or raise {section}.{high_key}"))
        })
    });
    contradict.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn faults_of(toml: &str) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("maxim.toml");
        fs::write(&file, toml).expect("written");
        let places = Places { named: Some(file), ..Places::nowhere() };
        let error = load(&places, &[]).expect_err("a faulty file");
        let folder = format!("{}/", dir.path().display());
        error.faults.iter().map(|fault| fault.to_string().replace(&folder, "")).collect()
    }

    fn with_variable(name: &str, value: &str) -> Places {
        Places { variables: [(name.to_owned(), value.to_owned())].into(), ..Places::nowhere() }
    }

    #[test]
    fn every_default_fits_its_own_shape() {
        let loaded = load(&Places::nowhere(), &[]).expect("the built-in layer");
        assert_eq!(loaded.settings.perception.gateway.credit, 256);
        assert!((loaded.settings.memory.memory.nac_alpha - 0.14).abs() < 1e-12);
        assert!(loaded.explain_all().iter().all(|key| key.layer == "built-in"));
        for field in fields() {
            assert!(
                !field.meaning().is_empty() && field.meaning().ends_with('.'),
                "{} says what it means",
                field.key()
            );
        }
    }

    #[test]
    fn every_word_of_a_choice_is_taken() {
        for field in fields() {
            let Shape::Choice(words) = field.shape else { continue };
            for word in words {
                let loaded = load(&with_variable(&field.variable(), word), &[]).expect("loads");
                let settings = serde_json::to_value(&loaded.settings).expect("serialises");
                assert_eq!(settings[&*field.section][field.name], *word, "{}", field.key());
            }
        }
    }

    #[test]
    fn a_stronger_layer_wins_key_by_key() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).expect("written");
            Some(path)
        };
        let mut places = Places {
            system: write("system", "[gateway]\ncredit = 1\n[agent]\nmode = \"passive\"\nnames = [\"a\"]\n"),
            user: write("user", "[gateway]\ncredit = 2\n[memory]\nnac_alpha = 1\n"),
            local: write("local", "[gateway]\ncredit = 3\n"),
            ..with_variable("MAXIM__GATEWAY__CREDIT", "4")
        };
        let flag = Override { key: "gateway.credit", value: "5".into(), flag: "--credit" };
        let credit = |places: &Places, flags: &[Override]| {
            let loaded = load(places, flags).expect("loads");
            (loaded.settings.perception.gateway.credit, loaded.explain("gateway.credit")[0].layer.clone())
        };
        let path = |name: &str| dir.path().join(name).display().to_string();
        assert_eq!(credit(&places, &[flag]), (5, "--credit".into()));
        assert_eq!(credit(&places, &[]), (4, "MAXIM__GATEWAY__CREDIT".into()));
        places.variables.clear();
        assert_eq!(credit(&places, &[]), (3, path("local")));
        places.named = write("named", "");
        assert_eq!(credit(&places, &[]), (2, path("user")), "--config takes the place of ./maxim.toml");
        let settings = load(&places, &[]).expect("loads").settings;
        assert_eq!(settings.agent.names, ["a"]);
        assert_eq!(settings.agent.mode, crate::config::Mode::Passive);
        assert!((settings.memory.memory.nac_alpha - 1.0).abs() < 1e-12, "a whole number is a number");
    }

    #[test]
    fn unknown_keys_and_sections_name_the_nearest_and_the_file() {
        assert_eq!(
            faults_of("[gatway]\ncredit = 1\n[gateway]\ncredits = 1\n[agent]\nnac_alpha = 1\n"),
            [
                "maxim.toml has an unknown key agent.nac_alpha; did you mean memory.nac_alpha?",
                "maxim.toml has an unknown key gateway.credits; did you mean gateway.credit?",
                "maxim.toml has an unknown key gatway.credit; did you mean gateway.credit?",
            ]
        );
        assert_eq!(
            faults_of("[agent]\nzzz = 1"),
            ["maxim.toml has an unknown key agent.zzz; remove it; `maxim config show` lists all"]
        );
        assert_eq!(faults_of("recoder = 1"), ["maxim.toml has an unknown section recoder; did you mean recorder?"]);
        let error = load(&with_variable("MAXIM__LLM__MODLE", "m"), &[]).expect_err("no such key");
        assert_eq!(
            error.to_string(),
            "MAXIM__LLM__MODLE in the environment names no key; did you mean MAXIM__LLM__MODEL?"
        );
    }

    #[test]
    fn wrong_types_and_ranges_name_key_value_file_and_fix() {
        assert_eq!(
            faults_of(
                "[agent]\nmode = \"bold\"\n[gateway]\ncredit = \"many\"\n[memory]\nnac_alpha = 2.0\n[store]\ndata = 5"
            ),
            [
                "agent.mode = \"bold\" from maxim.toml is not one of passive, active, singularity; correct it or remove it \
                 (default active)",
                "gateway.credit = \"many\" from maxim.toml is not a whole number from 1 to 65536; correct it or remove it \
                 (default 256)",
                "memory.nac_alpha = 2.0 from maxim.toml is not a number from 0.001 to 1; correct it or remove it \
                 (default 0.14)",
                "store.data = 5 from maxim.toml is not a path; correct it or remove it",
            ]
        );
        assert!(faults_of("agent = 5")[0].contains("write [agent]"));
        let broken = faults_of("[agent\nmode = 1");
        assert!(broken[0].contains("maxim.toml is not TOML") && broken[0].contains("line 1"), "{broken:?}");
    }

    #[test]
    fn a_missing_file_is_an_error_only_when_it_was_named() {
        let nowhere = Path::new("/nonexistent/maxim.toml");
        assert!(load(&Places { user: Some(nowhere.into()), ..Places::nowhere() }, &[]).is_ok());
        let error = load(&Places { named: Some(nowhere.into()), ..Places::nowhere() }, &[]).expect_err("named");
        assert!(
            error.to_string().starts_with("the configuration file /nonexistent/maxim.toml can't be read"),
            "{error}"
        );
    }

    #[test]
    fn a_secret_comes_from_the_environment_and_is_never_shown() {
        assert_eq!(
            faults_of("[llm]\napi_key = \"hunter2\""),
            [
                "llm.api_key in maxim.toml is a secret in a configuration file; put it in its own file and name that file as \
              llm.api_key_file, or set MAXIM__LLM__API_KEY"
            ]
        );
        let loaded = load(&with_variable("MAXIM__LLM__API_KEY", "hunter2"), &[]).expect("loads");
        assert_eq!(loaded.settings.effectors.llm.key().expect("no file").expect("set").expose(), "hunter2");
        let told = [
            loaded.to_toml(),
            format!("{:?}", loaded.settings),
            serde_json::to_string(&loaded.explain_all()).expect("json"),
        ];
        assert!(told.iter().all(|text| !text.contains("hunter2") && text.contains("(set)")), "{told:?}");
        let json = serde_json::to_string(&loaded.settings).expect("serialises");
        assert!(!json.contains("hunter2") && !format!("{loaded:?}").contains("hunter2"));
    }

    #[test]
    fn beyond_loopback_a_token_is_required() {
        assert!(
            faults_of("[http]\nlisten = \"0.0.0.0:7717\"")[0].contains("set MAXIM__HTTP__TOKEN or http.token_file")
        );
        let mut places = with_variable("MAXIM__HTTP__TOKEN", "t");
        places.variables.insert("MAXIM__HTTP__LISTEN".into(), "0.0.0.0:7717".into());
        assert!(load(&places, &[]).is_ok());
        places.variables.insert("MAXIM__HTTP__TOKEN".into(), String::new());
        assert!(load(&places, &[]).is_err(), "an empty token is none");
        let open = faults_of("[http]\nlisten = \"0.0.0.0:7717\"\nopen = true");
        assert!(open.len() == 1 && open[0].contains("remove http.open"), "{open:?}");
    }

    #[test]
    fn values_that_contradict_each_other_are_refused() {
        assert!(faults_of("[llm]\nbase_url = \"http://h:1/v1\"")[0].contains("llm.model is not"));
        let sure = faults_of("[anterior_temporal_lobe]\nconfidence_first = 0.9\nconfidence_max = 0.6");
        let named = ["anterior_temporal_lobe.confidence_first = 0.9", "anterior_temporal_lobe.confidence_max = 0.6"];
        assert!(named.iter().all(|key| sure[0].contains(key)), "{sure:?}");
        assert!(faults_of("[cerebellum]\nforgotten_below = 0.9")[0].contains("cerebellum.offered_from = 0.5"));
        assert!(faults_of("[bridges]\nasking_unwanted_to = 0.9")[0].contains("bridges.asking_trusted_from = 0.8"));
        assert!(faults_of("[sleep]\nremove_below = 3.0")[0].contains("sleep.whole_from = 2"));
        assert!(faults_of("[recorder]\nfile_bytes = \"2 GiB\"")[0].contains("recorder.max_bytes = \"1 GiB\""));
    }

    #[test]
    fn the_effective_configuration_reads_back_the_same() {
        let loaded = load(&with_variable("MAXIM__TOOLS__OUTPUT_MAX", "131072"), &[]).expect("loads");
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("shown.toml");
        fs::write(&file, loaded.to_toml()).expect("written");
        let again = load(&Places { named: Some(file), ..Places::nowhere() }, &[]).expect("loads");
        assert_eq!(again.settings, loaded.settings);
        assert!(loaded.to_toml().contains("output_max = \"128 KiB\""), "{}", loaded.to_toml());
    }
}
