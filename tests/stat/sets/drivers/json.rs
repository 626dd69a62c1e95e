// SPDX-License-Identifier: GPL-3.0-or-later
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let mut size = 0;
    for _ in 0..a[2].parse::<u32>().unwrap() {
        size += json::stringify(json::parse(&text).unwrap()).len();
    }
    println!("{}", size);
}
