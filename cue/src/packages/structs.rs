//! Package `struct`: how many fields a struct may have.

use super::arguments::integer;
use super::{Data, INTEGER, Package, STRUCT, count};

pub(super) static PACKAGE: Package = Package {
    path: "struct",
    constants: &[],
    declarations: "",
    functions: &[
        count("MinFields", &[STRUCT, INTEGER], |a| Ok(Data::Bool(integer(a, 0)? >= integer(a, 1)?))),
        count("MaxFields", &[STRUCT, INTEGER], |a| Ok(Data::Bool(integer(a, 0)? <= integer(a, 1)?))),
    ],
};
