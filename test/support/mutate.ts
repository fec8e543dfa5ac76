import { createRandom, type Random } from '../../demo/game/seeded-random.ts';

/** Values that are often the edge of a size or a count. */
const EDGES = [0, 1, 0x7f, 0x80, 0xff];
/** Widths of the integers that a mutation overwrites. */
const WIDTHS = [2, 4, 8];

/**
 * Damaged copies of a file, for fuzz tests. The same seed gives the same copies, so a shorter campaign is the beginning
 * of a longer one.
 *
 * @param bytes is not changed
 * @param options.count how many copies
 */
export function* mutations(
  bytes: Uint8Array,
  options: { readonly seed: number; readonly count: number },
): Generator<Buffer> {
  const random = createRandom(options.seed);
  for (let done = 0; done < options.count; done += 1) {
    let copy: Buffer = Buffer.from(bytes);
    for (let changes = 1 + random.below(4); changes > 0; changes -= 1) copy = mutate(copy, random);
    yield copy;
  }
}

/** Changes the bytes at one place, perhaps their number. */
function mutate(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const length = Math.min(1 + random.below(16), bytes.length - at);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (random.below(8)) {
    case 0:
      return Buffer.concat([before, after.subarray(length)]);
    case 1:
      return Buffer.concat([before, random.bytes(1 + random.below(16)), after]);
    case 2:
      return Buffer.concat([before, after.subarray(0, length), after]);
    case 3:
      return random.below(8) === 0 ? Buffer.from(before) : overwrite(bytes, at, random.bytes(length));
    case 4:
      return overwrite(bytes, at, Buffer.alloc(random.pick(WIDTHS), random.pick(EDGES)));
    case 5:
      return overwrite(bytes, at, Buffer.of(1 << random.below(8)));
    case 6:
      return overwrite(bytes, at, bytes.subarray(random.below(bytes.length + 1)).subarray(0, length));
    default:
      return overwrite(bytes, at, Buffer.of(random.pick(EDGES)));
  }
}

/** Writes over the bytes at a position, as far as there are any. */
function overwrite(bytes: Buffer, at: number, change: Buffer): Buffer {
  Buffer.from(change).copy(bytes, at);
  return bytes;
}
