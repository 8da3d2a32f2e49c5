//! Calls of a template: their order, what they ask, what they are answered, and templates that mean harm.

use serde_json::{Value as Json, json};
use vela_cue::calls::{Answer, Call, CallFields, Progress, Run};
use vela_cue::{Budget, Code, Diagnostics, Provider, Source, Template};

/// How the packages of this test write calls.
const FIELDS: CallFields = CallFields {
    function: "#do",
    provider: "#provider",
    params: "$params",
    returns: "$returns",
    order: "step",
};

/// A package of this test: `#Get` asks, `#Double` is computed, `#Old` has its fields side by side.
struct Shop;

impl Provider for Shop {
    fn path(&self) -> &str {
        "my/shop"
    }

    fn sources(&self) -> Vec<Source> {
        let text = r#"
#Get: {#do: "get", #provider: "shop", $params: name: string, $returns?: price: int, ...}
#Double: {#do: "double", #provider: "shop", $params: int, $returns?: int}
#Text: {#do: "text", #provider: "shop", $returns?: string}
#Ping: {#do: "ping", #provider: "shop"}
#Old: {#do: "old", #provider: "shop", name: string, price?: int}
"#;
        vec![Source::new("shop.cue", text)]
    }

    fn compute(&self, call: &Call) -> Option<Result<Answer, String>> {
        let number = match (call.function.as_str(), call.params()) {
            ("double", Ok(params)) => params.as_i64(),
            ("ping", _) => return Some(Ok(Answer::Nothing)),
            _ => return None,
        };
        Some(match number {
            Some(number) if number < 1000 => Ok(Answer::Returns(json!(number * 2))),
            _ => Err("it is too much".to_owned()),
        })
    }
}

fn run(text: &str) -> Run {
    with_budget(text, Budget::default())
}

fn with_budget(text: &str, budget: Budget) -> Run {
    let text = format!("import \"my/shop\"\n{text}\nparameter: _");
    let template = Template::compile_with(&[Source::new("step.cue", text)], &[&Shop]).expect("compiles");
    Run::new(
        template.with_budget(budget),
        FIELDS,
        vec![("parameter".to_owned(), json!({"name": "tea", "n": 21}))],
    )
}

/// Answers every question with the length of the name that is asked for.
fn finish(run: &mut Run) -> Result<(Vec<String>, Progress), Diagnostics> {
    let mut asked = Vec::new();
    loop {
        match run.advance(&[&Shop])? {
            Progress::Ask(call) => {
                let params = call.params()?;
                let name = params["name"].as_str().unwrap_or_default();
                asked.push(format!("{} {name}", call.path));
                let price = json!({"price": name.len()});
                run.answer(match price {
                    Json::Object(fields) if !call.has_params() => Answer::Fields(fields),
                    price => Answer::Returns(price),
                })?;
            }
            end => return Ok((asked, end)),
        }
    }
}

fn done(text: &str) -> (Vec<String>, Json) {
    match finish(&mut run(text)).expect("no diagnostics") {
        (asked, Progress::Done(value)) => (asked, value.to_json().expect("concrete")),
        (_, Progress::Wait(call, open)) => panic!("{} waits: {open}", call.path),
        (_, Progress::Ask(call)) => panic!("{} is not answered", call.path),
    }
}

