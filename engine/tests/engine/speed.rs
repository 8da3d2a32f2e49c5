//! Figures of one render in process, printed; no limit is asserted, since machines differ.

use std::time::Instant;

use vela_engine::{Templates, graph, manifest, parse, plan, render, revision};
use vela_testkit::cases;

use crate::snapshots;

#[test]
fn a_render_is_timed() {
    let snapshot = snapshots::built_in();
    let templates = Templates::new();
    let text = std::fs::read_to_string(cases::folder("examples/first/web").join("app.yaml")).unwrap();
    let documents = manifest::read("app.yaml", &text).unwrap();
    let application = &documents.as_slice()[0];
    let reconcile = || {
        let revision = revision::revision(parse::parse(application, &snapshot).unwrap(), None);
        let rendered =
            render::render(&plan::plan(revision).unwrap(), &templates, &render::Inputs::default()).unwrap();
        graph::graph(rendered).unwrap().objects().count()
    };
    let start = Instant::now();
    assert_eq!(reconcile(), 3);
    let cold = start.elapsed();
    const ROUNDS: u32 = 50;
    let start = Instant::now();
    for _ in 0..ROUNDS {
        assert_eq!(reconcile(), 3);
    }
    eprintln!("first/web: first render {cold:?}, then {:?} each", start.elapsed() / ROUNDS);
}
