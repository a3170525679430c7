//! What a plan on the path of a call may be.

use serde_json::Value;

/// Tables of which a call reads all that a tenant has: its one row, or its catalogue,
/// which is kept in memory.
const WHOLE: [&str; 9] = [
    "tenants",
    "batches",
    "ledger_progress",
    "models",
    "model_bounds",
    "backends",
    "price_versions",
    // Empty here, so that one index is as good as another.
    "book_prices",
    "fx_rates",
];

/// What is wrong with a plan: nodes that read all of a table and, where that is asked,
/// all that a tenant has in it.
pub(super) fn problems(plan: &Value, strict: bool) -> Vec<String> {
    let mut problems = Vec::new();
    walk(plan, strict, &mut problems);
    problems
}

fn walk(node: &Value, strict: bool, problems: &mut Vec<String>) {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let (kind, relation) = (text("Node Type"), text("Relation Name"));
    let index = text("Index Name");
    match kind {
        "Seq Scan" => problems.push(format!("reads all of {relation}")),
        "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => {
            let of_whole = WHOLE.iter().any(|it| relation == *it || index.starts_with(it));
            if strict && !of_whole && columns(text("Index Cond")).all(|it| it == "tenant_id") {
                problems.push(format!("walks through {index}"));
            }
        }
        "Hash Join" | "Merge Join" => problems.push(format!("joins by {kind}")),
        _ => {}
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        walk(child, strict && !is_first_row(node, child), problems);
    }
}

/// Whether of the child no more than one row is read: its parent stops there, and no
/// condition but the policy's lets rows pass by.
fn is_first_row(parent: &Value, child: &Value) -> bool {
    let filter = child["Filter"].as_str();
    parent["Node Type"] == "Limit"
        && parent["Plan Rows"] == 1
        && filter
            .is_none_or(|it| it.starts_with("((tenant_id = ANY ($") && it.ends_with("IS TRUE)"))
}

/// The columns that an index is asked by: what stands first behind each bracket.
fn columns(condition: &str) -> impl Iterator<Item = &str> {
    condition.split(" AND ").filter_map(|it| {
        let it = it.trim_start_matches('(');
        it.starts_with(|it: char| it.is_ascii_alphabetic()).then(|| {
            it.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').next().unwrap_or(it)
        })
    })
}

#[test]
fn the_columns_of_a_condition_are_those_that_the_index_is_asked_by() {
    let of = |it| columns(it).collect::<Vec<_>>();
    assert_eq!(of("(tenant_id = $1)"), ["tenant_id"]);
    assert_eq!(
        of("((tenant_id = ANY (ARRAY[m.tenant_id])) AND (limit_id = m.limit_id))"),
        ["tenant_id", "limit_id"]
    );
    assert_eq!(of(""), Vec::<&str>::new());
}
