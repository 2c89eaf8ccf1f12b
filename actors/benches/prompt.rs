//! Building a prompt, ranking tools, reading replies.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use maxim_actors::action::tool_index::{ToolIndex, ToolText};
use maxim_actors::action::tools::{Mode, ToolSpec};
use maxim_actors::deliberation::prefrontal_cortex::stable_sections;
use maxim_actors::deliberation::prompt::{Part, Section, ToolShelf, build, data};
use maxim_actors::deliberation::reply::read_action;
use maxim_actors::language::{TokenTable, estimated_tokens};
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

fn prompts(c: &mut Criterion) {
    let specs = specs();
    let shelf = ToolShelf::new(&specs);
    let stable = stable_sections("Your name is maxim.", Mode::Active, &"I hold to this. ".repeat(60));
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
    c.bench_function("prompt of 40 tools, ranking included", |b| {
        b.iter(|| {
            let ranking = index.rank(&index.goal(black_box(goal)));
            let names: Vec<String> = ranking.tools.into_iter().map(|tool| tool.name).collect();
            let (tools, _) = shelf.sections(&names, ranking.shown);
            let mut sections: Vec<Section> = stable.iter().cloned().chain(tools).collect();
            sections.push(Section::new("context_pool", Tier::Important, Part::User, data("memory", &memory)));
            sections.push(Section::new("user_request", Tier::Mandatory, Part::User, goal));
            build(sections, 8192, 512)
        });
    });
    c.bench_function("rank 40 tools", |b| b.iter(|| index.rank(&index.goal(black_box(goal)))));
    let valid = json!({"tool_name": "tool_1", "params": {"text": "word ".repeat(200)}, "reasoning": "I do it."});
    let valid = valid.to_string();
    let broken = format!("Sure!\n```json\n{}\n", valid.replace('"', "'"));
    c.bench_function("read a valid reply of 1 kB", |b| b.iter(|| read_action(black_box(&valid))));
    c.bench_function("read a broken reply of 1 kB", |b| b.iter(|| read_action(black_box(&broken))));
}

criterion_group!(benches, prompts);
criterion_main!(benches);
