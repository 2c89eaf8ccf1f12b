//! Questions and requests from outside, and the waiters for their answers.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::concepts::{
    DocumentIngested, ForgetRecord, IngestDocument, PinRecord, ProposeRelationType, RecordChanged, RelationTypeProposed,
};
use maxim_bus::signals::fear::{FearsSurveyed, SurveyFears};
use maxim_bus::signals::goal::{GoalsSurveyed, SurveyGoals};
use maxim_bus::signals::grants::{GrantsSurveyed, SurveyGrants};
use maxim_bus::signals::intent::DecisionTaken;
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::lifecycle::PreemptionChanged;
use maxim_bus::signals::outbox::{ChangeOutbox, OutboxChanged};
use maxim_bus::signals::powers::{PowersReported, ReportPowers, RestorePowers};
use maxim_bus::signals::promotion::{Promote, PromotionEnded};
use maxim_bus::signals::recall::{EpisodesImported, InquiryAnswered};
use maxim_bus::signals::sleep::SleepEnded;
use maxim_bus::signals::working_memory::{SurveyWorkingMemory, WorkingMemorySurveyed};
use maxim_bus::{MessageId, Meta, Query, RegionName, Signal, Trust};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{DOOR, Door, DoorKeeper, Unanswered};
use maxim_region::{EffectorCard, Operation, Performs};

/// The waiters for answers, by question and kind of answer.
///
/// A waiter leaves the list with its answer. A dropped waiter leaves it with the next question.
pub(super) type Waiters = Mutex<HashMap<(MessageId, TypeId), oneshot::Sender<Outcome>>>;

/// The result of a question: an answer of the expected kind.
type Outcome = Result<Box<dyn Any + Send>, Unanswered>;

/// How long a room may take: taking in a long document takes longest.
const PATIENCE: Duration = Duration::from_secs(60);

impl Door {
    /// Asks one room, with the owner's trust. Its effects are on disk when this returns.
    ///
    /// # Errors
    /// The room did not answer in time, or its answer could not be made durable.
    pub async fn ask<Q: Query>(&self, room: RegionName, question: Q) -> Result<Q::Answer, Unanswered> {
        self.answered(self.begin(Some(room), question)).await
    }

    /// Puts a question to one room, or to all that hear it. The answer need not be waited for.
    pub(super) fn begin<A: Signal>(&self, room: Option<RegionName>, question: impl Signal) -> Question<A> {
        let id = self.fresh_id();
        let (tell, told) = oneshot::channel();
        let mut waiters = self.waiters.lock();
        waiters.retain(|_, tell| !tell.is_closed());
        waiters.insert((id, TypeId::of::<A>()), tell);
        drop(waiters);
        self.send(DOOR, id, Trust::Owner, room, question);
        Question { told, answer: PhantomData }
    }

    /// Waits for an answer. The room's effects are on disk when this returns.
    ///
    /// # Errors
    /// As [`Door::ask`].
    pub async fn answered<A: Signal>(&self, question: Question<A>) -> Result<A, Unanswered> {
        self.answer_within(question, PATIENCE).await
    }

    pub(super) async fn answer_within<A: Signal>(
        &self,
        question: Question<A>,
        limit: Duration,
    ) -> Result<A, Unanswered> {
        let told = tokio::time::timeout(limit, question.told).await;
        let answer = told.ok().and_then(Result::ok).unwrap_or(Err(Unanswered::Late(limit.as_secs())))?;
        match answer.downcast::<A>() {
            Ok(answer) => Ok(*answer),
            Err(_) => Err(Unanswered::Lost(format!("it isn't of type {}", A::NAME))),
        }
    }

    /// True if an answer is awaited here.
    pub fn is_awaited(&self) -> bool {
        self.waiters.lock().values().any(|tell| !tell.is_closed())
    }

    /// Removes the waiter for an answer of this kind to one of these questions.
    fn waiter<A: Signal>(&self, questions: impl IntoIterator<Item = MessageId>) -> Option<oneshot::Sender<Outcome>> {
        let mut waiters = self.waiters.lock();
        questions.into_iter().find_map(|question| waiters.remove(&(question, TypeId::of::<A>())))
    }
}

