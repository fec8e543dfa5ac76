/** The side of a carry-over: this release or the previous one. */
export type Side = 'new' | 'old';

/** Tells which contexts cannot occur on a side. */
export interface ContextFilter {
  add(side: Side, context: Uint8Array): void;
  /** False when the context was never added to the side; true when it was, and rarely when it was not. */
  mayHave(side: Side, context: Uint8Array): boolean;
}

/** 8 MiB for each side; with 3,000,000 contexts, 4 % of the others seem to be there too. */
const FILTER_BITS = 2 ** 26;

/** Creates an empty filter. Contexts consist of digests, so a few of their bytes are spread evenly. */
export function createContextFilter(): ContextFilter {
  const filters = { new: new Uint8Array(FILTER_BITS / 8), old: new Uint8Array(FILTER_BITS / 8) };
  return {
    add: (side, context) => {
      const bit = bitOf(context);
      const filter = filters[side];
      filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
    },
    mayHave: (side, context) => {
      const bit = bitOf(context);
      return ((filters[side][bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;
    },
  };
}

/** From the first bytes of the text and of both neighbours. The multiplications tell a neighbour before from one after. */
function bitOf(context: Uint8Array): number {
  const third = context.length / 3;
  let hash = 0;
  for (let part = 0; part < 3; part += 1) {
    for (let byte = 0; byte < 4; byte += 1) hash = Math.imul(hash, 31) ^ (context[part * third + byte] ?? 0);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  }
  return (hash ^ (hash >>> 13)) & (FILTER_BITS - 1);
}
