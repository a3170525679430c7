//! A service without its sockets: real tables, running lanes, the services called
//! directly, and organisations to call them.

use std::{num::NonZeroU32, sync::Arc};

use bursar::{
    admin::{demo, platform_key},
    budget::{Engine, Lanes},
    catalogue::{Catalogue, Connections, reach::Reach},
    clock::Clock,
    identity::shed::{Rates, Shed},
    proto::{self, admin_service_server::AdminService},
    store::{Settings, Store},
    transport::grpc::{admin::Admin, ledger::Ledger, prices::Prices, state::Services},
};
use sqlx::{Connection, PgConnection};
use tonic::Request;

use crate::support::{TestDb, database};

pub(crate) struct World {
    pub(crate) services: Services,
    pub(crate) admin: Admin,
    pub(crate) ledger: Ledger,
    pub(crate) prices: Prices,
    lanes: Vec<tokio::task::JoinHandle<()>>,
    db: TestDb,
}

/// An organisation with a key of every role.
pub(crate) struct Org {
    pub(crate) operator: String,
    pub(crate) finance: String,
    pub(crate) host: String,
    pub(crate) tenant: String,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::shedding(1_000_000)
    }

    /// Lets so many requests of a key pass in a second.
    pub(crate) fn shedding(per_second: u32) -> Self {
        let db = database();
        let url = db.url.clone();
        let settings = Settings { url, call_connections: 4, report_connections: 4 };
        let store = Store::open(&settings).unwrap();
        let clock = Clock::default();
        let (engine, lanes) = Engine::new(&store, &clock, Lanes::of(1));
        let per_key = NonZeroU32::new(per_second).unwrap();
        let services = Services {
            store,
            clock,
            engine,
            catalogue: Catalogue::default(),
            connections: Connections::new(
                true,
                Arc::new(|_| None),
                Reach::new(&["*".to_owned()], &[]).unwrap(),
            )
            .unwrap(),
            shed: Shed::new(Rates { per_key, per_server: per_key }),
        };
        Self {
            admin: Admin::new(services.clone()),
            ledger: Ledger::new(services.clone()),
            prices: Prices::new(services.clone()),
            services,
            lanes: lanes.into_iter().map(|it| tokio::spawn(it.run())).collect(),
            db,
        }
    }

    /// A connection that passes row-level security, for those who tamper.
    pub(crate) async fn superuser(&self) -> PgConnection {
        PgConnection::connect(&self.db.url).await.unwrap()
    }

    pub(crate) async fn platform(&self) -> String {
        let Services { store, clock, .. } = &self.services;
        platform_key(store, clock).await.unwrap().reveal().to_owned()
    }

    pub(crate) async fn demo(&self) -> demo::Demo {
        demo::seed(self.services.desk(), None).await.unwrap()
    }

    pub(crate) async fn org(&self, name: &str, currency: &str) -> Org {
        let request = proto::CreateTenantRequest {
            display_name: name.to_owned(),
            currency_code: currency.to_owned(),
        };
        let made = self.admin.create_tenant(with_key(&self.platform().await, request)).await;
        let made = made.unwrap().into_inner();
        let operator = made.operator_key;
        Org {
            finance: self.key(&operator, proto::CredentialRole::Finance, "").await,
            host: self.key(&operator, proto::CredentialRole::Host, "desktop").await,
            tenant: made.tenant.unwrap().name,
            operator,
        }
    }

    pub(crate) async fn key(
        &self,
        operator: &str,
        role: proto::CredentialRole,
        host: &str,
    ) -> String {
        let request = proto::CreateCredentialRequest {
            display_name: "a key".to_owned(),
            role: role.into(),
            host: host.to_owned(),
            ..Default::default()
        };
        let made = self.admin.create_credential(with_key(operator, request)).await;
        made.unwrap().into_inner().key
    }

    /// Ends all that is connected, so that the database can go.
    pub(crate) async fn end(self) {
        for lane in &self.lanes {
            lane.abort();
        }
        self.services.store.close().await;
    }
}

pub(crate) fn with_key<T>(key: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {key}").parse().unwrap();
    request.metadata_mut().insert("authorization", value);
    request
}
