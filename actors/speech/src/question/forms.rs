//! Patterns of questions that need no tool, and of facts to be remembered.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    Remember,
    /// A question inside a request: "tell me where the key is".
    Embedded,
    Predict,
    /// "Did you write notes.txt?"
    Done,
    /// "Why did you do that?"
    Why,
    /// "Why did you turn your head?"
    WhyDid,
    /// "Why didn't you go?"
    WhyNot,
    Told,
    ToldFirst,
    ToldLast,
    /// "What did I ask you?"
    Asked,
    AskedLast,
    OftenAsked,
    WhatHappened,
    DoneLast,
    DoneFirst,
    /// "How often did you run make?"
    Often,
    OftenTold,
    /// "Did the build ever fail?"
    Failed,
    /// "Did the build ever work?"
    Worked,
    /// "When did the build last fail?"
    WhenFirst,
    WhenLast,
    /// "What happened yesterday?", "what did Paul do last week?"
    Happened,
    /// "What happened before the plumber came?"
    Before,
    After,
    When,
    Who,
    Status,
    Now,
    Abilities,
}

/// Forms that only a question has. They come before the tools' patterns.
pub(crate) const SPECIFIC: &[(Form, &str)] = &[
    (Form::Now, "what (time|day|date|year|month) is it [now|today|right now]"),
    (Form::Now, "what is the (time|date|day) [now|today|right now]"),
    (Form::Now, "what is (today|today's date)"),
    (Form::Now, "(tell|give) me the (time|date)"),
    (
        Form::Now,
        "(what|which) (day|date|day of the week) (is|was|will) [it|that] [be] (tomorrow|yesterday|the day after tomorrow)",
    ),
    (Form::Now, "what is the (day|date) (tomorrow|yesterday|the day after tomorrow)"),
    (Form::Now, "(what|which) (day|date|month|year) is (today|this)"),
    (Form::Abilities, "what (can|could) you do [for me|now|today]"),
    (Form::Abilities, "[i need] help [me]"),
    (
        Form::Abilities,
        "(what|which) (commands|things|tools|sentences|requests) (do|can) you (understand|know|use|do|have|run)",
    ),
    (Form::Abilities, "what do you understand"),
    (Form::Abilities, "how can you help [me|us]"),
    (Form::Abilities, "what (can|could) you (help|assist) [me|us] with"),
    (Form::Abilities, "what are you (able to do|capable of|good at)"),
    (
        Form::Status,
        "how (are you|are you doing|are you feeling|do you feel|have you been|you doing) [today|now|maxim|right now|this morning|tonight]",
    ),
    (Form::Status, "how (is it going|goes it|are things|is everything|is life)"),
    (
        Form::Status,
        "are you [still|all] (ok|okay|alive|awake|there|busy|fine|alright|well|tired|listening|ready|online|up|running|asleep|sleeping|stopped|hurt|happy|right)",
    ),
    (Form::Status, "[what is] [the|system] (status|health) [of the system|of yourself]"),
    (Form::Status, "what (are you doing|are you up to|is up|is going on) [now|right now|today]"),
    (Form::Status, "is everything (ok|okay|fine|alright|working|in order)"),
    (Form::Status, "you (ok|okay|there|awake|alive)"),
    (
        Form::Predict,
        "what (would|will|might|could|may) happen if (you|i|we|someone|anyone|somebody|it) [were to|would] {clause:rest}",
    ),
    (Form::Predict, "what happens (if|when|whenever) (you|i|we|someone) {clause:rest}"),
    (Form::Predict, "what (would|will|might|could|may) happen (by|after|from|with|on) {clause:rest}"),
    (Form::Predict, "what if (you|i|we|someone) [were to] {clause:rest}"),
    (
        Form::Predict,
        "(suppose|imagine|pretend|assume|assuming|supposing) [that] (you|i|we|someone) [were to] {clause:rest}",
    ),
    (
        Form::Predict,
        "(would|will|does|is) it [be] [still] (safe|dangerous|ok|okay|risky|wise|fine|possible|a good idea|a bad idea|bad|harmful|smart) (to|if you|if i|if we) {clause:rest}",
    ),
    (Form::Predict, "(should|shall|may|can|could|must) (i|we) {clause:rest}"),
    (Form::Predict, "should you {clause:rest}"),
    (
        Form::Predict,
        "(would|will) it (work|fail|hurt|help|break) [something|anything] (if|when) (you|i|we) {clause:rest}",
    ),
    (Form::Predict, "what do you (expect|think will happen|think would happen) (if|when) (you|i|we) {clause:rest}"),
    (Form::Predict, "how (risky|dangerous|safe|bad) (is it|would it be) to {clause:rest}"),
    (Form::Predict, "(would|will) {clause:rest} (work|fail|succeed|hurt|break anything|be safe|be dangerous)"),
    (Form::Predict, "what (would|will) {clause:rest} do"),
    (Form::Predict, "hypothetically [speaking] [what] [would|if] [happen] [if] [you|i|we] {clause:rest}"),
    (Form::Before, "what (happened|was going on) [just|right|immediately|directly|shortly] before {event:rest}"),
    (Form::After, "what (happened|came) [next|just|right|immediately|directly|shortly] after {event:rest}"),
    (Form::Before, "what (did|had) {who:rest} (do|done) [just|right|immediately|directly|shortly] before {event:rest}"),
    (Form::After, "what did {who:rest} do [just|right|immediately|directly|shortly] after {event:rest}"),
    (
        Form::WhatHappened,
        "what (did you do|have you done|were you doing|have you been doing|did you just do) [with|to|about|for] [{topic:rest}]",
    ),
    (Form::Happened, "what (happened|has happened|was going on|went on|took place) {topic:rest}"),
    (Form::Happened, "what (did|have|has) {who:rest} (do|done|been doing|been up to) {topic:rest}"),
    (Form::WhatHappened, "what (is|was) the last thing [that] you (did|have done) [{topic:rest}]"),
    (Form::WhatHappened, "(what|anything) (went|has gone|goes) {topic:rest}"),
    (Form::Failed, "(did|has) (anything|something) (fail|failed) [{topic:rest}]"),
    (Form::WhatHappened, "(did|has) (anything|something) (go|gone) [{topic:rest}]"),
    (Form::WhatHappened, "what happened [with|to|at|during|when you|after you|when i|when we] [{topic:rest}]"),
    (Form::WhatHappened, "what (is|was|were) the (result|results|outcome|output) (of|from|when you) {topic:rest}"),
    (Form::WhatHappened, "how did {topic:rest} (go|end|turn out|work out|end up)"),
    (Form::Failed, "(did|has|have) {topic:rest} (fail|failed|crash|crashed|go wrong|gone wrong) [{when:rest}]"),
    (Form::Failed, "what [has] (failed|crashed|broke) [{topic:rest}]"),
    (Form::Worked, "(did|has|have) {topic:rest} ever (work|worked|succeed|succeeded|finish|pass|go well)"),
    (Form::WhatHappened, "did {topic:rest} (work|succeed|finish|pass|go well)"),
    (Form::Why, "why (did|have|would) you (do|done|say|said|did|try) (that|this|it|so)"),
    (Form::Why, "(what made you do|why) (that|this|it)"),
    (Form::Why, "(why|why not|how come)"),
    (Form::Why, "how do you know (that|this|it)"),
    (Form::Why, "what makes you (say|think) (that|this|so)"),
    (
        Form::OftenAsked,
        "(how often|how many times) (did|have|had) (i|we) [ever|already] (ask|asked) [you] [anything|something] [about|for|of|if|whether|where|what|when|who|why|how] [{topic:rest}]",
    ),
    (
        Form::AskedLast,
        "when (did|have|had) (i|we) [last] (ask|asked) [you] [anything|something] [about|for|of|if|whether|where|what|when|who|why|how] [{topic:rest}]",
    ),
    (
        Form::AskedLast,
        "(did|have) (i|we) [ever|already] (ask|asked) [you] [anything|something] [about|for|of|if|whether|where|what|when|who|why|how] [{topic:rest}]",
    ),
    (
        Form::AskedLast,
        "what (is|was) the (last|latest|most recent) (thing|question) [that] i (ask|asked) [you] [about|of] [{topic:rest}]",
    ),
    (Form::AskedLast, "what (is|was) my (last|latest|most recent) question [to you]"),
    (Form::AskedLast, "what (did|have|had) i just (ask|asked) [you] [about|for|of] [{topic:rest}]"),
    (Form::Asked, "what (did|have|had) (i|we) [ever|already] (ask|asked) [you] [about|for|of] [{topic:rest}]"),
    (Form::DoneLast, "when did you last {clause:rest}"),
    (Form::DoneFirst, "when did you first {clause:rest}"),
    (Form::DoneLast, "when (was|is) the last time [that] you {clause:rest}"),
    (Form::DoneFirst, "when was the first time [that] you {clause:rest}"),
    (Form::Done, "when did you {clause:rest}"),
    (Form::WhenLast, "when (did|has) {topic:rest} last {clause:rest}"),
    (Form::WhenFirst, "when (did|has) {topic:rest} first {clause:rest}"),
    (Form::WhenLast, "when (was|is) the last time [that] {clause:rest}"),
    (Form::WhenFirst, "when was the first time [that] {clause:rest}"),
    (Form::Done, "(did|have|had) you [already|ever|really|just|actually|not] {clause:rest}"),
    (Form::Done, "(didn't|haven't|hadn't|weren't) you {clause:rest}"),
    (Form::Done, "were you [just|already] {clause:rest}"),
    (
        Form::WhyNot,
        "why (didn't|haven't|won't|couldn't|can't|don't|did not|have not|will not) you [just] {clause:rest}",
    ),
    (Form::WhyNot, "why (did|have|would|could|do) you not {clause:rest}"),
    (Form::WhyDid, "why (did|have|were|are|would) you [just] {clause:rest}"),
    (
        Form::OftenTold,
        "(how often|how many times) (did|have|had) (i|we) [ever|already] (tell|told|mention|mentioned|say|said) [to] [you] [about|of|regarding|that] {topic:rest}",
    ),
    (Form::Often, "(how often|how many times) (did|have) you [ever|already] {clause:rest}"),
    (Form::Often, "(how often|how many times) (did|has|have|had|was|were) {topic:rest}"),
    (
        Form::Remember,
        "what [all|else] (do|did|can) you [still] (remember|know|recall|have) [anything] (about|of|on|regarding|concerning|from) {topic:rest}",
    ),
    (Form::Remember, "what (do|did) you [still] (remember|know|recall)"),
    (Form::Embedded, "(do|can|could|did) you [still|happen to|also] (remember|recall|know) {topic:rest}"),
    (
        Form::ToldLast,
        "what (did|have|had) i just (tell|told|say|said|mention|mentioned) [to] [you] [about|of|regarding] [{topic:rest}]",
    ),
    (
        Form::ToldFirst,
        "what (did|have|had) i [ever] [first] (tell|told|say|said|mention|mentioned) [to] [you] [about|of|regarding] [{topic:rest}] (first|first of all|at first|at the beginning|in the beginning)",
    ),
    (Form::ToldFirst, "what did i first (tell|say|mention) [to] [you] [about|of|regarding] [{topic:rest}]"),
    (
        Form::ToldFirst,
        "what (is|was) the (first|very first|earliest) thing [that] [i] (told|said|mentioned|tell|say) [to] [you] [about|of|regarding] [{topic:rest}]",
    ),
    (
        Form::ToldLast,
        "what (is|was) the (last|latest|newest|most recent) thing [that] [i] (told|said|mentioned|tell|say) [to] [you] [about|of|regarding] [{topic:rest}]",
    ),
    (
        Form::ToldLast,
        "what (did|have|had) i (tell|told|say|said|mention|mentioned) [to] [you] [about|of|regarding] [{topic:rest}] (last|most recently|just now|a moment ago|before that|before this)",
    ),
    (
        Form::Told,
        "what (did|have|had) (i|we) [ever|just|already] (tell|told|say|said|teach|taught|ask|asked|mention|mentioned) [to] [you] [about|of|regarding] [{topic:rest}]",
    ),
    (
        Form::Told,
        "what (did|have|had) (i|we) [ever|just|already] (talk|talked|speak|spoken|chat|chatted|discuss|discussed) [about] [with you|to you] [{topic:rest}]",
    ),
    (
        Form::Told,
        "(did|have) (i|we) [ever|already] (tell|told|mention|mentioned|say|said|teach|taught) [to] [you] (anything|something) [else] [about|of|regarding] [{topic:rest}]",
    ),
    (
        Form::Remember,
        "(did|have) (i|we) [ever|already|not] (tell|told|mention|mentioned|say|said) [to] [you] [about|of|that] {topic:rest}",
    ),
    (
        Form::Remember,
        "what (did|has) {topic:rest} (say|said|tell|told|mention|mentioned|want|like|need|think|write|ask) [to] [you|me|us] [about] [{topic:rest}]",
    ),
    (
        Form::Remember,
        "tell me [everything|all|something|anything|more|what] [that] [you know|you remember|you have|do you know] (about|of|on) {topic:rest}",
    ),
    (Form::Embedded, "(tell|show) me (what|where|who|when|which|how|why|whether|if) {topic:rest}"),
    (
        Form::Embedded,
        "(remind me|i wonder|i'd like to know|i want to know|let me know|any idea|do you have any idea|say) (of|about|what|where|who|when|which|how|why|whose) {topic:rest}",
    ),
    (Form::Remember, "remember {topic:rest}?"),
    (Form::Who, "(who|what) are you [really|exactly]"),
    (
        Form::Who,
        "(what is your name|who made you|who built you|who created you|what are you called|introduce yourself|tell me about yourself)",
    ),
    (Form::When, "when (did|do|does|was|were|is|are|will|have|has|had|am|should|can) {topic:rest}"),
    (
        Form::When,
        "(what|which|at what|on what|on which) (time|day|date|year) (did|do|does|was|were|is|are|will|has) {topic:rest}",
    ),
    (Form::When, "(how long ago|since when|how long) {topic:rest}"),
];

