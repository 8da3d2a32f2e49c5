//! `vela dashboard --allow-changes` by the REST API of early 2021: environments and Appfiles, as `vela env` and `vela up` keep them.

use vela_testkit::Process;

use crate::Person;
use crate::dashboard::{get, send};
use crate::sandbox::until;

/// A console over the sandbox, and a browser with its session.
struct Console {
    person: Person,
    address: String,
    cookie: String,
    token: String,
    /// It lasts as long as this.
    _process: Process,
}

impl Console {
    fn start() -> Self {
        let person = Person::new();
        let (out, err) = (person.path("out"), person.path("err"));
        let mut command = person.command(&["dashboard", "--sandbox", "--allow-changes"]);
        command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
        let process = Process::from(command.spawn().unwrap());
        let link = || std::fs::read_to_string(&out).unwrap();
        until("it prints its link", || link().ends_with('\n'));
        let link = link().trim().to_owned();
        let (address, enter) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let entered = get(address, &format!("/{enter}"), "");
        let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let token = get(address, "/api/v1/csrf-token", &cookie);
        let token = token.split('"').nth_back(1).unwrap().to_owned();
        Self { person, address: address.to_owned(), cookie, token, _process: process }
    }

    fn get(&self, path: &str) -> String {
        get(&self.address, path, &self.cookie)
    }

    /// The answer to a write; it has this status and these words.
    fn answers(&self, what: &str, body: &str, status: u16, words: &[&str]) {
        let headers = format!("X-Csrf-Token: {}\r\nContent-Type: application/json\r\n", self.token);
        let said = send(&self.address, what, &self.cookie, &headers, body);
        let begin = format!("HTTP/1.1 {status} ");
        assert!(said.starts_with(&begin), "{what}: {said}");
        for words in [words, &[&format!("\"code\":{status}")]].concat() {
            assert!(said.contains(words), "{what}: {words}: {said}");
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.person.path("err")).unwrap()
    }
}

#[test]
fn environments_by_rest_are_those_of_the_commands() {
    let console = Console::start();
    let new = "{\"envName\": \"shop\", \"namespace\": \"shop-ns\"}";
    console.answers("POST /api/envs/", new, 200, &["environment shop created, Namespace: shop-ns (created)"]);
    console.answers("POST /api/envs/", new, 409, &["Env shop already exist"]);
    let same = "{\"envName\": \"other\", \"namespace\": \"shop-ns\"}";
    console.answers("POST /api/envs/", same, 409, &["shop-ns is the environment \\\"shop\\\" already"]);
    let person = &console.person;
    assert_eq!(person.types(&["env", "ls", "-o", "name"]).ok().out, "shop\n");
    assert!(!console.get("/api/envs/shop").contains("\"current\":\"*\""));

    console.answers(
        "PATCH /api/envs/shop",
        "",
        200,
        &["Environment shop: namespace shop-ns. It is current now."],
    );
    assert!(console.get("/api/envs/shop").contains("\"current\":\"*\""));
    let chosen = || std::fs::read_to_string(console.person.path("vela/curenv")).unwrap();
    assert!(chosen().contains("shop-ns"), "{}", chosen());
    console.answers("PUT /api/envs/shop", "{\"namespace\": \"new-ns\"}", 200, &["Update env succeed"]);
    assert!(chosen().contains("new-ns"), "the choice goes with it: {}", chosen());
    assert!(person.types(&["env", "ls"]).ok().out.contains("new-ns"));
    console.answers("DELETE /api/envs/shop", "", 409, &["\\\"shop\\\" is current", "vela env set"]);
    console.answers("DELETE /api/envs/default", "", 409, &["there in every cluster"]);

    person.types(&["env", "set", "default"]).ok();
    console.answers("DELETE /api/envs/shop", "", 200, &["its namespace new-ns is being deleted"]);
    until("it is gone", || !console.get("/api/envs").contains("\"envName\":\"shop\""));
    console.answers("DELETE /api/envs/shop", "", 404, &["env shop not exist"]);
    // The former namespace stays, with what is in it.
    let again = person.types(&["env", "init", "former", "-n", "shop-ns"]).ok();
    assert!(again.err.contains("(which was there)"), "{again:?}");
    until("each write has an audit", || console.said().matches("\naudit: ").count() == 9);
}

