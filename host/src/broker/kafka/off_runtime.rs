//! Ends the client library's clients where waiting is allowed.

use std::ops::Deref;

use tokio::runtime::Handle;

/// A client whose end waits for threads of the library, so that it must not come on a thread of the runtime, which others need.
pub(super) struct OffRuntime<C: Send + 'static>(Option<C>);

impl<C: Send + 'static> OffRuntime<C> {
    pub(super) const fn new(client: C) -> Self {
        Self(Some(client))
    }

    /// Ends it here, and returns when it has ended.
    pub(super) fn end(mut self) {
        drop(self.0.take());
    }
}

impl<C: Send + 'static> Deref for OffRuntime<C> {
    type Target = C;

    fn deref(&self) -> &C {
        // Only its end takes it out.
        self.0.as_ref().expect("a client that has not ended")
    }
}

impl<C: Send + 'static> Drop for OffRuntime<C> {
    fn drop(&mut self) {
        let Some(client) = self.0.take() else { return };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(client))),
            Err(_) => drop(client),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::*;

    /// Says which thread ended it.
    struct Client(mpsc::Sender<ThreadId>);

    impl Drop for Client {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }

    #[tokio::test]
    async fn a_client_that_is_dropped_on_the_runtime_ends_elsewhere() {
        let (tell, told) = mpsc::channel();
        drop(OffRuntime::new(Client(tell)));
        let ended_by = told.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_ne!(ended_by, thread::current().id());
    }

    #[test]
    fn a_client_that_is_dropped_where_no_runtime_is_ends_at_once() {
        let (tell, told) = mpsc::channel();
        drop(OffRuntime::new(Client(tell)));
        assert_eq!(told.try_recv(), Ok(thread::current().id()));
    }

    #[tokio::test]
    async fn a_client_that_is_ended_has_ended() {
        let (tell, told) = mpsc::channel();
        OffRuntime::new(Client(tell)).end();
        assert_eq!(told.try_recv(), Ok(thread::current().id()));
    }
}
