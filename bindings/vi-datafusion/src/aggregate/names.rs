//! Names of columns: those of the query, but for records, which are named by length and checksum.

use std::hash::{DefaultHasher, Hash, Hasher};

use datafusion_expr::Expr;
use datafusion_expr::expr::{AggregateFunctionParams, WindowFunctionParams};

/// An argument as part of a name.
fn short(argument: &Expr) -> String {
    match argument {
        Expr::Literal(value, _) => match crate::scalar::bytes(value) {
            Some(bytes) => {
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                format!("<{} bytes {:08x}>", bytes.len(), hasher.finish() >> 32)
            }
            None => argument.schema_name().to_string(),
        },
        Expr::Cast(cast) => short(&cast.expr),
        other => other.schema_name().to_string(),
    }
}

/// A call as part of a name.
pub(crate) fn call(function: &str, distinct: bool, arguments: &[Expr]) -> String {
    let arguments: Vec<String> = arguments.iter().map(short).collect();
    format!("{function}({}{})", if distinct { "DISTINCT " } else { "" }, arguments.join(","))
}

fn filtered(filter: Option<&Expr>) -> String {
    filter.map_or_else(String::new, |filter| format!(" FILTER (WHERE {filter})"))
}

pub(super) fn aggregate(function: &str, params: &AggregateFunctionParams) -> String {
    call(function, params.distinct, &params.args) + &filtered(params.filter.as_deref())
}

pub(super) fn window(function: &str, params: &WindowFunctionParams) -> String {
    let list = |what: &str, parts: Vec<String>| {
        if parts.is_empty() { String::new() } else { format!(" {what} [{}]", parts.join(", ")) }
    };
    format!(
        "{}{}{}{} {}",
        call(function, params.distinct, &params.args),
        filtered(params.filter.as_deref()),
        list("PARTITION BY", params.partition_by.iter().map(|e| e.schema_name().to_string()).collect()),
        list("ORDER BY", params.order_by.iter().map(ToString::to_string).collect()),
        params.window_frame,
    )
}
