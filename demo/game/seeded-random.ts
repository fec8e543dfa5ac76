/** A small deterministic source of numbers for generated data; not for secrets. */
export interface Random {
  /** An integer from 0 to `bound - 1`. */
  below(bound: number): number;
  /** One of the items. */
  pick<T>(items: readonly T[]): T;
  /** `size` pseudo-random bytes. */
  bytes(size: number): Buffer;
}

/**
 * Creates a xorshift generator: the same seed gives the same sequence on every machine.
 *
 * @param seed a non-zero 32-bit integer
 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  return {
    below: (bound) => next() % bound,
    pick: (items) => {
      const item = items[next() % items.length];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
    bytes: (size) => {
      const words = new Uint32Array(Math.ceil(size / 4));
      for (let i = 0; i < words.length; i += 1) words[i] = next();
      return Buffer.from(words.buffer, 0, size);
    },
  };
}
