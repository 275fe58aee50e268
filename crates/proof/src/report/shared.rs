//! What the checks of a run share.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell};

use super::Failure;

type Value = Arc<dyn Any + Send + Sync>;
/// A cell for each type, so that the creation of one value does not wait for that of another.
type Values = HashMap<TypeId, Arc<OnceCell<Value>>>;

/// One value of each type, created when a check asks for it.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Values>>);

impl Shared {
    pub(super) async fn find_or_create<T, F, Created>(&self, create: F) -> Result<Arc<T>, Failure>
    where
        T: Send + Sync + 'static,
        F: FnOnce() -> Created,
        Created: Future<Output = Result<T, Failure>>,
    {
        let cell = Arc::clone(self.0.lock().await.entry(TypeId::of::<T>()).or_default());
        let create = async || Ok::<Value, Failure>(Arc::new(create().await?));
        let value = Arc::clone(cell.get_or_try_init(create).await?).downcast();
        value.map_err(|_| "the shared value has another type".into())
    }

    /// Drops all values, each once no check uses it any more.
    pub(super) async fn clear(&self) {
        self.0.lock().await.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_value_is_created_once_and_again_after_a_failure() {
        let shared = Shared::default();
        let one = shared.find_or_create(async || Ok(1_u32)).await.unwrap();
        let same = shared.find_or_create(async || Ok(2_u32)).await.unwrap();
        let other = shared.find_or_create(async || Ok(3_u64)).await.unwrap();
        assert_eq!((*one, *same, *other), (1, 1, 3));
        shared.clear().await;
        let again = shared.find_or_create(async || Ok(2_u32)).await.unwrap();
        assert_eq!(*again, 2);
    }
}
