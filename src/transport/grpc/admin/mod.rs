//! `AdminService`: each rpc authenticates, demands its right, reads, has the work
//! done and shows what came of it.

mod audit;
mod read;
mod stops;
mod wire;

use tonic::{Request, Response, Status, async_trait};

use super::{
    auth::right,
    convert::{self, name, page::page},
    pages::{cut, slice},
    state::Services,
};
use crate::{
    admin,
    domain::{
        ids::{BudgetId, CredentialId, GrantId, StopId},
        tenant::Tenant,
    },
    identity::{OperatorCaller, PlatformCaller},
    proto::{self, admin_service_server::AdminService},
};

/// The service.
#[derive(Clone)]
pub struct Admin {
    services: Services,
}

impl Admin {
    /// On these.
    pub const fn new(services: Services) -> Self {
        Self { services }
    }
}

#[async_trait]
impl AdminService for Admin {
    async fn create_tenant(
        &self,
        request: Request<proto::CreateTenantRequest>,
    ) -> Result<Response<proto::CreateTenantResponse>, Status> {
        let right: PlatformCaller = right(&self.services, request.metadata()).await?;
        let wanted = read::tenant(&request.into_inner())?;
        let (made, key) = admin::create_tenant(self.services.desk(), right, wanted).await?;
        let operator_key = key.reveal().to_owned();
        let tenant = Some(wire::tenant(&made));
        Ok(Response::new(proto::CreateTenantResponse { tenant, operator_key }))
    }

