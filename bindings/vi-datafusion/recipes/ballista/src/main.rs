//! Posteriors in the queries of a cluster: in one process, and a scheduler with two executors of which one is killed in the midst of a query.
//!
//! `ballista-recipe standalone [ROWS]`, `ballista-recipe cluster [ROWS]`; `scheduler PORT` and `executor PORT PORT_OF_SCHEDULER` are the processes that the
//! second starts.

mod nodes;
mod table;

use std::env;
use std::error::Error;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use datafusion::prelude::{SessionConfig, SessionContext};
use tokio::process::{Child, Command};
use tokio::time::sleep;
use vi_sums::{LinearSums, Posterior};

type Done<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const PORT: u16 = 50150;

#[tokio::main]
async fn main() -> Done {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["standalone"] => standalone(400_000).await,
        ["standalone", rows] => standalone(rows.parse()?).await,
        ["cluster"] => cluster(4_000_000).await,
        ["cluster", rows] => cluster(rows.parse()?).await,
        ["scheduler", port] => nodes::scheduler(port.parse()?).await,
        ["executor", port, scheduler] => nodes::executor(port.parse()?, scheduler.parse()?).await,
        _ => Err("standalone [ROWS], or cluster [ROWS]".into()),
    }
}

/// A client's session: its functions are registered again, since the cluster's are not the client's.
fn client(mut session: SessionContext) -> Done<SessionContext> {
    vi_datafusion::register_all(&mut session)?;
    Ok(session)
}

async fn standalone(rows: usize) -> Done {
    let folder = table::write(rows).await?;
    let state = nodes::state(SessionConfig::new_with_ballista().with_target_partitions(4))?;
    let session = client(SessionContext::standalone_with_state(state).await?)?;
    println!("In one process, {rows} rows in {} files:", table::FILES);
    asked(&session, &folder, rows).await?;
    Ok(())
}

/// Runs the queries and holds the posterior against the rows added one after another; the year is given back.
async fn asked(session: &SessionContext, folder: &table::Folder, rows: usize) -> Done<Vec<u8>> {
    session.register_parquet("t", folder.path(), Default::default()).await?;
    let begun = Instant::now();
    let record = table::record(session, "SELECT vi_linear(y, x0, x1, x2) FROM t").await?;
    let seconds = begun.elapsed().as_secs_f64();
    let difference = table::difference(&folder.sums, sums(&record)?);
    println!("  vi_linear over all rows in {seconds:.2} s, from the rows one by one by {difference:.0e}");
    if difference > 1e-12 {
        return Err("the posterior is not that of the rows".into());
    }
    let merged = "SELECT vi_merge(model) FROM (SELECT g, vi_linear(y, x0, x1, x2) AS model FROM t GROUP BY g)";
    let begun = Instant::now();
    let parts = table::record(session, merged).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let difference = table::difference(&folder.sums, sums(&parts)?);
    println!("  {} groups merged in {seconds:.2} s, from the rows one by one by {difference:.0e}", table::GROUPS);
    let told = Posterior::decode(&parts)?;
    if difference > 1e-12 || told.rows() != rows as u64 {
        return Err("the groups are not the rows".into());
    }
    let seen = "SELECT round(avg(get_field(p, 'mean') - y), 3) AS error, \
                avg(CASE WHEN y BETWEEN get_field(p, 'lower') AND get_field(p, 'upper') THEN 1.0 ELSE 0.0 END) AS held \
                FROM (SELECT y, vi_predict(model, x0, x1, x2) AS p \
                FROM t, (SELECT vi_linear(y, x0, x1, x2) AS model FROM t WHERE g < 2) WHERE g >= 2)";
    println!("{}", datafusion::arrow::util::pretty::pretty_format_batches(&session.sql(seen).await?.collect().await?)?);
    Ok(record)
}

fn sums(record: &[u8]) -> Done<LinearSums> {
    match Posterior::decode(record)? {
        Posterior::Linear(own) => Ok(own.sums().clone()),
        _ => Err("not a linear posterior".into()),
    }
}

/// Another process of this program, which ends with this one.
fn node(words: &[&str]) -> Done<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    Ok(command.spawn()?)
}

async fn cluster(rows: usize) -> Done {
    let folder = table::write(rows).await?;
    let scheduler = PORT.to_string();
    let _scheduler = node(&["scheduler", &scheduler])?;
    sleep(Duration::from_secs(2)).await;
    let ports = [(PORT + 1).to_string(), (PORT + 3).to_string()];
    let mut first = node(&["executor", &ports[0], &scheduler])?;
    let _second = node(&["executor", &ports[1], &scheduler])?;
    sleep(Duration::from_secs(3)).await;

    let url = format!("df://127.0.0.1:{PORT}");
    let state = nodes::state(SessionConfig::new_with_ballista().with_target_partitions(8))?;
    let session = client(SessionContext::remote_with_state(&url, state).await?)?;
    println!("A scheduler and two executors, {rows} rows in {} files:", table::FILES);
    asked(&session, &folder, rows).await?;

    // Long enough that there is a midst: every row meets four others of its group.
    let sql = "SELECT vi_merge(model) FROM (SELECT g, n, vi_linear(y, x0, x1, x2) AS model FROM t CROSS JOIN \
               (SELECT column1 AS n FROM (VALUES (1), (2), (3), (4))) GROUP BY g, n)";
    let begun = Instant::now();
    let whole = sums(&table::record(&session, sql).await?)?;
    let quiet = begun.elapsed();
    let killed = tokio::spawn(async move {
        sleep(quiet / 2).await;
        first.start_kill().and(first.try_wait()).map(|_| first)
    });
    let begun = Instant::now();
    let answer = table::record(&session, sql).await;
    let seconds = begun.elapsed().as_secs_f64();
    let _first = killed.await??;
    let found = sums(&answer?)?;
    let difference = table::difference(&whole, found.clone());
    println!(
        "  a query of {:.2} s, again with an executor killed after {:.2} s: {seconds:.2} s, {} rows, the same within {difference:.0e}",
        quiet.as_secs_f64(),
        quiet.as_secs_f64() / 2.0,
        found.rows(),
    );
    if difference > 1e-12 || found.rows() != 4 * rows as u64 {
        return Err("the killed executor took rows with it".into());
    }
    Ok(())
}
