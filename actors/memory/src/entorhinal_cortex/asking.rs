//! Requests vectors from the external encoder: for memories in the background, and for questions.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::signals::encoding::{EncodeTexts, FindMeant, MeantFound, TextsEncoded};
use maxim_bus::signals::similarity::{FindSimilar, SimilarFound};

use super::model::{Cue, answer};
use super::outer::{Asked, BLOCK, Out, OuterEvent, block_key, changed_block, read};
use super::region::{EntorhinalCortex, EntorhinalEvent, USUAL_LIMIT};
use super::sight::ByChance;
use super::situation_index::Look;
use maxim_language::packed::PackedVector;
use maxim_language::{EncoderId, FLOOR};
use maxim_region::{Hears, Pulse, Waiting};

/// How long it waits for vectors of memories; longer than the text encoder takes to give up.
const PATIENCE: SignedDuration = SignedDuration::from_secs(90);
/// How long a question waits; less than the asker waits.
const QUESTION: SignedDuration = SignedDuration::from_millis(800);
/// Characters of a text that are sent; encoders read no more.
const TEXT_MAX: usize = 8_000;
/// Sent to test whether a failed encoder works again.
const PROBE: &str = "are you there?";

fn clip(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

impl EntorhinalCortex {
    /// The next request to the external encoder.
    pub(super) fn tick_outer(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let name = pulse.settings().outer.clone();
        if self.outer.is_other(name.as_deref()) {
            return self.begin_outer(name, pulse);
        }
        for (call, question) in self.outer.overdue(now) {
            self.answer(call, &question, None, pulse);
        }
        match self.outer.out() {
            Some(out) if out.due <= now => {
                let event = self.outer.failed("the text encoder has not answered in time", now);
                pulse.keep(EntorhinalEvent::Outer(event));
            }
            Some(_) => {}
            None if self.outer.name().is_some()
                && self.outer.rests().is_none()
                && self.outer.due(self.places).is_some_and(|due| due <= now) =>
            {
                self.send_batch(pulse);
            }
            None => {}
        }
    }

    /// Vectors of another encoder are removed.
    fn begin_outer(&self, name: Option<String>, pulse: &mut Pulse<'_, Self>) {
        self.outer.blocks().for_each(|block| pulse.remove(block_key(block)));
        pulse.keep(EntorhinalEvent::Outer(OuterEvent::Begun { name }));
    }

    fn send_batch(&self, pulse: &mut Pulse<'_, Self>) {
        let (wanted, upto) = self.outer.next_batch(self.places).unwrap_or_default();
        let (mut places, mut texts, mut blank) = (Vec::new(), Vec::new(), Vec::new());
        for place in wanted {
            let text = self.situation(place, pulse).map(|situation| clip(&situation.text));
            match text.filter(|text| !text.trim().is_empty()) {
                Some(text) => {
                    places.push(place);
                    texts.push(text);
                }
                None => blank.push(place),
            }
        }
        if places.is_empty() && !blank.is_empty() {
            return self.keep_vectors(None, blank.into_iter().map(|place| (place, None)).collect(), upto, pulse);
        }
        if texts.is_empty() {
            texts.push(PROBE.into());
        }
        let call = pulse.fresh_id();
        pulse.emit(EncodeTexts { call, texts, known: self.known() });
        let out = Out { call, due: pulse.now().later(PATIENCE), places, blank, upto };
        pulse.keep(EntorhinalEvent::Outer(OuterEvent::Sent(out)));
    }

    fn known(&self) -> Option<String> {
        self.outer.encoder().map(|encoder| encoder.as_str().to_owned())
    }

    /// Stores vectors of one block in its record.
    fn keep_vectors(
        &self,
        encoder: Option<EncoderId>,
        vectors: Vec<(u32, Option<PackedVector>)>,
        upto: u32,
        pulse: &mut Pulse<'_, Self>,
    ) {
        if let (Some(encoder), Some((first, _))) = (encoder.as_ref().or(self.outer.encoder()), vectors.first()) {
            self.put_block(first / BLOCK, encoder, &vectors, pulse);
        }
        pulse.keep(EntorhinalEvent::Outer(OuterEvent::Came { encoder, vectors, upto }));
    }

    fn put_block(
        &self,
        block: u32,
        encoder: &EncoderId,
        vectors: &[(u32, Option<PackedVector>)],
        pulse: &mut Pulse<'_, Self>,
    ) {
        let key = block_key(block);
        match changed_block(pulse.records().bytes(&key).as_deref(), encoder, vectors) {
            Some(bytes) => pulse.put_bytes(key, bytes),
            None => pulse.remove(key),
        }
    }

    /// Removes forgotten places from their blocks.
    pub(super) fn forget_outer(&self, places: &[u32], pulse: &mut Pulse<'_, Self>) {
        let Some(encoder) = self.outer.encoder().cloned() else { return };
        let mut places: Vec<u32> = places.iter().copied().filter(|place| self.outer.has_vector(*place)).collect();
        places.sort_unstable();
        for block in places.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
            let gone: Vec<_> = block.iter().map(|place| (*place, None)).collect();
            self.put_block(block[0] / BLOCK, &encoder, &gone, pulse);
        }
    }

    /// The answer for memories. If it comes from another encoder, everything starts again.
    fn take_vectors(&self, out: &Out, encoded: &TextsEncoded, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let fail = |why: &str, pulse: &mut Pulse<'_, Self>| {
            pulse.keep(EntorhinalEvent::Outer(self.outer.failed(why, now)));
        };
        if let Some(error) = &encoded.error {
            return fail(error, pulse);
        }
        let encoder = EncoderId::new(&encoded.encoder);
        if self.outer.encoder().is_some_and(|known| *known != encoder) {
            return self.begin_outer(self.outer.name().map(str::to_owned), pulse);
        }
        if out.places.is_empty() {
            return pulse.keep(EntorhinalEvent::Outer(OuterEvent::Came {
                encoder: None,
                vectors: Vec::new(),
                upto: 0,
            }));
        }
        let vectors = match read(encoded, out.places.len()) {
            Ok(vectors) => vectors,
            Err(error) => return fail(&error, pulse),
        };
        let came = out.places.iter().copied().zip(vectors).chain(out.blank.iter().map(|place| (*place, None)));
        // Places forgotten meanwhile stay empty.
        let came = came.map(|(place, vector)| (place, vector.filter(|_| self.situation(place, pulse).is_some())));
        let came = came.collect();
        self.keep_vectors(Some(encoder), came, out.upto, pulse);
    }

    /// Waits for the vector of a question's text; false if that is useless.
    pub(super) fn wonder(&self, text: &str, asked: Asked, pulse: &mut Pulse<'_, Self>) -> bool {
        let is_useful = !text.trim().is_empty() && self.outer.may_ask(self.places, pulse.now());
        let is_useful = is_useful && !self.outer.is_other(pulse.settings().outer.as_deref());
        let waiting = Waiting::heard(pulse, pulse.now().later(QUESTION), asked);
        let Some(question) = waiting.filter(|_| is_useful) else { return false };
        let call = pulse.fresh_id();
        pulse.emit(EncodeTexts { call, texts: vec![clip(text)], known: self.known() });
        pulse.keep(EntorhinalEvent::Outer(OuterEvent::Wondered { call, question: Box::new(question) }));
        true
    }

    /// Answers a waiting question: by the external encoder's vector, or without it.
    fn answer(
        &self,
        call: maxim_bus::MessageId,
        question: &Waiting<Asked>,
        vector: Option<PackedVector>,
        pulse: &mut Pulse<'_, Self>,
    ) {
        pulse.keep(EntorhinalEvent::Outer(OuterEvent::Answered { call }));
        match &question.question {
            Asked::Similar(query) => {
                let found = self.similar(query, vector, pulse);
                question.answer(pulse, found);
            }
            Asked::Meant(query) => {
                let found = vector.and_then(|vector| self.meant(query, &vector, pulse)).unwrap_or_default();
                question.answer(pulse, found);
            }
        }
    }

    fn meant(&self, query: &FindMeant, vector: &PackedVector, pulse: &Pulse<'_, Self>) -> Option<MeantFound> {
        let (index, sight) = (self.index.as_ref()?, self.outer.whole(self.places)?);
        let ByChance { mean, floor } = sight.by_chance(FLOOR);
        let beyond_chance = |cosine: f32| (cosine - mean) / (1.0 - mean);
        let near = index.nearest(sight, vector, &query.layer, query.limit).into_iter();
        let near = near.filter_map(|(place, cosine)| Some((self.situation(place, pulse)?.id, beyond_chance(cosine))));
        Some(MeantFound { near: Some(near.collect()), floor: beyond_chance(floor) })
    }

    /// Records similar to the cue: by the external encoder if the text's vector is given, else by the embedded one.
    pub(super) fn similar(
        &self,
        query: &FindSimilar,
        outer: Option<PackedVector>,
        pulse: &Pulse<'_, Self>,
    ) -> SimilarFound {
        let Some(index) = &self.index else { return SimilarFound::default() };
        let (cue, own) = match self.cue(query, pulse) {
            Ok(found) => found,
            Err(problem) => return SimilarFound { results: Vec::new(), problem: Some(problem) },
        };
        let limit = if query.limit == 0 { USUAL_LIMIT } else { query.limit };
        let (earliest, latest) = (
            query.time_after.map_or(i64::MIN, Timestamp::as_microsecond),
            query.time_before.map_or(i64::MAX, Timestamp::as_microsecond),
        );
        let mode = query.mode.as_deref();
        let allowed = |place: u32| {
            let is_then = Some(place) != own && (earliest..=latest).contains(&index.time(place));
            is_then && index.was(place, mode, query.success)
        };
        let sight = self.outer.whole(self.places);
        let known = || sight.zip(own.filter(|_| query.context.is_none())).and_then(|(sight, own)| sight.vector(own));
        let found = match (sight, outer.or_else(known)) {
            (Some(sight), Some(text)) => {
                let look = Look { sight, floor: sight.by_chance(FLOOR).floor };
                index.find_by(look, &Cue { text: Some(text), ..cue }, limit, allowed)
            }
            _ => index.find(&cue, limit, allowed),
        };
        let results = found
            .into_iter()
            .filter_map(|found| Some(answer(self.situation(found.item, pulse)?, found.score, found.parts)));
        SimilarFound { results: results.collect(), problem: None }
    }
}

