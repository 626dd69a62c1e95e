// SPDX-License-Identifier: GPL-3.0-or-later
fn main() {
    let text = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let packed = miniz_oxide::deflate::compress_to_vec(&text, 6);
    let back = miniz_oxide::inflate::decompress_to_vec(&packed).unwrap();
    println!("{} {}", packed.len(), back.len());
}
