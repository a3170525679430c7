-- One tenant with 500 people, 20 servers, four models and their prices.
insert into tenants (tenant_id, display_name, currency) values ('00000000-0000-7000-8000-000000000001', 'Bench', 'EUR');
insert into hosts (tenant_id, host_id, display_name)
values ('00000000-0000-7000-8000-000000000001', md5('host')::uuid, 'desktop');
insert into users (tenant_id, user_id, external_id)
select '00000000-0000-7000-8000-000000000001', md5('user ' || n)::uuid, 'user-' || n from generate_series(0, 499) as n;
insert into servers (tenant_id, server_id, external_id)
select '00000000-0000-7000-8000-000000000001', md5('server ' || n)::uuid, 'server-' || n from generate_series(0, 19) as n;
insert into backends (tenant_id, backend_id, name, kind, base_url, key_env, unbilled_statuses, stops_on_disconnect,
    max_completion_tokens, no_stream_options, no_temperature, idle_ms)
values ('00000000-0000-7000-8000-000000000001', md5('backend')::uuid, 'a-maker', 'scripted', '', '', '{}', false,
    false, false, false, 1000);
insert into models (tenant_id, model_id, alias, backend_id, vendor_model, context_tokens, max_output_tokens, tools,
    image_tokens_max, audio_tokens_max, intelligence, speed)
select '00000000-0000-7000-8000-000000000001', md5('model ' || n)::uuid, 'model-' || n, md5('backend')::uuid,
    'maker-model-' || n, 100000, 10000, true, 0, 0, 50, 50
from generate_series(0, 3) as n;
insert into price_versions (tenant_id, price_version_id, model_id, input, cache_read, cache_write, output, reasoning, request)
select '00000000-0000-7000-8000-000000000001', md5('price ' || n)::uuid, md5('model ' || n)::uuid,
    150000 * (n + 1), 75000, 150000, 600000 * (n + 1), 600000, 0
from generate_series(0, 3) as n;
insert into fx_rates (tenant_id, fx_rate_id, usd_nanos_per_unit, fixing_date)
values ('00000000-0000-7000-8000-000000000001', md5('rate')::uuid, 1100000000, '2026-01-02');
