//! A call of the model that nobody will answer any more: the process that made it is gone, or its worker went down.
//!
//! Law: it is made again, under its own id, from the turn as it stands on disk, so that the person gets the model's answer and
//! not habit's. What was lost may have been answered and paid for: it is counted against the budgets with all that it can have
//! cost. A turn loses two calls at most; the third time it is the call that takes the worker down, and habit acts.

use maxim_bus::MessageId;

use super::model::{Pending, Phase};
use super::region::{PrefrontalCortex, PrefrontalEvent};
use maxim_language::Cost;
use maxim_region::Pulse;

/// Calls that one turn may lose and make again.
const LOST: u32 = 2;

impl PrefrontalCortex {
    /// Turns whose call another process made.
    pub(super) fn orphaned(&self, boot: u64) -> impl Iterator<Item = MessageId> + '_ {
        self.called.iter().filter(move |(_, asked)| **asked != boot).map(|(turn, _)| *turn)
    }

    pub(super) fn call_again(&self, turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        let Some(pending) = self.pending(turn, pulse) else {
            return self.fail(turn, "what was thought of it is lost", pulse);
        };
        let Phase::Calling { call, estimate, ref unread, .. } = pending.phase else {
            return self.fail(turn, "what was asked of the model is lost", pulse);
        };
        let settings = pulse.settings();
        let (sent, most) =
            (pending.window.real(usize::try_from(estimate).unwrap_or(usize::MAX)), u64::from(settings.reply_tokens));
        let Cost { tokens, money } = pending.cost(sent, most, settings);
        pulse.keep(PrefrontalEvent::Paid { at: pulse.now(), tokens, money, boot: settings.boot });
        if pending.lost >= LOST {
            return self.fail(turn, &format!("the call of the model was lost {} times: {why}", LOST + 1), pulse);
        }
        if let Some(why) = self.objection(pulse) {
            return Self::decline(turn, why, pulse);
        }
        Self::count(|counts| counts.lost += 1, pulse);
        let unread = unread.clone();
        let pending = Pending { lost: pending.lost + 1, ..pending };
        self.call(pending, call, unread, pulse);
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::Trust;
    use maxim_bus::latch::StopDetail;
    use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
    use maxim_bus::signals::thought::{ModelCall, ModelProposal, ModelReply};

    use super::super::model::PrefrontalSettings;
    use super::super::tests::{answer, called, of, rig, settings_with, turn};
    use super::*;
    use maxim_region::rig::{Rig, monday_morning};

    const HI: &str = r#"{"ready_to_act": true, "tool_name": "respond", "params": {"message": "hi"}, "reasoning": ""}"#;

    fn lose(rig: &mut Rig<PrefrontalCortex>, call: &ModelCall) -> Option<ModelCall> {
        rig.send_in(turn(), Trust::Owner, ModelReply { lost: true, ..ModelReply::failed(call, "chaos") });
        rig.heard::<ModelCall>().pop()
    }

    fn in_process(boot: u64) -> PrefrontalSettings {
        PrefrontalSettings { boot, ..settings_with(100_000, 100_000) }
    }

    #[test]
    fn what_the_worker_lost_is_asked_again_under_its_own_id_and_twice_at_most() {
        let mut rig = rig(in_process(1));
        let first = called(&mut rig, "say hi").expect("it asks");
        let second = lose(&mut rig, &first).expect("it asks again");
        assert_eq!(second, first);
        let third = lose(&mut rig, &second).expect("and once more");
        rig.send_in(turn(), Trust::Owner, ModelReply { lost: true, ..ModelReply::failed(&third, "chaos") });
        let heard = rig.heard_all();
        assert!(of::<ModelCall>(&heard).is_empty());
        let error = of::<ModelProposal>(&heard).pop().expect("habit has it").error.expect("an error");
        assert!(error.contains("lost 3 times") && error.contains("chaos"), "{error}");
    }

    #[test]
    fn an_answer_counts_once_and_what_was_lost_counts_against_the_budget() {
        let mut rig = rig(PrefrontalSettings { boot: 1, ..settings_with(4_000, 100_000) });
        let call = called(&mut rig, "say hi").expect("it asks");
        let call = lose(&mut rig, &call).expect("it asks again");
        answer(&mut rig, &call, HI, 300);
        answer(&mut rig, &call, HI, 300);
        assert_eq!(rig.heard::<ModelProposal>().len(), 1);
        let sure = rig.region().spent.objection(
            monday_morning(),
            Cost { tokens: 2_500, money: 0.0 },
            &in_process(1).budget,
            1,
        );
        assert_eq!(sure, None, "with a budget of 100000");
        let tight = PrefrontalSettings { boot: 1, ..settings_with(4_000, 100_000) };
        let both = rig.region().spent.objection(monday_morning(), Cost { tokens: 2_500, money: 0.0 }, &tight.budget, 1);
        assert!(both.is_some(), "600 were counted by the server, and the lost call may have cost more than 900");
    }

    #[test]
    fn another_process_asks_again_and_this_one_waits() {
        let mut rig = rig(in_process(1));
        let first = called(&mut rig, "say hi").expect("it asks");
        rig.crash();
        rig.run();
        assert!(rig.heard::<ModelCall>().is_empty(), "the worker has the call still");
        rig.restart(in_process(2));
        rig.run();
        assert_eq!(rig.heard::<ModelCall>().as_slice(), std::slice::from_ref(&first));
        rig.crash();
        rig.run();
        assert!(rig.heard::<ModelCall>().is_empty(), "once a process");
        answer(&mut rig, &first, HI, 300);
        assert_eq!(rig.heard::<ModelProposal>().pop().and_then(|proposal| proposal.tool).as_deref(), Some("respond"));
    }

    #[test]
    fn a_call_with_the_error_of_a_reply_is_made_again_with_it() {
        let mut rig = rig(in_process(1));
        let call = called(&mut rig, "say hi").expect("it asks");
        answer(&mut rig, &call, "{\"tool_name\" ]", 300);
        let retry = rig.heard::<ModelCall>().pop().expect("with the error");
        rig.restart(in_process(2));
        rig.run();
        assert_eq!(
            rig.heard::<ModelCall>().as_slice(),
            std::slice::from_ref(&retry),
            "what it said is shown to it again"
        );
        assert!(retry.user.contains("could not be used"), "{}", retry.user);
    }

    #[test]
    fn a_stop_cancels_and_no_restart_asks_again() {
        let mut rig = rig(in_process(1));
        called(&mut rig, "say hi").expect("it asks");
        let detail = StopDetail { reason: "a test".into(), by: "anna".into(), at: Some(monday_morning()) };
        rig.send(PreemptionChanged { request: PreemptionRequested::Stop(detail), cancelled_turns: Vec::new() });
        rig.restart(in_process(2));
        rig.run();
        assert!(rig.heard::<ModelCall>().is_empty());
    }

    #[test]
    fn whoever_has_no_model_any_more_leaves_it_to_habit() {
        let mut rig = rig(in_process(1));
        called(&mut rig, "say hi").expect("it asks");
        rig.restart(PrefrontalSettings { model: false, ..in_process(2) });
        rig.run();
        assert!(rig.heard::<ModelCall>().is_empty());
    }
}
