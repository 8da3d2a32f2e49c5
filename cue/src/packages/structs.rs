//! Package `struct`: how many fields a struct may have.

use super::arguments::{integer, number};
use super::lists::verdict;
use super::{INTEGER, Package, STRUCT, count};
use crate::number::Decimal;

pub(super) static PACKAGE: Package = Package {
    path: "struct",
    constants: &[],
    declarations: "",
    functions: &[
        count("MinFields", &[STRUCT, INTEGER], |a| {
            let (found, least) = (number(a, 0)?, integer(a, 1)?);
            verdict(*found >= Decimal::from(least), || {
                format!("len(fields) < MinFields({least}) ({found} < {least})")
            })
        }),
        count("MaxFields", &[STRUCT, INTEGER], |a| {
            let (found, most) = (number(a, 0)?, integer(a, 1)?);
            verdict(*found <= Decimal::from(most), || {
                format!("len(fields) > MaxFields({most}) ({found} > {most})")
            })
        }),
    ],
};
