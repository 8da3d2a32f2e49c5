//! The real kubectl against the server on a loopback port; ignored, since not everybody has it.

use std::process::Command;

use vela_apiserver::ApiServer;

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Size, type: string, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: string, enum: [small, large], description: How big it is.}
              replicas: {type: integer, default: 1}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
";

struct Kubectl {
    home: tempfile::TempDir,
}

impl Kubectl {
    fn run(&self, arguments: &str, input: &str) -> (bool, String) {
        use std::io::Write;
        let mut child = Command::new("kubectl")
            .args(arguments.split(' '))
            .arg("--request-timeout=30s")
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .env("HOME", self.home.path())
            .env("EDITOR", "true")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("kubectl ends");
        let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned()).concat();
        (output.status.success(), text)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs kubectl: cargo test -p vela-apiserver -- --ignored kubectl_works"]
async fn kubectl_works() {
    let server = ApiServer::builder().build().expect("a server in memory");
    let controllers = server.run_controllers();
    let served = server.serve("127.0.0.1:0".parse().expect("an address")).await.expect("served");
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("kubeconfig"), served.kubeconfig()).expect("written");
    let kubectl = Kubectl { home };
    // What is typed, what is on standard input, whether it succeeds, and what the answer contains.
    let steps: &[(&str, &str, bool, &str)] = &[
        ("get namespaces", "", true, "kube-system"),
        (
            "apply -f -",
            DEFINITION,
            true,
            "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created",
        ),
        ("wait --for=condition=Established crd/widgets.example.com --timeout=20s", "", true, "condition met"),
        ("api-resources --api-group=example.com", "", true, "wg"),
        ("explain widgets.spec.size", "", true, "How big it is."),
        ("explain deployment.spec.replicas", "", true, "FIELD: replicas <integer>"),
        (
            "apply -f -",
            "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {size: small}}",
            true,
            "widget.example.com/one created",
        ),
        (
            "apply -f -",
            "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {size: small}}",
            true,
            "widget.example.com/one unchanged",
        ),
        (
            "diff -f -",
            "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {size: large}}",
            false,
            "+  size: large",
        ),
        (
            "apply -f -",
            "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: two}, spec: {size: huge}}",
            false,
            "Unsupported value: \"huge\"",
        ),
        (
            "apply -f -",
            "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: two}, spec: {size: small, x: 1}}",
            false,
            "unknown field \"spec.x\"",
        ),
        (
            "apply --server-side --field-manager=other -f -",
            "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {size: large}}",
            false,
            "conflict with \"kubectl-client-side-apply\"",
        ),
        ("get wg", "", true, "small"),
        ("scale widget one --replicas=4", "", true, "scaled"),
        ("get widget one -o jsonpath={.spec.replicas}", "", true, "4"),
        ("label widget one a=b", "", true, "labeled"),
        ("annotate widget one a=b", "", true, "annotated"),
        ("edit widget one", "", true, "cancelled, no changes made"),
        ("describe widget one", "", true, "Size:      small"),
        ("create configmap settings --from-literal=a=b", "", true, "configmap/settings created"),
        ("apply -f -", DEPLOYMENT, true, "deployment.apps/web created"),
        ("rollout status deployment/web --timeout=30s", "", true, "successfully rolled out"),
        ("wait --for=condition=Available deployment/web --timeout=30s", "", true, "condition met"),
        ("get deployment web -o yaml", "", true, "availableReplicas: 2"),
        ("auth can-i create pods", "", true, "yes"),
        ("delete deployment web --cascade=foreground --timeout=30s", "", true, "deleted"),
        ("get pods", "", true, "No resources found"),
        ("delete widget one", "", true, "deleted"),
        ("get widget one", "", false, "Error from server (NotFound): widgets.example.com \"one\" not found"),
    ];
    let failures = tokio::task::spawn_blocking(move || {
        let mut failures = Vec::new();
        for (arguments, input, succeeds, contains) in steps {
            let (success, text) = kubectl.run(arguments, input);
            if success != *succeeds || !text.contains(contains) {
                failures.push(format!("kubectl {arguments}\n  want {contains}\n  got  {text}"));
            }
        }
        failures
    })
    .await
    .expect("kubectl ran");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    drop(controllers);
    server.shutdown().await;
}
