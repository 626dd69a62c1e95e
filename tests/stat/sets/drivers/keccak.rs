// SPDX-License-Identifier: GPL-3.0-or-later
use tiny_keccak::{Hasher, Sha3, Shake};
fn main() {
    let text = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let (mut a, mut b) = ([0u8; 32], [0u8; 64]);
    let mut h = Sha3::v256();
    for line in text.split(|&c| c == b'\n') {
        h.update(line);
    }
    h.finalize(&mut a);
    let mut s = Shake::v128();
    s.update(&text);
    s.finalize(&mut b);
    println!("{:?} {:?}", &a[..4], &b[..4]);
}
