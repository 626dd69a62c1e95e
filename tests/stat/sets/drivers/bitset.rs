// SPDX-License-Identifier: GPL-3.0-or-later
use bit_set::BitSet;
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut composite = BitSet::with_capacity(n);
    let mut k = 2;
    while k * k < n {
        if !composite.contains(k) {
            for j in (k * k..n).step_by(k) {
                composite.insert(j);
            }
        }
        k += 1;
    }
    let mut squares = BitSet::new();
    let mut x = 1usize;
    for _ in 0..n / 4 {
        x = (x * 48271) % 2147483647;
        squares.insert(x % n);
    }
    println!("{} {} {}", composite.len(), composite.intersection(&squares).count(), composite.union(&squares).sum::<usize>());
}
