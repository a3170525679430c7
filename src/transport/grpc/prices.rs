//! `PriceService`.

use tonic::{Request, Response, Status, async_trait};

use super::{
    auth::right,
    convert::{
        book::{book, changes, import, key, listed, name_of, refused, which},
        page::page,
    },
    pages::{cut, slice},
    state::Services,
};
use crate::{
    admin::prices::{
        approve_prices, import_prices, listed_price, listed_prices, price_books, revert_prices,
    },
    domain::book::Turn,
    identity::{BookKeeper, BookReader},
    proto::{self, price_service_server::PriceService},
    store::listings::Filter,
};

/// The service.
#[derive(Clone)]
pub struct Prices {
    services: Services,
}

impl Prices {
    /// On these.
    pub const fn new(services: Services) -> Self {
        Self { services }
    }
}

#[async_trait]
impl PriceService for Prices {
    async fn import_prices(
        &self,
        request: Request<proto::ImportPricesRequest>,
    ) -> Result<Response<proto::ImportPricesResponse>, Status> {
        let right: BookKeeper = right(&self.services, request.metadata()).await?;
        let wanted = import(request.into_inner())?;
        let is_preview = wanted.is_preview;
        let made = import_prices(self.services.desk(), right, wanted).await?;
        let now = self.services.clock.now();
        let count = |of: &dyn Fn(&crate::domain::book::Change) -> bool| {
            let count = made.changes.iter().filter(|it| of(it)).count();
            i32::try_from(count).unwrap_or(i32::MAX)
        };
        let mut shown = book(&made.book, false, now);
        if is_preview {
            shown.name = String::new();
        }
        Ok(Response::new(proto::ImportPricesResponse {
            book: Some(shown),
            added: count(&|it| it.turn == Turn::Added),
            changed: count(&|it| it.turn == Turn::Changed),
            removed: count(&|it| it.turn == Turn::Removed),
            flagged: count(&|it| !it.guards.is_empty()),
            changes: changes(&made.changes),
            refused: refused(&made.refused),
        }))
    }

    async fn approve_price_book(
        &self,
        request: Request<proto::ApprovePriceBookRequest>,
    ) -> Result<Response<proto::PriceBook>, Status> {
        let right: BookKeeper = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let id = name_of("name", &it.name)?.of(right.owner, "price book")?;
        let wanted = (id, it.accept_flagged);
        let standing = approve_prices(self.services.desk(), right, wanted).await?;
        let now = self.services.clock.now();
        Ok(Response::new(book(&standing.book, standing.in_effect, now)))
    }

    async fn revert_price_book(
        &self,
        request: Request<proto::RevertPriceBookRequest>,
    ) -> Result<Response<proto::PriceBook>, Status> {
        let right: BookKeeper = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let id = name_of("name", &it.name)?.of(right.owner, "price book")?;
        let standing = revert_prices(self.services.desk(), right, id).await?;
        let now = self.services.clock.now();
        Ok(Response::new(book(&standing.book, standing.in_effect, now)))
    }

    async fn list_price_books(
        &self,
        request: Request<proto::ListPriceBooksRequest>,
    ) -> Result<Response<proto::ListPriceBooksResponse>, Status> {
        let right: BookReader = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let wanted = (it.platform, slice(page));
        let found = price_books(self.services.desk(), right, wanted).await?;
        let (found, next_page_token) = cut(found, page, |it| it.book.id.uuid());
        let now = self.services.clock.now();
        let books = found.iter().map(|it| book(&it.book, it.in_effect, now)).collect();
        Ok(Response::new(proto::ListPriceBooksResponse { books, next_page_token }))
    }

    async fn list_prices(
        &self,
        request: Request<proto::ListPricesRequest>,
    ) -> Result<Response<proto::ListPricesResponse>, Status> {
        let right: BookReader = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page(it.page_size, &it.page_token)?;
        let which = which(&it, right.tenant)?;
        let filter = Filter { provider: it.provider, model: it.model };
        let wanted = (which, filter);
        let found = listed_prices(self.services.desk(), right, wanted, slice(page)).await?;
        let (found, next_page_token) = cut(found, page, |it| it.version.uuid());
        let prices = found.iter().map(listed).collect();
        Ok(Response::new(proto::ListPricesResponse { prices, next_page_token }))
    }

    async fn get_listed_price(
        &self,
        request: Request<proto::GetListedPriceRequest>,
    ) -> Result<Response<proto::ListedPrice>, Status> {
        let right: BookReader = right(&self.services, request.metadata()).await?;
        let key = key(request.into_inner().source.as_ref())?;
        let found = listed_price(self.services.desk(), right, &key).await?;
        Ok(Response::new(listed(&found)))
    }
}
