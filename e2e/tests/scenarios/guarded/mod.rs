//! Two replicas that serve webhooks while authors write good and broken applications: whatever happens to a replica, its
//! certificate or its API server, nothing broken is stored, nothing good is lost, and one replica writes at a time.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use rcgen::{CertificateParams, DnType, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::balancer::Balancer;
use vela_e2e::objects::until;
use vela_e2e::proxy::{Fault, Seen};
use vela_e2e::replica::Replica;

use crate::replicas::{LEADS_AFTER_KILL, LEADS_AFTER_STOP, Replicas, SLOW, terms};
use crate::webhooks::{authority, register, unregister, until_judged};
use crate::{CONVERGE_DEADLINE, on_a_control_plane};

mod authors;

use authors::Authors;

/// Where the replicas keep their certificate and their lease.
const HOME: &str = "vela-system";
/// The name of the replicas' authorities.
const AUTHORITY: &str = "webhook-authority";
/// How long each fault lasts.
const LASTS: Duration = Duration::from_secs(2);
/// Shorter than the ten seconds after which a leader gives up: no process may end.
const OUTAGE: Duration = Duration::from_secs(6);
/// From the end of a fault until verdicts are given and a change is through.
const RECOVERS: Duration = Duration::from_secs(20);
/// Until a replica has looked at the Secret, every 15 seconds, and the API server has heard of it.
const LOOKED: Duration = Duration::from_secs(35);
/// After a replica went, as long as another one serves. A round of all verdicts took more than 5 s where builds kept both
/// cores busy.
const OTHER_SERVES: Duration = Duration::from_secs(12);

struct Guarded {
    replicas: Replicas,
    balancer: Balancer,
    running: Vec<Running>,
}

struct Running {
    who: &'static str,
    replica: Replica,
    /// Where it judges.
    serves: SocketAddr,
}

impl Guarded {
    async fn start(&mut self, who: &'static str) -> Result<()> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let serves = SocketAddr::from(([127, 0, 0, 1], port));
        self.balancer.add(serves);
        let (port, secret) =
            (format!("--webhook-port={port}"), format!("--webhook-cert-secret={}", self.name()));
        let flags = ["--use-webhook", &port, &secret, "--webhook-hosts=127.0.0.1"];
        let replica = self.replicas.start(who, &flags).await?;
        self.running.push(Running { who, replica, serves });
        Ok(())
    }

    async fn all_serve(&self) -> Result<()> {
        for running in &self.running {
            until(&format!("{} serves", running.who), CONVERGE_DEADLINE, async || {
                let connected = tokio::net::TcpStream::connect(running.serves).await;
                connected.map(|_| ()).map_err(|error| error.to_string())
            })
            .await?;
        }
        Ok(())
    }

    /// Every one of them alone gives verdicts.
    async fn all_judge(&self, authors: &Authors) -> Result<()> {
        self.all_serve().await?;
        for running in &self.running {
            self.balancer.prefer(running.serves);
            authors
                .judged(Instant::now(), RECOVERS)
                .await
                .map_err(|error| format!("{}: {error}", running.who))?;
        }
        Ok(())
    }

    /// Of the lease, of the Secret and of the namespace.
    fn name(&self) -> &str {
        &self.replicas.lease
    }

    /// Takes the leader out of those that run, when it is the one that judges and is in the middle of a reconcile; the other
    /// one's name comes along.
    async fn busy_leader(&mut self, authors: &Authors) -> Result<(Replica, &'static str)> {
        self.all_serve().await?;
        let seen = self.replicas.record.all();
        let who = seen.iter().rfind(|seen| seen.writes_lease()).map(|seen| seen.who.clone());
        let place = self.running.iter().position(|running| Some(running.who) == who.as_deref());
        let Running { who, replica, serves } = self.running.remove(place.ok_or("no replica leads")?);
        let other = self.running.first().ok_or("there is no standby")?.who;
        self.balancer.prefer(serves);
        authors.judged(Instant::now(), RECOVERS).await?;
        replica.proxy.fault(Fault::Delay(SLOW));
        self.replicas.writes(who, Instant::now()).await?;
        Ok((replica, other))
    }

    /// All proxies from now on.
    fn fault(&self, fault: Fault) {
        for running in &self.running {
            running.replica.proxy.fault(fault);
        }
    }

