//! An API server that is away, slow or refuses: `vela-core` neither dies nor spins, and goes on within seconds when it is well again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::proxy::{Fault, Record, Seen};
use vela_e2e::replica::Replica;
use vela_e2e::target::Target;

use crate::{CONVERGE_DEADLINE, on_a_control_plane};

/// How long each fault lasts; `E2E_LONG` makes the outage a minute.
const LASTS: Duration = Duration::from_secs(6);
const OUTAGE: Duration = Duration::from_secs(15);
const OUTAGE_LONG: Duration = Duration::from_secs(60);
/// From the end of a fault until a change is through.
const RECOVERS: Duration = Duration::from_secs(20);
/// Requests a second, on average over a fault, other than those by which watches begin again. There is one application.
const REQUESTS_A_SECOND: f64 = 80.0;

fn application(image: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "app"},
        "spec": {"components": [{"name": "web", "type": "webservice", "properties": {"image": image}}]},
    })
}

/// Waits until the Deployment has the image.
async fn through(target: &Target, image: &str, deadline: Duration) -> Result<()> {
    until(&format!("{image} is through"), deadline, async || {
        let found = target.cluster().get("apps/v1", "Deployment", "web").await;
        let found = found.map_err(|error| error.to_string())?.unwrap_or_default();
        let now = found["spec"]["template"]["spec"]["containers"][0]["image"].clone();
        if now == image { Ok(()) } else { Err(format!("the image is {now}")) }
    })
    .await
}

/// Whether a watch began again more than once a second, with at most one look at its collection each time, or everything
/// else was asked too often. How many kinds are watched depends on what the scenarios before left in the cluster, so each
/// watch is judged by itself.
fn spins(seen: &[Seen], lasted: Duration) -> Result<()> {
    let seconds = lasted.as_secs_f64();
    let mut watches = BTreeMap::<(&str, String), usize>::new();
    let mut looks = BTreeMap::<&str, usize>::new();
    let mut others = 0;
    for Seen { path, .. } in seen {
        match path.split_once('?') {
            Some((collection, "limit=1")) => *looks.entry(collection).or_default() += 1,
            Some((collection, query)) if query.contains("watch=true") => {
                let asked = query.split('&').filter(|part| !part.starts_with("resourceVersion="));
                *watches.entry((collection, asked.collect::<Vec<_>>().join("&"))).or_default() += 1;
            }
            _ => others += 1,
        }
    }
    // The first of them may have been due just when the fault began.
    let most = seconds + 1.0;
    if let Some(((collection, query), times)) = watches.iter().find(|(_, times)| **times as f64 > most) {
        return Err(format!("watched {times} times in {seconds:.1} s: {collection}?{query}").into());
    }
    for (collection, times) in looks {
        let watched = watches.keys().filter(|(of, _)| *of == collection).count().max(1);
        if times as f64 > most * watched as f64 {
            return Err(format!("looked at {times} times in {seconds:.1} s: {collection}").into());
        }
    }
    let rate = f64::from(others) / seconds;
    if rate > REQUESTS_A_SECOND { Err(format!("{rate:.0} requests a second").into()) } else { Ok(()) }
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn a_faulty_api_server_is_survived() {
    on_a_control_plane(async {
        let target = Target::alone("faulty").await?;
        let record = Record::default();
        let outage = if std::env::var_os("E2E_LONG").is_some() { OUTAGE_LONG } else { OUTAGE };
        target.cluster().apply(&application("busybox:0")).await?;
        // Down at the start.
        let client = target.cluster().client().clone();
        let mut core = Replica::start("core", client, &record, &[], |proxy| proxy.fault(Fault::Down)).await?;
        tokio::time::sleep(outage).await;
        if !core.runs()? || !core.log().contains("cannot be reached") {
            return Err(format!("down at the start: it must wait and say so:\n{}", core.log()).into());
        }
        core.proxy.fault(Fault::Pass);
        let well = Instant::now();
        through(&target, "busybox:0", CONVERGE_DEADLINE).await?;
        println!(
            "faulty: down for {} s at the start: works {:.1} s after the end of it",
            outage.as_secs(),
            well.elapsed().as_secs_f64()
        );
        let faults = [
            ("down", Fault::Down, outage),
            ("slow", Fault::Delay(Duration::from_millis(400)), LASTS),
            ("409", Fault::EverySecond(409), LASTS),
            ("410", Fault::EverySecond(410), LASTS),
            ("429", Fault::Status(429), LASTS),
            ("500", Fault::Status(500), LASTS),
            ("503", Fault::EverySecond(503), LASTS),
            ("watches closed every second", Fault::EndWatches(Duration::from_secs(1)), LASTS),
            ("watches closed at once", Fault::EndWatches(Duration::ZERO), LASTS),
        ];
        for (number, (name, fault, lasts)) in faults.into_iter().enumerate() {
            let began = Instant::now();
            core.proxy.fault(fault);
            let image = format!("busybox:{}", number + 1);
            target.cluster().apply(&application(&image)).await?;
            tokio::time::sleep(lasts).await;
            let (seen, lasted) = (record.since(began), began.elapsed());
            let rate = seen.len() as f64 / lasted.as_secs_f64();
            core.proxy.fault(Fault::Pass);
            let well = Instant::now();
            through(&target, &image, RECOVERS)
                .await
                .map_err(|error| format!("{name}: {error}\n{}", core.log()))?;
            println!(
                "faulty: {name} for {} s: {rate:.1} requests a second; through {:.1} s after the end of it",
                lasts.as_secs(),
                well.elapsed().as_secs_f64()
            );
            spins(&seen, lasted).map_err(|error| format!("{name}: {error}"))?;
            if !core.runs()? {
                return Err(format!("{name}: it died\n{}", core.log()).into());
            }
        }
        core.terminate()?;
        let (code, _) = core.ended().await?;
        if code == 0 { Ok(()) } else { Err(format!("ended with {code}\n{}", core.log()).into()) }
    });
}
