//! Which call is next: the most urgent waiting one; among equals the first that came.

use std::collections::BTreeMap;
use std::sync::Arc;

use maxim_bus::signals::thought::Purpose;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The places for concurrent calls, shared by all incarnations of the worker.
#[derive(Debug)]
pub struct CallQueue {
    places: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Free places.
    free: usize,
    /// One extra place only for reviews: they never wait for a long thought.
    review_free: bool,
    /// By urgency, then by arrival.
    waiting: BTreeMap<(Purpose, u64), oneshot::Sender<Place>>,
    came: u64,
}

/// The right to make a call; passed on when it is dropped.
#[derive(Debug)]
pub struct Place {
    queue: Arc<CallQueue>,
    /// The extra place for reviews.
    is_for_reviews: bool,
}

impl CallQueue {
    /// This many concurrent calls, plus one review.
    pub fn new(places: usize) -> Arc<Self> {
        let state = State { free: places, review_free: true, waiting: BTreeMap::new(), came: 0 };
        Arc::new(Self { places, state: Mutex::new(state) })
    }

    /// Number of concurrent calls.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Calls that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Waits for a place. A caller that stops waiting only loses its turn.
    pub async fn enter(self: &Arc<Self>, purpose: Purpose) -> Option<Place> {
        let given = {
            let mut state = self.state.lock();
            if let Some(is_for_reviews) = state.take(purpose) {
                return Some(Place { queue: Arc::clone(self), is_for_reviews });
            }
            state.waiting.retain(|_, tell| !tell.is_closed());
            let (tell, given) = oneshot::channel();
            let came = state.came;
            state.came += 1;
            state.waiting.insert((purpose, came), tell);
            given
        };
        given.await.ok()
    }

    /// Gives a place to a waiting call, or keeps it free.
    fn release(self: &Arc<Self>, is_for_reviews: bool) {
        let next = {
            let mut state = self.state.lock();
            let next = state.next(is_for_reviews);
            match next {
                Some(_) => {}
                None if is_for_reviews => state.review_free = true,
                None => state.free += 1,
            }
            next
        };
        // Outside the lock: if the waiter is gone, the place comes back and is released again.
        if let Some(tell) = next {
            drop(tell.send(Place { queue: Arc::clone(self), is_for_reviews }));
        }
    }
}

impl State {
    /// Takes a free place, if there is one; returns whether it is the one for reviews.
    fn take(&mut self, purpose: Purpose) -> Option<bool> {
        if purpose == Purpose::Review && self.review_free {
            self.review_free = false;
            return Some(true);
        }
        self.free = self.free.checked_sub(1)?;
        Some(false)
    }

    fn next(&mut self, is_for_reviews: bool) -> Option<oneshot::Sender<Place>> {
        while let Some(first) = self.waiting.first_entry() {
            if is_for_reviews && first.key().0 != Purpose::Review {
                return None;
            }
            let tell = first.remove();
            if !tell.is_closed() {
                return Some(tell);
            }
        }
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.release(self.is_for_reviews);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use Purpose::{Act, Deliberate, Review};

    /// Enters at once, or waits.
    async fn waits(queue: &Arc<CallQueue>, purpose: Purpose) -> tokio::task::JoinHandle<Option<Place>> {
        let entering = tokio::spawn({
            let queue = Arc::clone(queue);
            async move { queue.enter(purpose).await }
        });
        tokio::task::yield_now().await;
        entering
    }

    #[tokio::test]
    async fn the_most_urgent_comes_first_and_of_equals_who_was_first() {
        let queue = CallQueue::new(1);
        let first = queue.enter(Deliberate).await.expect("free");
        let lane = queue.enter(Review).await.expect("reviews have a place of their own");
        let [a, b, c, d] = [
            waits(&queue, Deliberate).await,
            waits(&queue, Act).await,
            waits(&queue, Act).await,
            waits(&queue, Review).await,
        ];
        assert!(![&a, &b, &c, &d].iter().any(|waiting| waiting.is_finished()));
        drop(lane);
        let review = d.await.expect("no panic").expect("the place of reviews");
        drop(first);
        let second = b.await.expect("no panic").expect("acting before thinking");
        assert!(!a.is_finished() && !c.is_finished());
        drop(second);
        drop(c.await.expect("no panic").expect("the second that acts"));
        drop(a.await.expect("no panic").expect("at last"));
        drop(review);
        assert!(queue.enter(Deliberate).now_or_never().is_some() && queue.enter(Review).now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_waits_no_more_takes_no_place_along() {
        let queue = CallQueue::new(1);
        let first = queue.enter(Act).await.expect("free");
        let gone = waits(&queue, Act).await;
        let stays = waits(&queue, Deliberate).await;
        gone.abort();
        assert!(gone.await.is_err());
        drop(first);
        drop(stays.await.expect("no panic").expect("the one that stayed"));
        assert!(queue.enter(Deliberate).now_or_never().is_some());
    }
}
