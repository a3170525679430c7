-- A lane's whole batch in one statement: limits move where their revision still
-- matches and, for a new hold, their window is open; resolved holds go and become
-- entries; new holds come. If any count is short, it divides by zero and nothing
-- of it happened.
--
-- `tenant_id = any(array[x])` is `tenant_id = x` that no plan can merge by: what is
-- left is one way, from the arrays to the tables by primary key and in the order of
-- the arrays, which is that of locking. With `= x` a plan made while a table was
-- empty would start at the table and walk through all of it.
with
clock as (
    select statement_timestamp() as at
),
moves as (
    select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bool[])
        as m (tenant_id, limit_id, revision, settled, overrun, held, holding)
),
moved as (
    update limits l
    set settled = l.settled + m.settled,
        overrun = l.overrun + m.overrun,
        held = l.held + m.held,
        revision = l.revision + 1,
        used_at = clock.at
    from moves m, clock
    where l.tenant_id = any(array[m.tenant_id]) and l.limit_id = m.limit_id and l.revision = m.revision
        and (not m.holding
            or (l.opens_at <= clock.at and l.closed_at is null and (l.closes_at is null or clock.at < l.closes_at)))
    returning 1
),
ends as (
    select * from unnest($28::uuid[], $29::uuid[], $30::text[],
            $31::bigint[], $32::bigint[], $33::bigint[], $34::bigint[], $35::bigint[],
            $36::text[], $37::bigint[], $38::bigint[], $39::bigint[], $40::bigint[], $41::bigint[],
            $42::bigint[], $43::bigint[], $44::text[], $45::text[], $46::text[])
        as e (tenant_id, hold_id, kind, input, cache_read, cache_write, output, reasoning,
            pico_usd, counted, tokens_charged, tokens_overrun, charged, overrun,
            provider_payable, fx_buffer, certainty, claim, cut)
),
gone as (
    delete from holds h using ends e
    where h.tenant_id = any(array[e.tenant_id]) and h.hold_id = e.hold_id
    returning h.*, e.kind, e.input, e.cache_read, e.cache_write, e.output, e.reasoning, e.pico_usd,
        e.counted, e.tokens_charged, e.tokens_overrun, e.charged, e.overrun, e.provider_payable,
        e.fx_buffer, e.certainty, e.claim, e.cut
),
numbered as (
    insert into batches as b (tenant_id, last_no)
    -- In order, like the limits, so that no two replicas wait for each other.
    select distinct tenant_id, 1::bigint from ends order by 1
    on conflict (tenant_id) do update set last_no = b.last_no + 1
    returning b.tenant_id, b.last_no
),
booked as (
    insert into entries (tenant_id, entry_id, incurred_at, booked_at, batch_no, kind, hold_id,
        call_id, attempt, host_id, user_id, server_id, envelope_id, model_id, backend_id,
        price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, limit_ids, held_money, held_tokens,
        input, cache_read, cache_write, output, reasoning, pico_usd, calls, tokens_charged, tokens_overrun,
        charged, overrun, provider_payable, fx_buffer, certainty, claim, cut, by_host)
    select g.tenant_id, g.hold_id, g.incurred_at, clock.at, n.last_no, g.kind, g.hold_id,
        g.call_id, g.attempt, g.host_id, g.user_id, g.server_id, g.envelope_id, g.model_id, g.backend_id,
        g.price_version_id, g.fx_rate_id, g.usd_nanos_per_unit, g.fx_buffer_bp, g.limit_ids, g.money, g.tokens,
        g.input, g.cache_read, g.cache_write, g.output, g.reasoning, g.pico_usd::numeric, g.counted,
        g.tokens_charged, g.tokens_overrun, g.charged, g.overrun, g.provider_payable, g.fx_buffer,
        g.certainty, g.claim::bigint[], g.cut, g.by_host
    from gone g
    join numbered n on n.tenant_id = g.tenant_id
    cross join clock
    returning 1
),
taken as (
    insert into holds (tenant_id, hold_id, call_id, attempt, host_id, user_id, server_id, envelope_id,
        model_id, backend_id, price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp,
        calls, money, tokens, limit_ids, by_host, incurred_at, expires_at)
    select t.tenant_id, t.hold_id, t.call_id, t.attempt, t.host_id, t.user_id, t.server_id, t.envelope_id,
        t.model_id, t.backend_id, t.price_version_id, t.fx_rate_id, t.usd_nanos_per_unit, t.fx_buffer_bp,
        t.calls, t.money, t.tokens, ($48::uuid[])[t.limits_from:t.limits_to], t.by_host,
        clock.at, clock.at + t.ttl_ms * interval '1 millisecond'
    from unnest($8::uuid[], $9::uuid[], $10::uuid[], $11::smallint[], $12::uuid[], $13::uuid[], $14::uuid[],
            $15::uuid[], $16::uuid[], $17::uuid[], $18::uuid[], $19::uuid[], $20::bigint[], $21::int[],
            $22::bigint[], $23::bigint[], $24::bigint[], $25::int[], $26::bool[], $27::bigint[], $47::int[])
        as t (tenant_id, hold_id, call_id, attempt, host_id, user_id, server_id, envelope_id,
            model_id, backend_id, price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp,
            calls, money, tokens, limits_from, by_host, ttl_ms, limits_to), clock
    returning 1
)
select clock.at, 1 / (case
    when (select count(*) from moved) = cardinality($1::uuid[])
        and (select count(*) from gone) = cardinality($28::uuid[])
        and (select count(*) from booked) = cardinality($28::uuid[])
        and (select count(*) from taken) = cardinality($8::uuid[])
    then 1 else 0 end) as whole
from clock
