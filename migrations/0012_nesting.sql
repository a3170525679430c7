-- Envelopes inside envelopes: a sub-agent that starts sub-agents. What a nested one
-- spends counts in each that it stands in.
--
-- `ancestors` has the envelopes that it stands in, the nearest first, so that a call finds
-- all their limits without walking.
alter table envelopes
    add column ancestors uuid[] not null default '{}' check (cardinality(ancestors) <= 4),
    add column parent_id uuid generated always as (ancestors[1]) stored,
    add foreign key (tenant_id, parent_id) references envelopes;

create index envelopes_of_parent on envelopes (tenant_id, parent_id) where parent_id is not null;
