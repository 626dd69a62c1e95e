#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""inputs.py FOLDER: what the open programs of tests/stat/sets.sh work on, the same on every machine."""
import math
import os
import random
import struct
import sys

SYLLABLES = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu ra re ri ro ru sa se si so su ta te ti to tu".split()
rng = random.Random(34)


def word():
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.choice((1, 2, 2, 3, 3, 4))))


VOCABULARY = [word() for _ in range(1500)]


def words(n):
    """Few words are common, most are rare."""
    return [VOCABULARY[int(len(VOCABULARY) * rng.random() ** 2.5)] for _ in range(n)]


def sentence():
    return " ".join(words(rng.randint(4, 14))).capitalize() + rng.choice(".!?;")


def paragraph():
    return " ".join(sentence() for _ in range(rng.randint(2, 7)))


def text(n):
    return "\n\n".join("\n".join(sentence() for _ in range(5)) for _ in range(n)) + "\n"


def markdown(n):
    out = []
    for k in range(n):
        out.append(rng.choice(("# %s", "## %s", "%s\n===")) % " ".join(words(3)))
        out.append(paragraph().replace(" ba", " *ba*").replace(" lo", " `lo`").replace(" ke", " [ke](http://ke/%d)" % k))
        out.append("\n".join("%s %s" % (rng.choice(("-", "1.", "*")), sentence()) for _ in range(4)))
        out.append("> " + sentence() + "\n\n    " + sentence())
    return "\n\n".join(out) + "\n"


def html(n):
    body = "".join("<h2>%s</h2><p class='c%d'>%s <b>%s</b> &amp; <a href='#%d'>%s</a></p><ul>%s</ul>\n<table><tr><td>%s<td>%s</table>" % (
        word(), k % 7, paragraph(), sentence(), k, word(), "".join("<li>" + sentence() for _ in range(3)), word(), word()) for k in range(n))
    return "<html><head><title>t</title></head><body>%s</body></html>\n" % body


def xml(n):
    return "<?xml version=\"1.0\"?>\n<list>\n%s</list>\n" % "".join(
        "<item id=\"%d\" kind='%s'><name>%s</name><text>%s &lt;%s&gt;</text><!-- %s --><empty/></item>\n" % (
            k, word(), word(), sentence(), word(), word()) for k in range(n))


def json(n):
    return "[%s]\n" % ",\n".join('{"id": %d, "name": "%s", "tags": ["%s"], "at": [%.4f, %.3e], "ok": %s, "more": {"t": "%s\\n\\u00e9"}}' % (
        k, word(), '", "'.join(words(3)), rng.random() * 90, rng.random(), rng.choice(("true", "false", "null")), sentence()) for k in range(n))


def yaml(n):
    return "".join("- id: %d\n  name: '%s'\n  tags: [%s]\n  text: >\n    %s\n    %s\n  more:\n    a: &a%d \"%s\"\n    b: *a%d\n" % (
        k, word(), ", ".join(words(3)), sentence().rstrip(";"), sentence().rstrip(";"), k, word(), k) for k in range(n))


def rtf(n):
    return "{\\rtf1\\ansi{\\fonttbl{\\f0 Times;}}\n%s}\n" % "".join(
        "\\pard\\f0\\fs%d %s {\\b %s} {\\i %s}\\'e9\\par\n" % (rng.choice((20, 24, 28)), paragraph(), sentence(), word()) for _ in range(n))


def cnf(n, m, width=3):
    clauses = []
    for _ in range(m):
        clauses.append(" ".join(str(v * rng.choice((-1, 1))) for v in rng.sample(range(1, n + 1), width)) + " 0\n")
    return "p cnf %d %d\n%s" % (n, m, "".join(clauses))


def fasta(n, length, letters, vary):
    root = [rng.choice(letters) for _ in range(length)]
    out = []
    for k in range(n):
        root = [rng.choice(letters) if rng.random() < vary else c for c in root]
        out.append(">s%d\n%s\n" % (k, "".join(root)))
    return "".join(out)


