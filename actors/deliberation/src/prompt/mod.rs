//! Prompts: sections with tiers, fitted into a model's window.
//!
//! Law: mandatory and critical sections are always in; the others as long as there is room, more important ones first and
//! those of one tier in their order. What can't hold the first two tiers is refused with the window's size. Sections that
//! stay the same come first, so that a server can keep what it read of them. What others said is framed as data.

mod section;
mod tools;

use maxim_bus::signals::prompt::{SectionFate, Tier};

pub use section::{Part, Section, data, quoted};
pub use tools::{Off, ShownTool, ToolShelf};

/// A prompt that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub system: String,
    pub user: String,
    /// Tokens of both, by the sections' own counts.
    pub tokens: usize,
    /// In the order of the prompt, left out ones included.
    pub fates: Vec<SectionFate>,
}

/// What must be in the prompt doesn't fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "prompt and reply of about {needed} tokens pass the model's window of {window}: {sections} can't be left out; \
     set llm.context_tokens to what the model has, or take a model with a wider one"
)]
pub struct DoesNotFit {
    pub needed: usize,
    pub window: usize,
    /// Mandatory and critical sections with their tokens.
    pub sections: String,
}

/// Fits sections into `window` tokens less those of the reply.
///
/// # Errors
/// Mandatory and critical sections alone pass it.
pub fn build(mut sections: Vec<Section>, window: usize, reply: usize) -> Result<Prompt, DoesNotFit> {
    sections.retain(|section| !section.text.is_empty());
    let budget = window.saturating_sub(reply);
    let must = |section: &&Section| section.tier <= Tier::Critical;
    let needed: usize = sections.iter().filter(must).map(|section| section.tokens).sum();
    if needed > budget {
        let named = sections.iter().filter(must).map(|section| format!("{} ({})", section.name, section.tokens));
        let sections = named.collect::<Vec<_>>().join(", ");
        return Err(DoesNotFit { needed: needed + reply, window, sections });
    }
    // A stable sort: within tier and part the given order holds.
    sections.sort_by_key(|section| (section.part, !section.stable));
    let mut order: Vec<usize> = (0..sections.len()).filter(|at| sections[*at].tier > Tier::Critical).collect();
    order.sort_by_key(|at| (sections[*at].tier, sections[*at].rank));
    let mut kept: Vec<bool> = sections.iter().map(|section| section.tier <= Tier::Critical).collect();
    let mut tokens = needed;
    for at in order {
        if tokens + sections[at].tokens <= budget {
            tokens += sections[at].tokens;
            kept[at] = true;
        }
    }
    let joined = |part: Part| {
        let texts = sections.iter().zip(&kept).filter(|(section, kept)| **kept && section.part == part);
        texts.map(|(section, _)| section.text.as_ref()).collect::<Vec<&str>>().join("\n\n")
    };
    let fate = |(section, kept): (&Section, &bool)| SectionFate {
        name: section.name.into(),
        tier: section.tier,
        tokens: u32::try_from(section.tokens).unwrap_or(u32::MAX),
        kept: *kept,
    };
    let fates = sections.iter().zip(&kept).map(fate).collect();
    Ok(Prompt { system: joined(Part::System), user: joined(Part::User), tokens, fates })
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_language::TokenCounter;

    fn made(name: &'static str, tier: Tier, part: Part, text: String) -> Section {
        Section::new(&TokenCounter::Estimated, name, tier, part, text)
    }

    fn section(name: &'static str, tier: Tier, words: usize, part: Part) -> Section {
        made(name, tier, part, format!("[{name}]{}", " word".repeat(words)))
    }

    fn sections() -> Vec<Section> {
        vec![
            section("tools", Tier::Critical, 20, Part::System),
            section("instructions", Tier::Mandatory, 10, Part::System).stable(),
            section("speech", Tier::NiceToHave, 10, Part::User),
            section("conversation", Tier::Important, 10, Part::User).ranked(2),
            section("memory", Tier::Important, 30, Part::User).ranked(1),
            made("empty", Tier::Important, Part::User, String::new()),
            section("user_request", Tier::Mandatory, 5, Part::User),
        ]
    }

    fn left_out(prompt: &Prompt) -> Vec<&str> {
        prompt.fates.iter().filter(|fate| !fate.kept).map(|fate| fate.name.as_str()).collect()
    }

    #[test]
    fn what_fits_is_in_and_stable_sections_come_first() {
        let prompt = build(sections(), 1_000, 100).expect("room");
        assert!(left_out(&prompt).is_empty());
        assert!(prompt.system.starts_with("[instructions]") && prompt.user.ends_with("word"));
        assert_eq!(prompt.tokens, prompt.fates.iter().map(|fate| fate.tokens as usize).sum::<usize>());
        assert!(!prompt.fates.iter().any(|fate| fate.name == "empty"));
    }

    #[test]
    fn scarce_room_drops_by_tier_and_rank_and_never_what_must_be_in() {
        let all: usize =
            sections().iter().filter(|section| !section.text.is_empty()).map(|section| section.tokens).sum();
        let speech = section("speech", Tier::NiceToHave, 10, Part::User).tokens;
        let prompt = build(sections(), all - 1, 0).expect("room");
        assert_eq!(left_out(&prompt), ["speech"]);
        let prompt = build(sections(), all - speech - 1, 0).expect("room");
        assert_eq!(left_out(&prompt), ["conversation"], "a smaller one below still finds room");
        let prompt = build(sections(), all, all - 60).expect("room");
        assert!(prompt.system.contains("[tools]") && prompt.user.contains("[user_request]"));
        assert!(prompt.tokens <= 60);
        let error = build(sections(), 300, 290).expect_err("no room").to_string();
        assert!(error.contains("window of 300") && error.contains("tools (") && !error.contains("memory"), "{error}");
    }
}
