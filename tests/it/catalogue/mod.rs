//! What is known of models and backends.

mod breaker;
