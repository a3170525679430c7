-- Whatever an entry was priced by, in one place: a model's own prices, and the rows of
-- books that the tenant may see. Ids of versions are unique over both.
create view tariffs with (security_invoker = true) as
select tenant_id, price_version_id, effective_at, input, cache_read, cache_write, output, reasoning,
    audio_input, audio_output, image, request, tiers
from price_versions
union all
select r.tenant_id, r.price_version_id, b.effective_at, r.input, r.cache_read, r.cache_write, r.output,
    r.reasoning, r.audio_input, r.audio_output, r.image, r.request, r.tiers
from book_prices r
join price_books b on b.tenant_id = r.tenant_id and b.book_id = r.book_id;

grant select on tariffs to bursar_app;
