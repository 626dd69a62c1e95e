// SPDX-License-Identifier: GPL-3.0-or-later
use weezl::{decode::Decoder, encode::Encoder, BitOrder};
fn main() {
    let text = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let packed = Encoder::new(BitOrder::Msb, 8).encode(&text).unwrap();
    let back = Decoder::new(BitOrder::Msb, 8).decode(&packed).unwrap();
    println!("{} {}", packed.len(), back.len());
}
