-- A third kind of backend: Anthropic's Messages API.
alter table backends
    drop constraint backends_kind_check,
    add constraint backends_kind_check check (kind in ('scripted', 'openai', 'anthropic'));
