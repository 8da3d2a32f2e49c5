//! The program itself: wrong flags end it with code 1 and a sentence, right ones bring it as far as the cluster.

use std::process::{Command, Output};

fn vela_core(flags: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let program = Command::new(env!("CARGO_BIN_EXE_vela-core"))
        .args(["--metrics-addr=0", "--health-addr=0"])
        .args(flags)
        .env("HOME", home.path())
        .env_remove("KUBECONFIG")
        .env_remove("NO_COLOR")
        .output();
    program.unwrap()
}

#[test]
fn a_wrong_choice_ends_the_start_with_code_one() {
    for (flag, expected) in [
        ("--disable-caps=route,foo", "\"foo\" in disable caps list is not built-in"),
        ("--apply-once-only=maybe", "off (or false), on (or true) or force"),
        ("--custom-revision-hook-url=hook", "http://"),
        ("--informer-re-sync-interval=5", "1h30m"),
        ("--log-level=v=loud", "--log-level"),
        ("--log-file-path=/dev/null/vela.log", "/dev/null/vela.log"),
        ("--no-such-flag", "--no-such-flag"),
    ] {
        let output = vela_core(&[flag]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flag}: {said}");
        assert!(said.contains(expected), "{flag}: {said}");
    }
}

#[test]
fn what_has_no_effect_is_said_and_the_log_goes_where_it_shall() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("vela.log");
    let path = format!("-log-file-path={}", log.display());
    let output = vela_core(&[
        &path,
        "--log-debug",
        "--storage-driver=ConfigMap",
        "--disable-caps=all",
        "--kubeconfig=/none",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let said = std::fs::read_to_string(log).unwrap();
    for words in [
        "--storage-driver=ConfigMap changes nothing",
        "metrics,podspecworkload,route,autoscale",
        "the kubeconfig /none cannot be used",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "no colours in a file: {said}");
}

#[test]
fn a_log_in_a_pipe_is_plain_text() {
    let said = String::from_utf8(vela_core(&["--kubeconfig=/none"]).stderr).unwrap();
    assert!(said.contains("the kubeconfig /none cannot be used") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn help_and_version_are_no_errors() {
    for flag in ["--help", "--version", "-h"] {
        assert_eq!(vela_core(&[flag]).status.code(), Some(0), "{flag}");
    }
}
