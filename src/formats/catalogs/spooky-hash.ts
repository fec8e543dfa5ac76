/** Source: SpookyHash V2 by Bob Jenkins, in the public domain. Unity hashes catalogs with it, with both seeds 0. */
const FILLER = 0xdead_beef_dead_beefn;
const LANES = 12;
const BLOCK_BYTES = LANES * 8;
const LONG_BYTES = 2 * BLOCK_BYTES;

const MIX = [11n, 32n, 43n, 31n, 17n, 28n, 39n, 57n, 55n, 54n, 22n, 46n];
const END = [44n, 15n, 34n, 21n, 38n, 33n, 10n, 13n, 38n, 53n, 42n, 54n];
const SHORT_MIX = [50n, 52n, 30n, 41n, 54n, 48n, 38n, 37n, 62n, 34n, 5n, 36n];
const SHORT_END = [15n, 52n, 26n, 51n, 28n, 9n, 47n, 54n, 32n, 25n, 63n];
const SHORT_BLOCK = 32;
const [A, B, C, D] = [0, 1, 2, 3];

/** SpookyHash V2 of a message with the seeds 0: 16 bytes, as Unity writes them as text. */
export function spookyHash(message: Buffer): Buffer {
  // Stores into it wrap at 64 bits.
  const state = message.length < LONG_BYTES ? hashShort(message) : hashLong(message);
  const result = Buffer.alloc(16);
  result.writeBigUInt64LE(state[0] ?? 0n);
  result.writeBigUInt64LE(state[1] ?? 0n, 8);
  return result;
}

function hashLong(message: Buffer): BigUint64Array {
  const state = new BigUint64Array(LANES).map((_, lane) => (lane % 3 === 2 ? FILLER : 0n));
  let at = 0;
  for (; at + BLOCK_BYTES <= message.length; at += BLOCK_BYTES) mix(state, message, at);
  const rest = Buffer.alloc(BLOCK_BYTES);
  message.copy(rest, 0, at);
  rest[BLOCK_BYTES - 1] = message.length - at;
  for (let lane = 0; lane < LANES; lane += 1) add(state, lane, rest.readBigUInt64LE(lane * 8));
  for (let round = 0; round < 3; round += 1) endPart(state);
  return state;
}

function mix(state: BigUint64Array, block: Buffer, offset: number): void {
  for (let lane = 0; lane < LANES; lane += 1) {
    const before = (lane + LANES - 1) % LANES;
    add(state, lane, block.readBigUInt64LE(offset + lane * 8));
    exclusiveOr(state, (lane + 2) % LANES, (lane + 10) % LANES);
    exclusiveOr(state, before, lane);
    rotate(state, lane, MIX[lane]);
    add(state, before, state[(lane + 1) % LANES]);
  }
}

function endPart(state: BigUint64Array): void {
  for (let lane = 0; lane < LANES; lane += 1) {
    const [before, next] = [(lane + LANES - 1) % LANES, (lane + 1) % LANES];
    add(state, before, state[next]);
    exclusiveOr(state, (lane + 2) % LANES, before);
    rotate(state, next, END[lane]);
  }
}

function hashShort(message: Buffer): BigUint64Array {
  const state = BigUint64Array.of(0n, 0n, FILLER, FILLER);
  let at = 0;
  for (; at + SHORT_BLOCK <= message.length; at += SHORT_BLOCK) {
    add(state, C, message.readBigUInt64LE(at));
    add(state, D, message.readBigUInt64LE(at + 8));
    mixShort(state);
    add(state, A, message.readBigUInt64LE(at + 16));
    add(state, B, message.readBigUInt64LE(at + 24));
  }
  if (message.length - at >= SHORT_BLOCK / 2) {
    add(state, C, message.readBigUInt64LE(at));
    add(state, D, message.readBigUInt64LE(at + 8));
    mixShort(state);
    at += SHORT_BLOCK / 2;
  }
  add(state, D, BigInt(message.length) << 56n);
  if (at === message.length) {
    add(state, C, FILLER);
    add(state, D, FILLER);
  } else {
    const rest = Buffer.alloc(16);
    message.copy(rest, 0, at);
    add(state, C, rest.readBigUInt64LE(0));
    add(state, D, rest.readBigUInt64LE(8));
  }
  endShort(state);
  return state;
}

function mixShort(state: BigUint64Array): void {
  for (const [step, bits] of SHORT_MIX.entries()) {
    const lane = (step + 2) % 4;
    rotate(state, lane, bits);
    add(state, lane, state[(lane + 1) % 4]);
    exclusiveOr(state, (lane + 2) % 4, lane);
  }
}

function endShort(state: BigUint64Array): void {
  for (const [step, bits] of SHORT_END.entries()) {
    const lane = (step + 2) % 4;
    const next = (lane + 1) % 4;
    exclusiveOr(state, next, lane);
    rotate(state, lane, bits);
    add(state, next, state[lane]);
  }
}

function add(state: BigUint64Array, lane: number, value = 0n): void {
  state[lane] = (state[lane] ?? 0n) + value;
}

function exclusiveOr(state: BigUint64Array, lane: number, other: number): void {
  state[lane] = (state[lane] ?? 0n) ^ (state[other] ?? 0n);
}

function rotate(state: BigUint64Array, lane: number, bits = 0n): void {
  const value = state[lane] ?? 0n;
  state[lane] = (value << bits) | (value >> (64n - bits));
}
