//! Keys: shown once, stopped at once.

use bursar::proto::{self, CredentialRole, admin_service_server::AdminService};
use sqlx::Executor;
use tonic::{Code, Status};

use crate::world::{World, with_key};

async fn code(world: &World, key: &str) -> Result<(), Code> {
    let request = with_key(key, proto::GetTenantRequest {});
    world.admin.get_tenant(request).await.map(drop).map_err(|it| it.code())
}

async fn create(
    world: &World,
    key: &str,
    change: impl FnOnce(&mut proto::CreateCredentialRequest),
) -> Result<proto::CreateCredentialResponse, Status> {
    let mut request = proto::CreateCredentialRequest {
        display_name: "a key".to_owned(),
        role: CredentialRole::Operator.into(),
        ..Default::default()
    };
    change(&mut request);
    let made = world.admin.create_credential(with_key(key, request)).await;
    made.map(tonic::Response::into_inner)
}

#[tokio::test]
async fn a_revoked_key_stops_at_once_and_stays_listed() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let made = create(&world, &org.operator, |_| ()).await.unwrap();
    assert_eq!(code(&world, &made.key).await, Ok(()));
    let name = made.credential.unwrap().name;
    let request = || with_key(&org.operator, proto::RevokeCredentialRequest { name: name.clone() });
    let revoked = world.admin.revoke_credential(request()).await.unwrap().into_inner();
    assert!(!revoked.revoke_time.is_empty());
    assert_eq!(code(&world, &made.key).await, Err(Code::Unauthenticated));
    let again = world.admin.revoke_credential(request()).await.unwrap().into_inner();
    assert_eq!(again, revoked);
    let list = with_key(&org.operator, proto::ListCredentialsRequest::default());
    let listed = world.admin.list_credentials(list).await.unwrap().into_inner().credentials;
    assert!(listed.contains(&revoked), "{listed:?}");
    world.end().await;
}

#[tokio::test]
async fn an_expired_key_stops_at_once() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let in_an_hour = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let made = create(&world, &org.operator, |it| it.expire_time = in_an_hour.to_string()).await;
    let made = made.unwrap();
    assert!(!made.credential.unwrap().expire_time.is_empty());
    assert_eq!(code(&world, &made.key).await, Ok(()));
    let mut sql = world.superuser().await;
    let sooner = "update credentials set expires_at = now() where expires_at is not null";
    sql.execute(sooner).await.unwrap();
    drop(sql);
    assert_eq!(code(&world, &made.key).await, Err(Code::Unauthenticated));
    world.end().await;
}

type Change = fn(&mut proto::CreateCredentialRequest);

#[tokio::test]
async fn a_key_that_makes_no_sense_is_not_made() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    let wrong: [(&str, Change); 6] = [
        ("role", |it| it.role = CredentialRole::Platform.into()),
        ("role", |it| it.role = 77),
        ("host", |it| it.role = CredentialRole::Host.into()),
        ("host", |it| it.host = "desktop".to_owned()),
        ("expire_time", |it| it.expire_time = "2020-01-01T00:00:00Z".to_owned()),
        ("expire_time", |it| it.expire_time = "tomorrow".to_owned()),
    ];
    for (field, change) in wrong {
        let status = create(&world, key, change).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().starts_with(&format!("{field}:")), "{status:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn keys_of_one_host_speak_for_the_same_host() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    for _ in 0..2 {
        world.key(&org.operator, CredentialRole::Host, "desktop").await;
    }
    let mut sql = world.superuser().await;
    let hosts: i64 =
        sqlx::query_scalar("select count(*) from hosts").fetch_one(&mut sql).await.unwrap();
    assert_eq!(hosts, 1);
    drop(sql);
    world.end().await;
}
