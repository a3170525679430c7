//! The real engine and Postgres against the reference, step by step. `BURSAR_SEED=n`
//! plays one run again, `BURSAR_LONG=1` many more.

use super::{
    game::Game,
    steps::{Dice, Step},
};
use crate::engine::world::is_long;

/// Plays steps until one comes out wrong: which, and how.
async fn play(steps: &[Step]) -> Result<[u32; 2], (usize, String)> {
    let mut game = Game::new().await;
    for (n, step) in steps.iter().enumerate() {
        let wrong = |it| (n, it);
        game.take(*step).await.map_err(wrong)?;
        game.compare().await.map_err(wrong)?;
    }
    game.close().await.map_err(|it| (steps.len(), it))?;
    Ok([game.crashes, game.landed])
}

/// The steps without those that the failure does not need.
async fn shortened(mut steps: Vec<Step>) -> Vec<Step> {
    for n in (0..steps.len()).rev() {
        let mut fewer = steps.clone();
        fewer.remove(n);
        if let Err((at, _)) = play(&fewer).await {
            fewer.truncate(at + 1);
            steps = fewer;
        }
        if n >= steps.len() {
            break;
        }
    }
    steps
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_postgres_follows_the_reference() {
    let seed = std::env::var("BURSAR_SEED").ok().map(|it| it.parse::<u64>().unwrap());
    let (runs, length) = if is_long() { (100, 150) } else { (5, 60) };
    let seeds = seed.map_or(1..=runs, |it| it..=it);
    let mut crashes = [0; 2];
    for seed in seeds.clone() {
        let mut dice = Dice(seed);
        let mut steps: Vec<Step> = (0..length).map(|_| dice.step()).collect();
        match play(&steps).await {
            Ok([all, landed]) => {
                crashes[0] += all;
                crashes[1] += landed;
            }
            Err((at, problem)) => {
                steps.truncate(at + 1);
                let steps = shortened(steps).await;
                panic!("BURSAR_SEED={seed}, step {at}: {problem}\n{steps:?}");
            }
        }
    }
    let [all, landed] = crashes;
    eprintln!("seeds {seeds:?}, {length} steps each; {all} crashes, {landed} of them too late");
    assert!(seed.is_some() || (landed > 0 && landed < all));
}
