import { describe, expect, it } from 'vitest';
import { spookyHash } from '../../../../../src/daemon/formats/catalogs/spooky-hash.ts';

/** The first 32 bits by the length of the message, as the author of the algorithm publishes them with its test. */
const PUBLISHED: readonly (readonly [number, number])[] = [
  [0, 0x6bf5_0919],
  [1, 0x70de_1d26],
  [4, 0x8223_b279],
  [15, 0x83ec_01f9],
  [16, 0xf274_736c],
  [17, 0x7e9a_c0df],
  [31, 0x027b_ca7c],
  [32, 0xe5cf_c8b6],
  [63, 0x09c1_afb4],
  [64, 0x069c_8bb7],
  [191, 0xe13d_9e19],
  [192, 0x77e0_12bd],
  [193, 0x2d05_114c],
  [256, 0x38ce_bf03],
  [300, 0x37e2_b1da],
  [511, 0xcc1c_8250],
];

describe('spookyHash', () => {
  const message = Buffer.from(Array.from({ length: 512 }, (_, index) => (index + 128) % 256));

  it.each(PUBLISHED)('of %i bytes is the published one', (length, first) => {
    expect(spookyHash(message.subarray(0, length)).readUInt32LE(0)).toBe(first);
  });

  it('has 128 bits, of which each depends on the message', () => {
    const [one, other] = [spookyHash(message), spookyHash(message.subarray(1))];
    expect(one.length).toBe(16);
    for (const at of [0, 4, 8, 12]) expect(one.readUInt32LE(at)).not.toBe(other.readUInt32LE(at));
  });
});
