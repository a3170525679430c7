(select m.*,
    (select to_jsonb(p) - 'tenant_id' from price_versions p
        where p.tenant_id = m.tenant_id and p.model_id = m.model_id
        order by p.effective_at desc, p.price_version_id desc limit 1) as price,
    (select to_jsonb(b) - 'tenant_id' from model_bounds b
        where b.tenant_id = m.tenant_id and b.model_id = m.model_id) as bounds
from models m)
