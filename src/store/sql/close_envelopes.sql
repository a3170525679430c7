-- Closes an envelope and all that stand in it, level by level. What was closed or has
-- ended before stays as it is, and so does all that stands in it.
with recursive closing as (
    select e.envelope_id, 0 as depth
    from envelopes e
    where e.tenant_id = $1 and e.envelope_id = $2
    union all
    select e.envelope_id, c.depth + 1
    from closing c
    join envelopes e on e.tenant_id = $1 and e.parent_id = c.envelope_id
    where e.closed_at is null and e.closes_at > now() and c.depth < 8
)
update envelopes e
set closed_at = now()
from (select envelope_id from closing) as c
where e.tenant_id = $1 and e.envelope_id = c.envelope_id and e.closed_at is null
returning e.envelope_id
