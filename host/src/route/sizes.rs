#[test]
fn sizes() {
    use crate::delivery::*;
    use std::mem::size_of;
    println!(
        "Machine {} Arrival {} Work {} Message {} Input {} Effect {} EventKind {} Ruling {} HandlerError {}",
        size_of::<Machine>(),
        size_of::<Arrival>(),
        size_of::<Work>(),
        size_of::<crate::message::Message>(),
        size_of::<Input>(),
        size_of::<Effect>(),
        size_of::<crate::event::EventKind>(),
        size_of::<crate::event::Ruling>(),
        size_of::<crate::handler_error::HandlerError>()
    );
    println!("Delivery {}", size_of::<crate::broker::Delivery>());
    fn ret<F, A, B, C, D>(_: impl Fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }
    println!("drive {}", ret(super::Route::drive));
    println!("sleep {} cancelled {}", ret_sleep(), size_of::<tokio_util::sync::WaitForCancellationFuture<'static>>());
    fn ret_sleep() -> usize {
        size_of::<tokio::time::Sleep>()
    }
}
