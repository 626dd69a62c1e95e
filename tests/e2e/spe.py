#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""spe.py IN OUT [WORD...]: samples of instructions of a recording of the simulated core as Arm's SPE would have written them, and perf on arm64.

Each sample becomes a record of packets in the memory of the CPU that its thread was on, which perf writes as AUXTRACE when that
has filled.  IN has samples of instructions (and of cycles, which stay samples, with 'cycles').

  there=TRUTH    they are at any instruction as often as it ran by these exact counts, as plain.py has it
  cpus=N         threads go round so many CPUs, every 2 ms (3)
  tasks=HOW      whose a sample is tells the packet CONTEXT (context, the default), records SWITCH (switch) or SWITCH_CPU_WIDE (wide),
                 or each thread has its own memory (tid), or nothing does (none)
  info=1, 2      AUXTRACE_INFO as perf before 6.13 wrote it, or after (2)
  bytes=N        so many in each AUXTRACE (8192); with 'any' a packet may stand half in one and half in the next
  pipe           as 'perf record -o -' writes
  untimed        no timestamps, and no TIME_CONV: records end with END
  unretired=P    so many records of a hundred are of operations that did not retire, at an address that none else has
  kernel=P       so many are in the kernel
  damage=N       so many records have a byte that begins no packet
  full=N         after so many AUXTRACE the memory was full: the last record has no end
  collide=N      so many records AUX say that operations collided
  cycles         cycles are sampled, too
  list=FILE      what samples there are: time, cpu, pid, tid, address, one a line
