-- owner: merchants
-- A small number for each store: tables in memory and columns of the search index are addressed by it.

ALTER TABLE store ADD COLUMN number integer GENERATED ALWAYS AS IDENTITY UNIQUE;
