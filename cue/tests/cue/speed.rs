//! How long a real template takes; run with `--ignored --nocapture` in release.

use std::{fs, time::Instant};

use vela_cue::{Input, Source, Template};

#[test]
#[ignore = "prints figures: cargo xtask bench"]
fn render_time_of_a_real_template() {
    let case = vela_testkit::cases::folder("conformance/definitions/cases/component-webservice-18");
    let text = fs::read_to_string(case.join("template.cue")).expect("a file of the case");
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(case.join(name)).expect("a file of the case")).expect("JSON")
    };
    let (parameter, context) = (json("parameter.json"), json("context.json"));
    let text = format!("{text}\ncontext: _\nparameter: _\n");
    let started = Instant::now();
    let template = Template::compile(&[Source::new("template.cue", text)]).expect("compiles");
    println!("compile: {:?}", started.elapsed());
    let render = || {
        let inputs = [Input::new("parameter", &parameter), Input::new("context", &context)];
        let root = template.instantiate(&inputs).root();
        root.lookup("output").to_json().expect("renders")
    };
    render();
    let rounds = 500;
    let started = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(render());
    }
    println!("render: {:?}", started.elapsed() / rounds);
}
