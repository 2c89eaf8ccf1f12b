//! Questions and wishes of the outside to one room, by its name.

use std::any::Any;
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
use maxim_bus::signals::outbox::{ChangeOutbox, OutboxChanged};
use maxim_bus::signals::powers::{PowersReported, ReportPowers, RestorePowers};
use maxim_bus::signals::promotion::{Promote, PromotionEnded};
use maxim_bus::signals::working_memory::{SurveyWorkingMemory, WorkingMemorySurveyed};
use maxim_bus::{MessageId, Query, RegionName, Signal, Trust};
use tokio::sync::oneshot;

use super::{DOOR, Door, DoorKeeper, Unanswered, Waiters, wait};
use maxim_region::{EffectorCard, Operation, Performs};

/// Who waits for an answer, of whatever kind.
pub(super) type Asked = Waiters<Box<dyn Any + Send>>;

/// How long a room has for it: taking in a long document takes the longest.
const PATIENCE: Duration = Duration::from_secs(60);

impl Door {
    /// Asks one room, with the owner's word; what it did is on disk when this returns.
    ///
    /// # Errors
    /// The room did not answer in time, or its answer could not be made durable.
    pub async fn ask<Q: Query>(&self, room: RegionName, question: Q) -> Result<Q::Answer, Unanswered> {
        self.answered(self.begin(room, question)).await
    }

    /// Asks likewise, and leaves it open whether anybody waits for the answer.
    pub(super) fn begin<Q: Query>(&self, room: RegionName, question: Q) -> Question<Q::Answer> {
        let id = self.fresh_id();
        let (tell, told) = oneshot::channel();
        self.asked.lock().insert(id, tell);
        self.send(DOOR, id, Trust::Owner, Some(room), question);
        Question { room, id, told, answer: PhantomData }
    }

    /// Waits for an answer; what the room did is on disk when this returns.
    ///
    /// # Errors
    /// As [`Door::ask`].
    pub async fn answered<A: Signal>(&self, question: Question<A>) -> Result<A, Unanswered> {
        let Question { room, id, told, .. } = question;
        let answer = wait(told, PATIENCE).await;
        self.asked.lock().remove(&id);
        match answer?.downcast::<A>() {
            Ok(answer) => Ok(*answer),
            Err(_) => Err(Unanswered::Refused(format!("{room} answered something else than it was asked"))),
        }
    }
}

/// What one room was asked.
pub struct Question<A> {
    room: RegionName,
    id: MessageId,
    told: oneshot::Receiver<Result<Box<dyn Any + Send>, Unanswered>>,
    answer: PhantomData<A>,
}

/// What comes back this way.
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
}

async fn bring_back<S: Signal>(keeper: Arc<DoorKeeper>, answer: S, operation: Operation<DoorKeeper>) {
    // An answer in one step is caused by the question; one that took several is of its turn.
    let (cause, turn) = (operation.cause.cause, operation.cause.correlation);
    let tell = {
        let mut asked = keeper.door.asked.lock();
        cause.and_then(|question| asked.remove(&question)).or_else(|| asked.remove(&turn))
    };
    let Some(tell) = tell else { return };
    let answer: Result<Box<dyn Any + Send>, Unanswered> = match operation.hands.durable(operation.lsn).await {
        Ok(()) => Ok(Box::new(answer)),
        Err(error) => Err(Unanswered::NotDurable(error.to_string())),
    };
    let _ = tell.send(answer);
}

macro_rules! brings_back {
    ($($answer:ty),* $(,)?) => {$(
        impl Performs<$answer> for DoorKeeper {
            async fn perform(self: Arc<Self>, answer: $answer, operation: Operation<Self>) {
                bring_back(self, answer, operation).await;
            }

            fn abandoned(_answer: &$answer, why: &str, _operation: &Operation<Self>) {
                tracing::warn!(answer = <$answer as Signal>::NAME, why, "an answer did not reach its asker");
            }
        }
    )*};
}

brings_back!(
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
