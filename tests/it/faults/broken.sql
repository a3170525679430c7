-- What must not be, whatever went wrong, each as a sentence. Needs the witness.
select format('hold %s was taken %s times', hold_id, count(*)) as problem
from witness_holds group by tenant_id, hold_id having count(*) > 1
union all
select format('hold %s ended %s times', w.hold_id, n.entries)
from witness_holds w
cross join lateral (
    select count(*) as entries from entries e
    where e.tenant_id = w.tenant_id and e.hold_id = w.hold_id and e.kind in ('settle', 'void', 'expire')
) n
where n.entries <> case when exists (
    select from holds h where h.tenant_id = w.tenant_id and h.hold_id = w.hold_id) then 0 else 1 end
union all
select format('entry %s resolves a hold that nobody took', e.entry_id) from entries e
where e.kind in ('settle', 'void', 'expire') and not exists (
    select from witness_holds w where w.tenant_id = e.tenant_id and w.hold_id = e.hold_id)
union all
select format('entry %s is %s and %s', entry_id, kind, certainty) from entries
where kind = 'expire' and certainty <> 'estimated' or kind = 'void' and charged + overrun <> 0
union all
select format('entry %s corrects nothing', entry_id) from entries
where kind = 'late_settle' and corrects is null
union all
select format('hold %s is beyond its time', hold_id) from holds where expires_at < now()
union all
select 'a limit was passed: ' || what from witness_breaches
