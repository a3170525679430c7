//! Identifiers: `UUIDv7` behind a type and a prefix each, so that none is taken for another.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use uuid::{Builder, Uuid};

/// A text that is not an identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id of the form {prefix}_ and 32 hexadecimal digits")]
pub struct NotAnId {
    prefix: &'static str,
}

/// An identifier that can be made from a fresh [`Uuid`].
pub trait Id: From<Uuid> {}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The bare value, for storage.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl Id for $name {}

        impl From<Uuid> for $name {
            fn from(it: Uuid) -> Self {
                Self(it)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                let wrong = NotAnId { prefix: $prefix };
                let hex = text.strip_prefix(concat!($prefix, "_")).ok_or(wrong.clone())?;
                let fine = hex.len() == 32 && hex.bytes().all(|it| it.is_ascii_hexdigit());
                if !fine {
                    return Err(wrong);
                }
                Uuid::parse_str(hex).map(Self).map_err(|_| wrong)
            }
        }
    )*};
}

ids! {
    /// An organisation.
    TenantId = "ten";
    /// A client application of a tenant.
    HostId = "hst";
    /// A person, as the tenant's hosts know them.
    UserId = "usr";
    /// An MCP server, as the tenant's hosts know it.
    ServerId = "srv";
    /// A project root, as the tenant's hosts name it.
    RootId = "root";
    /// An API key.
    CredentialId = "key";
    /// A key that is an envelope.
    TokenId = "tok";
    /// A consent.
    GrantId = "grt";
    /// One bounded sub-agent's allowance.
    EnvelopeId = "env";
    /// What a person added to an envelope; also the token that let them.
    ExtensionId = "ext";
    /// An operator's allowance.
    BudgetId = "bud";
    /// One bounded counter in one window.
    LimitId = "lim";
    /// One call, whatever its attempts.
    CallId = "call";
    /// A reservation; also the id of the entry that resolves it.
    HoldId = "hold";
    /// A ledger entry.
    EntryId = "ent";
    /// A reachable endpoint.
    BackendId = "bck";
    /// A priced thing that a backend serves.
    ModelId = "mdl";
    /// A model's prices from some instant on.
    PriceVersionId = "prc";
    /// A version of a price book: all that one import lists.
    BookId = "book";
    /// An exchange rate of some day.
    FxRateId = "fxr";
    /// A kill switch.
    StopId = "stp";
    /// A change that the audit has.
    AuditId = "aud";
}

impl TenantId {
    /// Whose the keys of the role platform and the common price book are: a tenant without
    /// anything else.
    pub const PLATFORM: Self = Self(Uuid::from_u128(0x0070_6c61_7466_8000_8000_6275_7273_6172));
}

/// Makes a `UUIDv7` of a time and ten random bytes, both the caller's.
pub fn uuid_v7(unix_ms: u64, random: [u8; 10]) -> Uuid {
    Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid()
}

/// The id of the entry that resolves a hold is the hold's own: that makes a
/// second resolution a violation of the primary key.
impl From<HoldId> for EntryId {
    fn from(it: HoldId) -> Self {
        Self(it.0)
    }
}

impl CallId {
    /// The hold of an attempt, counted from 1: the call's own id with the attempt as
    /// its last byte. So all that became of a call is one range of a primary key.
    pub fn hold(self, attempt: u8) -> HoldId {
        let most = u128::from(u8::MAX);
        HoldId(Uuid::from_u128((self.0.as_u128() & !most) | u128::from(attempt)))
    }

    /// Every hold that the call can have.
    pub fn holds(self) -> RangeInclusive<HoldId> {
        self.hold(u8::MIN)..=self.hold(u8::MAX)
    }
}