#[test]
fn an_appfile_by_rest_becomes_an_application() {
    let console = Console::start();
    let new = "{\"envName\": \"shop\", \"namespace\": \"shop-ns\"}";
    console.answers("POST /api/envs/", new, 200, &[]);
    let service = |image: &str| format!("{{\"type\": \"webservice\", \"image\": \"{image}\"}}");
    let appfile = |image: &str| {
        format!(
            "{{\"name\": \"store\", \"services\": {{\"till\": {}, \"page\": {}}}}}",
            service(image),
            service("nginx:1")
        )
    };
    let apps = "/api/envs/shop/apps";
    console.answers(&format!("POST {apps}/"), &appfile("nginx:1"), 200, &["store is successfully created"]);
    let both = ["\"name\":\"page\",\"status\":\"True\"", "\"name\":\"till\",\"status\":\"True\""];
    until("its components run", || {
        let found = console.get(&format!("{apps}/store"));
        both.iter().all(|words| found.contains(words))
    });
    let wrong = appfile("nginx:1").replace("image", "imgae");
    console.answers(&format!("PUT {apps}/store"), &wrong, 422, &["appfile:1:", "imgae", "image"]);
    let object = "{\"kind\": \"Application\", \"apiVersion\": \"core.oam.dev/v1beta1\"}";
    console.answers(&format!("POST {apps}/"), object, 422, &["the body is no Appfile", "/api/v1/namespaces"]);
    console.answers(
        &format!("PUT {apps}/store"),
        &appfile("nginx:2"),
        200,
        &["store is successfully updated"],
    );
    let stored = console.get("/api/v1/namespaces/shop-ns/applications/store");
    assert!(stored.contains("nginx:2"), "{stored}");
    // The same file, applied with `vela up`, finds nothing to change.
    let file = console.person.write("vela.json", appfile("nginx:2"));
    let up = console.person.types(&["up", &file, "-n", "shop-ns", "--timeout", "60s"]).ok();
    assert!(up.err.contains("Application shop-ns/store unchanged"), "{up:?}");

    console.answers("DELETE /api/envs/shop", "", 409, &["still has applications: store"]);
    console.answers(&format!("DELETE {apps}/store/components/page"), "", 200, &["page is out of"]);
    console.answers(&format!("DELETE {apps}/store/components/till"), "", 409, &["only component of store"]);
    until("the objects of the component are gone", || {
        let tree = console.get("/api/v1/namespaces/shop-ns/applications/store/tree");
        tree.contains("\"name\":\"till\"") && !tree.contains("\"name\":\"page\"")
    });
    console.answers(&format!("DELETE {apps}/store"), "", 200, &["is being deleted"]);
    until("the application is gone", || console.get(apps).contains("\"data\":[]"));
    console.answers("DELETE /api/envs/shop", "", 200, &["shop-ns is being deleted"]);
}

#[test]
fn a_workload_by_rest_runs_as_a_component() {
    let console = Console::start();
    let flag = |name: &str, value: &str| format!("{{\"name\": \"{name}\", \"value\": \"{value}\"}}");
    let traits = format!("[{{\"name\": \"scaler\", \"flags\": [{}]}}]", flag("replicas", "2"));
    let body = |image: &str| {
        format!(
            "{{\"envName\": \"default\", \"workloadType\": \"webservice\", \"workloadName\": \"till\", \"appName\": \"shop\", \
             \"flags\": [{}, {}], \"traits\": {traits}}}",
            flag("image", image),
            flag("ports", "[{port: 80, expose: true}]")
        )
    };
    console.answers("POST /api/workloads/", &body("nginx:1"), 200, &["shop is successfully created"]);
    let till = "/api/envs/default/apps/shop/components/till";
    until("it runs", || console.get(till).contains("\"status\":\"True\""));
    let tree = console.get("/api/v1/namespaces/default/applications/shop/tree");
    assert!(tree.contains("\"kind\":\"Service\"") && tree.contains("2/2"), "{tree}");
    console.answers(&format!("PUT {till}"), &body("nginx:2"), 200, &["\"traitsNames\":[\"scaler\"]"]);
    let stored = console.get("/api/v1/namespaces/default/applications/shop");
    assert!(stored.contains("nginx:2"), "{stored}");
    console.answers(&format!("PUT {till}"), &body("nginx:2").replace("ports", "prots"), 422, &["ports"]);
    console.answers("PUT /api/workloads/webservice", "{}", 405, &["vela def apply", "use GET, HEAD"]);
}

#[test]
fn a_center_by_rest_is_one_of_the_machine() {
    let console = Console::start();
    let person = &console.person;
    person.write("types/page.yaml", crate::PAGE);
    let folder = person.path("types");
    let center = format!("{{\"name\": \"team\", \"address\": {:?}}}", folder.to_str().unwrap());
    let read = "1 of 1 definitions of team are read.";
    console.answers("PUT /api/capability-centers/", &center, 200, &["Successfully configured", read]);
    assert!(console.get("/api/capability-centers").contains("\"name\":\"team\""));
    assert!(person.types(&["cap", "center", "ls"]).ok().out.contains("team"));
    let nowhere = "{\"name\": \"lost\", \"address\": \"/nowhere/types\"}";
    console.answers("PUT /api/capability-centers/", nowhere, 409, &["/nowhere/types"]);

    let offered = |status: &str| {
        let found = console.get("/api/capabilities");
        let page = found.split("\"name\":\"page\"").nth(1).unwrap_or_default();
        page.split('}').next().unwrap_or_default().contains(&format!("\"status\":\"{status}\""))
    };
    assert!(offered("uninstalled"), "{}", console.get("/api/capabilities"));
    let team = "/api/capability-centers/team";
    console.answers(&format!("PUT {team}/capabilities/"), "", 200, &["sync finished", read]);
    let installed = "ComponentDefinition vela-system/page created";
    console.answers(&format!("PUT {team}/capabilities/page"), "", 200, &[installed]);
    assert!(offered("installed"), "{}", console.get("/api/capabilities"));
    console.answers(&format!("PUT {team}/capabilities/paeg"), "", 409, &["paeg", "page"]);
    console.answers("DELETE /api/capabilities/page", "", 200, &["page removed successfully"]);
    console.answers("DELETE /api/capabilities/webservice", "", 409, &["came from elsewhere"]);
    console.answers(&format!("DELETE {team}"), "", 200, &["team is forgotten"]);
    console.answers(&format!("DELETE {team}"), "", 404, &["no capability center"]);
    assert!(console.get("/api/capability-centers").contains("\"data\":[]"));
}
