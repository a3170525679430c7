-- What stands in the way of closing the month $2 of the tenant $1, in numbers.
with span as (
    select $2::date as first, ($2::date + interval '1 month')::date as next
),
sums as (
    select coalesce(sum(r.entries), 0)::bigint as entries, coalesce(sum(r.estimated), 0)::bigint as estimated,
        coalesce(sum(r.charged), 0)::text as charged, coalesce(sum(r.overrun), 0)::text as overrun,
        coalesce(sum(r.provider_payable), 0)::text as provider_payable,
        coalesce(sum(r.fx_buffer), 0)::text as fx_buffer,
        coalesce(sum(r.entries) filter (where r.kind <> 'void'
            and r.model_id <> '00000000-0000-0000-0000-000000000000' and not exists (
                select from tariffs p where p.tenant_id in ($1, '00706c61-7466-8000-8000-627572736172')
                    and p.price_version_id = r.price_version_id)
        ), 0)::bigint as unpriced,
        coalesce(sum(r.entries) filter (where not exists (
            select from fx_rates f where f.tenant_id = $1 and f.fx_rate_id = r.fx_rate_id)), 0)::bigint as without_rate
    from rollups r, span
    where r.tenant_id = $1 and r.day >= span.first and r.day < span.next
)
select sums.*, span.next + time '00:01' < now() at time zone 'UTC' as is_over,
    (select closed_at from periods where tenant_id = $1 and month = span.first) as closed_at,
    (select to_char(min(day), 'YYYY-MM') from rollups r where r.tenant_id = $1 and r.day < span.first
        and not exists (select from periods p
            where p.tenant_id = $1 and p.month = date_trunc('month', r.day)::date)) as open_before,
    (select count(*) from holds where tenant_id = $1
        and incurred_at < span.next::timestamp at time zone 'UTC') as open_holds,
    (select coalesce(max(last_batch), 0) from booked_hours
        where tenant_id = $1 and hour < span.next::timestamp at time zone 'UTC') as last_batch
from sums, span
