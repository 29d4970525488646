//! Passes over small plans. No test looks at how long something took, only at what was done.

use super::*;
use std::collections::BTreeSet;

fn task(algorithm: Algorithm, mode: Option<Mode>, page_bytes: usize, direction: Direction) -> Task {
    Task { algorithm, mode, page_bytes, direction }
}

fn plan(tasks: Vec<Task>) -> Plan {
    Plan { library: None, tasks, ring_bytes: 1 << 16, batch_ns: 20_000, seed: 7 }
}

fn every_task(page_bytes: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for algorithm in [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256] {
        for mode in [Mode::Cbc, Mode::Ctr, Mode::Gcm, Mode::Xts] {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                tasks.push(task(algorithm, Some(mode), page_bytes, direction));
            }
        }
    }
    for algorithm in [Algorithm::HmacSha1, Algorithm::HmacSha256, Algorithm::HmacSha512] {
        tasks.push(task(algorithm, None, page_bytes, Direction::Authenticate));
    }
    tasks.retain(|task| task.check().is_ok());
    tasks
}

fn go() -> AtomicBool {
    AtomicBool::new(false)
}

#[test]
fn a_pass_has_one_batch_of_every_cell() {
    let tasks = [16, 4096, 262_144].into_iter().flat_map(every_task).collect::<Vec<_>>();
    assert_eq!(tasks.len(), 3 * 25);
    let mut meter = Meter::new(&plan(tasks.clone())).unwrap();
    for pass in 0..2 {
        let batches = meter.pass(pass, &go()).unwrap();
        assert_eq!(batches.iter().map(|batch| batch.task).collect::<BTreeSet<_>>(), (0..tasks.len()).collect());
        assert_eq!(batches.len(), tasks.len());
        for batch in batches {
            assert!(batch.pages >= 1 && batch.elapsed_ns > 0, "{batch:?}");
        }
    }
}

#[test]
fn every_pass_has_an_order_of_its_own_that_its_seed_draws() {
    let orders: BTreeSet<_> = (0..20).map(|pass| drawn_order(25, 7, pass)).collect();
    assert_eq!(orders.len(), 20);
    for mut order in orders {
        order.sort_unstable();
        assert_eq!(order, (0..25).collect::<Vec<_>>());
    }
    assert_eq!(drawn_order(25, 7, 3), drawn_order(25, 7, 3));
    assert_ne!(drawn_order(25, 7, 3), drawn_order(25, 8, 3));
    assert!(drawn_order(0, 7, 0).is_empty());
}

#[test]
fn a_decrypting_cell_gives_back_the_pages_it_walks_through() {
    for mode in [Mode::Cbc, Mode::Ctr, Mode::Gcm, Mode::Xts] {
        let mut meter = Meter::new(&plan(vec![task(Algorithm::Aes256, Some(mode), 4096, Direction::Decrypt)])).unwrap();
        let Meter { cells, memory, .. } = &mut meter;
        let cell = &mut cells[0];
        assert_eq!(cell.count, 8, "half of 64 KiB is read");
        (memory.output, cell.cursor) = (Ring::zeroed(8 * 4096), 0);
        cell.timed(8, memory).unwrap();
        assert_eq!(cell.cursor, 0);
        for index in 0..8 {
            assert_eq!(memory.output.page(index, 4096), memory.plain.page(index, 4096), "{mode:?}, page {index}");
        }
    }
}

#[test]
fn no_two_pages_share_an_iv() {
    let memory = Memory::new(&every_task(4096), 1 << 19, 7);
    assert_eq!(memory.ivs.len(), 128);
    assert_eq!(memory.ivs.iter().collect::<BTreeSet<_>>().len(), 128);
}

#[test]
fn a_page_beyond_the_ring_still_has_a_neighbour() {
    assert_eq!(page_count(262_144, 1 << 15), 2);
    assert_eq!(page_count(262_144, 1 << 20), 4);
}

#[test]
fn a_request_to_stop_ends_a_pass_between_two_batches() {
    let mut meter = Meter::new(&plan(every_task(4096))).unwrap();
    assert_eq!(meter.pass(0, &AtomicBool::new(true)).unwrap(), []);
}

#[test]
fn batches_are_as_many_pages_as_fill_the_time_that_was_asked_for() {
    let with = |batch_ns| {
        let tasks = vec![task(Algorithm::Aes128, Some(Mode::Cbc), 4096, Direction::Encrypt)];
        Meter::new(&Plan { batch_ns, ..plan(tasks) }).unwrap().cells[0].batch_pages
    };
    assert_eq!(with(0), 1);
    assert!(with(20_000_000) > 1);
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_loaded() {
    let refused = |plan: Plan| Meter::new(&plan).err().map(|fault| fault.kind);
    let aes_192_xts = task(Algorithm::Aes192, Some(Mode::Xts), 4096, Direction::Encrypt);
    let nowhere = Some("/nowhere/libcrypto.so".to_owned());
    assert_eq!(refused(Plan { library: nowhere.clone(), ..plan(vec![aes_192_xts]) }), Some("plan"));
    assert_eq!(refused(Plan { library: nowhere.clone(), ring_bytes: 1 << 40, ..plan(vec![]) }), Some("plan"));
    assert_eq!(refused(Plan { library: nowhere, ..plan(vec![]) }), Some("library"));
}
