//! Package `struct`: how many fields a struct may have.

use super::arguments::{integer, number};
use super::{Data, INTEGER, Package, STRUCT, count};
use crate::number::Decimal;

pub(super) static PACKAGE: Package = Package {
    path: "struct",
    constants: &[],
    declarations: "",
    functions: &[
        count("MinFields", &[STRUCT, INTEGER], |a| {
            Ok(Data::Bool(*number(a, 0)? >= Decimal::from(integer(a, 1)?)))
        }),
        count("MaxFields", &[STRUCT, INTEGER], |a| {
            Ok(Data::Bool(*number(a, 0)? <= Decimal::from(integer(a, 1)?)))
        }),
    ],
};