    fn all_run(&mut self) -> Result<()> {
        for Running { who, replica, .. } in &mut self.running {
            if !replica.runs()? {
                return Err(format!("{who} died:\n{}", replica.log()).into());
            }
        }
        Ok(())
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.replicas.target.cluster().client().clone(), HOME)
    }

    /// One entry of the Secret that the replicas share.
    async fn secret_entry(&self, entry: &str) -> Result<String> {
        let secret = self.secrets().get(self.name()).await?;
        let bytes = secret.data.unwrap_or_default().remove(entry);
        Ok(String::from_utf8(bytes.ok_or_else(|| format!("the Secret has no {entry}"))?.0)?)
    }

    async fn overwrite(&self, entries: Value) -> Result<()> {
        let patch = Patch::Merge(json!({"stringData": entries}));
        self.secrets().patch(self.name(), &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// How often each replica changed its certificate.
    fn served(&self) -> Vec<usize> {
        let changes = |log: String| log.matches("the webhook server has a new certificate").count();
        self.running.iter().map(|running| changes(running.replica.log())).collect()
    }

    async fn until_served(&self, times: usize) -> Result<()> {
        until("both replicas have the new certificate", LOOKED, async || match self.served().as_slice() {
            served if served.iter().all(|served| *served >= times) => Ok(()),
            served => Err(format!("they changed it {served:?} times, not {times}")),
        })
        .await
    }

    /// Waits until the Secret holds this, or until it does not.
    async fn until_kept(&self, entry: &str, text: &str, is: bool) -> Result<()> {
        until(&format!("the Secret has {entry} as it should be"), LOOKED, async || {
            let now = self.secret_entry(entry).await.map_err(|error| error.to_string())?;
            if (now == text) == is { Ok(()) } else { Err("it has not".to_owned()) }
        })
        .await
    }
}

/// A certificate of the replicas' own authority that no client accepts any more, and its key.
fn expired(authority_key: &str) -> Result<(String, String)> {
    let mut signer = CertificateParams::default();
    signer.distinguished_name.push(DnType::CommonName, AUTHORITY);
    let issuer = Issuer::new(signer, KeyPair::from_pem(authority_key)?);
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let key = KeyPair::generate()?;
    Ok((params.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
}

/// The objects that the leader alone may write. Certificates and whom to trust are everybody's, and everybody writes
/// the same.
fn of_the_leader(seen: Vec<Seen>) -> Vec<Seen> {
    let of_webhooks =
        ["/namespaces/vela-system/secrets", "webhookconfigurations/", "customresourcedefinitions/"];
    seen.into_iter().filter(|seen| !of_webhooks.iter().any(|part| seen.path.contains(part))).collect()
}

/// SIGTERM in a reconcile: the standby leads at once, and verdicts go on.
async fn stopped(guarded: &mut Guarded, authors: &Authors) -> Result<()> {
    let (mut leader, other) = guarded.busy_leader(authors).await?;
    let asked = Instant::now();
    leader.terminate()?;
    let (code, ended) = leader.ended().await?;
    if code != 0 {
        return Err(format!("a stopped leader ends with {code}:\n{}", leader.log()).into());
    }
    let taken = guarded.replicas.leads(other, asked).await?;
    if taken.saturating_duration_since(ended) > LEADS_AFTER_STOP {
        return Err(format!("a clean hand-over took {:?}", taken - ended).into());
    }
    authors.judged(ended, OTHER_SERVES).await?;
    let requests = authors.since(asked);
    println!(
        "guarded: SIGTERM in a reconcile: ended after {:.1} s; {requests}",
        (ended - asked).as_secs_f64()
    );
    Ok(())
}

/// SIGKILL in a reconcile, while the Secret cannot be read: the one that is left judges at once, leads in time, and
/// writes the Secret again.
async fn killed(guarded: &mut Guarded, authors: &Authors) -> Result<()> {
    let before = guarded.secret_entry("ca.crt").await?;
    let nonsense = json!({"ca.crt": "?", "ca.key": "?", "tls.crt": "?", "tls.key": "?"});
    let (mut leader, other) = guarded.busy_leader(authors).await?;
    guarded.overwrite(nonsense).await?;
    let killed = Instant::now();
    leader.kill()?;
    let judged = authors.judged(killed, OTHER_SERVES).await?;
    let taken = guarded.replicas.leads(other, killed).await?;
    if taken - killed > LEADS_AFTER_KILL {
        return Err(format!("after SIGKILL the standby led {:?} later", taken - killed).into());
    }
    guarded.until_kept("ca.crt", &before, true).await?;
    println!(
        "guarded: SIGKILL in a reconcile, the Secret unreadable: verdicts {:.1} s later, the standby leads {:.1} s later; {}",
        judged.as_secs_f64(),
        (taken - killed).as_secs_f64(),
        authors.since(killed)
    );
    Ok(())
}

/// An API server that is in trouble, for both replicas, while the certificate has expired.
async fn faulty(guarded: &mut Guarded, authors: &Authors) -> Result<()> {
    guarded.all_serve().await?;
    let (certificate, key) = expired(&guarded.secret_entry("ca.key").await?)?;
    guarded.overwrite(json!({"tls.crt": certificate, "tls.key": key})).await?;
    let faults = [
        ("slow", Fault::Delay(Duration::from_millis(400)), LASTS),
        ("409", Fault::EverySecond(409), LASTS),
        ("410", Fault::EverySecond(410), LASTS),
        ("429", Fault::Status(429), LASTS),
        ("500", Fault::Status(500), LASTS),
        ("watches closed every second", Fault::EndWatches(Duration::from_secs(1)), LASTS),
        ("down", Fault::Down, OUTAGE),
    ];
    for (name, fault, lasts) in faults {
        let began = Instant::now();
        guarded.fault(fault);
        tokio::time::sleep(lasts).await;
        guarded.fault(Fault::Pass);
        let well = Instant::now();
        let requests = authors.since(began);
        let judged = authors.judged(well, RECOVERS).await.map_err(|error| format!("{name}: {error}"))?;
        println!(
            "guarded: {name} for {} s: {requests}; verdicts {:.1} s after it",
            lasts.as_secs(),
            judged.as_secs_f64()
        );
        guarded.all_run()?;
    }
    let through = authors.through(Instant::now(), RECOVERS).await?;
    println!("guarded: after all of them a change is through after {:.1} s", through.as_secs_f64());
    guarded.until_kept("tls.crt", &certificate, false).await?;
    guarded.until_served(1).await
}

/// A user puts another authority into the Secret: both replicas change over, and API servers are told.
async fn swapped(guarded: &mut Guarded, authors: &Authors) -> Result<()> {
    let other = authority(AUTHORITY)?;
    let (began, before) = (Instant::now(), guarded.served().into_iter().max().unwrap_or_default());
    guarded.overwrite(json!({"ca.crt": other.pem(), "ca.key": other.key().serialize_pem()})).await?;
    guarded.until_served(before + 1).await?;
    let changed = began.elapsed();
    guarded.all_judge(authors).await?;
    if guarded.secret_entry("ca.crt").await? != other.pem() {
        return Err("the authority that a user put there was not kept".into());
    }
    println!(
        "guarded: another authority: both serve it {:.1} s later; {}",
        changed.as_secs_f64(),
        authors.since(began)
    );
    Ok(())
}

async fn story(guarded: &mut Guarded, authors: &Authors) -> Result<()> {
    let began = Instant::now();
    authors.judged(began, CONVERGE_DEADLINE).await?;
    authors.through(began, CONVERGE_DEADLINE).await?;
    let before = authors.workloads().await?;
    guarded.all_judge(authors).await?;
    println!("guarded: two replicas: {}", authors.since(began));
    stopped(guarded, authors).await?;
    guarded.start("third").await?;
    killed(guarded, authors).await?;
    guarded.start("fourth").await?;
    faulty(guarded, authors).await?;
    swapped(guarded, authors).await?;
    let after = authors.workloads().await?;
    if after != before { Err(format!("workloads were {before:?}, now {after:?}").into()) } else { Ok(()) }
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn nothing_broken_gets_past_two_replicas_whatever_happens() {
    on_a_control_plane(async {
        let (replicas, balancer) = (Replicas::alone("guarded").await?, Balancer::open().await?);
        register(&replicas.target, &format!("https://{}", balancer.address())).await?;
        let mut guarded = Guarded { replicas, balancer, running: Vec::new() };
        // Both find no Secret and make one.
        guarded.start("first").await?;
        guarded.start("second").await?;
        until_judged(&guarded.replicas.target).await?;
        let authors = Authors::new(guarded.replicas.target.cluster());
        tokio::select! {
            wrong = authors.write_on() => wrong,
            requests = story(&mut guarded, &authors) => requests,
        }?;
        authors.nothing_is_lost().await?;
        let seen = guarded.replicas.record.all();
        let made = seen
            .iter()
            .filter(|seen| seen.status == 201 && seen.path.contains("/vela-system/secrets"))
            .count();
        if made != 1 {
            return Err(format!("the Secret was made {made} times").into());
        }
        let seen = of_the_leader(seen);
        let mut writers = terms(&seen);
        let terms = writers.len();
        writers.sort_unstable();
        writers.dedup();
        if terms != 3 || writers.len() != 3 {
            return Err(format!("more than one wrote at a time: {:?}", super::replicas::terms(&seen)).into());
        }
        unregister(&guarded.replicas.target).await?;
        authors.clear().await?;
        guarded.secrets().delete(guarded.name(), &kube::api::DeleteParams::default()).await?;
        Ok(())
    });
}
