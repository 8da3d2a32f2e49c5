//! The committed requests of the fuzz target, among them all that once showed a mistake: none may show one again.

use std::path::Path;

#[path = "../../fuzz/targets.rs"]
mod targets;

#[test]
fn committed_requests_show_no_mistake() {
    for target in targets::TARGETS {
        let mut count = 0;
        for folder in ["corpus", "regressions"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder).join(target);
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                targets::run(target, &std::fs::read(entry.path()).unwrap());
                count += 1;
            }
        }
        assert!(count > 0, "no input of {target}");
    }
}