def genome(n):
    """Genes one after another: start, codons of uneven use, stop, between them whatever."""
    codons = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT" if a + b + c not in ("TAA", "TAG", "TGA")]
    weights = [rng.random() ** 2 for _ in codons]
    out = []
    while sum(map(len, out)) < n:
        out.append("AGGAGG" + "".join(rng.choices("ACGT", k=rng.randint(7, 60))) + "ATG")
        out.append("".join(rng.choices(codons, weights, k=rng.randint(60, 350))) + "TAA")
    return ">g\n%s\n" % "".join(out)


def sound(n):
    """Two voices that fade and some noise, 16 bit, 16 kHz."""
    s = [int(9000 * math.sin(k * .05 + 3 * math.sin(k * .0007)) * abs(math.sin(k * .0003)) + 4000 * math.sin(k * .31) * (k // 4000 % 2) + rng.gauss(0, 400))
         for k in range(n)]
    return struct.pack("<%dh" % n, *(max(-32768, min(32767, v)) for v in s))


def wav(n, rate):
    data = sound(n)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, rate * 2, 2, 16) + b"data" + struct.pack("<I", len(data)) + data


def pbm(w, h):
    rows = []
    for y in range(h):
        row = bytearray(w // 8)
        for x in range(w):
            if math.sin(x * .07) * math.sin(y * .05) + .3 * math.sin(x * y * .0004) > .4:
                row[x // 8] |= 128 >> x % 8
        rows.append(bytes(row))
    return b"P4\n%d %d\n" % (w, h) + b"".join(rows)


def points(n, d):
    return "%d\n%d\n%s" % (d, n, "".join(" ".join("%.6f" % rng.gauss(0, 1) for _ in range(d)) + "\n" for _ in range(n)))


def numbered(n):
    return "".join("%d %f %f %f\n" % ((k,) + tuple(rng.random() for _ in range(3))) for k in range(n))


def svm(n, d):
    out = []
    for _ in range(n):
        x = [(k + 1, rng.gauss(0, 1)) for k in sorted(rng.sample(range(d), d // 3))]
        out.append("%+d %s\n" % (1 if sum(v * math.sin(k) for k, v in x) + rng.gauss(0, .5) > 0 else -1, " ".join("%d:%.4f" % f for f in x)))
    return "".join(out)


def graph(n, p):
    edges = [(a, b) for a in range(1, n + 1) for b in range(1, a) if rng.random() < p]
    return "p edge %d %d\n%s" % (n, len(edges), "".join("e %d %d\n" % e for e in edges))


def asm6502(n):
    out = ["* = $1000\n"]
    for k in range(n):
        out.append("l%d lda #<(v+%d)\n sta v+%d\n ldx #%d\n inx\n bne l%d\n jsr l%d\n" % (k, k, k % 200, k % 256, k, rng.randrange(n)))
        if k % 5 == 0:
            out.append(" adc $%02x,x\n cmp #%d+2*3\n rts\n" % (k % 256, k % 40))
    return "".join(out) + "v = $8000\n"


def z80(n):
    out = ["\torg 256\n"]
    for k in range(n):
        out.append("l%d:\tld a,(v+%d)\n\tld hl,%d*2+1\n\tadd hl,de\n\tdjnz l%d\n\tcall l%d\n\tjp nz,l%d\n" % (k, k % 90, k, k, rng.randrange(n), k))
        if k % 7 == 0:
            out.append("\tdb %d,%d,\"%s\"\n" % (k % 256, 3, word()))
    return "".join(out) + "v:\tdefs 100\n\tend\n"


def grammar(n):
    """Expressions of many levels, each with operators of its own."""
    out = ["%{\n%}\n%token NUM\n%%\ns: e0 ;\n"]
    for k in range(n):
        out.append("e%d: e%d | e%d '%s' e%d { $$ = $1; } | '%s' T%d e%d ;\n" % (k, k + 1, k, "+-*/%&^|"[k % 8], k + 1, "!~<>"[k % 4], k, k + 1))
    tokens = "%token " + " ".join("T%d" % k for k in range(n)) + "\n"
    return out[0].replace("%%\n", tokens + "%%\n") + "".join(out[1:]) + "e%d: NUM | '(' e0 ')' ;\n%%%%\n" % n


def fortran(n):
    out = []
    for k in range(n):
        out.append("      subroutine s%d(a, b, n)\n      integer n, i, j\n      real a(n), b(n), t\n      common /c%d/ t\n" % (k, k % 9))
        out.append("      do 10 i = 1, n\n      t = a(i) * %d.5 + b(i)**2\n      if (t .gt. %d) goto 20\n      do 10 j = i, n\n" % (k, k % 17))
        out.append("   10 b(j) = b(j) + t * sqrt(a(j)) - mod(i, %d)\n      return\n   20 write (*, 30) t, i\n   30 format (f8.3, i5)\n      end\n" % (k % 7 + 2))
    return "".join(out)


def javascript(rounds):
    return """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var seen = {}, list = [], total = 0, i, k;
for (i = 0; i < %d; i++) {
	k = 'k' + (i * 7919 %% 409);
	seen[k] = (seen[k] || 0) + k.length;
	if (i %% 3 == 0) list.push((i * 31) %% 977);
}
list.sort(function (a, b) { return a - b; });
for (k in seen) total += seen[k];
var text = list.join(' ').replace(/(\\d)7/g, '$1x');
print(total, fib(%d), text.length, text.split('x').length);
""" % (rounds, 14)


SCHEME = """(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (count n) (let loop ((i 0) (l '())) (if (= i n) l (loop (+ i 1) (cons (modulo (* i 7919) 1009) l)))))
(define (insert x l) (cond ((null? l) (list x)) ((< x (car l)) (cons x l)) (else (cons (car l) (insert x (cdr l))))))
(define (sort l) (if (null? l) '() (insert (car l) (sort (cdr l)))))
(display (fib 15)) (newline)
(display (length (sort (count 60)))) (newline)
"""

AWK = """{ for (i = 1; i <= NF; i++) { n[$i]++; if ($i ~ /^[a-l]+r/) { sub(/r/, "R", $i); hits++ } } size += length($0) }
END { for (w in n) if (n[w] > most) { most = n[w]; best = w } print hits, size, best, most }
"""


def main():
    os.chdir(sys.argv[1])
    files = {
        "text": text(500), "text.small": text(100), "text.long": text(2500), "lines": "\n".join(paragraph() for _ in range(150)) + "\n",
        "md": markdown(500), "html": html(150), "xml": xml(1500), "json": json(2500), "yaml": yaml(500), "rtf": rtf(200),
        "cnf": cnf(180, 765), "cnf.more": cnf(150, 630), "dna.aln": fasta(30, 300, "ACGT", .08), "protein": fasta(10, 130, "ACDEFGHIKLMNPQRSTVWY", .12),
        "genome": genome(24000), "points": points(2500, 3), "cells": numbered(400), "svm": svm(600, 40), "graph": graph(100, .5),
        "a65": asm6502(700), "z80": z80(700), "y": grammar(60), "f": fortran(250), "js": javascript(6000), "scm": SCHEME, "awk": AWK,
        "keys": "\n".join(sorted(set(VOCABULARY))[:220]) + "\n", "strings": "\n".join(sorted(set(VOCABULARY))[:130]) + "\n",
    }
    for name, content in files.items():
        with open(name, "w", encoding="ascii") as f:
            f.write(content)
    for name, content in {"raw": sound(60000), "wav": wav(24000, 16000), "pbm": pbm(1200, 800)}.items():
        with open(name, "wb") as f:
            f.write(content)


main()
