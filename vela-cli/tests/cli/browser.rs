//! A person with a browser: opens the link of `vela dashboard`, searches, and deploys an application by a form. With UPDATE=1
//! the pages become the pictures of `docs/console.md`.

use serde_json::json;
use vela_testkit::Process;

use crate::chromium::Page;
use crate::sandbox::until;
use crate::{PAGE, Person, site};

#[test]
#[ignore = "needs Chromium: cargo xtask nightly --only console-browser"]
fn a_person_deploys_by_the_form_and_sees_it_run() {
    let person = Person::new();
    let Some(mut page) = Page::open(&person.path("chromium")) else {
        eprintln!("SKIPPED: this machine has no Chromium, so no browser opened the console");
        return;
    };
    let (out, err) = (person.path("out"), person.path("err"));
    let mut command = person.command(&["dashboard", "--sandbox", "--allow-changes"]);
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let _console = Process::from(command.spawn().unwrap());
    let link = || std::fs::read_to_string(&out).unwrap();
    until("it prints its link", || link().ends_with('\n'));
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();

    // Opens the link, and searches.
    page.go(link().trim());
    page.says("default/site");
    page.fill("search", "nothing-like-it");
    page.click("Show");
    page.says("No application matches.");
    page.fill("search", "front");
    page.click("Show");
    page.says("default/site");

    // Makes a manifest by the form of a type, and plans it.
    page.click("Types");
    page.says("webservice");
    page.click("webservice");
    page.says("New application");
    page.click("New application");
    page.says("New application of webservice");
    page.fill("name", "shop");
    page.fill("component", "cart");
    page.fill("p.image", "nginx:1");
    page.click("Make the manifest");
    page.says("What deploying it would do");
    assert!(page.text().contains("Application default/shop is created"), "{}", page.text());
    person.types(&["status", "shop"]).fails(1, &["shop"]);
    page.picture("console-plan.png", 640);

    // Deploys what was planned. The page of the application becomes healthy without being loaded again.
    page.click("Deploy shop");
    page.says("default\n\nshop");
    assert_eq!(page.value("window.mark = 'the same page'"), json!("the same page"));
    page.says("healthy running");
    assert!(page.text().contains("Deployment"), "{}", page.text());
    assert_eq!(page.value("window.mark"), json!("the same page"));
    page.picture("console-application.png", 680);
    page.click("Applications");
    page.says("default/site");
    page.picture("console-applications.png", 410);
    person.types(&["status", "shop"]).ok();
    let said = std::fs::read_to_string(&err).unwrap();
    let deployed = "order=\"deploy\" object=\"Application default/shop\" outcome=\"done\"";
    assert!(said.contains(deployed), "{said}");
}