/// A question that was asked.
pub struct Question<A> {
    told: oneshot::Receiver<Outcome>,
    answer: PhantomData<A>,
}

/// The answers that come back this way.
pub(super) fn wires(card: EffectorCard<DoorKeeper>) -> EffectorCard<DoorKeeper> {
    card.performs::<DocumentIngested>()
        .performs::<RecordChanged>()
        .performs::<RelationTypeProposed>()
        .performs::<RecordsExported>()
        .performs::<RecordsImported>()
        .performs::<AssociationsFollowed>()
        .performs::<PromotionEnded>()
        .performs::<PowersReported>()
        .performs::<WorkingMemorySurveyed>()
        .performs::<GoalsSurveyed>()
        .performs::<FearsSurveyed>()
        .performs::<GrantsSurveyed>()
        .says::<SurveyGoals>()
        .says::<SurveyFears>()
        .says::<SurveyGrants>()
        .performs::<OutboxChanged>()
        .performs::<DecisionTaken>()
        .says::<SurveyWorkingMemory>()
        .says::<ChangeOutbox>()
        .says::<ReportPowers>()
        .says::<RestorePowers>()
        .says::<IngestDocument>()
        .says::<PinRecord>()
        .says::<ForgetRecord>()
        .says::<ProposeRelationType>()
        .says::<ExportRecords>()
        .says::<ImportRecords>()
        .says::<FollowAssociations>()
        .says::<Promote>()
        .performs::<InquiryAnswered>()
        .performs::<PreemptionChanged>()
        .performs::<EpisodesImported>()
        .performs::<SleepEnded>()
}

/// The questions that a message may answer. An answer in one step has its question as cause. An answer after several
/// steps has the question's turn as correlation.
fn questions_of(answer: &Meta) -> impl Iterator<Item = MessageId> {
    answer.cause.into_iter().chain([answer.correlation])
}

/// Delivers an answer once it is on disk: a crash must not undo what the outside was told.
async fn bring_back<S: Signal>(tell: oneshot::Sender<Outcome>, answer: S, operation: &Operation<DoorKeeper>) {
    let durable = operation.hands.durable(operation.lsn).await;
    let answer = durable.map(|()| Box::new(answer) as Box<dyn Any + Send>);
    let _ = tell.send(answer.map_err(|error| Unanswered::NotDurable(error.to_string())));
}

fn lose(tell: Option<oneshot::Sender<Outcome>>, why: &str) {
    if let Some(tell) = tell {
        let _ = tell.send(Err(Unanswered::Lost(why.into())));
    }
}

macro_rules! brings_back {
    ($($answer:ty),* $(,)?) => {$(
        impl Performs<$answer> for DoorKeeper {
            async fn perform(self: Arc<Self>, answer: $answer, operation: Operation<Self>) {
                if let Some(tell) = self.door.waiter::<$answer>(questions_of(&operation.cause)) {
                    bring_back(tell, answer, &operation).await;
                }
            }

            fn abandoned(_answer: &$answer, why: &str, operation: &Operation<Self>) {
                lose(operation.effector.door.waiter::<$answer>(questions_of(&operation.cause)), why);
            }
        }
    )*};
}

brings_back!(
    InquiryAnswered,
    PreemptionChanged,
    EpisodesImported,
    DocumentIngested,
    RecordChanged,
    RelationTypeProposed,
    RecordsExported,
    RecordsImported,
    AssociationsFollowed,
    PromotionEnded,
    PowersReported,
    WorkingMemorySurveyed,
    GoalsSurveyed,
    FearsSurveyed,
    GrantsSurveyed,
    OutboxChanged,
    DecisionTaken,
);

impl Performs<SleepEnded> for DoorKeeper {
    async fn perform(self: Arc<Self>, ended: SleepEnded, operation: Operation<Self>) {
        for asker in &ended.askers {
            if let Some(tell) = self.door.waiter::<SleepEnded>([*asker]) {
                bring_back(tell, ended.clone(), &operation).await;
            }
        }
    }

    fn abandoned(ended: &SleepEnded, why: &str, operation: &Operation<Self>) {
        for asker in &ended.askers {
            lose(operation.effector.door.waiter::<SleepEnded>([*asker]), why);
        }
    }
}

#[cfg(test)]
mod tests;
