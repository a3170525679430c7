//! Pages, names and statuses.

use std::time::Duration;

use bursar::{
    domain::{
        fault::Fault,
        ids::{BudgetId, EnvelopeId, TenantId},
    },
    transport::grpc::convert::{
        name,
        page::{next_page_token, page},
    },
};
use proptest::prelude::*;
use tonic::{Code, Status};
use tonic_types::StatusExt;
use uuid::Uuid;

use super::support::refused;

#[test]
fn page_sizes_are_defaulted_and_capped_and_never_negative() {
    let size = |it| page(it, "").unwrap().size;
    assert_eq!([size(0), size(1), size(500), size(501), size(i32::MAX)], [50, 1, 500, 500, 500]);
    refused(page(-1, ""), "page_size");
    refused(page(i32::MIN, ""), "page_size");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_page_token_leads_back_to_where_it_was_made(last in any::<u128>()) {
        let last = Uuid::from_u128(last);
        prop_assert_eq!(page(0, &next_page_token(Some(last))).unwrap().after, Some(last));
    }

    #[test]
    fn no_text_at_all_breaks_the_reading_of_tokens(text in ".{0,80}") {
        if let Err(fault) = page(0, &text) {
            refused::<()>(Err(fault), "page_token");
        }
    }
}

#[test]
fn tokens_of_another_make_are_refused() {
    assert_eq!(next_page_token(None), "");
    assert_eq!(page(0, "").unwrap().after, None);
    let good = next_page_token(Some(Uuid::from_u128(7)));
    let newer = format!("Ag{}", &good[2..]);
    for bad in ["x", "AQ", &good[1..], &format!("{good}A"), &format!("{good}="), &newer] {
        refused(page(0, bad), "page_token");
    }
    refused(page(0, &"A".repeat(1_000_000)), "page_token");
}

#[test]
fn another_tenants_name_looks_missing() {
    let (ours, theirs) = (TenantId::from(Uuid::from_u128(1)), TenantId::from(Uuid::from_u128(2)));
    let id = BudgetId::from(Uuid::from_u128(3));
    let read = |text: &str| name::parse::<BudgetId>("name", text).unwrap().of(ours, "budget");
    assert_eq!(read(&name::format(ours, &id)), Ok(id));
    assert_eq!(read(&id.to_string()), Ok(id));
    assert_eq!(read(&name::format(theirs, &id)), Err(Fault::NotFound { what: "budget" }));
    refused(name::parse::<EnvelopeId>("name", &name::format(ours, &id)), "name");
    refused(name::parse::<BudgetId>("name", ""), "name");
    assert_eq!(name::of_tenant(ours), format!("tenants/ten_{:032x}", 1));
}

/// Every kind of fault, with the status, reason and MCP code it must have.
fn faults() -> Vec<(Fault, Code, &'static str, &'static str)> {
    let problem = || "It is so.".to_owned();
    let retry_after = Duration::from_millis(1_500);
    vec![
        (Fault::invalid("a.b", "is bad"), Code::InvalidArgument, "INVALID_FIELD", "-32602"),
        (Fault::Unauthenticated, Code::Unauthenticated, "UNAUTHENTICATED", "-32603"),
        (Fault::WrongRole { needed: "host" }, Code::PermissionDenied, "WRONG_ROLE", "-32603"),
        (Fault::NotFound { what: "envelope" }, Code::NotFound, "NOT_FOUND", "-32603"),
        (Fault::Exists { what: "user" }, Code::AlreadyExists, "ALREADY_EXISTS", "-32603"),
        (
            Fault::Precondition { reason: "ENVELOPE_CLOSED", problem: problem() },
            Code::FailedPrecondition,
            "ENVELOPE_CLOSED",
            "-32603",
        ),
        (
            Fault::Aborted { reason: "REQUEST_ID_REUSED", problem: problem(), retry_after: None },
            Code::Aborted,
            "REQUEST_ID_REUSED",
            "-32603",
        ),
        (Fault::Shed { retry_after }, Code::ResourceExhausted, "TOO_MANY_REQUESTS", "-32603"),
        (
            Fault::Unavailable {
                reason: "BACKEND_FAILED",
                problem: problem(),
                retry_after: Some(retry_after),
            },
            Code::Unavailable,
            "BACKEND_FAILED",
            "-32603",
        ),
        (Fault::Internal, Code::Internal, "INTERNAL", "-32603"),
    ]
}

#[test]
fn every_fault_has_its_status_its_reason_and_its_mcp_code() {
    for (fault, code, reason, mcp_code) in faults() {
        let message = fault.to_string();
        let status = Status::from(fault);
        assert_eq!((status.code(), status.message()), (code, message.as_str()));
        let details = status.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), (reason, "bursar.dev"));
        assert_eq!(status.metadata().get("mcp-error-code").unwrap(), mcp_code);
        let retried = matches!(code, Code::ResourceExhausted | Code::Unavailable);
        let delay = details.retry_info().and_then(|it| it.retry_delay);
        assert_eq!(delay, retried.then_some(Duration::from_millis(1_500)), "{reason}");
        assert_eq!(details.quota_failure().is_some(), code == Code::ResourceExhausted);
        assert_eq!(details.bad_request().is_some(), code == Code::InvalidArgument);
    }
}

#[test]
fn no_retry_is_promised_where_none_is_known() {
    let problem = "The backend failed.".to_owned();
    let fault = Fault::Unavailable { reason: "BACKEND_FAILED", problem, retry_after: None };
    assert!(Status::from(fault).get_error_details().retry_info().is_none());
}
