//! A cluster in which nothing goes wrong → the same, when its Harbor is ready.

use std::time::Duration;

use super::cluster::Cluster;
use super::model;
use super::user::User;

/// Time between two polls.
pub(super) const POLL: Duration = Duration::from_millis(500);
/// Polls at most: longer than the longest pause of a watch that failed often.
pub(super) const POLLS_AT_MOST: usize = 240;

/// Lets a cluster in which nothing goes wrong run until its Harbor is ready.
pub(super) async fn run_until_ready(cluster: &mut Cluster) -> Result<(), String> {
    for _ in 0..POLLS_AT_MOST {
        cluster.pass(POLL).await;
        cluster.turn();
        if !cluster.issue() && is_ready(cluster) {
            return Ok(());
        }
    }
    Err(format!("without any fault the Harbor never is ready: {:?}", User::harbor(cluster)))
}

/// Is the Harbor ready, as its status says?
pub(super) fn is_ready(cluster: &Cluster) -> bool {
    User::harbor(cluster).is_some_and(|harbor| model::is_ready(&harbor))
}