impl Hears<FindMeant> for EntorhinalCortex {
    fn hear(&self, query: &FindMeant, pulse: &mut Pulse<'_, Self>) {
        if !self.wonder(&query.text, Asked::Meant(query.clone()), pulse) {
            pulse.reply(MeantFound::default());
        }
    }
}

impl Hears<EnergyChanged> for EntorhinalCortex {
    /// An external server's vectors cost money: with too little left, only the embedded table answers.
    fn hear(&self, changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        let scarcest = changed.is_low().then(|| changed.scarcest.clone());
        if pulse.settings().outer.is_some() && scarcest.as_deref() != self.outer.rests() {
            pulse.keep(EntorhinalEvent::Outer(OuterEvent::Rests { scarcest }));
        }
    }
}

impl Hears<TextsEncoded> for EntorhinalCortex {
    fn hear(&self, encoded: &TextsEncoded, pulse: &mut Pulse<'_, Self>) {
        if let Some(out) = self.outer.out().filter(|out| out.call == encoded.call) {
            return self.take_vectors(out, encoded, pulse);
        }
        let Some(question) = self.outer.question(encoded.call) else { return };
        let is_known = self.outer.encoder().is_some_and(|known| known.as_str() == encoded.encoder);
        let vector = read(encoded, 1).ok().and_then(|mut vectors| vectors.pop().flatten()).filter(|_| is_known);
        if let Some(error) = &encoded.error {
            // Further questions don't wait until it works again.
            pulse.keep(EntorhinalEvent::Outer(self.outer.failed(error, pulse.now())));
        }
        self.answer(encoded.call, question, vector, pulse);
    }
}