#[test]
fn what_is_inside_asks_first_and_answers_reach_the_others() {
    let (asked, value) = done(
        r#"
outer: shop.#Get & {$params: name: "outer", inner: shop.#Get & {$params: name: "inner"}}
list: [shop.#Get & {$params: name: parameter.name}, shop.#Get & {$params: name: "x\(list[0].$returns.price)"}]
own: shop.#Double & {$params: outer.$returns.price}
_hidden: shop.#Old & {name: "old"}
old: _hidden.price
"#,
    );
    assert_eq!(asked, ["outer.inner inner", "outer outer", "list.0 tea", "list.1 x3", "_hidden old"]);
    assert_eq!(value["own"]["$returns"], json!(10));
    assert_eq!(value["list"][1]["$returns"]["price"], json!(2));
    assert_eq!(value["old"], json!(3));
}

#[test]
fn steps_are_numbered_by_their_attribute() {
    let (asked, _) = done(
        r#"
a: shop.#Get & {$params: name: "a"}
b: shop.#Get & {$params: name: "b"} @step(2)
c: shop.#Get & {$params: name: "c"} @step(1)
#never: shop.#Get & {$params: name: "d"}
maybe?: shop.#Get & {$params: name: "e"}
"#,
    );
    assert_eq!(asked, ["c c", "b b", "a a"]);
}

#[test]
fn calls_may_come_from_answers() {
    let (asked, _) = done(
        r#"
a: shop.#Get & {$params: name: "abc"}
more: {for i, _ in [if a.$returns.price > 2 {1}, 2] {"m\(i).x": shop.#Get & {$params: name: "m\(i)"}}}
"#,
    );
    assert_eq!(asked, ["a abc", "more.\"m0.x\" m0", "more.\"m1.x\" m1"]);
}

#[test]
fn an_incomplete_question_waits_and_asks_nothing() {
    let (asked, end) =
        finish(&mut run("a: shop.#Get & {$params: name: string}\nb: shop.#Get & {$params: name: \"b\"}"))
            .expect("waiting is no mistake");
    let Progress::Wait(call, open) = end else { panic!("it must wait") };
    assert_eq!((asked, call.path.as_str()), (Vec::new(), "a"));
    assert!(open.is_incomplete() && open.iter().any(|d| d.path == "a.$params.name"), "{open}");
}

#[test]
fn a_conflicting_answer_is_told_with_both_places() {
    let mut run = run("a: shop.#Get & {$params: name: \"a\", $returns: price: 7}");
    let Progress::Ask(_) = run.advance(&[&Shop]).expect("asks") else { panic!("it must ask") };
    run.answer(Answer::Returns(json!({"price": 8}))).expect("taken");
    let Err(found) = run.advance(&[&Shop]) else { panic!("7 is not 8") };
    let first = found.iter().next().expect("one diagnostic");
    assert_eq!((first.code, first.path.as_str()), (Code::Conflict, "a.$returns.price"));
    let sources = found.sources();
    let mut places: Vec<_> = first.labels.iter().filter_map(|label| sources.position(label.span)).collect();
    places.sort();
    assert_eq!(places, [("answer of shop get to a", 2, 12), ("step.cue", 2, 54)]);
}

#[test]
fn a_field_that_the_package_does_not_have_is_refused() {
    let mut run = run("a: shop.#Double & {$params: 1, $returns: 2}\nb: shop.#Old & {name: \"b\"}");
    let Progress::Ask(_) = run.advance(&[&Shop]).expect("asks") else { panic!("it must ask") };
    let Json::Object(fields) = json!({"colour": "red"}) else { panic!("an object") };
    run.answer(Answer::Fields(fields)).expect("taken");
    let Err(found) = run.advance(&[&Shop]) else { panic!("there is no colour") };
    assert!(found.iter().any(|d| d.path == "b.colour"), "{found}");
}

#[test]
fn calls_without_end_end() {
    let numbers =
        "numbers: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]\n";
    let error = |text: &str, budget: Budget| {
        let mut run = with_budget(&format!("{numbers}{text}"), budget);
        let Err(found) = finish(&mut run) else { panic!("it must end with a diagnostic") };
        let first = found.iter().next().expect("one diagnostic");
        assert!(first.code == Code::Budget && first.hint.is_some(), "{found}");
        first.message.clone()
    };
    let pings = "list: [for i in numbers for j in numbers {shop.#Ping}]";
    assert!(error(pings, Budget::default()).contains("500 calls"));
    let doubles = "list: [for i in numbers {shop.#Double & {$params: i}}]";
    let small = Budget { steps: 1_000, ..Budget::default() };
    assert!(error(doubles, small).contains("5000 steps"));
    // The same calls may be answered shortly, and not at length.
    let texts = format!("{numbers}list: [for i in numbers {{shop.#Text}}]");
    let limit = Budget { steps: 2_000, ..Budget::default() };
    let answered = |length: usize| {
        let mut run = with_budget(&texts, limit);
        loop {
            match run.advance(&[&Shop]) {
                Ok(Progress::Ask(_)) => {
                    run.answer(Answer::Returns(json!("x".repeat(length)))).expect("taken")
                }
                Ok(_) => return Ok(()),
                Err(found) => return Err(found.iter().next().map(|first| first.code)),
            }
        }
    };
    assert_eq!((answered(1), answered(30_000)), (Ok(()), Err(Some(Code::Budget))));
}

#[test]
fn impossible_calls_and_unknown_providers_fail_at_the_call() {
    let Err(found) = run("a: shop.#Double & {$params: 5000}").advance(&[&Shop]) else { panic!("too much") };
    let first = found.iter().next().expect("one diagnostic");
    assert!(first.message.contains("it is too much") && first.path == "a", "{found}");
    let Err(found) = run("a: {#do: \"x\", #provider: \"bank\"}\n_b: shop.#Old").advance(&[&Shop]) else {
        panic!("there is no bank")
    };
    let first = found.iter().next().expect("one diagnostic");
    assert!(first.message.contains("\"bank\"") && first.hint.as_ref().is_some_and(|h| h.contains("shop")));
}

#[test]
fn expressions_see_the_fields_of_a_value() {
    let root = run("a: shop.#Get & {$params: name: \"abc\"}\n_h: 2\nlist: [1, 2]").value().expect("a value");
    let of = |text: &str| root.evaluate("script", text).and_then(|v| v.to_json()).map_err(|e| e.to_string());
    assert_eq!(of("a.$params.name"), Ok(json!("abc")));
    assert_eq!(of("import \"strings\"\nstrings.ToUpper(a.$params.name)"), Ok(json!("ABC")));
    assert_eq!(of("let x = list[1]\nsum: x + _h\nnext: sum + 1"), Ok(json!({"sum": 4, "next": 5})));
    assert_eq!(of("parameter.n == 21 && len(list) == 2"), Ok(json!(true)));
    assert_eq!(of("[for v in list if v > 1 {v}]"), Ok(json!([2])));
    let missing = root.evaluate("script", "1 + nothing.x").err().expect("nothing is not known");
    assert_eq!(missing.iter().next().and_then(|d| missing.position(d)), Some(("script", 1, 5)));
    assert!(root.evaluate("script", "1 +").is_err());
    assert!(of("a.$returns.price").is_err());
}

#[test]
fn calls_are_written_as_their_author_likes() {
    let fields =
        CallFields { function: "ask", provider: "whom", params: "with", returns: "got", order: "nr" };
    let text = r#"
late: {ask: "second", whom: "shop", with: first.got} @nr(2)
first: {ask: "first", whom: "shop", with: "tea", got?: int} @nr(1)
other: {#do: "get", #provider: "shop", $params: "no provider is asked"}
"#;
    let template = Template::compile(&[Source::new("a.cue", text)]).expect("compiles");
    let mut run = Run::new(template, fields, Vec::new());
    let mut asked = Vec::new();
    let value = loop {
        match run.advance(&[&Shop]).expect("goes on") {
            Progress::Ask(call) => {
                asked.push((call.path.clone(), call.function.clone(), call.params().expect("is known")));
                run.answer(Answer::Returns(json!(3))).expect("takes it");
            }
            Progress::Wait(call, open) => panic!("{}: {open}", call.path),
            Progress::Done(value) => break value,
        }
    };
    let call_of = |path: &str, function: &str, with: Json| (path.to_owned(), function.to_owned(), with);
    assert_eq!(asked, [call_of("first", "first", json!("tea")), call_of("late", "second", json!(3))]);
    assert_eq!(value.lookup("late.got").as_i64(), Some(3));
}
