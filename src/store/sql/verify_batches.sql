-- Every batch wrote at least one entry, so the numbers that entries have are 1 to
-- the tenant's last without a gap. One row for each gap: its first and last number.
with last as (
    select coalesce(max(last_no), 0) as no from batches where tenant_id = $1
),
present as (
    select 0::bigint as no
    union
    select batch_no from entries where tenant_id = $1
),
gaps as (
    select p.no + 1 as first_no, lead(p.no, 1, last.no + 1) over (order by p.no) - 1 as last_no
    from present p, last
)
select $1 as id, null::uuid as other, null::text as what, first_no::text as kept, last_no::text as proven
from gaps
where last_no >= first_no
order by first_no
limit $2
