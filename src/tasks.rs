//! The one way to start a task: shutdown waits for all of them.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Tasks that shutdown waits for. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    closed: CancellationToken,
}

impl Tasks {
    /// Starts a task, unless no more are taken.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        if self.closed.is_cancelled() {
            return false;
        }
        drop(self.tracker.spawn(work));
        true
    }

    /// Takes no more tasks.
    pub fn close(&self) {
        self.closed.cancel();
        self.tracker.close();
    }

    /// Waits until every task has ended. Only after [`Self::close`].
    pub async fn wait(&self) {
        self.tracker.wait().await;
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.tracker.len()
    }
}
