-- Limits of the case that began at $1 whose counters are not the fold of entries and open holds.
with booked as (
    select e.tenant_id, limit_id, sum(e.calls) as calls, sum(e.charged) as charged, sum(e.tokens_charged) as tokens
    from entries e cross join unnest(e.limit_ids) as limit_id
    where e.incurred_at >= $1::text::timestamptz group by 1, 2
),
reserved as (
    select h.tenant_id, limit_id, sum(h.calls) as calls, sum(h.money) as money, sum(h.tokens) as tokens
    from holds h cross join unnest(h.limit_ids) as limit_id group by 1, 2
)
select count(*) from limits l
left join booked b using (tenant_id, limit_id)
left join reserved r using (tenant_id, limit_id)
where opens_at = '2020-01-01Z'
    and (settled <> coalesce(case kind when 'calls' then b.calls when 'money' then b.charged else b.tokens end, 0)
    or held <> coalesce(case kind when 'calls' then r.calls when 'money' then r.money else r.tokens end, 0))
