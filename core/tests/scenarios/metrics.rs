//! What a scraper is told of applications, and that docs/metrics.md lists all of it.

use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, application, until_or, web};

const PAGE: &str = include_str!("../../../docs/metrics.md");

#[tokio::test]
async fn a_scraper_is_told_of_applications_by_phase() {
    let cluster = TestCluster::new().await;
    if cluster.server().is_none() {
        // The figures are of the whole cluster, and a real one has other applications.
        return;
    }
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    cluster.rested(1).await;
    let text = cluster.metrics();
    let shows = |line: &str| assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    shows("application_phase_number{phase=\"running\"} 1");
    shows("workflow_step_phase_number{step_type=\"apply-component\",phase=\"succeeded\"} 1");
    for begun in [
        "workflow_finished_time_seconds_count{phase=\"succeeded\"} ",
        "kubevela_app_reconcile_time_seconds_count{stage=\"execute-workflow\"} ",
        "apply_component_time_seconds_count{stage=\"-\"} ",
    ] {
        assert!(text.lines().any(|line| line.starts_with(begun)), "{begun}\n{text}");
    }
    assert!(!text.contains("kubevela_application_"), "no flag asked for it:\n{text}");
    let begun = "application_reconcile_time_seconds_count{begin_phase=\"\",end_phase=\"runningWorkflow\"} ";
    assert!(text.lines().any(|line| line.starts_with(begun)), "{text}");

    cluster.delete("core.oam.dev/v1beta1", "Application", "shop").await;
    cluster.gone("core.oam.dev/v1beta1", "Application", "shop").await;
    cluster.rested(1).await;
    let text = cluster.metrics();
    assert!(!text.contains("application_phase_number{"), "{text}");
}

#[tokio::test]
async fn each_application_is_told_of_where_the_gate_is_on() {
    let mut cluster = TestCluster::without_controllers().await;
    cluster.start_as(of_each());
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let labels = format!("{{app_name=\"shop\",namespace=\"{}\"}}", cluster.namespace);
    for name in ["health_status", "phase", "workflow_phase"] {
        let line = format!("kubevela_application_{name}{labels} 1");
        until_or(&line, || async { cluster.metrics() }, |text| text.lines().any(|other| other == line)).await;
    }
}

fn of_each() -> Process {
    let options = Options { status_metrics: true, ..Options::default() };
    Process { options, ..Process::default() }
}

#[tokio::test]
async fn every_metric_has_its_row_in_the_manual() {
    let mut cluster = TestCluster::without_controllers().await;
    cluster.start_as(of_each());
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let text = cluster.metrics();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let mut found = 0;
    for (name, type_) in types {
        let name = if type_ == "counter" { format!("{name}_total") } else { name.to_owned() };
        let row = format!("| `{name}` | {type_} |");
        assert!(PAGE.contains(&row), "docs/metrics.md has no row `{row}`");
        found += 1;
    }
    assert!(found > 10, "{text}");
}
