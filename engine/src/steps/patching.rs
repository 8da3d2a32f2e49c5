//! Patches CUE values as `StrategyUnify` and `PatchK8sObject` do.

use serde_json::Value as Json;
use vela_cue::Value;

use crate::render::cue::{Use, markers, tree};
use crate::render::patch;

/// The value with the patch applied as the patch's comments ask for.
pub(super) fn patched(value: &Value, change: &Value) -> Result<Json, String> {
    let too_deep = "it is nested too deeply";
    let base = tree(value, Use::Object, 0).ok_or(too_deep)?;
    let with = tree(change, Use::Patch, 0).ok_or(too_deep)?;
    let made = patch::patch(&base, &with, &markers(change)).map_err(|conflict| conflict.to_string())?;
    made.finish().map_err(|open| {
        let open: Vec<String> = open.iter().map(ToString::to_string).collect();
        open.join("; ")
    })
}
