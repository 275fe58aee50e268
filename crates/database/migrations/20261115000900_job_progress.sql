-- owner: jobs
-- A job that has come further since its last crash starts counting crashes anew.

GRANT UPDATE (crashes, attempts) ON job TO souk_store;
