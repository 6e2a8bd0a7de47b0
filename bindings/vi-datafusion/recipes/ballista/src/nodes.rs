//! The processes of a cluster; each has to know the functions.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ballista::prelude::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::default_session_builder;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionConfig;

use crate::Done;

/// A session's state with the functions.
pub(crate) fn state(config: SessionConfig) -> datafusion::error::Result<SessionState> {
    let mut state = default_session_builder(config)?;
    vi_datafusion::register_all(&mut state)?;
    Ok(state)
}

/// A scheduler, whose sessions have the functions; an executor that is silent for ten seconds is dead to it.
pub(crate) async fn scheduler(port: u16) -> Done {
    let config = SchedulerConfig {
        bind_port: port,
        override_session_builder: Some(Arc::new(state)),
        executor_timeout_seconds: 10,
        no_executors_grace_period_seconds: 10,
        expire_dead_executor_interval_seconds: 2,
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    start_server(cluster, SocketAddr::from((Ipv4Addr::LOCALHOST, port)), Arc::new(config)).await?;
    Ok(())
}

/// An executor of two threads, whose registry has the functions.
pub(crate) async fn executor(port: u16, scheduler: u16) -> Done {
    let registry = BallistaFunctionRegistry::from(&state(SessionConfig::new_with_ballista())?);
    let config = ExecutorProcessConfig {
        port,
        grpc_port: port + 1,
        scheduler_host: "127.0.0.1".to_owned(),
        scheduler_port: scheduler,
        scheduler_connect_timeout_seconds: 20,
        vcores: 2,
        executor_heartbeat_interval_seconds: 2,
        override_function_registry: Some(Arc::new(registry)),
        ..ExecutorProcessConfig::default()
    };
    start_executor_process(Arc::new(config)).await?;
    Ok(())
}