    async fn get_tenant(
        &self,
        request: Request<proto::GetTenantRequest>,
    ) -> Result<Response<proto::Tenant>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        Ok(Response::new(wire::tenant(&right.tenant)))
    }

    async fn create_credential(
        &self,
        request: Request<proto::CreateCredentialRequest>,
    ) -> Result<Response<proto::CreateCredentialResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let wanted = read::credential(&it)?;
        let (made, key) = admin::create_credential(self.services.desk(), &right, wanted).await?;
        let key = key.reveal().to_owned();
        let credential = Some(wire::credential(&made, right.tenant.id));
        Ok(Response::new(proto::CreateCredentialResponse { credential, key }))
    }

    async fn list_credentials(
        &self,
        request: Request<proto::ListCredentialsRequest>,
    ) -> Result<Response<proto::ListCredentialsResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let found = admin::credentials(self.services.desk(), &right, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.id.uuid());
        let credentials = found.iter().map(|it| wire::credential(it, right.tenant.id)).collect();
        Ok(Response::new(proto::ListCredentialsResponse { credentials, next_page_token }))
    }

    async fn revoke_credential(
        &self,
        request: Request<proto::RevokeCredentialRequest>,
    ) -> Result<Response<proto::Credential>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let id =
            name::parse::<CredentialId>("name", &it.name)?.of(right.tenant.id, "credential")?;
        let it = admin::revoke_credential(self.services.desk(), &right, id).await?;
        Ok(Response::new(wire::credential(&it, right.tenant.id)))
    }

    async fn create_user(
        &self,
        request: Request<proto::CreateUserRequest>,
    ) -> Result<Response<proto::User>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let external = convert::id("user", &it.user)?;
        let made = admin::create_user(self.services.desk(), &right, external).await?;
        Ok(Response::new(wire::user(&made, right.tenant.id)))
    }

    async fn list_users(
        &self,
        request: Request<proto::ListUsersRequest>,
    ) -> Result<Response<proto::ListUsersResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let found = admin::users(self.services.desk(), &right, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.0.uuid());
        let users = found.iter().map(|it| wire::user(it, right.tenant.id)).collect();
        Ok(Response::new(proto::ListUsersResponse { users, next_page_token }))
    }

    async fn create_server(
        &self,
        request: Request<proto::CreateServerRequest>,
    ) -> Result<Response<proto::Server>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let external = convert::id("server", &it.server)?;
        let made = admin::create_server(self.services.desk(), &right, external).await?;
        Ok(Response::new(wire::server(&made, right.tenant.id)))
    }

    async fn list_servers(
        &self,
        request: Request<proto::ListServersRequest>,
    ) -> Result<Response<proto::ListServersResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let found = admin::servers(self.services.desk(), &right, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.0.uuid());
        let servers = found.iter().map(|it| wire::server(it, right.tenant.id)).collect();
        Ok(Response::new(proto::ListServersResponse { servers, next_page_token }))
    }

    async fn create_grant(
        &self,
        request: Request<proto::CreateGrantRequest>,
    ) -> Result<Response<proto::Grant>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let wanted = convert::admin::grant(it.grant, right.tenant.currency)?;
        let made = admin::create_grant(self.services.desk(), &right, wanted).await?;
        Ok(Response::new(wire::grant(&made, &right.tenant)))
    }

    async fn list_grants(
        &self,
        request: Request<proto::ListGrantsRequest>,
    ) -> Result<Response<proto::ListGrantsResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let found = admin::grants(self.services.desk(), &right, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.grant.id.uuid());
        let grants = found.iter().map(|it| wire::grant(it, &right.tenant)).collect();
        Ok(Response::new(proto::ListGrantsResponse { grants, next_page_token }))
    }

    async fn revoke_grant(
        &self,
        request: Request<proto::RevokeGrantRequest>,
    ) -> Result<Response<proto::Grant>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let id = name::parse::<GrantId>("name", &it.name)?.of(right.tenant.id, "grant")?;
        let it = admin::revoke_grant(self.services.desk(), &right, id).await?;
        Ok(Response::new(wire::grant(&it, &right.tenant)))
    }

    async fn create_budget(
        &self,
        request: Request<proto::CreateBudgetRequest>,
    ) -> Result<Response<proto::Budget>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let wanted = convert::admin::budget(it.budget.as_ref(), right.tenant.currency)?;
        let made = admin::create_budget(self.services.desk(), &right, wanted).await?;
        Ok(Response::new(wire::budget(&made, &right.tenant)))
    }

    async fn list_budgets(
        &self,
        request: Request<proto::ListBudgetsRequest>,
    ) -> Result<Response<proto::ListBudgetsResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let found = admin::budgets(self.services.desk(), &right, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.budget.id.uuid());
        let budgets = found.iter().map(|it| wire::budget(it, &right.tenant)).collect();
        Ok(Response::new(proto::ListBudgetsResponse { budgets, next_page_token }))
    }

    async fn update_budget(
        &self,
        request: Request<proto::UpdateBudgetRequest>,
    ) -> Result<Response<proto::Budget>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let change = convert::admin::budget_change(&it, right.tenant.currency)?;
        let name = it.budget.unwrap_or_default().name;
        let id = name::parse::<BudgetId>("budget.name", &name)?.of(right.tenant.id, "budget")?;
        let changed = admin::update_budget(self.services.desk(), &right, id, change).await?;
        Ok(Response::new(wire::budget(&changed, &right.tenant)))
    }

    async fn raise_budget(
        &self,
        request: Request<proto::RaiseBudgetRequest>,
    ) -> Result<Response<proto::Budget>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let wanted = convert::admin::budget_raise(&it, right.tenant.currency)?;
        let id = name::parse::<BudgetId>("name", &it.name)?.of(right.tenant.id, "budget")?;
        let raised = admin::raise_budget(self.services.desk(), &right, id, wanted).await?;
        Ok(Response::new(wire::budget(&raised, &right.tenant)))
    }

    async fn delete_budget(
        &self,
        request: Request<proto::DeleteBudgetRequest>,
    ) -> Result<Response<proto::Budget>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let id = name::parse::<BudgetId>("name", &it.name)?.of(right.tenant.id, "budget")?;
        let it = admin::delete_budget(self.services.desk(), &right, id).await?;
        Ok(Response::new(wire::budget(&it, &right.tenant)))
    }

    async fn create_backend(
        &self,
        request: Request<proto::CreateBackendRequest>,
    ) -> Result<Response<proto::Backend>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let wanted = convert::admin::backend(it.backend)?;
        self.services.connections.reach().check(&wanted)?;
        let made = admin::create_backend(self.services.desk(), &right, wanted).await?;
        Ok(Response::new(wire::backend(&made, right.tenant.id)))
    }

    async fn list_backends(
        &self,
        request: Request<proto::ListBackendsRequest>,
    ) -> Result<Response<proto::ListBackendsResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let found = admin::backends(self.services.desk(), &right, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.id.uuid());
        let backends = found.iter().map(|it| wire::backend(it, right.tenant.id)).collect();
        Ok(Response::new(proto::ListBackendsResponse { backends, next_page_token }))
    }

    async fn create_model(
        &self,
        request: Request<proto::CreateModelRequest>,
    ) -> Result<Response<proto::Model>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let wanted = convert::admin::model(it.model.as_ref())?;
        let made = admin::create_model(self.services.desk(), &right, wanted).await?;
        Ok(Response::new(wire::model(&made, right.tenant.id)))
    }

    async fn list_models(
        &self,
        request: Request<proto::ListModelsRequest>,
    ) -> Result<Response<proto::ListModelsResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let found = admin::models(self.services.desk(), &right, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.model.id.uuid());
        let models = found.iter().map(|it| wire::model(it, right.tenant.id)).collect();
        Ok(Response::new(proto::ListModelsResponse { models, next_page_token }))
    }

    async fn resume_model(
        &self,
        request: Request<proto::ResumeModelRequest>,
    ) -> Result<Response<proto::Model>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let alias = convert::id("model", &it.model)?;
        let resumed = admin::resume_model(self.services.desk(), &right, (alias, it.fine)).await?;
        Ok(Response::new(wire::model(&resumed, right.tenant.id)))
    }

    async fn set_price(
        &self,
        request: Request<proto::SetPriceRequest>,
    ) -> Result<Response<proto::Model>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let alias = convert::id("model", &it.model)?;
        let tariff = convert::admin::new_tariff(&it)?;
        let changed = admin::set_price(self.services.desk(), &right, (alias, tariff)).await?;
        Ok(Response::new(wire::model(&changed, right.tenant.id)))
    }

    async fn set_fx_rate(
        &self,
        request: Request<proto::SetFxRateRequest>,
    ) -> Result<Response<proto::FxRate>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let wanted = convert::admin::fx_rate(it.fx_rate.as_ref(), right.tenant.currency)?;
        let rate = admin::set_fx_rate(self.services.desk(), &right, wanted).await?;
        let Tenant { id, currency, .. } = right.tenant;
        Ok(Response::new(wire::fx_rate(&rate, id, currency)))
    }

    async fn stop_sampling(
        &self,
        request: Request<proto::StopSamplingRequest>,
    ) -> Result<Response<proto::Stop>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let wanted = stops::read(&request.into_inner())?;
        let made = admin::stop_sampling(self.services.desk(), &right, wanted).await?;
        Ok(Response::new(stops::wire(&made, right.tenant.id)))
    }

    async fn resume_sampling(
        &self,
        request: Request<proto::ResumeSamplingRequest>,
    ) -> Result<Response<proto::Stop>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let id = name::parse::<StopId>("name", &it.name)?.of(right.tenant.id, "stop")?;
        let lifted = admin::resume_sampling(self.services.desk(), &right, id).await?;
        Ok(Response::new(stops::wire(&lifted, right.tenant.id)))
    }

    async fn list_stops(
        &self,
        request: Request<proto::ListStopsRequest>,
    ) -> Result<Response<proto::ListStopsResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let (desk, all) = (self.services.desk(), it.with_lifted);
        let found = admin::stops(desk, &right, slice(page), all).await?;
        let (found, next_page_token) = cut(found, page, |it| it.id.uuid());
        let stops = found.iter().map(|it| stops::wire(it, right.tenant.id)).collect();
        Ok(Response::new(proto::ListStopsResponse { stops, next_page_token }))
    }

    async fn list_audit_entries(
        &self,
        request: Request<proto::ListAuditEntriesRequest>,
    ) -> Result<Response<proto::ListAuditEntriesResponse>, Status> {
        let right: OperatorCaller = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let filter = audit::read(&it, right.tenant.id)?;
        let found =
            admin::audit_entries(self.services.desk(), &right, &filter, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.id.uuid());
        let audit_entries = found.iter().map(|it| audit::wire(it, right.tenant.id)).collect();
        Ok(Response::new(proto::ListAuditEntriesResponse { audit_entries, next_page_token }))
    }
}
