//! Every rpc of these services, called with an empty message.

use bursar::proto::{
    self, admin_service_server::AdminService, ledger_service_server::LedgerService,
    price_service_server::PriceService,
};
use tonic::{Request, Status};

use crate::world::World;

/// Which roles an rpc is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    Platform,
    Operator,
    Finance,
    Reader,
    Keeper,
    BookReader,
}

impl For {
    pub(crate) fn role(self, role: &str) -> bool {
        match self {
            Self::Platform => role == "platform",
            Self::Operator => role == "operator",
            Self::Finance => ["operator", "finance"].contains(&role),
            Self::Reader => ["operator", "finance", "host"].contains(&role),
            Self::Keeper => ["platform", "operator"].contains(&role),
            Self::BookReader => ["platform", "operator", "finance"].contains(&role),
        }
    }
}

pub(crate) type Called = (&'static str, For, Result<(), Status>);

fn with_headers<T>(headers: &[(&'static str, String)], message: T) -> Request<T> {
    let mut request = Request::new(message);
    for (name, value) in headers {
        request.metadata_mut().append(*name, value.parse().unwrap());
    }
    request
}

macro_rules! call {
    ($world:ident, $headers:ident, $($service:ident $rpc:ident $message:ident $for:ident,)*) => {
        vec![$((
            stringify!($rpc),
            For::$for,
            $world.$service.$rpc(with_headers($headers, proto::$message::default())).await.map(|_| ()),
        ),)*]
    };
}

pub(crate) async fn every(world: &World, headers: &[(&'static str, String)]) -> Vec<Called> {
    call![
        world, headers,
        admin create_tenant CreateTenantRequest Platform,
        admin get_tenant GetTenantRequest Operator,
        admin create_credential CreateCredentialRequest Operator,
        admin list_credentials ListCredentialsRequest Operator,
        admin revoke_credential RevokeCredentialRequest Operator,
        admin create_user CreateUserRequest Operator,
        admin list_users ListUsersRequest Operator,
        admin create_server CreateServerRequest Operator,
        admin list_servers ListServersRequest Operator,
        admin create_grant CreateGrantRequest Operator,
        admin list_grants ListGrantsRequest Operator,
        admin revoke_grant RevokeGrantRequest Operator,
        admin create_budget CreateBudgetRequest Operator,
        admin list_budgets ListBudgetsRequest Operator,
        admin delete_budget DeleteBudgetRequest Operator,
        admin create_backend CreateBackendRequest Operator,
        admin list_backends ListBackendsRequest Operator,
        admin create_model CreateModelRequest Operator,
        admin list_models ListModelsRequest Operator,
        admin resume_model ResumeModelRequest Operator,
        admin set_price SetPriceRequest Operator,
        admin set_fx_rate SetFxRateRequest Operator,
        admin stop_sampling StopSamplingRequest Operator,
        admin resume_sampling ResumeSamplingRequest Operator,
        admin list_stops ListStopsRequest Operator,
        admin list_audit_entries ListAuditEntriesRequest Operator,
        ledger list_entries ListEntriesRequest Reader,
        ledger verify_ledger VerifyLedgerRequest Finance,
        prices import_prices ImportPricesRequest Keeper,
        prices approve_price_book ApprovePriceBookRequest Keeper,
        prices revert_price_book RevertPriceBookRequest Keeper,
        prices list_price_books ListPriceBooksRequest BookReader,
        prices list_prices ListPricesRequest BookReader,
        prices get_listed_price GetListedPriceRequest BookReader,
        ledger report_entries ReportEntriesRequest Finance,
        ledger export_ledger ExportLedgerRequest Finance,
        ledger explain_entry ExplainEntryRequest Finance,
        ledger close_month CloseMonthRequest Finance,
    ]
}

pub(crate) fn bearer(key: &str) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {key}"))]
}
