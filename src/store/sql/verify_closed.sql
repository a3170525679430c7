-- Each closed month beside what its days add up to.
select $1 as id, null::uuid as other, to_char(p.month, 'YYYY-MM') as what,
    format('%s entries, %s charged, %s overrun', p.entries, p.charged, p.overrun) as kept,
    format('%s entries, %s charged, %s overrun', s.entries, s.charged, s.overrun) as proven
from periods p
cross join lateral (
    select coalesce(sum(r.entries), 0) as entries, coalesce(sum(r.charged), 0) as charged,
        coalesce(sum(r.overrun), 0) as overrun, coalesce(sum(r.provider_payable), 0) as provider_payable,
        coalesce(sum(r.fx_buffer), 0) as fx_buffer
    from rollups r
    where r.tenant_id = $1 and r.day >= p.month and r.day < p.month + interval '1 month'
) s
where p.tenant_id = $1
    and (p.entries, p.charged, p.overrun, p.provider_payable, p.fx_buffer)
        is distinct from (s.entries, s.charged, s.overrun, s.provider_payable, s.fx_buffer)
order by p.month
limit $2
