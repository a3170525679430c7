-- Models, each with the price in effect now: its own, or the row of the book that it
-- names. A tenant's own book goes before the platform's. Each book is asked by itself, so
-- that its index is asked by all of the row's key whatever the statistics say.
with own as materialized (
    select v.book_id from price_books v
    where v.tenant_id = $1 and v.approved_at is not null and v.reverted_at is null
        and v.effective_at <= now()
    order by v.effective_at desc, v.book_id desc limit 1
), common as materialized (
    select v.book_id from price_books v
    where v.tenant_id = '00706c61-7466-8000-8000-627572736172' and v.approved_at is not null
        and v.reverted_at is null and v.effective_at <= now()
    order by v.effective_at desc, v.book_id desc limit 1
), today as materialized (
    select (now() at time zone 'utc')::date as day
)
select m.*, p.price_version_id, p.input, p.cache_read, p.cache_write, p.output, p.reasoning,
    p.audio_input, p.audio_output, p.image, p.request, p.tiers,
    b.calls, b.held_tokens, b.actual_tokens, b.worst_permille, b.failures, b.last_failure_at,
    b.coarse_at, b.suspended_at
from models m
left join model_bounds b on b.tenant_id = m.tenant_id and b.model_id = m.model_id
left join lateral (
    (select 1 as place, p.price_version_id, p.input, p.cache_read, p.cache_write, p.output,
        p.reasoning, p.audio_input, p.audio_output, p.image, p.request, p.tiers
    from price_versions p
    where m.book_model is null and p.tenant_id = m.tenant_id and p.model_id = m.model_id
        and p.effective_at <= now()
    order by p.effective_at desc, p.price_version_id desc limit 1)
    union all
    (select 2, r.price_version_id, r.input, r.cache_read, r.cache_write, r.output,
        r.reasoning, r.audio_input, r.audio_output, r.image, r.request, r.tiers
    from book_prices r
    where r.tenant_id = $1 and r.book_id = (select book_id from own)
        and r.provider = m.book_provider and r.model = m.book_model
        and r.service_tier = m.book_tier and r.effective_from <= (select day from today)
    order by r.effective_from desc limit 1)
    union all
    (select 3, r.price_version_id, r.input, r.cache_read, r.cache_write, r.output,
        r.reasoning, r.audio_input, r.audio_output, r.image, r.request, r.tiers
    from book_prices r
    where r.tenant_id = '00706c61-7466-8000-8000-627572736172'
        and r.book_id = (select book_id from common)
        and r.provider = m.book_provider and r.model = m.book_model
        and r.service_tier = m.book_tier and r.effective_from <= (select day from today)
    order by r.effective_from desc limit 1)
    order by place limit 1
) p on true