/// Forms that come after a tool's read-only pattern ("what is in notes.txt").
pub(crate) const BROAD: &[(Form, &str)] = &[
    (Form::Who, "who (is|was|are|am|were) {topic:rest}"),
    (Form::Who, "who {topic:rest}"),
    (Form::Remember, "where (is|are|was|were|did|do|does|can|could|have|has) {topic:rest}"),
    (Form::Remember, "what (is|are|was|were|does|did|do) {topic:rest}"),
    (Form::Remember, "(whose|which|what) {topic:rest}"),
    (Form::Remember, "how (many|much|old|big|far|tall|long) {topic:rest}"),
];

/// Facts to be remembered.
pub(crate) const FACTS: &[&str] = &[
    "(remember|memorize|memorise|note|know) (that|this|the following)[:|,] {fact:rest}",
    "(remember|memorize|memorise|note): {fact:rest}",
    "remember [to] {fact:rest}",
    "(memorize|memorise) {fact:rest}",
    "(keep|bear) in mind [that|:] {fact:rest}",
    "(don't|dont|do not|never) forget [that|:|about] {fact:rest}",
    "make a [mental] note (that|of|:) {fact:rest}",
    "take note (that|of|:) {fact:rest}",
    "note to self[:|,] {fact:rest}",
    "(for the record|fyi|for your information|you should know|you should know that|just so you know)[,|:] {fact:rest}",
    "i want you to (remember|know) [that] {fact:rest}",
];

/// Requests to forget. They take more than words.
pub(crate) const FORGETTING: &[&str] = &[
    "forget [about|that|what i said about|everything about|all about|everything] [{topic:rest}]",
    "(erase|wipe|clear) your memory [of|about] [{topic:rest}]",
];

/// Words that begin a question.
pub(crate) const INTERROGATIVES: &[&str] = &[
    "what",
    "where",
    "who",
    "whom",
    "whose",
    "when",
    "why",
    "how",
    "which",
    "did",
    "do",
    "does",
    "is",
    "are",
    "was",
    "were",
    "am",
    "has",
    "have",
    "had",
    "should",
    "shall",
    "would",
    "could",
    "can",
    "may",
    "might",
    "must",
    "will",
    "didn't",
    "don't",
    "doesn't",
    "isn't",
    "aren't",
    "haven't",
    "hasn't",
    "won't",
    "wouldn't",
    "suppose",
    "imagine",
    "what'll",
    "what'd",
    "hypothetically",
    "why's",
    "if",
];
