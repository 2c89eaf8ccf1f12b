//! Building a prompt, ranking tools, parsing replies.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use maxim_actors::action::tool_index::{ToolIndex, ToolText};
use maxim_actors::action::tools::ToolSpec;
use maxim_actors::deliberation::prefrontal_cortex::stable_sections;
use maxim_actors::deliberation::prompt::{Off, Part, Section, ToolShelf, build, data};
use maxim_actors::deliberation::reply::read_action;
use maxim_actors::language::{TokenCounter, TokenTable, Tokenizer, estimated_tokens};
use maxim_bus::signals::prompt::Tier;
use serde_json::json;

fn specs() -> Vec<ToolSpec> {
    (0..40)
        .map(|n| {
            let spec =
                ToolSpec::new(&format!("tool_{n}"), "Writes a text to a file, and says how many bytes it has now.");
            let text = json!({"type": "string", "description": "the text, of at most 64 KiB"});
            spec.with_parameters(json!({"path": {"type": "string", "description": "where"}, "text": text}), &[])
        })
        .collect()
}

/// Counts by an estimate, and by a tokenizer.
fn counters() -> [(&'static str, TokenCounter); 2] {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/language/tokenizer/small.json");
    // Another one, e.g. with 100 000 merges, from the environment.
    let file = std::env::var("MAXIM_BENCH_TOKENIZER").unwrap_or_else(|_| file.into());
    let tokenizer = Tokenizer::open(file.as_ref()).expect("a tokenizer");
    [("estimated", TokenCounter::Estimated), ("by a tokenizer", TokenCounter::Model(Arc::new(tokenizer)))]
}

fn prompts(c: &mut Criterion) {
    let specs = specs();
    let catalog: Vec<ToolText> = specs
        .iter()
        .map(|spec| ToolText {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
        })
        .collect();
    let mut index = ToolIndex::new(&catalog, Arc::new(TokenTable::embedded()), estimated_tokens);
    for n in 0..400 {
        let goal = index.goal(&format!("write note {n} about the harbour and its {} boats", n % 17));
        index.learn(&goal, &format!("tool_{}", n % 40));
    }
    let goal = "put what we said about the harbour into a file";
    index.rank(&index.goal(goal));
    let memory = "- 2026-01-05T09:00:00Z (anna): \"the tide table hangs in the kitchen\"\n".repeat(20);
    for (how, counter) in counters() {
        let shelf = ToolShelf::new(&specs, &counter);
        let stable = stable_sections(&"I hold to this. ".repeat(60), &counter);
        c.bench_function(&format!("prompt of 40 tools {how}, ranking included"), |b| {
            b.iter(|| {
                let ranking = index.rank(&index.goal(black_box(goal)));
                let names: Vec<String> = ranking.tools.into_iter().map(|tool| tool.name).collect();
                let (tools, _) = shelf.sections(&names, ranking.shown, &Off::new());
                let mut sections: Vec<Section> = stable.iter().cloned().chain(tools).collect();
                let section = |name, tier, text: &str| Section::new(&counter, name, tier, Part::User, text);
                sections.push(section("identity", Tier::Critical, "Your name is maxim. You are awake."));
                sections.push(section("context_pool", Tier::Important, &data("memory", &memory)));
                sections.push(section("user_request", Tier::Mandatory, goal));
                build(sections, 8192, 512)
            });
        });
    }
    c.bench_function("rank 40 tools", |b| b.iter(|| index.rank(&index.goal(black_box(goal)))));
    let valid = json!({"tool_name": "tool_1", "params": {"text": "word ".repeat(200)}, "reasoning": "I do it."});
    let valid = valid.to_string();
    let broken = format!("Sure!\n```json\n{}\n", valid.replace('"', "'"));
    c.bench_function("read a valid reply of 1 kB", |b| b.iter(|| read_action(black_box(&valid))));
    c.bench_function("read a broken reply of 1 kB", |b| b.iter(|| read_action(black_box(&broken))));
}

criterion_group!(benches, prompts);
criterion_main!(benches);
