import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '../../../../../src/cli/dev/seeded-random.ts';
import { writeBundle } from '../../../../../src/cli/dev/demo/unity/write-bundle.ts';
import { writeSerializedFile } from '../../../../../src/cli/dev/demo/unity/write-serialized-file.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { campaignSize } from '../../../../support/long.ts';
import {
  DIALOG_FIELDS,
  DIALOG_VALUE,
  sampleBehaviour,
  sampleObjects,
} from '../../../../support/unity-samples.ts';
import { textsOfBundle, textsOfFile } from '../../../../support/unity-texts.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? '14');
const MUTATIONS = campaignSize(2000, 40_000);
/** Far above what any of these small inputs needs, even on a busy machine. */
const DEADLINE_MS = 5000;

const MANY = [
  ...sampleObjects(),
  ...Array.from({ length: 20 }, (_, index) =>
    sampleBehaviour(BigInt(100 + index), `Dialog${index}`, DIALOG_FIELDS, DIALOG_VALUE),
  ),
];
const FILES = [17, 20, 22].map((version) =>
  writeSerializedFile({ version, objects: MANY, littleEndian: version !== 20 }),
);
const BUNDLES = (['none', 'lz4', 'lzma'] as const).flatMap((compression, index) =>
  [true, false].map((infoAtEnd) =>
    writeBundle(
      FILES.map((bytes, number) => ({ name: `CAB-${number}`, bytes })),
      { compression, infoAtEnd, version: 6 + index, paddedStart: index === 1, blockBytes: 2048 },
    ),
  ),
);

/** Reads a damaged input: the number of texts, or `null` when it is refused. Any other error than a FormatError fails. */
function tryRead(read: () => { readonly texts: readonly unknown[] }): number | null {
  const started = performance.now();
  try {
    return read().texts.length;
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  } finally {
    expect(performance.now() - started).toBeLessThan(DEADLINE_MS);
  }
}

describe('a truncated input', () => {
  it('is refused as a bundle at every 64th byte', () => {
    for (const bundle of BUNDLES) {
      for (let size = 0; size < bundle.length; size += 64) {
        expect(tryRead(() => textsOfBundle(bundle.subarray(0, size)))).toBe(null);
      }
    }
  });

  it('is refused as a serialized file at every 64th byte', () => {
    for (const file of FILES) {
      for (let size = 0; size < file.length; size += 64) {
        expect(tryRead(() => textsOfFile(file.subarray(0, size)))).toBe(null);
      }
    }
  });
});

/** Changes some bytes, mostly to values that lie about sizes. */
function mutate(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) {
    const at = random.below(copy.length - 8);
    const kind = random.below(5);
    if (kind === 0) copy[at] = random.below(256);
    else if (kind === 1) copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
    else if (kind === 2) copy.writeInt32LE(random.pick([-1, 0, 0x7fff_ffff, -0x8000_0000, 0x0100_0000]), at);
    else if (kind === 3) copy.writeInt32BE(random.pick([-1, 0, 0x7fff_ffff, 1, 0x00ff_ffff]), at);
    else copy.copyWithin(at, random.below(copy.length), at + random.below(64));
  }
  return copy;
}

describe('a mutated input', () => {
  it('is read or refused, without another error, a hang or much memory', () => {
    const random = createRandom(SEED);
    const whole = textsOfFile(FILES[0] ?? Buffer.alloc(0)).texts.length;
    const before = process.memoryUsage.rss();
    let [refused, reduced] = [0, 0];
    for (let round = 0; round < MUTATIONS; round += 1) {
      const isBundle = random.below(2) === 0;
      const bytes = mutate(random.pick(isBundle ? BUNDLES : FILES), random);
      const count = tryRead(() => (isBundle ? textsOfBundle(bytes) : textsOfFile(bytes)));
      if (count === null) refused += 1;
      else if (count < (isBundle ? 3 * whole : whole)) reduced += 1;
    }
    // Both kinds of damage occur often, or the mutations would prove nothing.
    expect(refused).toBeGreaterThan(MUTATIONS / 20);
    expect(reduced).toBeGreaterThan(MUTATIONS / 20);
    expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 1024 * 1024);
  });
});
