//! The panic hook is the whole process's, so this one test has a process of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reprieve::broker::Origin;
use reprieve::handler::closure::handler_fn;
use reprieve::handler::{Call, Handler};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;

#[test]
fn a_handlers_panic_has_its_trace_and_the_programs_own_hook_sees_every_panic() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    std::panic::set_hook(Box::new(|_| {
        SEEN.fetch_add(1, Ordering::SeqCst);
    }));
    let handler = handler_fn(|call| async move {
        assert!(call.attempt > 3, "attempt {}", call.attempt);
        Ok::<(), HandlerError>(())
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for attempt in 1..=3 {
        let call = Call {
            message: Arc::new(Message::new("body")),
            origin: Origin::default(),
            route: "orders".into(),
            attempt,
            redelivered: false,
            own_traceparent: None,
        };
        let error = runtime.block_on(handler.handle(&call)).unwrap_err();
        assert_eq!((error.kind, error.text), ("panic".to_owned(), format!("attempt {attempt}")));
        assert!(error.detail.is_some_and(|trace| trace.contains("panic_hook.rs")));
    }
    assert_eq!(SEEN.load(Ordering::SeqCst), 3);

    // Outside of a handler the program's hook is alone, as before.
    assert!(std::thread::spawn(|| panic!("elsewhere")).join().is_err());
    assert_eq!(SEEN.load(Ordering::SeqCst), 4);
}
