//! From a case to a test on every broker.

/// Makes of each case, an `async fn` of a [`Stage`](crate::stage::Stage), one test for each broker.
macro_rules! on_every_broker {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::stage::memory().await).await;
            })+
        }

        mod rabbitmq {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::stage::rabbitmq().await).await;
            })+
        }

        mod kafka {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::stage::kafka().await).await;
            })+
        }

        mod narad {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::stage::narad().await).await;
            })+
        }
    };
}

pub(crate) use on_every_broker;