"""
import random
import struct
import sys

import plain

SPE, DUMMY, CYCLES = 1000, 1001, 1002  # ids
PMU, FREQ, ZERO = 8, 100, -10**9  # its type; the timer ticks at 100 MHz: 10 ns each; and was 0 a second before
(IP, TID, TIME, CPU, PERIOD, DATA_SRC, IDENT) = (1 << n for n in (0, 1, 2, 7, 8, 15, 16))
TYPE = IP | TID | TIME | CPU | IDENT
COMM, EXIT, FORK, SAMPLE, MMAP2, AUX, ITRACE, SWITCH, WIDE = 3, 4, 7, 9, 10, 11, 12, 14, 15
ATTR, UPDATE, ROUND, INFO, AUXTRACE, CONV, FEATURE = 64, 78, 68, 70, 71, 79, 80
SLICE = 2000000


class Memory:
    """What one CPU, or one thread, has written and perf not yet read."""

    def __init__(self, idx, cpu, tid):
        self.idx, self.cpu, self.tid, self.bytes, self.off, self.n = idx, cpu, tid, bytearray(), 0, 0


class Spe:
    def __init__(self, words):
        opts = dict(w.split("=", 1) if "=" in w else (w, "1") for w in words)
        self.opts, self.rng, self.maps, self.body, self.index = opts, random.Random(1), plain.Maps(), bytearray(), []
        self.exact = plain.Exact(opts["there"]) if "there" in opts else None
        self.tasks, self.n_cpus, self.room = opts.get("tasks", "context"), int(opts.get("cpus", 3)), int(opts.get("bytes", 8192))
        self.threads, self.memories, self.on, self.listed, self.left = [], {}, {}, [], {w: int(opts.get(w, 0)) for w in ("damage", "full", "collide")}
        self.kernel, self.unretired = (float(opts.get(w, 0)) / 100 for w in ("kernel", "unretired"))

    # Records

    def trailer(self, pid, tid, time, cpu, ident):
        return struct.pack("<IIQIIQ", pid & 0xffffffff, tid & 0xffffffff, time, cpu & 0xffffffff, 0, ident)

    def record(self, kind, misc, body, trailer=b""):
        self.body += struct.pack("<IHH", kind, misc, 8 + len(body) + len(trailer)) + body + trailer

    def begin(self):
        if "untimed" not in self.opts:
            self.record(CONV, 0, struct.pack("<QQQQQBB6x", 20, 1000 // FREQ << 20, ZERO % 2**64, 0, 2**56 - 1, 1, 0))
        info = struct.pack("<QQ", PMU, 0)
        if self.opts.get("info") == "2":
            info = struct.pack("<QQQQ", 2, 4, PMU, self.n_cpus)
            for cpu in range(self.n_cpus):
                info += struct.pack("<QQQQQQQ", 0x1010101010101010, cpu, 4, 0x410FD0C0, PMU, 1024, 1)
        self.record(INFO, 0, struct.pack("<II", 4, 0) + info)

    # Where threads are

    def cpu_of(self, tid, time):
        if tid not in self.threads:
            self.threads.append(tid)
        return (self.threads.index(tid) + time // SLICE) % self.n_cpus

    def switch(self, pid, tid, time):
        cpu = self.cpu_of(tid, time)
        if self.tasks == "tid" or self.on.get(tid) == cpu:
            return cpu
        kind, none = (WIDE, struct.pack("<II", 0, 0)) if self.tasks == "wide" else (SWITCH, b"")
        if self.tasks in ("wide", "switch"):
            if tid in self.on:
                self.record(kind, 1 << 13, none, self.trailer(pid, tid, time, self.on[tid], DUMMY))
            elif self.tasks == "wide":
                self.record(ITRACE, 0, struct.pack("<II", pid, tid), self.trailer(pid, tid, time, cpu, SPE))
            # Of all tasks of a CPU the idle one gives way to ours.
            if self.tasks == "wide":
                self.record(kind, 1 << 13, struct.pack("<II", pid, tid), self.trailer(0, 0, time, cpu, DUMMY))
            self.record(kind, 0, none, self.trailer(pid, tid, time, cpu, DUMMY))
        self.on[tid] = cpu
        return cpu

    # Packets

    def packets(self, ip, el, tid, time, retired):
        """Of one record, each by itself, in the order of a Neoverse N1, which fills 64 bytes."""
        rng, address = self.rng, ip & 2**56 - 1 | el << 61 | 1 << 63
        out = [struct.pack("<BQ", 0xB0, address), b"\0" * 5]
        if self.tasks == "context":
            out.append(struct.pack("<BI", 0x65 if el == 2 else 0x64, tid))
        kind, events = rng.randrange(4), 2 * retired
        if kind == 0:  # a load: its address, the physical one, where it came from
            out += [b"\x49\0", struct.pack("<BH", 0x52, events | 0x14), struct.pack("<BQ", 0xB2, rng.randrange(2**47)),
                    struct.pack("<BQ", 0xB3, rng.randrange(2**40) | 1 << 63), struct.pack("<BH", 0x9A, 1), b"\x43\0"]
        elif kind == 1:  # a branch: its target, and the branch before
            out += [b"\x4a\x01", struct.pack("<BB", 0x42, events | 0x40), struct.pack("<BQ", 0xB1, address), struct.pack("<BQ", 0xB4, address)]
        else:
            out += [b"\x48\0", struct.pack("<BI", 0x62, events), struct.pack("<BH", 0x99, 3), struct.pack("<BBH", 0x21, 0x99, 7)]
        out.append(struct.pack("<BH", 0x98, 12))
        end = b"\1" if "untimed" in self.opts else struct.pack("<BQ", 0x71, (time - ZERO) * FREQ // 1000)
        return out + [b"\0" * (-sum(map(len, out + [end])) % 64), end]

    def memory(self, cpu, tid):
        key = tid if self.tasks == "tid" else cpu
        if key not in self.memories:
            self.memories[key] = Memory(len(self.memories), *((-1, tid) if self.tasks == "tid" else (cpu, -1)))
        return self.memories[key]

    def flush(self, m, n, time, flags=0):
        """The kernel tells of the first n bytes, perf writes them."""
        if self.left["collide"] and not flags:
            flags, self.left["collide"] = 8, self.left["collide"] - 1
        task = (m.tid, m.tid) if m.tid >= 0 else (0, 0)
        self.record(AUX, 0, struct.pack("<QQQ", m.off, n, flags), self.trailer(*task, time, m.cpu, SPE))
        self.index.append((len(self.body), 48))
        self.record(AUXTRACE, 0, struct.pack("<QQQIiiI", n, m.off, time, m.idx, m.tid, m.cpu, 0))
        self.body += m.bytes[:n]
        del m.bytes[:n]
        m.off, m.n = m.off + n, m.n + 1
        self.record(ROUND, 0, b"")

    def write_packets(self, m, packets, time):
        if self.left["damage"] and self.rng.random() < 0.05:
            self.left["damage"] -= 1
            packets.insert(1, b"\xff")
        for p in packets:
            fits = len(m.bytes) + len(p) <= self.room
            if not fits and "any" in self.opts:
                head = self.room - len(m.bytes)
                m.bytes, p = m.bytes + p[:head], p[head:]
            if not fits:
                self.flush(m, len(m.bytes), time)
            m.bytes += p

    def sample(self, s):
        if s.event.name == "cycles":
            cpu = self.switch(s.pid, s.tid, s.time // 10 * 10)
            if "cycles" in self.opts:
                self.record(SAMPLE, 2, struct.pack("<QQIIQIIQ", CYCLES, s.ip, s.pid, s.tid, s.time, cpu, 0, s.period))
            return
        if s.event.name != "instructions":
            return
        time = s.time // 10 * 10
        cpu = self.switch(s.pid, s.tid, time)
        ip = self.maps.ip(s.pid, *self.exact.draw(self.rng)) if self.exact else s.ip
        ip, el = ip or s.ip, 0
        if self.rng.random() < self.kernel:
            ip, el = 0xFFFF800008000000 + self.rng.randrange(1 << 20) * 4, 1 + self.rng.randrange(2)
        m = self.memory(cpu, s.tid)
        if self.rng.random() < self.unretired:
            self.write_packets(m, self.packets(0x1000, 0, s.tid, time, False), s.time)
        if self.left["full"] and m.n >= 2 and len(m.bytes) > 1024:
            self.left["full"] -= 1
            m.bytes += b"".join(self.packets(ip, el, s.tid, time, True))[:self.rng.randrange(1, 50)]
            self.flush(m, len(m.bytes), s.time, 5)
        known = self.left["damage"]
        self.write_packets(m, self.packets(ip, el, s.tid, time, True), s.time)
        if self.left["damage"] == known:
            self.listed.append((time, m.cpu, s.pid, s.tid, ip))

    def other(self, kind, data, at, size, trailer):
        body, misc = data[at + 8:at + size - trailer.size], struct.unpack_from("<H", data, at + 4)[0]
        if kind == MMAP2:
            pid, _, start, length, off = struct.unpack_from("<IIQQQ", body)
            self.maps.add(pid, start, length, off, body[64:].split(b"\0")[0].decode("latin1"))
        if kind in (COMM, EXIT, FORK, MMAP2):
            pid, tid = struct.unpack_from("<I4xI" if kind in (EXIT, FORK) else "<II", body)
            time = trailer.time(data, at + size)
            self.record(kind, misc, body, self.trailer(pid, tid, time, self.cpu_of(tid, time), DUMMY))

    # The file

    def attrs(self):
        """disabled, inherit, exclude_kernel, exclude_hv, enable_on_exec, sample_id_all; the last event tells of tasks and maps."""
        some = 1 << 1 | 1 << 6 | 1 << 18 | (0 if self.kernel else 1 << 5)
        tell = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 23 | 1 << 24 | (1 << 26 if self.tasks in ("switch", "wide") else 0)
        out = [(SPE, "arm_spe_0/ts_enable=1/u", PMU, 1, 1024, TYPE | DATA_SRC, some | 1 | 1 << 12)]
        if "cycles" in self.opts:
            out.append((CYCLES, "cycles:u", 0, 0, self.period, TYPE | PERIOD, some | 1 | 1 << 12))
        out.append((DUMMY, "dummy:u", 1, 9, 1, TYPE, some | 1 << 5 | tell))
        return [(i, name, struct.pack("<IIQQQQQ", kind, 128, config, period, sample, 4, flags) + bytes(128 - 48)) for i, name, kind, config, period, sample, flags in out]

    @staticmethod
    def text(s):
        raw = s.encode() + b"\0"
        raw += b"\0" * (-len(raw) % 64)
        return struct.pack("<I", len(raw)) + raw

    def features(self, attrs):
        desc = struct.pack("<II", len(attrs), 128)
        for ident, name, attr in attrs:
            desc += attr + struct.pack("<I", 1) + self.text(name) + struct.pack("<Q", ident)
        return {3: self.text("board"), 4: self.text("6.1.0"), 5: self.text("6.1.0"), 6: self.text("aarch64"), 9: self.text("0x00000000410fd0c0"),
                12: desc, 16: struct.pack("<II", 1, PMU) + self.text("arm_spe_0"),
                18: struct.pack("<Q", len(self.index))}

    def write(self, path):
        attrs = self.attrs()
        with open(path, "wb") as f:
            if "pipe" in self.opts:
                f.write(b"PERFILE2" + struct.pack("<Q", 16))
                for ident, _, attr in attrs:
                    f.write(struct.pack("<IHH", ATTR, 0, 8 + len(attr) + 8) + attr + struct.pack("<Q", ident))
                f.write(self.body)
                return
            ids = b"".join(struct.pack("<Q", ident) for ident, _, _ in attrs)
            table = b"".join(attr + struct.pack("<QQ", 104 + 8 * n, 8) for n, (_, _, attr) in enumerate(attrs))
            at = 104 + len(ids) + len(table)
            features = self.features(attrs)
            features[18] += b"".join(struct.pack("<QQ", at + off, size) for off, size in self.index)
            bits = sum(1 << n for n in features)
            f.write(b"PERFILE2" + struct.pack("<9Q", 104, 144, 104 + len(ids), len(table), at, len(self.body), 0, 0, bits) + bytes(24))
            f.write(ids + table + bytes(self.body))
            at += len(self.body) + 16 * len(features)
            for text in features.values():
                f.write(struct.pack("<QQ", at, len(text)))
                at += len(text)
            f.write(b"".join(features.values()))


class Trailer:
    """What sample_id_all puts behind the records that are read."""

    def __init__(self, event):
        words = [n for n in (TID, TIME, 1 << 6, 1 << 9, CPU, IDENT) if event.sample_type & n] if event.flags >> 18 & 1 else []
        self.size = 8 * len(words)
        self.at = 8 * words.index(TIME) if TIME in words else None

    def time(self, data, end):
        return struct.unpack_from("<Q", data, end - self.size + self.at)[0] if self.at is not None else 0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data, out = open(sys.argv[1], "rb").read(), Spe(sys.argv[3:])
    size, attrs_at, n_bytes, at, data_bytes = struct.unpack_from("<5Q", data, 16)
    events = [plain.Event(data, attrs_at + i * size, size) for i in range(n_bytes // size)]
    event_of, trailer = {i: e for e in events for i in e.ids}, Trailer(events[0])
    out.period = next((e.period for e in events if e.name == "cycles"), 0)
    end, time = at + data_bytes, 0
    out.begin()
    while at + 8 <= end:
        kind, _, n = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:
            s = plain.Sample(data, at, event_of)
            time = s.time
            if s.event.period:
                out.sample(s)
        else:
            out.other(kind, data, at, n, trailer)
        at += n
    for m in out.memories.values():
        out.flush(m, len(m.bytes), time)
    out.write(sys.argv[2])
    if "list" in out.opts:
        with open(out.opts["list"], "w") as f:
            f.writelines(f"{t} {cpu} {pid} {tid} {ip:x}\n" for t, cpu, pid, tid, ip in sorted(out.listed))


if __name__ == "__main__":
    main()
