-- Every way in which the tables may contradict themselves, each as a sentence.
with booked as (
    select e.tenant_id, limit_id, sum(e.calls) as calls, sum(e.charged) as charged, sum(e.overrun) as overrun,
        sum(e.tokens_charged) as tokens_charged, sum(e.tokens_overrun) as tokens_overrun
    from entries e cross join unnest(e.limit_ids) as limit_id group by 1, 2
),
reserved as (
    select h.tenant_id, limit_id, sum(h.calls) as calls, sum(h.money) as money, sum(h.tokens) as tokens
    from holds h cross join unnest(h.limit_ids) as limit_id group by 1, 2
),
folded as (
    select l.*,
        coalesce(case l.kind when 'calls' then b.calls when 'money' then b.charged else b.tokens_charged end, 0) as fold_settled,
        coalesce(case l.kind when 'calls' then 0 when 'money' then b.overrun else b.tokens_overrun end, 0) as fold_overrun,
        coalesce(case l.kind when 'calls' then r.calls when 'money' then r.money else r.tokens end, 0) as fold_held
    from limits l
    left join booked b using (tenant_id, limit_id)
    left join reserved r using (tenant_id, limit_id)
)
select format('%s: settled %s, entries %s', kind, settled, fold_settled) as problem
from folded where settled <> fold_settled
union all
select format('%s: overrun %s, entries %s', kind, overrun, fold_overrun) from folded where overrun <> fold_overrun
union all
select format('%s: held %s, holds %s', kind, held, fold_held) from folded where held <> fold_held
union all
select format('%s: settled %s and held %s of %s', kind, settled, held, amount)
from folded where enforcing and settled + held > amount
union all
select format('hold %s has %s resolutions', hold_id, count(*)) from entries
where kind in ('settle', 'void', 'expire') group by tenant_id, hold_id having count(*) > 1
union all
select format('hold %s is open and booked', h.hold_id) from holds h join entries e using (tenant_id, hold_id)
union all
select format('entry %s does not sum to zero', entry_id) from postings
group by tenant_id, entry_id having sum(amount) <> 0
