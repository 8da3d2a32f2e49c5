//! Figures of rendering in process: processor time and allocations of one call, warm.
//!
//! `cargo bench -p vela-engine` prints them; docs/benchmarks.md records them beside the peer's. No limit of time is asserted
//! here, since machines differ. Allocations do not depend on the machine: those of the smallest component are limited.

// A failed unwrap means that the benchmark itself is broken; an allocator that counts cannot be had without `unsafe`.
#![allow(clippy::unwrap_used, clippy::print_stdout, unsafe_code)]

mod growth;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value as Json, json};
use vela_engine::{Plan, Snapshot, Templates, graph, health, manifest, parse, plan, render, revision};

/// Counts what is asked of the system's allocator.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counters have no part in it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(size as u64, Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More allocations of a webservice with an image and nothing else are a change for the worse, to be found and explained. 562 on
/// 27 November 2026.
const ALLOCATIONS_AT_MOST: u64 = 600;

/// Repetitions of which the fastest and the mean are told.
const ROUNDS: u32 = 300;

/// Prints the figures of one piece of work. Gives its allocations.
fn measure(name: &str, mut work: impl FnMut()) -> u64 {
    for _ in 0..10 {
        work();
    }
    let (allocations, bytes) = (ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    let mut best = f64::MAX;
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let mean = start.elapsed().as_secs_f64() / f64::from(ROUNDS);
    let each = |counter: &AtomicU64, before| (counter.load(Ordering::Relaxed) - before) / u64::from(ROUNDS);
    let allocated = each(&ALLOCATIONS, allocations);
    println!(
        "{name:<34} best {:>8.1} µs  mean {:>8.1} µs  {:>6} allocations  {:>5} KB",
        best * 1e6,
        mean * 1e6,
        allocated,
        each(&BYTES, bytes) / 1024,
    );
    allocated
}

/// The parameters the peer's figure was measured with: most of what webservice takes.
fn full() -> Json {
    json!({
        "image": "nginx:1.27", "imagePullPolicy": "IfNotPresent", "cmd": ["nginx"], "args": ["-g", "daemon off;"],
        "cpu": "0.5", "memory": "256Mi", "labels": {"team": "a"}, "annotations": {"note": "b"},
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "ports": [{"port": 80, "expose": true}, {"port": 53, "protocol": "UDP", "name": "dns", "expose": true}],
        "exposeType": "NodePort",
        "volumeMounts": {
            "pvc": [{"name": "data", "mountPath": "/data", "claimName": "data"}],
            "configMap": [{"name": "conf", "mountPath": "/conf", "cmName": "conf"}],
            "emptyDir": [{"name": "tmp", "mountPath": "/tmp"}],
        },
        "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
        "readinessProbe": {"tcpSocket": {"port": 80}},
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.example.com"]}],
        "imagePullSecrets": ["pull"],
    })
}

fn traits() -> [Json; 5] {
    [
        json!({"type": "scaler", "properties": {"replicas": 3}}),
        json!({"type": "cpuscaler", "properties": {"min": 1, "max": 5}}),
        json!({"type": "labels", "properties": {"team": "storefront"}}),
        json!({"type": "annotations", "properties": {"note": "c"}}),
        json!({"type": "sidecar", "properties": {"name": "log", "image": "fluent:1", "cmd": ["run"]}}),
    ]
}

fn application(properties: &Json, traits: &[Json]) -> String {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"components": [
            {"name": "frontend", "type": "webservice", "properties": properties, "traits": traits},
        ]},
    })
    .to_string()
}

/// One application: rendered from its plan, and the whole reconcile from the document on. Gives the allocations of the render.
fn reconcile(name: &str, text: &str, snapshot: &Snapshot, templates: &Templates) -> u64 {
    let documents = manifest::read("app.yaml", text).unwrap();
    let document = &documents.as_slice()[0];
    let planned = || {
        let revision = revision::revision(parse::parse(document, snapshot).unwrap(), None);
        plan::plan(revision).unwrap()
    };
    let plan = planned();
    let render = |plan: &Plan| render::render(plan, templates, &render::Inputs::default()).unwrap();
    let allocations = measure(name, || {
        std::hint::black_box(render(&plan));
    });
    measure(&format!("{name}, document to graph"), || {
        std::hint::black_box(graph::graph(render(&planned())).unwrap());
    });
    allocations
}

fn main() {
    let mut snapshot = Snapshot::default();
    let mut webservice = None;
    for definition in vela_definitions::builtin() {
        let manifest = definition.manifest("vela-system");
        if manifest["metadata"]["name"] == "webservice" {
            webservice = Some(manifest.clone());
        }
        snapshot.insert_definition_object(manifest).unwrap();
    }
    let templates = Templates::new();
    let only = json!({"image": "nginx"});
    let smallest = reconcile("webservice, image only", &application(&only, &[]), &snapshot, &templates);
    assert!(smallest <= ALLOCATIONS_AT_MOST, "webservice, image only: {smallest} allocations");
    reconcile("webservice, full", &application(&full(), &[]), &snapshot, &templates);
    reconcile("webservice, full, 1 trait", &application(&full(), &traits()[..1]), &snapshot, &templates);
    reconcile("webservice, full, 5 traits", &application(&full(), &traits()), &snapshot, &templates);

    let web = vela_testkit::cases::folder("examples/first/web").join("app.yaml");
    let text = std::fs::read_to_string(web).unwrap();
    reconcile("first/web, 3 traits", &text, &snapshot, &templates);

    growth::print(&snapshot, &templates);

    let webservice = webservice.unwrap();
    let text = |field: &str| webservice["spec"]["status"][field].as_str().unwrap_or("").to_owned();
    let (policy, custom) = (text("healthPolicy"), text("customStatus"));
    let context = json!({
        "name": "frontend", "appName": "web",
        "output": {
            "metadata": {"generation": 1}, "spec": {"replicas": 1},
            "status": {"observedGeneration": 1, "readyReplicas": 1, "updatedReplicas": 1, "replicas": 1},
        },
    });
    assert!(health::evaluate(&policy, &custom, &context, &full(), &templates).healthy);
    measure("health of webservice", || {
        std::hint::black_box(health::evaluate(&policy, &custom, &context, &full(), &templates));
    });
}
