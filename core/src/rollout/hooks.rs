//! Hooks of a rollout → asked in order, each until it says yes or no; the first no ends it.

use std::collections::BTreeMap;
use std::time::Duration;

use vela_engine::rollout::hooks::{ATTEMPTS, Answer, FIRST_PAUSE, HookCall, PAUSE_FACTOR};

use crate::egress::{Egress, shown};

/// Of an answer only the status counts; a hook may nevertheless say something.
const ANSWER_BYTES_AT_MOST: usize = 64 << 10;
/// Longest time all attempts of one hook may take: a reconcile has other things to do.
const HOOK_AT_MOST: Duration = Duration::from_secs(20);

/// Ask all of them; the error names the hook that did not say yes.
pub(super) async fn call(egress: &Egress, calls: &[HookCall]) -> Result<(), String> {
    for call in calls {
        let asked = tokio::time::timeout(HOOK_AT_MOST, ask(egress, call)).await;
        asked
            .unwrap_or_else(|_| Err(format!("no answer within {} s", HOOK_AT_MOST.as_secs())))
            .map_err(|why| format!("hook {:?} ({}) at {}: {why}", call.name, call.path, shown(&call.url)))?;
    }
    Ok(())
}

async fn ask(egress: &Egress, call: &HookCall) -> Result<(), String> {
    let headers = BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
    let mut pause = FIRST_PAUSE;
    let mut attempt = 1;
    loop {
        let body = call.body.to_string().into_bytes();
        let answer = egress.send(&call.method, &call.url, &headers, body, ANSWER_BYTES_AT_MOST).await;
        let status = answer.as_ref().ok().map(|(status, _)| *status);
        match call.judge(status) {
            Answer::Yes => return Ok(()),
            Answer::Again if attempt < ATTEMPTS => {}
            Answer::No | Answer::Again => {
                return Err(match answer {
                    Ok(_) => call.refused(status),
                    Err(error) => error,
                });
            }
        }
        tokio::time::sleep(pause).await;
        pause *= PAUSE_FACTOR;
        attempt += 1;
    }
}
