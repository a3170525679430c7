-- Why a model was chosen stays with what it cost: the reasons in words, without a word of
-- the request.
alter table holds add column route text check (length(route) <= 1000);
alter table entries add column route text;
